//! The promise: what we read is nobody else's to write, and what we write stays small and leaves nothing half done.

mod foreign_config;
mod full_disk;
mod stderr_log;

/// Only root can give files away.
fn are_root() -> bool {
    rustix::process::geteuid().is_root()
}
