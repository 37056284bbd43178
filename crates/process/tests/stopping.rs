//! A stop ends the whole group, and leaves neither processes nor zombies.

use crate::support::*;
use rustix::process::{Signal, kill_process};
use std::time::Duration;
use switchboard_process::child::{Ended, Spawned, Stopped, StoppedBy};

/// Grace for children that use up every grace period.
const EXPIRED_GRACE: Duration = Duration::from_millis(50);
/// Grace for children that use up the first grace period but not the second, even on a slow machine.
const FIRST_GRACE: Duration = Duration::from_secs(2);
/// Grace for children that use up none.
const UNUSED_GRACE: Duration = Duration::from_secs(30);

/// Starts a shell with a `sleep` in its group; returns that grandchild's number.
async fn with_grandchild(script: &str) -> (Spawned, u32) {
    let mut spawned = sh(script);
    let grandchild = read_line(&mut spawned.stdout).await.parse().unwrap();
    assert!(is_alive(grandchild));
    (spawned, grandchild)
}

#[tokio::test]
async fn child_that_reads_stdin_ends_by_itself() {
    let Spawned { mut child, stdin, .. } = sh("exec cat");
    drop(stdin);
    let stopped = soon("the stop", child.stop(UNUSED_GRACE)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Exited(0), how: StoppedBy::Eof });
    assert!(is_reaped(child.pid()));
    // All of this is harmless afterwards.
    child.kill_now();
    assert_eq!(child.wait().await, Ended::Exited(0));
    assert_eq!(child.stop(UNUSED_GRACE).await, stopped);
}

#[tokio::test]
async fn child_ignoring_stdin_gets_sigterm() {
    let (Spawned { mut child, stdin, .. }, grandchild) = with_grandchild("sleep 1000 & echo $!; wait").await;
    drop(stdin);
    let stopped = soon("the stop", child.stop(FIRST_GRACE)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Signalled(15), how: StoppedBy::Term });
    until("the grandchild has gone", || !is_alive(grandchild)).await;
    assert!(is_reaped(child.pid()));
}

#[tokio::test]
async fn child_ignoring_sigterm_dies_with_group() {
    let script = "trap '' TERM; sleep 1000 & echo $!; while :; do wait; done";
    let (Spawned { mut child, stdin, .. }, grandchild) = with_grandchild(script).await;
    drop(stdin);
    let stopped = soon("the stop", child.stop(EXPIRED_GRACE)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Signalled(9), how: StoppedBy::Kill });
    until("the grandchild has gone", || !is_alive(grandchild)).await;
    assert!(is_reaped(child.pid()));
}

#[tokio::test]
async fn leftover_group_members_are_killed() {
    let script = "trap '' TERM; sleep 1000 >/dev/null & echo $!; exec cat";
    let (Spawned { mut child, stdin, .. }, grandchild) = with_grandchild(script).await;
    drop(stdin);
    // The leader's end alone neither ends them nor frees its number.
    assert_eq!(soon("the leader's end", child.wait()).await, Ended::Exited(0));
    assert!(is_alive(grandchild) && !is_reaped(child.pid()));
    assert_eq!(child.stop(UNUSED_GRACE).await, Stopped { ended: Ended::Exited(0), how: StoppedBy::Eof });
    until("the grandchild has gone", || !is_alive(grandchild)).await;
    assert!(is_reaped(child.pid()));
}

#[tokio::test]
async fn suspended_child_still_gets_sigterm() {
    let Spawned { mut child, mut stdout, .. } =
        sh("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
    read_line(&mut stdout).await;
    kill_process(pid(child.pid()), Signal::STOP).unwrap();
    let stopped = soon("the stop", child.stop(FIRST_GRACE)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Exited(7), how: StoppedBy::Term });
}

#[tokio::test]
async fn cancelled_stop_can_be_repeated() {
    let Spawned { mut child, stdin, .. } = sh("exec sleep 1000");
    drop(stdin);
    for _ in 0..10 {
        assert!(is_pending(child.stop(UNUSED_GRACE)));
        tokio::task::yield_now().await;
    }
    assert_eq!(soon("the stop", child.stop(FIRST_GRACE)).await.how, StoppedBy::Term);
}

#[tokio::test]
async fn kill_now_ends_the_group_at_once() {
    let (Spawned { mut child, .. }, grandchild) = with_grandchild("sleep 1000 & echo $!; wait").await;
    child.kill_now();
    assert_eq!(soon("the end", child.wait()).await, Ended::Signalled(9));
    until("the grandchild has gone", || !is_alive(grandchild)).await;
}

#[tokio::test]
async fn dropped_child_is_killed_and_reaped() {
    let (Spawned { child, .. }, grandchild) = with_grandchild("sleep 1000 & echo $!; wait").await;
    let number = child.pid();
    drop(child);
    until("the child is reaped", || is_reaped(number)).await;
    until("the grandchild has gone", || !is_alive(grandchild)).await;
}

#[tokio::test]
async fn child_dropped_after_its_end_kills_group() {
    let (Spawned { mut child, .. }, grandchild) = with_grandchild("sleep 1000 >/dev/null & echo $!").await;
    let number = child.pid();
    assert!(soon("the end", child.wait()).await.success());
    assert!(is_alive(grandchild));
    drop(child);
    assert!(is_reaped(number));
    until("the grandchild has gone", || !is_alive(grandchild)).await;
}

#[test]
fn child_outliving_its_runtime_is_killed() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let child = first.block_on(async { sh("exec sleep 1000").child });
    drop(first);
    let number = child.pid();
    drop(child);
    runtime().block_on(until("the child is reaped", || is_reaped(number)));
}
