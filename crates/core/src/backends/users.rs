//! The clients that have used a process. An unsolicited message of a server may concern any of them, even
//! after their requests are done, so only a process with a single user can be attributed with certainty. Must
//! not know clients except by number.

use crate::ids::{ClientId, Principal};
use switchboard_protocol::Method;

/// Clients in the order in which they first used the current process of a backend.
#[derive(Debug, Default)]
pub(crate) struct Users {
    known: Vec<User>,
    /// Principals of users that have left.
    gone: Principals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct User {
    /// The client with the connection, never a delegate.
    client: ClientId,
    principal: Principal,
}

/// The principals of a process's users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Principals {
    #[default]
    Nobody,
    One(Principal),
    Several,
}

impl Principals {
    fn and(self, principal: Principal) -> Self {
        match self {
            Self::Nobody => Self::One(principal),
            Self::One(same) if same == principal => self,
            Self::One(_) | Self::Several => Self::Several,
        }
    }
}

impl Users {
    pub(crate) fn record(&mut self, client: ClientId, principal: Principal) {
        if !self.known.iter().any(|user| user.client == client) {
            self.known.push(User { client, principal });
        }
    }

    /// Forgets a client that has left for good, but remembers its principal.
    pub(crate) fn forget(&mut self, client: ClientId) {
        for user in self.known.extract_if(.., |user| user.client == client) {
            self.gone = self.gone.and(user.principal);
        }
    }

    /// Records that one client goes on in place of another one of the same principal.
    pub(crate) fn replace(&mut self, client: ClientId, with: ClientId) {
        let is_known = self.known.iter().any(|user| user.client == with);
        match self.known.iter().position(|user| user.client == client) {
            Some(at) if is_known => drop(self.known.remove(at)),
            Some(at) => self.known[at].client = with,
            None => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.gone == Principals::Nobody
    }

    /// The only client that has ever used the process.
    pub(crate) fn sole(&self) -> Option<ClientId> {
        match (&self.known[..], self.gone) {
            // Users that have left still count: the server may be working for them.
            ([only], Principals::Nobody) => Some(only.client),
            _ => None,
        }
    }

    /// Whether there were users, and all have left.
    pub(crate) fn are_forgotten(&self) -> bool {
        self.known.is_empty() && self.gone != Principals::Nobody
    }

    /// Whether there were users other than this client.
    pub(crate) fn has_others(&self, client: ClientId) -> bool {
        self.gone != Principals::Nobody || self.known.iter().any(|user| user.client != client)
    }

    /// The principals of all users.
    pub(crate) fn principals(&self) -> Principals {
        self.known.iter().fold(self.gone, |gone, user| gone.and(user.principal))
    }

    /// In order of first use.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ClientId> {
        self.known.iter().map(|user| user.client)
    }
}

/// Whether a request counts as use: handshakes, pings, lists and log levels reveal nothing of a client's work.
pub(crate) fn is_use(method: Method) -> bool {
    !matches!(
        method,
        Method::Initialize
            | Method::Discover
            | Method::Ping
            | Method::SetLevel
            | Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourceTemplatesList
            | Method::TasksList
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ClientId = ClientId(1);
    const TWO: ClientId = ClientId(2);
    const OTHER: Principal = Principal(1);

    #[test]
    fn a_user_that_left_still_counts() {
        let mut users = Users::default();
        assert!(users.is_empty() && users.sole().is_none());
        users.record(ONE, Principal::OWNER);
        users.record(ONE, Principal::OWNER);
        assert_eq!(users.sole(), Some(ONE));
        users.forget(ONE);
        assert!(users.are_forgotten() && !users.is_empty());
        users.record(TWO, Principal::OWNER);
        assert_eq!(users.sole(), None);
        assert!(users.has_others(TWO));
        assert_eq!(users.principals(), Principals::One(Principal::OWNER));
    }

    #[test]
    fn replaced_user_is_no_other_user() {
        let mut users = Users::default();
        users.record(ONE, OTHER);
        users.replace(TWO, ClientId(3));
        assert_eq!(users.sole(), Some(ONE));
        users.replace(ONE, TWO);
        assert_eq!((users.sole(), users.principals()), (Some(TWO), Principals::One(OTHER)));
        users.record(ONE, OTHER);
        users.replace(TWO, ONE);
        assert_eq!(users.sole(), Some(ONE));
    }

    #[test]
    fn principals_of_users_are_told_apart() {
        let mut users = Users::default();
        users.record(ONE, Principal::OWNER);
        assert_eq!(users.principals(), Principals::One(Principal::OWNER));
        assert!(!users.has_others(ONE));
        users.record(TWO, OTHER);
        assert_eq!(users.principals(), Principals::Several);
        assert!(users.has_others(ONE));
        users.forget(TWO);
        assert_eq!(users.principals(), Principals::Several);
    }
}
