//! The promise: whoever dies, by whatever signal, nothing is left. A second later in fact; the tests allow for
//! a slow machine.
//!
//! - `setting`: who runs the program, and how it guards its backends.
//! - `scene`: the program with a zoo behind it (`testkit::zoo`), and whether all of it is gone.
//! - `bystanders`: those whom nothing may happen to.
//! - the rest: a way to end, or a thing not to be left behind, each.

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
