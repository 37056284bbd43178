//! Starts continue to work when the warden hangs. Needs its own `main`: wardens and guards are this program,
//! started again, and must take their role before anything else happens.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests, all of it")]

#[cfg(target_os = "linux")]
mod cases;

fn main() {
    #[cfg(target_os = "linux")]
    cases::main();
}
