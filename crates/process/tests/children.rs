//! The environment of a child, and the detection of its end.

use crate::support::*;
use rustix::process::{Signal, getpgid, kill_process};
use switchboard_process::child::{Ended, Launch, Spawned, spawn};

#[tokio::test]
async fn exit_code_and_signal_are_told_apart() {
    for (script, ended, text) in [
        ("exit 0", Ended::Exited(0), "exit code 0"),
        ("exit 3", Ended::Exited(3), "exit code 3"),
        ("kill -KILL $$", Ended::Signalled(9), "signal 9 (SIGKILL)"),
        ("kill -TERM $$", Ended::Signalled(15), "signal 15 (SIGTERM)"),
    ] {
        let mut child = sh(script).child;
        assert_eq!(soon("the end", child.wait()).await, ended);
        assert_eq!(child.wait().await, ended, "it may be asked again");
        assert_eq!(ended.to_string(), text);
    }
    assert_eq!(Ended::Signalled(60).to_string(), "signal 60");
}

#[tokio::test]
async fn cancelled_wait_loses_nothing() {
    let Spawned { mut child, stdin, .. } = sh("read line; exit $line");
    for _ in 0..100 {
        assert!(is_pending(child.wait()));
        tokio::task::yield_now().await;
    }
    write_all(&stdin, b"5\n").await;
    let pid = child.pid();
    // Also cancelled repeatedly while the process ends.
    let ended = loop {
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {}
            ended = child.wait() => break ended,
        }
        if !is_alive(pid) {
            break soon("the end", child.wait()).await;
        }
    };
    assert_eq!(ended, Ended::Exited(5));
}

#[tokio::test]
async fn end_caused_by_another_process_is_seen() {
    let Spawned { mut child, mut stdout, .. } = sh("echo ready; exec sleep 1000");
    read_line(&mut stdout).await;
    // Not SIGINT: a shell that runs the tests in the background makes it ignored in all of them.
    kill_process(pid(child.pid()), Signal::TERM).unwrap();
    assert_eq!(soon("the end", child.wait()).await, Ended::Signalled(15));
}

#[tokio::test]
async fn child_gets_env_and_folder_of_launch() {
    let folder = Folder::new();
    let mut launch = Launch {
        program: "env".into(),
        args: vec![],
        env: [("A", "old"), ("PATH", PATH), ("A", "new")].map(|(k, v)| (k.into(), v.into())).to_vec(),
        cwd: Some(folder.path().to_owned()),
    };
    let Spawned { child: _child, mut stdout, .. } = spawn(&launch).unwrap();
    let printed = read_text(&mut stdout).await;
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=new", &format!("PATH={PATH}")]);

    launch.program = "sh".into();
    launch.args = ["-c", "pwd -P; echo $0"].map(Into::into).to_vec();
    let printed = read_text(&mut spawn(&launch).unwrap().stdout).await;
    assert_eq!(printed, format!("{}\nsh\n", folder.path().canonicalize().unwrap().display()));
    assert!(!format!("{launch:?}").contains("new"), "values may be secrets");
}

#[tokio::test]
async fn program_with_a_folder_is_relative_to_cwd() {
    let folder = Folder::new();
    folder.program("bin/hello", "#!/bin/sh\necho hello $1").await;
    let mut launch = launch("bin/hello", ["you"]);
    launch.cwd = Some(folder.path().to_owned());
    assert_eq!(read_text(&mut spawn(&launch).unwrap().stdout).await, "hello you\n");
}

#[tokio::test]
async fn child_leads_its_own_group() {
    let Spawned { child, mut stdout, .. } = sh("echo $$; read line");
    let number = child.pid();
    assert_eq!(read_line(&mut stdout).await, number.to_string());
    assert_eq!(getpgid(Some(pid(number))).unwrap(), pid(number));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn child_inherits_no_descriptor() {
    use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
    // As inherited from a careless parent.
    let leaked = fcntl_dupfd_cloexec(std::fs::File::open("/dev/null").unwrap(), 50).unwrap();
    fcntl_setfd(&leaked, FdFlags::empty()).unwrap();
    let _neighbour = sh("read line");
    let Spawned { child: _child, mut stdout, .. } = sh("echo /proc/self/fd/*");
    // 3 is the folder that the shell reads.
    let expect = [0, 1, 2, 3].map(|fd| format!("/proc/self/fd/{fd}")).join(" ");
    assert_eq!(read_text(&mut stdout).await.trim(), expect);
}

#[tokio::test]
async fn child_has_default_sigpipe() {
    // If SIGPIPE were ignored, as it is in us, `yes` would complain on stderr and exit with a code.
    let Spawned { mut child, stdout, mut stderr, .. } = sh("exec yes");
    drop(stdout);
    assert_eq!(soon("the end", child.wait()).await, Ended::Signalled(13));
    assert_eq!(read_text(&mut stderr).await, "");
}
