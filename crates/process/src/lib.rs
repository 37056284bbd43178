//! Child processes, their pipes, our own standard streams, sockets and signals.
//!
//! The only crate that may name an operating system, and the only one that starts processes. Must not know
//! what the bytes mean: no JSON, no MCP, no configuration.
//!
//! # Layout
//! Lowest layer first: a module uses only modules listed before it.
//! - Tools without processes or streams:
//!   - [`lock`]: a mutex without poisoning. [`aside`]: work on a separate thread.
//!   - [`memory`]: an allocator that returns big buffers to the system. [`room`]: the limit on open
//!     descriptors. [`core_dumps`]: no core files of our own. `inherit`: process state passed on by our
//!     parent, and to our children.
//!   - [`drafts`]: temporary files of killed writers. [`private`]: files and folders that no other user can
//!     have written. [`real_path`]: paths with their links followed. [`ownership`]: the users who can change a file. [`file_watch`]: change notifications for a file.
//!     [`file_lock`]: a lock between processes.
//!   - [`signals`]: requests to terminate. [`stderr`]: writes to our own stderr that never block.
//! - Streams:
//!   - `fd_passing`: descriptors sent through a socket.
//!   - [`pipe`]: [`ByteReader`](pipe::ByteReader) and [`ByteWriter`](pipe::ByteWriter), one type each for
//!     everything that can be read or written.
//!   - [`stdio`]: our own standard streams, out of reach of a stray print.
//!   - [`path_socket`]: a socket with a path as its address.
//!   - `command_line`: the quoting of arguments on Windows. `suspended`: the creation of a process on Windows.
//!   - [`local`]: the socket between the processes of one user, and the start of a detached process.
//!   - [`handover`]: a client's streams, lent to another process of ours.
//! - The processes of this machine:
//!   - `mark`: the number carried by all processes of a tree.
//!   - `table`: the process table. [`alive`]: liveness of one process.
//!   - `awaited`: the end of a process on Windows. `cgroup`: control groups of Linux. `job`: job objects of
//!     Windows. `family`: descendants without a job. [`parent`]: the end of our parent.
//!   - [`machine`]: the memory of this machine.
//! - The processes that we start:
//!   - `wire`: messages between us, the warden and the guards.
//!   - `runs`: records of our runs on disk, and the cleanup after a run that was killed as a whole.
//!   - [`tree`]: the processes that belong to a child, and their memory.
//!   - [`child`]: one child with its pipes, with or without a guard.
//!   - [`warden`]: the start of processes that cannot outlive us.
//!   - `role`: the code of our own helper processes, the warden and the guards.
//!
//! Everything that waits needs a tokio runtime with I/O and time enabled, and must be created inside its context.

pub mod lock;
pub mod aside;
pub mod memory;
pub mod room;
pub mod core_dumps;
#[cfg(unix)]
mod inherit;
pub mod drafts;
pub mod private;
pub mod real_path;
pub mod ownership;
pub mod file_watch;
pub mod file_lock;
pub mod signals;
pub mod stderr;

#[cfg(unix)]
mod fd_passing;
pub mod pipe;
pub mod stdio;
pub mod path_socket;
#[cfg(any(windows, test))]
mod command_line;
#[cfg(windows)]
mod suspended;
pub mod local;
pub mod handover;

#[cfg(unix)]
mod mark;
#[cfg(unix)]
mod table;
pub mod alive;
#[cfg(windows)]
mod awaited;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(windows)]
mod job;
#[cfg(windows)]
mod family;
pub mod parent;
pub mod machine;

#[cfg(unix)]
mod wire;
mod runs;
pub mod tree;
pub mod child;
pub mod warden;
#[cfg(unix)]
mod role;

/// Turns this process into a warden or guard if it was started as one. Must be called first, while there is
/// only one thread.
pub fn take_role() {
    #[cfg(unix)]
    role::take_role();
}
