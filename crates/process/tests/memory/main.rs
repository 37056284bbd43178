//! How much memory a tree holds. With a `main` of its own: guards are this program, started again, and have to become
//! what they are before anything else happens.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests, all of it")]

#[cfg(unix)]
mod cases;

fn main() {
    #[cfg(unix)]
    cases::main();
}
