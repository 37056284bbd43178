//! The error for a program that a server needs and this machine does not have.

/// Known before anything is started; shown to each client that wants the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}\n  hint: {hint}")]
pub struct Missing {
    /// The missing program, and where it was looked for.
    pub reason: String,
    pub hint: String,
}
