//! Child processes, their pipes and our own standard streams.
//!
//! This is the one crate that may mention an operating system, and the one that starts processes. It must
//! not know what the bytes mean: no JSON, no MCP, no configuration.
//!
//! # Layout
//! - [`pipe`]: [`ByteReader`](pipe::ByteReader) and [`ByteWriter`](pipe::ByteWriter), one type each whatever
//!   stands behind: `polled` for pipes and sockets, `threaded` for all that cannot be polled, `descriptor`
//!   for what makes a descriptor non-blocking without harm to those who share it.
//! - [`stdio`]: our own standard streams, moved away from where a stray print could reach them.
//! - [`child`]: `resolve` (which file a command means), `error` (why it did not start, and what to do), and per
//!   system what is started: on Unix `bare` (a process group) or `guarded`.
//! - [`warden`]: starts processes and sees to it that none outlives us. On Unix with `guard` (what runs in
//!   processes of its own), `runs` (what is left on disk for the next start) and `table` (who is whose child).
//! - [`tree`]: all that belongs to a child, and how much memory it holds.
//! - [`local`]: the socket over which the processes of one user meet: `name` (what it is called) and per system
//!   the folder, the lock, who the other is, and how a process is started that outlives us.
//! - [`handover`]: a client's streams, in the hands of another process of ours: `store` (what outlives it), `input`,
//!   `output`, `journal`, and `pass` (how they get there).
//! - [`parent`]: the end of whoever started us.
//! - [`signals`]: requests that we end. [`stderr`]: our own, for those who must not wait for its reader.
//! - [`aside`]: work on a thread of its own.
//! - [`file_watch`]: when a file may have changed.
//! - [`private`]: folders that nobody else can have written to; [`ownership`]: who can change a file; [`drafts`]: files that a killed
//!   writer left.
//! - [`room`]: whether we may open what we need.
//! - [`alive`]: whether a process is there, for reports.
//! - [`machine`]: how much memory there is.
//! - [`memory`]: makes the allocator give big buffers back.
//!
//! All that waits needs a tokio runtime with I/O and time enabled, and is made inside its context.

pub mod alive;
pub mod aside;
pub mod child;
pub mod drafts;
pub mod file_watch;
#[cfg(unix)]
mod guard;
pub mod handover;
#[cfg(unix)]
mod inherit;
pub mod local;
pub mod machine;
pub mod memory;
pub mod ownership;
pub mod parent;
pub mod path_socket;
pub mod pipe;
pub mod private;
pub mod room;
#[cfg(unix)]
mod runs;
pub mod signals;
pub mod stderr;
pub mod stdio;
#[cfg(unix)]
mod table;
pub mod tree;
pub mod warden;

/// Becomes what guards our processes, if that is what this process was started as. To be called before anything
/// else, while there is one thread.
pub fn take_role() {
    #[cfg(unix)]
    guard::take_role();
}
