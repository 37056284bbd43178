//! Memory use of a tree. Needs its own `main`: guards are this program, started again, and must take their
//! role before anything else happens.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests, all of it")]

#[cfg(unix)]
mod cases;

fn main() {
    #[cfg(unix)]
    cases::main();
}
