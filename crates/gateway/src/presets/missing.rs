//! Error for a program that a server needs and this machine does not have.

/// Known before the start; shown to each client of the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}\n  hint: {hint}")]
pub struct Missing {
    /// The missing program, and the paths that were searched.
    pub reason: String,
    pub hint: String,
}
