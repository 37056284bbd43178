//! Seeded randomness: the same seed gives the same run on every machine.

use std::ops::RangeInclusive;
use std::time::Duration;

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        // Two rounds, so that neighbouring seeds have nothing in common.
        let mut rng = Self(seed ^ 0x5157_4954_4348_4252);
        rng.next();
        rng.next();
        rng
    }

    /// The stream of one step. A step draws the same numbers whether or not the steps before it are run.
    pub(crate) fn of_step(seed: u64, step: u64) -> Self {
        Self::new(Self::new(seed).next() ^ step.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 to `end`, exclusive; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    pub(crate) fn within(&mut self, range: RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// True in `chance` percent of cases.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Picks an item, if there is one.
    pub(crate) fn choose<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| self.pick(items).clone())
    }

    /// Picks an item in proportion to the weights.
    pub(crate) fn weighted<T: Copy>(&mut self, items: &[(usize, T)]) -> T {
        let mut at = self.below(items.iter().map(|(weight, _)| weight).sum());
        for &(weight, item) in items {
            if at < weight {
                return item;
            }
            at -= weight;
        }
        items[0].1
    }

    pub(crate) fn millis(&mut self, range: RangeInclusive<usize>) -> Duration {
        Duration::from_millis(self.within(range) as u64)
    }

    /// A duration that is usually short: `(weight, from, to)` in milliseconds.
    pub(crate) fn wait(&mut self, ranges: &[(usize, (usize, usize))]) -> Duration {
        let (from, to) = self.weighted(ranges);
        self.millis(from..=to)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}
