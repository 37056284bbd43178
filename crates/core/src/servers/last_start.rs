//! The result of a server's last start.

/// What came of a server's last start, whoever wanted it. It outlives the instance, until the config changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LastStart {
    /// Nobody has needed it yet.
    #[default]
    Untried,
    /// It has answered its handshake.
    Well,
    Failed,
}
