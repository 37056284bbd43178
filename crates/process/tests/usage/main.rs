//! Memory and CPU time of trees. Needs its own `main`: a guard is this program started again, and must take its role first.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests, all of it")]

#[cfg(unix)]
mod start;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
mod cpu;

fn main() {
    #[cfg(unix)]
    start::main();
}
