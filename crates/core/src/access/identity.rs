//! The party on whose behalf a client acts.

use super::rate::CallLimits;
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

/// Recognises the tokens that clients send in their messages. Replace it for another policy.
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// The identity of this token; `None` if the token is unknown, expired or revoked.
    fn identify(&self, token: &str) -> Option<Arc<Identity>>;
}

/// An authenticator that knows no tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTokens;

impl Authenticator for NoTokens {
    fn identify(&self, _token: &str) -> Option<Arc<Identity>> {
        None
    }
}
