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
    // They stay in the list until they are reaped.
    let mut dead = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let mut is_anyone_there = false;
        for child in table::own_children() {
            if dead.contains(&child) {
                continue;
            }
            match table::one(child) {
                Some(entry) if entry.is_zombie => dead.push(child),
                Some(entry) if is_left_alone(&entry) => continue,
                Some(_) => {
                    // It is our child and was not reaped: the number is still its own.
                    let killed = table::number(child).map(|pid| kill_process(pid, Signal::KILL));
                    if killed != Some(Ok(())) {
                        // Another user's: it is not asked twice.
                        dead.push(child);
                    }
                }
                None => dead.push(child),
            }
            // Also one that has just died by itself: it may have left another, which was not in the list yet.
            is_anyone_there = true;
        }
        if !is_anyone_there {
            return;
        }
    }
}
