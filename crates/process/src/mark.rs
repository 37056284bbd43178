//! Marks: a number that every process of a tree carries, so that it is found when nothing else leads to it. A mark is made
//! of the run's own number and the guard's. See `table::carries` for where a process carries it.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The variable that all processes of a tree inherit, where nothing less visible can carry the mark.
pub(crate) const MARK_VARIABLE: &str = "SWITCHBOARD_MARK";

/// Bits of a mark that number the guard; the others number the run.
const GUARD_BITS: u32 = 16;
/// A resource limit can carry a mark, and must not look like "unlimited" to anyone: a mark stays far below that.
const RUN_BITS: u32 = 46;

/// A number that no other run has.
pub(crate) fn new_run() -> u64 {
    // The standard library's own source of chance: 64 bits from the system, mixed.
    let chance = RandomState::new().build_hasher().finish();
    (chance >> (64 - RUN_BITS)).max(1)
}

pub(crate) fn mark_of(run: u64, guard: u16) -> u64 {
    run << GUARD_BITS | u64::from(guard)
}

pub(crate) fn run_of(mark: u64) -> u64 {
    mark >> GUARD_BITS
}

pub(crate) fn spell_mark(mark: u64) -> String {
    format!("{mark:x}")
}

pub(crate) fn parse_mark(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_names_its_run() {
        for _ in 0..100 {
            let run = new_run();
            let mark = mark_of(run, u16::MAX);
            assert_eq!(run_of(mark), run);
            assert!(mark < 1 << 62);
            assert_eq!(parse_mark(&spell_mark(mark)), Some(mark));
        }
    }
}
