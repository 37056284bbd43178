//! From a command as users write it to what Windows runs. Pure: works on text, asks for files and variables,
//! and is tested on every system. Must not know how a process is created.
//!
//! # Layout
//! - `extensions`: the files that a name may mean.
//! - `unwrap`: the command inside `cmd /c …`.
//! - `batch`: the program behind a `.cmd` shim. `power_shell`: the same for `.ps1`.

pub(super) mod extensions;
pub(super) mod unwrap;
pub(super) mod batch;
pub(super) mod power_shell;
