//! Our own streams: no other code can print to them, and no other process is affected.

use crate::{
    fixture::{part, part_after},
    support::*,
};
use rustix::fs::{OFlags, fcntl_getfl};
use std::{
    io::{Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
};
use switchboard_process::child::{Launch, Spawned, spawn};

/// Output on the real stdout, without libtest's own lines before it.
fn after_taken(printed: &str) -> &str {
    &printed[printed.find("<taken").unwrap_or_else(|| panic!("{printed}"))..]
}

/// Open descriptors of the part's child; 3 is the folder that its shell reads, on Linux.
const FDS: &str = if cfg!(target_os = "linux") {
    "<fds /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3>"
} else {
    "<fds /proc/self/fd/*>"
};

/// Runs a part to a successful end with this stdin; returns its stdout and stderr.
async fn run(launch: &Launch, input: &[u8]) -> (String, String) {
    let Spawned { mut child, stdin, mut stdout, mut stderr } = spawn(launch).unwrap();
    write_all(&stdin, input).await;
    drop(stdin);
    let (printed, complaints) = tokio::join!(read_text(&mut stdout), read_text(&mut stderr));
    assert!(soon("the end", child.wait()).await.success(), "{printed}\n{complaints}");
    (printed, complaints)
}

#[tokio::test]
async fn stray_print_goes_to_stderr_not_stdout() {
    let (printed, complaints) = run(&part("echo"), b"hello").await;
    assert_eq!(after_taken(&printed), format!("<taken false false>\n{FDS}\n<echo hello>\n"));
    assert!(!printed.contains("stray"));
    assert_eq!(complaints, "stray print\nanother stray print\n");
}

#[tokio::test]
async fn files_may_be_the_streams() {
    let folder = Folder::new();
    folder.file("in", "hello");
    let mut launch = part_after("echo", "exec < in > out");
    launch.cwd = Some(folder.path().to_owned());
    run(&launch, b"").await;
    let printed = std::fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(after_taken(&printed), format!("<taken true true>\n{FDS}\n<echo hello>\n"));
}

#[tokio::test]
async fn streams_may_be_closed_at_start() {
    run(&part("nothing open"), b"").await;
    run(&part_after("echo", "exec <&- >&- 2>&-"), b"").await;
}

/// The writer of a named pipe may have come and gone before we reopen the pipe.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn named_pipe_hung_up_early_still_ends() {
    let folder = Folder::new();
    let mut launch = part_after("echo after hang-up", "mkfifo fifo; printf hello > fifo & exec < fifo");
    launch.cwd = Some(folder.path().to_owned());
    let (printed, _) = run(&launch, b"").await;
    assert!(printed.ends_with("<echo hello>\n"), "{printed}");
}

/// Starts the part with streams that this process keeps open as well.
fn start_with(stdin: OwnedFd, stdout: OwnedFd) -> std::process::Child {
    let Launch { program, args, env, .. } = part("echo");
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env);
    command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::null());
    #[expect(clippy::disallowed_methods, reason = "the streams are to be shared with this process")]
    command.spawn().unwrap()
}

/// Reads until the streams have been taken.
fn read_until_taken(source: &mut impl Read) {
    let mut printed = Vec::new();
    while !printed.ends_with(b">\n<fds ") {
        let mut byte = [0];
        source.read_exact(&mut byte).unwrap();
        printed.push(byte[0]);
    }
}

fn is_blocking(fd: &OwnedFd) -> bool {
    !fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_that_others_share_stay_blocking() {
    let (their_in, mut our_out) = std::io::pipe().unwrap();
    let (mut our_in, their_out) = std::io::pipe().unwrap();
    let shared = [OwnedFd::from(their_in.try_clone().unwrap()), their_out.try_clone().unwrap().into()];
    let mut child = start_with(their_in.into(), their_out.into());
    read_until_taken(&mut our_in);
    assert!(shared.iter().all(is_blocking));
    drop(shared);
    our_out.write_all(b"hello").unwrap();
    drop(our_out);
    let mut printed = String::new();
    our_in.read_to_string(&mut printed).unwrap();
    assert!(printed.ends_with("<echo hello>\n"), "{printed}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn one_socket_may_be_both_streams() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let shared = OwnedFd::from(theirs.try_clone().unwrap());
    let mut child = start_with(theirs.try_clone().unwrap().into(), theirs.into());
    read_until_taken(&mut ours);
    assert!(cfg!(not(target_os = "linux")) || is_blocking(&shared));
    ours.write_all(b"hello").unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(is_blocking(&shared), "as it was before");
    drop(shared);
    let mut printed = String::new();
    ours.read_to_string(&mut printed).unwrap();
    assert!(printed.ends_with("<echo hello>\n"), "{printed}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn parts_that_need_their_own_process() {
    run(&part("SIGCHLD ignored"), b"").await;
    run(&part("no descriptors left"), b"").await;
    if cfg!(target_env = "gnu") {
        run(&part("memory"), b"").await;
    }
}
