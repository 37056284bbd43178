//! Tokens of a running process: recognised while they are valid, and no longer.

use super::*;
use crate::tokens::entry::{NewToken, RightsEntry};
use std::fs;
use std::time::Duration;
use switchboard_core::access::Patterns;

struct House {
    folder: PathBuf,
    store: Arc<TokenStore>,
}

impl House {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sb-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let servers = Patterns { allow: vec!["files".into()], ..Patterns::default() };
        let work = Arc::new(Rights { servers, ..Rights::default() });
        let store = TokenStore::new(&folder, vec![("work".into(), work)]);
        Self { folder, store }
    }

    fn create(&self, new: NewToken) -> Secret {
        TokenFile::new(&self.folder).create(new).unwrap().1
    }

    fn revoke(&self, name: &str) {
        TokenFile::new(&self.folder).revoke(name).unwrap();
    }

    fn identify(&self, secret: &Secret) -> Option<Arc<Identity>> {
        self.store.identify(secret.expose())
    }

    /// Names of identities that are no longer valid.
    fn ended(&self) -> Vec<String> {
        self.store.refresh().ended.iter().map(|identity| identity.name.to_string()).collect()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn named(name: &str) -> NewToken {
    NewToken { name: name.to_owned(), ..NewToken::default() }
}

/// The clients of a token that ended meanwhile are disconnected all the same.
#[test]
fn early_reading_loses_no_revocation() {
    let house = House::new("early");
    let ci = house.create(named("ci"));
    assert!(house.identify(&ci).is_some());
    house.revoke("ci");
    let qa = house.create(named("qa"));
    assert!(house.identify(&qa).is_some() && house.identify(&ci).is_none());
    assert_eq!((house.ended(), house.ended()), (vec!["ci".to_owned()], Vec::new()));
}

#[test]
fn tokens_are_parties_of_their_own() {
    let house = House::new("parties");
    let (ci, qa) = (house.create(named("ci")), house.create(named("qa")));
    assert!(house.identify(&ci).is_some(), "a new token counts at once");
    assert_eq!(house.ended(), Vec::<String>::new());
    let [one, other] = [&ci, &qa].map(|secret| house.identify(secret).unwrap());
    assert_eq!((&*one.name, &*other.name), ("ci", "qa"));
    assert!(one.principal != other.principal);
    for party in [&one, &other] {
        assert!(party.principal > Principal::ANONYMOUS && house.store.is_valid(party));
        assert!(party.rights.is_empty() && party.limits.is_open());
    }
    assert!(Arc::ptr_eq(&one, &house.identify(&ci).unwrap()));
    for wrong in ["", "swb_", "ci", &ci.expose()[1..], &format!("{}0", ci.expose())] {
        assert_eq!(house.store.identify(wrong), None, "{wrong}");
    }
}

#[test]
fn revoked_token_ends_once() {
    let house = House::new("revoked");
    let ci = house.create(named("ci"));
    house.ended();
    let before = house.identify(&ci).unwrap();
    house.create(named("qa"));
    assert_eq!(house.ended(), Vec::<String>::new(), "others do not matter");
    assert!(Arc::ptr_eq(&before, &house.identify(&ci).unwrap()));
    house.revoke("ci");
    assert_eq!(house.ended(), ["ci"]);
    assert_eq!(house.ended(), Vec::<String>::new());
    assert_eq!(house.identify(&ci), None);
    assert!(!house.store.is_valid(&before));
    let again = house.create(named("ci"));
    house.ended();
    let after = house.identify(&again).unwrap();
    assert!(after.principal != before.principal, "it is another party");
}

#[test]
fn expired_token_is_not_recognised() {
    let house = House::new("expired");
    let second = Duration::from_secs(1);
    let ci = house.create(NewToken { lifetime: Some(3600 * second), ..named("ci") });
    house.ended();
    assert!(house.identify(&ci).is_some());
    let at = house.store.next_expiry().unwrap();
    let left = at.duration_since(SystemTime::now()).unwrap();
    assert!(left <= 3600 * second && left > 3590 * second, "{left:?}");
    let later = Content::read(&house.folder);
    let refreshed = house.store.lock().take(later, at);
    assert_eq!(refreshed.ended.len(), 1);
    assert_eq!((house.identify(&ci), house.store.next_expiry()), (None, None));
}

/// Between the expiry and the next refresh, no session begins.
#[test]
fn expiry_needs_no_refresh() {
    let house = House::new("expiry");
    let (secret, hour) = (Secret::random().unwrap(), Duration::from_secs(3600));
    let then = SystemTime::now() - 2 * hour;
    let short = NewToken { lifetime: Some(hour), ..named("short") };
    let entry = TokenEntry::new(short, digest(secret.expose()), then);
    let content = Content { owner: None, tokens: vec![entry], fault: None };
    assert_eq!(house.store.lock().take(content, then).ended.len(), 0);
    assert!(house.store.next_expiry().is_some(), "it is known");
    assert_eq!(house.identify(&secret), None);
}

#[test]
fn owner_token_is_the_owner() {
    let house = House::new("owner");
    let token = owner::get(&house.folder).unwrap();
    house.ended();
    let identity = house.identify(&token).unwrap();
    assert_eq!(*identity, Identity::owner());
    assert!(house.store.is_valid(&identity) && !house.store.is_valid(&Arc::new(Identity::owner())));
    assert_eq!(house.ended(), Vec::<String>::new());
    fs::remove_file(owner::path(&house.folder)).unwrap();
    assert_eq!(house.ended(), ["owner"]);
    assert_eq!(house.identify(&token), None);
    let other = owner::get(&house.folder).unwrap();
    house.ended();
    assert!(house.identify(&other).is_some() && house.identify(&token).is_none());
}

#[test]
fn damaged_file_recognises_only_the_owner() {
    let house = House::new("damaged");
    let token = owner::get(&house.folder).unwrap();
    let ci = house.create(named("ci"));
    assert!(house.store.refresh().fault.is_none());
    assert!(house.identify(&ci).is_some());
    let path = TokenFile::new(&house.folder).path();
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, "{").unwrap();
    let refreshed = house.store.refresh();
    assert_eq!(refreshed.ended.len(), 1);
    assert!(refreshed.fault.unwrap().contains("damaged"));
    assert!(house.identify(&ci).is_none() && house.identify(&token).is_some());
    assert!(house.store.refresh().fault.is_none(), "it was told");
    fs::write(&path, good).unwrap();
    assert!(house.store.refresh().fault.is_none());
    assert!(house.identify(&ci).is_some());
    // A process that starts with a damaged file says so too.
    fs::write(&path, "{").unwrap();
    assert!(TokenStore::new(&house.folder, Vec::new()).refresh().fault.is_some());
}

#[test]
fn profile_limits_the_rights_of_a_token() {
    let house = House::new("profile");
    let rights = RightsEntry { tools: vec!["read_*".into()], ..RightsEntry::default() };
    let ci = house.create(NewToken { rights, profile: Some("work".into()), ..named("ci") });
    let lost = house.create(NewToken { profile: Some("nowhere".into()), ..named("lost") });
    house.ended();
    let may_use = |secret: &Secret, server: &str| {
        house.identify(secret).unwrap().rights.iter().all(|rights| rights.servers.allows(server))
    };
    assert!(may_use(&ci, "files") && !may_use(&ci, "github"));
    assert!(!may_use(&lost, "files"), "an unknown profile allows nothing");
    house.store.set_profiles(vec![("work".into(), Arc::new(Rights::default()))]);
    assert_eq!(house.ended(), ["ci"], "its rights are others");
    assert!(may_use(&ci, "github"));
}
