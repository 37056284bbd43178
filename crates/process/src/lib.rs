//! Child processes, their pipes and our own standard streams.
//!
//! This is the one crate that may mention an operating system, and the one that starts processes. It must
//! not know what the bytes mean: no JSON, no MCP, no configuration.
//!
//! # Layout
//! Lowest layer first: a module uses only modules listed before it.
//! - Tools that know neither processes nor streams:
//!   - [`lock`]: a mutex without poisoning. [`aside`]: work on a thread of its own.
//!   - [`memory`]: an allocator that gives big buffers back. [`room`]: free descriptors. `inherit`: our inheritance from
//!     our parent, and our children's from us.
//!   - [`drafts`]: files of killed writers. [`private`]: files and folders that nobody else can have written.
//!     [`ownership`]: the users who can change a file. [`file_watch`]: notice of changes of a file.
//!   - [`signals`]: requests that we end. [`stderr`]: writes to our own stderr that never wait.
//! - Streams:
//!   - `fd_passing`: descriptors through a socket.
//!   - [`pipe`]: [`ByteReader`](pipe::ByteReader) and [`ByteWriter`](pipe::ByteWriter), one type each for everything that can
//!     be read or written.
//!   - [`stdio`]: our own standard streams, moved away from where a stray print could reach them.
//!   - [`path_socket`]: a socket with a path as its address.
//!   - [`local`]: the socket between the processes of one user, and the start of a process that outlives us.
//!   - [`handover`]: a client's streams in the hands of another process of ours.
//! - The processes of this machine:
//!   - `mark`: the number that all processes of a tree carry.
//!   - `table`: the process table. [`alive`]: the presence of one process. [`parent`]: the end of our parent.
//!   - `cgroup`: control groups of Linux. `job`: job objects of Windows. [`machine`]: the memory of this machine.
//! - The processes that we start:
//!   - `wire`: messages between us, the warden and the guards.
//!   - `runs`: records of our runs on disk, and the cleanup after a run that was killed as a whole.
//!   - [`tree`]: the processes that belong to a child, and their memory.
//!   - [`child`]: one child with its pipes, with or without a guard.
//!   - [`warden`]: the start of processes that cannot outlive us.
//!   - `role`: our own processes beside us, the warden's and the guards'.
//!
//! Everything that waits needs a tokio runtime with I/O and time enabled, and is made inside its context.

pub mod lock;
pub mod aside;
pub mod memory;
pub mod room;
#[cfg(unix)]
mod inherit;
pub mod drafts;
pub mod private;
pub mod ownership;
pub mod file_watch;
pub mod signals;
pub mod stderr;

#[cfg(unix)]
mod fd_passing;
pub mod pipe;
pub mod stdio;
pub mod path_socket;
pub mod local;
pub mod handover;

#[cfg(unix)]
mod mark;
#[cfg(unix)]
mod table;
pub mod alive;
pub mod parent;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(windows)]
mod job;
pub mod machine;

#[cfg(unix)]
mod wire;
mod runs;
pub mod tree;
pub mod child;
pub mod warden;
#[cfg(unix)]
mod role;

/// Becomes what guards our processes, if that is what this process was started as. To be called before anything
/// else, while there is one thread.
pub fn take_role() {
    #[cfg(unix)]
    role::take_role();
}
