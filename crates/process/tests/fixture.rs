//! Tests that need a process of their own: this test binary, started again with a part to play.

use crate::support::*;
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use std::{
    fmt::Write as _,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};
use switchboard_process::{
    child::{Ended, Launch, SpawnError, spawn},
    memory,
    stdio::{self, OwnStdio},
};

const PART: &str = "SWITCHBOARD_TEST_PART";

/// This binary in the given part. The part's output follows the output of libtest.
pub(crate) fn part(name: &str) -> Launch {
    let me = std::env::current_exe().unwrap();
    let mut launch = launch(
        me.to_str().unwrap(),
        ["--exact", "fixture::plays_its_part", "--nocapture", "--test-threads=1"],
    );
    launch.env.push((PART.into(), name.into()));
    launch
}

/// Same as `part`, started by a shell that first runs `before`.
pub(crate) fn part_after(name: &str, before: &str) -> Launch {
    let inner = part(name);
    let mut args = vec!["-c".into(), format!("{before}; exec \"$0\" \"$@\"").into(), inner.program];
    args.extend(inner.args);
    Launch { program: "sh".into(), args, ..inner }
}

#[test]
fn plays_its_part() {
    let Ok(part) = std::env::var(PART) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match part.as_str() {
            "echo" => echo().await,
            "echo after hang-up" => {
                let mut fds = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::empty())];
                poll(&mut fds, None).unwrap();
                echo().await;
            }
            "nothing open" => nothing_open().await,
            "SIGCHLD ignored" => {
                // SAFETY: no code in this process waits for a child yet.
                unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
                assert_eq!(sh("exit 7").child.wait().await, Ended::Exited(7));
            }
            "no descriptors left" => no_descriptors_left(),
            "memory" => gives_memory_back(),
            other => crate::local::parts::play(other).await,
        }
    });
    // Exit here, since libtest would print more.
    std::process::exit(0);
}

/// Takes the streams, prints to the wrong one, and echoes its input.
async fn echo() {
    let OwnStdio { mut input, output } = stdio::take().unwrap();
    assert!(stdio::take().is_err(), "only once");
    println!("stray print");
    let mut words = String::new();
    writeln!(words, "<taken {} {}>", input.is_threaded(), output.is_threaded()).unwrap();
    let mut listing = sh("cat; echo /proc/self/fd/*");
    drop(listing.stdin);
    writeln!(words, "<fds {}>", read_text(&mut listing.stdout).await.trim()).unwrap();
    write_all(&output, words.as_bytes()).await;
    let text = read_text(&mut input).await;
    write_all(&output, format!("<echo {text}>\n").as_bytes()).await;
    println!("another stray print");
    output.drained().await;
}

/// Closes all three: Rust's runtime opens `/dev/null` for streams that are closed at start.
async fn nothing_open() {
    for fd in 0..3 {
        // SAFETY: no code in this process uses them before `take`.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let OwnStdio { mut input, output } = stdio::take().unwrap();
    println!("stray print");
    let text = read_text(&mut input).await;
    write_all(&output, b"into the void").await;
    output.drained().await;
    // All three are occupied, so that no file gets one of these numbers.
    let next = std::fs::File::open("/dev/null").unwrap();
    let number = next.as_raw_fd();
    std::process::exit(if text.is_empty() && number > 2 { 0 } else { 1 });
}

fn no_descriptors_left() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let next = std::fs::File::open("/dev/null").unwrap();
    let limit = next.as_raw_fd().unsigned_abs().into();
    drop(next);
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum }).unwrap();
    let Err(error) = spawn(&launch("sh", ["-c", "exit"])) else { panic!("it started") };
    assert!(matches!(error, SpawnError::Limits { .. }), "{error:?}");
    assert!(error.hint().contains("ulimit -n"), "{}", error.hint());
}

fn gives_memory_back() {
    const BLOCKS: usize = 32;
    const SIZE: usize = 1 << 20;
    memory::allocator_gives_back();
    // Freeing the first big block is what makes glibc raise its threshold.
    drop(vec![1u8; 8 * SIZE]);
    let before = resident();
    let mut blocks = Vec::new();
    let mut pins = Vec::new();
    for _ in 0..BLOCKS {
        blocks.push(vec![1u8; SIZE]);
        pins.push(vec![1u8; 100]);
    }
    assert!(resident() >= before + BLOCKS * SIZE);
    drop(blocks);
    assert!(resident() < before + 2 * SIZE, "{} and {before} before", resident());
    drop(pins);
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
