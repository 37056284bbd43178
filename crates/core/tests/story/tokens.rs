//! Tokens that stories know: `swb_owner`; `swb_red` and `swb_blue`, of two other parties; and `swb_narrow`, whose party
//! may use the server `files` only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use switchboard_core::Principal;
use switchboard_core::access::{Authenticator, Identity, Patterns, Rights};

#[derive(Debug)]
pub(crate) struct KnownTokens(Mutex<BTreeMap<&'static str, Arc<Identity>>>);

impl KnownTokens {
    pub(crate) fn new() -> Self {
        let party = |number, name: &str| Identity {
            principal: Principal(number),
            name: name.into(),
            ..Identity::default()
        };
        let files = Rights {
            servers: Patterns { allow: vec!["files".into()], ..Patterns::default() },
            ..Rights::default()
        };
        let all = [
            ("owner", Identity::owner()),
            ("red", party(7, "red")),
            ("blue", party(8, "blue")),
            ("narrow", Identity { rights: vec![files.into()], ..party(9, "narrow") }),
        ];
        Self(Mutex::new(all.map(|(name, identity)| (name, identity.into())).into()))
    }

    pub(crate) fn revoke(&self, name: &str) -> Arc<Identity> {
        self.0.lock().expect("no panic before").remove(name).expect("a known token")
    }
}

impl KnownTokens {
    /// Revokes a token and creates it anew under the same name, for another party.
    pub(crate) fn replace(&self, name: &'static str, number: u32) -> Arc<Identity> {
        let anew = Identity { principal: Principal(number), name: name.into(), ..Identity::default() };
        let before = self.0.lock().expect("no panic before").insert(name, anew.into());
        before.expect("a known token")
    }
}

impl Authenticator for KnownTokens {
    fn identify(&self, token: &str) -> Option<Arc<Identity>> {
        self.0.lock().expect("no panic before").get(token.strip_prefix("swb_")?).cloned()
    }

    fn is_valid(&self, identity: &Arc<Identity>) -> bool {
        self.0.lock().expect("no panic before").values().any(|known| Arc::ptr_eq(known, identity))
    }
}
