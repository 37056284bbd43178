//! The result of a server's last start.

/// Result of a server's last start. Outlives the backend, until the config changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LastStart {
    /// Not started yet.
    #[default]
    Untried,
    /// The handshake was answered.
    Well,
    Failed,
}
