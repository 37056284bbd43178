//! Leftovers: whichever process dies, by any signal, no process is left a second later. The tests allow for a
//! slow machine.
//!
//! - `setting`: the user who runs the program, and how it guards its backends.
//! - `scene`: the program with a zoo behind it (`testkit::zoo`), and the check that all of it is gone.
//! - `bystanders`: processes that must not be touched.
//! - the rest: one way to end, or one kind of leftover, per file.

mod setting;
mod scene;
mod bystanders;

mod matrix;
mod lives_on;
mod killed_client;
mod starting;
mod suspended;
mod panics;
mod next_start;
mod cgroup;
mod remains;
mod reforker;
mod keep;
mod descriptors;
mod zombies;
mod scarce;
mod windows;
