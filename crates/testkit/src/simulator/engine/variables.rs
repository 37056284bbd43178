//! Environments of simulated clients, as sets of bits. The lowest bits are a variable that the server's entry names; each other
//! bit is a variable that every server gets.

use std::sync::Arc;
use switchboard_core::Environment;
use switchboard_core::environment::{Source, Variable, Variables};

/// Bits of the named variable.
const NAMED: u32 = 0b1;
/// A common variable and, in the next bit, whether it has its other value.
const COMMON: &[(&str, u32)] = &[("A", 1), ("B", 3), ("C", 5)];

/// Number of different environments.
pub(crate) const ENVIRONMENTS: u32 = 1 << 7;

/// The environment with this number.
pub(crate) fn environment(number: u32) -> Environment {
    let variable = |name: &str, value: u32| Variable { name: name.into(), value: [value as u8; 16] };
    let common = COMMON.iter().filter(|(_, bit)| has(number, *bit));
    let common: Variables = common.map(|(name, bit)| variable(name, value(number, *bit))).collect();
    // A missing variable must not be mistaken for another client's value.
    let absent = COMMON.iter().filter(|(_, bit)| !has(number, *bit));
    let known = absent.fold(number, |number, (_, bit)| number & !(0b10 << bit));
    let source = Source::new(Arc::new(known));
    Environment::new([variable("N", number & NAMED)].into(), common, Some(source))
}

/// Environment of a process: all variables of its sources.
pub(crate) fn number_of(environment: &Environment) -> u32 {
    let numbers = environment.sources().filter_map(|source| source.get::<u32>());
    numbers.fold(0, |all, number| all | *number)
}

/// Whether a process with one environment has all variables that a client with the other would have alone.
pub(crate) fn serves(process: u32, client: u32) -> bool {
    let is_there = |(_, bit): &(&str, u32)| {
        !has(client, *bit) || (has(process, *bit) && value(process, *bit) == value(client, *bit))
    };
    process & NAMED == client & NAMED && COMMON.iter().all(is_there)
}

fn has(number: u32, bit: u32) -> bool {
    number & (1 << bit) != 0
}

fn value(number: u32, bit: u32) -> u32 {
    u32::from(has(number, bit + 1))
}
