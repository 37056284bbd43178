//! Marks: a number carried by every process of a tree, so that it can be found without any other trace. A
//! mark consists of the run's number and the guard's. `table::carries` finds it on a process. Must not know
//! the process table.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Environment variable that carries the mark through a tree, where no less visible way exists.
pub(crate) const MARK_VARIABLE: &str = "SWITCHBOARD_MARK";

/// Bits of a mark for the guard's number; the others hold the run's.
const GUARD_BITS: u32 = 16;
/// A resource limit may carry the mark, and must not be mistaken for "unlimited": marks stay far below that value.
const RUN_BITS: u32 = 46;

/// A random number for this run.
pub(crate) fn new_run() -> u64 {
    // The standard library's source of randomness: 64 bits from the system, mixed.
    let chance = RandomState::new().build_hasher().finish();
    // 0 would match processes without a mark of ours.
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
