//! Files: what we read is safe from other users, and what we write stays small and complete.

mod foreign_config;
mod full_disk;
mod stderr_log;

/// Only root can give files away.
fn are_root() -> bool {
    rustix::process::geteuid().is_root()
}
