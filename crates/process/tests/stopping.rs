//! A stop ends the whole group, and leaves neither processes nor zombies.

use crate::support::*;
use rustix::process::{Signal, kill_process};
use std::time::Duration;
use switchboard_process::child::{Ended, Spawned, Stopped, StoppedBy};

/// For children that use up every grace.
const SHORT: Duration = Duration::from_millis(50);
/// For children that use up the first and not the second, on however slow a machine.
const MEDIUM: Duration = Duration::from_secs(2);
/// For children that use up none.
const LONG: Duration = Duration::from_secs(30);

/// Starts a shell that has a `sleep` in its group, and says which.
async fn with_grandchild(script: &str) -> (Spawned, u32) {
    let mut spawned = sh(script);
    let grandchild = read_line(&mut spawned.stdout).await.parse().unwrap();
    assert!(is_alive(grandchild));
    (spawned, grandchild)
}

#[tokio::test]
async fn a_child_that_minds_its_stdin_goes_by_itself() {
    let Spawned { mut child, stdin, .. } = sh("exec cat");
    drop(stdin);
    let stopped = soon("the stop", child.stop(LONG)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Exited(0), how: StoppedBy::Eof });
    assert!(is_reaped(child.pid()));
    // All of this is harmless afterwards.
    child.kill_now();
    assert_eq!(child.wait().await, Ended::Exited(0));
    assert_eq!(child.stop(LONG).await, stopped);
}

#[tokio::test]
async fn a_child_that_does_not_gets_sigterm() {
    let (Spawned { mut child, stdin, .. }, grandchild) = with_grandchild("sleep 1000 & echo $!; wait").await;
    drop(stdin);
    let stopped = soon("the stop", child.stop(MEDIUM)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Signalled(15), how: StoppedBy::Term });
    until("the grandchild has gone", || !is_alive(grandchild)).await;
    assert!(is_reaped(child.pid()));
}

#[tokio::test]
async fn one_that_ignores_sigterm_is_killed_with_its_group() {
    let script = "trap '' TERM; sleep 1000 & echo $!; while :; do wait; done";
    let (Spawned { mut child, stdin, .. }, grandchild) = with_grandchild(script).await;
    drop(stdin);
    let stopped = soon("the stop", child.stop(SHORT)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Signalled(9), how: StoppedBy::Kill });
    until("the grandchild has gone", || !is_alive(grandchild)).await;
    assert!(is_reaped(child.pid()));
}

#[tokio::test]
async fn members_that_a_leader_leaves_behind_are_killed() {
    let script = "trap '' TERM; sleep 1000 >/dev/null & echo $!; exec cat";
    let (Spawned { mut child, stdin, .. }, grandchild) = with_grandchild(script).await;
    drop(stdin);
    // Its end alone does not end them, and does not free its number.
    assert_eq!(soon("the leader's end", child.wait()).await, Ended::Exited(0));
    assert!(is_alive(grandchild) && !is_reaped(child.pid()));
    assert_eq!(child.stop(LONG).await, Stopped { ended: Ended::Exited(0), how: StoppedBy::Eof });
    until("the grandchild has gone", || !is_alive(grandchild)).await;
    assert!(is_reaped(child.pid()));
}

#[tokio::test]
async fn a_suspended_child_still_gets_its_sigterm() {
    let Spawned { mut child, mut stdout, .. } =
        sh("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
    read_line(&mut stdout).await;
    kill_process(pid(child.pid()), Signal::STOP).unwrap();
    let stopped = soon("the stop", child.stop(MEDIUM)).await;
    assert_eq!(stopped, Stopped { ended: Ended::Exited(7), how: StoppedBy::Term });
}

#[tokio::test]
async fn a_stop_that_was_given_up_can_be_made_again() {
    let Spawned { mut child, stdin, .. } = sh("exec sleep 1000");
    drop(stdin);
    for _ in 0..10 {
        assert!(is_pending(child.stop(LONG)));
        tokio::task::yield_now().await;
    }
    assert_eq!(soon("the stop", child.stop(MEDIUM)).await.how, StoppedBy::Term);
}

#[tokio::test]
async fn kill_now_ends_the_group_at_once() {
    let (Spawned { mut child, .. }, grandchild) = with_grandchild("sleep 1000 & echo $!; wait").await;
    child.kill_now();
    assert_eq!(soon("the end", child.wait()).await, Ended::Signalled(9));
    until("the grandchild has gone", || !is_alive(grandchild)).await;
}

#[tokio::test]
async fn a_dropped_child_is_killed_and_reaped() {
    let (Spawned { child, .. }, grandchild) = with_grandchild("sleep 1000 & echo $!; wait").await;
    let number = child.pid();
    drop(child);
    until("the child is reaped", || is_reaped(number)).await;
    until("the grandchild has gone", || !is_alive(grandchild)).await;
}

#[tokio::test]
async fn a_child_dropped_after_its_end_takes_its_group_along() {
    let (Spawned { mut child, .. }, grandchild) = with_grandchild("sleep 1000 >/dev/null & echo $!").await;
    let number = child.pid();
    assert!(soon("the end", child.wait()).await.success());
    assert!(is_alive(grandchild));
    drop(child);
    assert!(is_reaped(number));
    until("the grandchild has gone", || !is_alive(grandchild)).await;
}

#[test]
fn a_child_that_outlives_its_runtime_is_killed_all_the_same() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let child = first.block_on(async { sh("exec sleep 1000").child });
    drop(first);
    let number = child.pid();
    drop(child);
    runtime().block_on(until("the child is reaped", || is_reaped(number)));
}
