//! Starts go on when the warden cannot. With a `main` of its own: wardens and guards are this program, started again, and
//! have to become what they are before anything else happens.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests, all of it")]

#[cfg(target_os = "linux")]
mod cases;

fn main() {
    #[cfg(target_os = "linux")]
    cases::main();
}
