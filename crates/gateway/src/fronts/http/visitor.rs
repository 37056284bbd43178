//! The party that sends a request: recognised by its token, or anonymous where none is needed. Must not know
//! rights.

use super::gate::{Credentials, Refused};
use crate::tokens::secret::same;
use std::sync::Arc;
use switchboard_core::Principal;
use switchboard_core::access::{Authenticator, Identity, Proof};
use switchboard_protocol::{Message, Parsed, ShownToken};

/// The party that sends a request.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    identity: Arc<Identity>,
    proof: Proof,
    /// Credentials that no one knows: they tell anonymous clients apart.
    mark: Option<Box<[u8]>>,
}

impl Visitor {
    /// Switchboard itself, on behalf of the owner.
    pub(super) fn ourselves() -> Self {
        Self { identity: Arc::default(), proof: Proof::Unneeded, mark: None }
    }

    /// The party of these credentials. Without `anonymous`, a token is needed.
    pub(super) fn recognise(
        credentials: Credentials<'_>,
        authenticator: &dyn Authenticator,
        anonymous: Option<&Arc<Identity>>,
    ) -> Result<Self, Refused> {
        if let Credentials::Bearer(token) = credentials
            && let Some(identity) = authenticator.identify(token)
        {
            return Ok(Self { identity, proof: Proof::Checked, mark: None });
        }
        let mark = match credentials {
            Credentials::None => None,
            Credentials::Bearer(token) => Some(token.as_bytes()),
            Credentials::Other(bytes) => Some(bytes),
        };
        match (anonymous, mark) {
            (Some(anonymous), mark) => {
                Ok(Self { identity: anonymous.clone(), proof: Proof::Unneeded, mark: mark.map(Box::from) })
            }
            (None, None) => Err(Refused::NoToken),
            (None, Some(_)) => Err(Refused::WrongToken),
        }
    }

    /// The party whose token the messages of a body show. All that show one must show the same.
    pub(super) fn of_body(said: &Parsed, authenticator: &dyn Authenticator) -> Result<Self, Refused> {
        let shown: Vec<ShownToken> = match said {
            Parsed::One(message) => message.shown_token().into_iter().collect(),
            Parsed::Batch(members) => members.iter().flatten().filter_map(Message::shown_token).collect(),
        };
        let Some(first) = shown.first() else { return Err(Refused::NoToken) };
        match first {
            ShownToken::Text(token) if shown.iter().all(|other| other == first) => {
                Self::recognise(Credentials::Bearer(token), authenticator, None)
            }
            ShownToken::Text(_) | ShownToken::Unreadable => Err(Refused::WrongToken),
        }
    }

    pub(super) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    pub(super) fn proof(&self) -> Proof {
        self.proof.clone()
    }

    /// Whether another request came from the same party.
    pub(super) fn is(&self, other: &Self) -> bool {
        let marks = [self, other].map(|it| it.mark.as_deref().unwrap_or_default());
        // Constant time, since credentials are secret.
        Arc::ptr_eq(&self.identity, &other.identity) && same(marks[0], marks[1])
    }

    /// Whether the party may name folders of this machine: only the owner, who could read them anyway. Others could
    /// make a server work in any folder.
    pub(super) fn may_name_folders(&self) -> bool {
        self.identity.principal == Principal::OWNER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows one token.
    #[derive(Debug)]
    struct OneToken(Arc<Identity>);

    impl Authenticator for OneToken {
        fn identify(&self, token: &str) -> Option<Arc<Identity>> {
            (token == "right").then(|| self.0.clone())
        }

        fn is_valid(&self, identity: &Arc<Identity>) -> bool {
            Arc::ptr_eq(identity, &self.0)
        }
    }

    fn known() -> OneToken {
        OneToken(Arc::new(Identity { principal: Principal(7), name: "ci".into(), ..Identity::default() }))
    }

    #[test]
    fn token_is_needed_unless_turned_off() {
        let known = known();
        let with_token = |credentials| Visitor::recognise(credentials, &known, None);
        assert_eq!(with_token(Credentials::None).unwrap_err(), Refused::NoToken);
        assert_eq!(with_token(Credentials::Bearer("wrong")).unwrap_err(), Refused::WrongToken);
        assert_eq!(with_token(Credentials::Other(b"right")).unwrap_err(), Refused::WrongToken);
        assert_eq!(&*with_token(Credentials::Bearer("right")).unwrap().identity().name, "ci");
        let anonymous = Arc::new(Identity::anonymous());
        let without = |credentials| Visitor::recognise(credentials, &known, Some(&anonymous)).unwrap();
        for credentials in [Credentials::None, Credentials::Bearer("wrong"), Credentials::Other(b"right")] {
            assert_eq!(&*without(credentials).identity().name, "anonymous");
        }
        assert_eq!(&*without(Credentials::Bearer("right")).identity().name, "ci");
    }

    #[test]
    fn parties_are_told_apart() {
        let (known, anonymous) = (known(), Arc::new(Identity::anonymous()));
        let of = |credentials| Visitor::recognise(credentials, &known, Some(&anonymous)).unwrap();
        let (token, nobody) = (of(Credentials::Bearer("right")), of(Credentials::None));
        let marked = of(Credentials::Bearer("some"));
        assert!(token.is(&of(Credentials::Bearer("right"))) && nobody.is(&of(Credentials::None)));
        assert!(marked.is(&of(Credentials::Bearer("some"))));
        for (one, other) in
            [(&token, &nobody), (&nobody, &marked), (&marked, &of(Credentials::Bearer("other")))]
        {
            assert!(!one.is(other) && !other.is(one));
        }
        assert!(
            Visitor::ourselves().may_name_folders()
                && !token.may_name_folders()
                && !nobody.may_name_folders()
        );
    }

    #[test]
    fn body_shows_one_token() {
        let said = |text: &str| switchboard_protocol::parse(text.to_owned().into()).unwrap();
        let with = |token: &str| {
            format!(r#"{{"id":1,"method":"x","params":{{"proxy":{{"authToken":"{token}"}}}}}}"#)
        };
        let of = |text: &str| {
            Visitor::of_body(&said(text), &known()).map(|visitor| visitor.identity().name.to_string())
        };
        assert_eq!(of(&with("right")), Ok("ci".to_owned()));
        assert_eq!(of(&with("wrong")), Err(Refused::WrongToken));
        assert_eq!(of(r#"{"id":1,"method":"x"}"#), Err(Refused::NoToken));
        assert_eq!(of(&format!(r#"[{},{{"id":2,"method":"y"}}]"#, with("right"))), Ok("ci".to_owned()));
        assert_eq!(of(&format!("[{},{}]", with("right"), with("wrong"))), Err(Refused::WrongToken));
    }
}
