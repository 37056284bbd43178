//! What a server needs and is not there.

/// Known before anything was started; said to whoever wants the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}\n  hint: {hint}")]
pub struct Missing {
    /// What is missing, and where it was looked for.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
}
