//! Counters of a run: they show if a scenario no longer reaches some path.

use std::collections::BTreeMap;
use std::fmt;

/// Occurrences by name. Every name must be declared, so that one that stays at zero is noticed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats(BTreeMap<&'static str, u64>);

impl Stats {
    /// Counters with these names, separated by white space.
    pub(crate) fn new(names: &[&'static str]) -> Self {
        Self(names.iter().flat_map(|names| names.split_whitespace()).map(|name| (name, 0)).collect())
    }

    /// Adds to a counter; `false` if no such counter is declared.
    pub(crate) fn add(&mut self, name: &str, count: u64) -> bool {
        match self.0.get_mut(name) {
            Some(counter) => *counter += count,
            None => return false,
        }
        true
    }

    pub(crate) fn count(&mut self, name: &str) {
        self.count_if(name, true);
    }

    pub(crate) fn count_if(&mut self, name: &str, is_so: bool) {
        let is_declared = self.add(name, u64::from(is_so));
        assert!(is_declared, "no counter is called {name}");
    }

    pub(crate) fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    pub fn merge(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// Names of the counters that are still zero.
    pub fn unreached(&self) -> Vec<&'static str> {
        self.0.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, count)| writeln!(f, "{count:>10}  {}", name.replace('_', " ")))
    }
}
