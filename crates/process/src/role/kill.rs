//! Killing all children of this process. Must not know which process this is, nor why they end.

use crate::table::{self, Entry};
use rustix::process::{Signal, kill_process};

/// Limit on rounds of killing before other events are handled.
const MAX_ROUNDS: usize = 100;
/// Consecutive scans that must find no process. One that keeps forking and exiting may be missed by a single scan.
pub(super) const MIN_EMPTY_LOOKS: u32 = 3;

/// Kills all children of this process except those left alone, including new ones that appear meanwhile. As
/// fast as possible: a process that forks a successor every millisecond is gone before the whole process table is read.
pub(super) fn kill_children(is_left_alone: impl Fn(&Entry) -> bool) {
    // Children that were handled but stay listed until they are reaped, and those of another user.
    let mut done = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let mut is_anyone_there = false;
        for child in table::own_children() {
            if done.contains(&child) {
                continue;
            }
            let entry = table::one(child);
            if entry.as_ref().is_some_and(|entry| !entry.is_zombie && is_left_alone(entry)) {
                continue;
            }
            // Counts a child that has just died by itself too: it may have left another that was not listed yet.
            is_anyone_there = true;
            let is_dead = entry.is_none_or(|entry| entry.is_zombie);
            // An unreaped child of ours: the number cannot have been reused.
            let is_killed =
                || table::number(child).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
            if is_dead || !is_killed() {
                done.push(child);
            }
        }
        if !is_anyone_there {
            return;
        }
    }
}
