//! Translates a command from the config into the program that Windows runs. Pure: works on text, gets files and variables
//! from its caller, and is tested on every system. Must not know how a process is created.
//!
//! # Layout
//! - `extensions`: candidate files for a command's name.
//! - `unwrap`: the command inside `cmd /c …`.
//! - `batch`: the program behind a `.cmd` shim. `power_shell`: the same for `.ps1`.

pub(super) mod extensions;
pub(super) mod unwrap;
pub(super) mod batch;
pub(super) mod power_shell;
