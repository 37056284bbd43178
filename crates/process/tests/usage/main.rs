//! Memory and CPU time of trees. Needs its own `main`: guards are this program, started again, and must take their
//! role before anything else happens.

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
