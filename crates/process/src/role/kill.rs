//! The end of all children of this process. Must not know which process that is, nor why they end.

use crate::table::{self, Entry};
use rustix::process::{Signal, kill_process};

/// Rounds of killing before anything else is looked at.
const MAX_ROUNDS: usize = 100;
/// Looks in a row that must find nobody. A process that forks and ends all the time may be missed by one look.
pub(super) const MIN_EMPTY_LOOKS: u32 = 3;

/// Kills every child of this process but those, and those that come to us while we do, as fast as that can be done:
/// one that forks itself anew every millisecond is gone before the table of all processes was read.
pub(super) fn kill_children(is_left_alone: impl Fn(&Entry) -> bool) {
    // Children that stay in the list until they are reaped, and those of another user: they are not killed twice.
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
            // Also one that has just died by itself: it may have left another, which was not in the list yet.
            is_anyone_there = true;
            let is_dead = entry.is_none_or(|entry| entry.is_zombie);
            // It is our child and was not reaped: the number is still its own.
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
