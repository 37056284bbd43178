//! The question whether a call may be made now. Must not know how it is answered: [`FairLimiter`](super::FairLimiter)
//! is the default, and another policy can take its place.

use super::identity::Identity;
use super::rate::{CallLimits, Rate, ServerLimits};
use crate::moment::Moment;
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// A call that a client wants to make.
#[derive(Debug, Clone, Copy)]
pub struct CallAttempt<'a> {
    pub identity: &'a Identity,
    /// The limits of the identity: its own, or the config's for identities without limits.
    pub identity_limits: CallLimits,
    /// The server's name in the config.
    pub server: &'a str,
    /// The limits of the server, if it has any.
    pub server_limits: Option<&'a ServerLimits>,
    /// The server's own name of the tool; `None` for reads and prompts.
    pub tool: Option<&'a str>,
}

/// Decides about calls. Replace it for another policy, by [`NewLimiter`](super::NewLimiter).
pub trait CallLimiter: fmt::Debug + Send {
    /// Admits a call and counts it, or refuses it and counts nothing. A permit, if there is one, comes back by
    /// [`end`](Self::end), whatever becomes of the call.
    fn begin(&mut self, call: &CallAttempt<'_>, now: Moment) -> Result<Option<Permit>, CallRefusal>;

    /// The call is over.
    fn end(&mut self, permit: Permit);

    /// Number of permits that have not come back.
    fn held(&self) -> usize;
}

/// The right to have one call in progress. Cannot be copied, so that it ends once.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit comes back when its call is over"]
pub struct Permit(pub u64);

/// Kind of a limit: of the identity, of the server, or of tools of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitScope {
    Token,
    Server,
    Tool,
}

impl LimitScope {
    /// For programs (`data.limit`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Server => "server",
            Self::Tool => "tool",
        }
    }
}

/// The limit that a call would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededLimit {
    Rate(Rate),
    Concurrent(NonZeroU32),
}

/// Reason why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRefusal {
    pub scope: LimitScope,
    pub limit: ExceededLimit,
    /// Time after which the call may succeed.
    pub retry_after: Duration,
    /// Number of identities that share the limit now.
    pub users: u32,
}
