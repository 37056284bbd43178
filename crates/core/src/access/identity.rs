//! The party on whose behalf a client acts.

use super::rate::{CallLimits, IdentityLimits};
use super::rights::Rights;
use crate::ids::Principal;
use std::fmt;
use std::sync::Arc;

/// The party on whose behalf a client acts, with its rights and limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub principal: Principal,
    /// For logs, the audit and limits: the name of a token, `owner` or `anonymous`. Never a token itself.
    pub name: Arc<str>,
    /// All of them must allow a request. Empty allows everything.
    pub rights: Vec<Arc<Rights>>,
    pub limits: CallLimits,
}

impl Identity {
    /// The user of this machine, who may do everything.
    pub fn owner() -> Self {
        Self {
            principal: Principal::OWNER,
            name: "owner".into(),
            rights: Vec::new(),
            limits: CallLimits::default(),
        }
    }

    /// Anyone without a token. Not the owner: other users of this machine may be among them, so they must not
    /// meet the owner's client state.
    pub fn anonymous() -> Self {
        Self { principal: Principal::ANONYMOUS, name: "anonymous".into(), ..Self::owner() }
    }

    /// The limits on its calls: its own, and the given ones where it has none. The owner has only its own, unless
    /// the given ones include it.
    pub fn limits_with(&self, given: &IdentityLimits) -> CallLimits {
        match self.principal == Principal::OWNER && !given.include_owner {
            true => self.limits,
            false => self.limits.or(given.limits),
        }
    }

    /// Whether its rights exclude anything.
    pub fn is_restricted(&self) -> bool {
        self.rights.iter().any(|rights| !rights.is_open())
    }

    /// The same identity with further rights, all of which must allow a request.
    pub fn narrowed_by(&self, more: impl IntoIterator<Item = Arc<Rights>>) -> Self {
        Self { rights: self.rights.iter().cloned().chain(more).collect(), ..self.clone() }
    }

    /// Whether a server may be used, by its name in the config.
    pub fn allows_server(&self, name: &str) -> bool {
        self.rights.iter().all(|rights| rights.allows_server(name))
    }

    pub fn allows_method(&self, name: &str) -> bool {
        self.rights.iter().all(|rights| rights.allows_method(name))
    }

    /// Whether a method is allowed by a pattern, rather than for want of one.
    pub fn names_method(&self, name: &str) -> bool {
        let names = |rights: &Arc<Rights>| !rights.methods.allow.is_empty();
        self.allows_method(name) && self.rights.iter().any(names)
    }
}

impl Default for Identity {
    fn default() -> Self {
        Self::owner()
    }
}

/// Recognises the tokens of clients. Replace it for another policy. One identity has one `Arc`: a client is
/// known by it when [`Event::Revoked`](crate::Event::Revoked) names it.
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// The identity of this token; `None` if the token is unknown, expired or revoked.
    fn identify(&self, token: &str) -> Option<Arc<Identity>>;

    /// Whether a token that was recognised before is still valid. Asked when its client connects: the token
    /// may have been revoked since its front looked.
    fn is_valid(&self, identity: &Arc<Identity>) -> bool;
}

/// An authenticator that knows no tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTokens;

impl Authenticator for NoTokens {
    fn identify(&self, _token: &str) -> Option<Arc<Identity>> {
        None
    }

    fn is_valid(&self, _identity: &Arc<Identity>) -> bool {
        false
    }
}
