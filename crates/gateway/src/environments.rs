//! The environments that clients come with. Two clients share a backend only if it would be started with exactly the same
//! command, arguments and variables for both, so each such launch has a number.

use crate::config::environment::Inherited;
use crate::config::{InheritEnv, ServerConfig, expand};
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The variables of one client.
#[derive(Default)]
pub(crate) struct Vars {
    all: Vec<(OsString, OsString)>,
    /// What servers get of them. Most servers get the same, and choosing takes longer than all else that is done for one.
    selections: Mutex<Vec<Arc<Selection>>>,
}

/// What servers with the same `inheritEnv` and `passEnv` get.
struct Selection {
    inherit: InheritEnv,
    pass: Vec<String>,
    gets: Inherited,
    /// Over `gets`.
    mark: [u8; 32],
    /// What is kept for those whose entry names no variable.
    kept: Arc<Vars>,
}

impl Vars {
    pub(crate) fn own() -> Self {
        Self::new(std::env::vars_os().collect())
    }

    pub(crate) fn new(all: Vec<(OsString, OsString)>) -> Self {
        Self { all, selections: Mutex::default() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        self.all.iter().find(|(known, _)| is_same(known, name)).map(|(_, value)| value.clone())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.all.iter().cloned()
    }

    fn selection(&self, server: &ServerConfig) -> Arc<Selection> {
        let (inherit, pass) = (server.inherit_env, &server.pass_env);
        let mut selections = self.selections.lock().unwrap_or_else(PoisonError::into_inner);
        let known = selections.iter().find(|known| known.inherit == inherit && known.pass == *pass);
        if let Some(known) = known {
            return known.clone();
        }
        let gets = Inherited::new(self.all(), inherit, pass);
        let mark = mark_of(gets.vars());
        let kept = Arc::new(self.keeping(&gets, |_| false));
        let selection = Arc::new(Selection { inherit, pass: pass.clone(), gets, mark, kept });
        selections.push(selection.clone());
        selection
    }

    /// Those that the server gets, or that its entry may name. Of the rest only the names, for the hint that it may miss one
    /// of them: their values are nobody's business.
    fn for_server(&self, server: &ServerConfig) -> Arc<Self> {
        let is_named = |name: &str| server.texts().any(|text| text.contains(name));
        let names_none = !server.texts().any(|text| text.contains("${"));
        match server.remote {
            Some(_) => Arc::new(self.keeping(&Inherited::default(), is_named)),
            None if names_none => self.selection(server).kept.clone(),
            None => Arc::new(self.keeping(&self.selection(server).gets, is_named)),
        }
    }

    fn keeping(&self, gets: &Inherited, is_named: impl Fn(&str) -> bool) -> Self {
        // HOME may stand behind a `~`.
        let is_kept = |name: &OsStr| match name.to_str() {
            Some(name) => name == "HOME" || gets.has(name) || is_named(name),
            None => gets.vars().any(|(known, _)| known == name),
        };
        let kept = |(name, value): &(OsString, OsString)| {
            (name.clone(), if is_kept(name) { value.clone() } else { OsString::new() })
        };
        Self::new(self.all.iter().map(kept).collect())
    }
}

fn is_same(known: &OsStr, name: &str) -> bool {
    if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { known == name }
}

/// Which number stands for which variables.
#[derive(Default)]
pub(crate) struct Environments(Mutex<Vec<([u8; 32], Arc<Vars>)>>);

impl Environments {
    /// The number for a client with these variables, as far as one server is concerned.
    pub(crate) fn number(&self, server: &ServerConfig, vars: &Arc<Vars>) -> u32 {
        let mark = fingerprint(server, vars);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|(other, _)| *other == mark).unwrap_or_else(|| {
            known.push((mark, vars.for_server(server)));
            known.len() - 1
        });
        at as u32
    }

    pub(crate) fn vars(&self, number: u32) -> Arc<Vars> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(number as usize).map(|(_, vars)| vars.clone()).unwrap_or_default()
    }
}

/// What exec would get, the root left open.
fn fingerprint(server: &ServerConfig, vars: &Vars) -> [u8; 32] {
    let parts = expand::launch_parts(server, Some(Path::new("/root")), &|name| vars.get(name));
    let mut hash = Marking::default();
    hash.put(&server.name);
    let own = match &parts {
        Ok(parts) => {
            hash.put(&parts.command);
            parts.args.iter().for_each(|arg| hash.put(arg));
            hash.put(parts.cwd.as_deref().unwrap_or(Path::new("")));
            if let Some((url, headers)) = &parts.remote {
                hash.put(url);
                headers.iter().for_each(|(name, value)| hash.put_pair(name, value));
            }
            &parts.env[..]
        }
        Err(error) => {
            hash.put(error.to_string());
            &[]
        }
    };
    // A server elsewhere gets no variables: those who differ in nothing else share it.
    if server.remote.is_some() {
        return hash.end();
    }
    own.iter().for_each(|(name, value)| hash.put_pair(name, value));
    let selection = vars.selection(server);
    let is_replaced = |name: &OsStr| own.iter().any(|(own, _)| is_same(name, own));
    let mark = match own.iter().any(|(name, _)| selection.gets.has(name)) {
        true => mark_of(selection.gets.vars().filter(|(name, _)| !is_replaced(name))),
        false => selection.mark,
    };
    hash.0.update(mark);
    hash.end()
}

fn mark_of<'a>(vars: impl Iterator<Item = &'a (OsString, OsString)>) -> [u8; 32] {
    let mut hash = Marking::default();
    vars.for_each(|(name, value)| hash.put_pair(name, value));
    hash.end()
}

/// A hash of texts, which keeps them apart.
#[derive(Default)]
struct Marking(Sha256);

impl Marking {
    fn put(&mut self, text: impl AsRef<OsStr>) {
        let bytes = text.as_ref().as_encoded_bytes();
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }

    fn put_pair(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.put(name);
        self.put(value);
    }

    fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Arc<Vars> {
        Arc::new(Vars::new(pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }

    #[test]
    fn only_what_reaches_the_server_tells_clients_apart() {
        let environments = Environments::default();
        let server = ServerConfig::for_command("s", "cmd", Vec::new());
        let number = |pairs: &[(&str, &str)]| environments.number(&server, &vars(pairs));
        let one = number(&[("PATH", "/bin"), ("WINDOWID", "1")]);
        assert_eq!(number(&[("PATH", "/bin"), ("WINDOWID", "2")]), one, "it does not get that one");
        let other = number(&[("PATH", "/nvm/bin:/bin"), ("WINDOWID", "1")]);
        assert_ne!(other, one);
        assert_eq!(environments.vars(other).get("PATH"), Some("/nvm/bin:/bin".into()));
    }

    #[test]
    fn a_server_elsewhere_is_told_apart_by_what_it_is_sent() {
        use crate::config::{RemoteConfig, Transport};
        let environments = Environments::default();
        let remote = RemoteConfig {
            url: "https://${HOST}/mcp".to_owned(),
            headers: vec![("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned())].into(),
            transport: Transport::Auto,
        };
        let server = ServerConfig {
            remote: Some(remote),
            expand: true,
            ..ServerConfig::for_command("s", "", Vec::new())
        };
        let number = |pairs: &[(&str, &str)]| environments.number(&server, &vars(pairs));
        let one = number(&[("HOST", "a"), ("TOKEN", "1"), ("PATH", "/bin")]);
        assert_eq!(number(&[("HOST", "a"), ("TOKEN", "1"), ("PATH", "/other")]), one, "it gets no variables");
        assert_ne!(number(&[("HOST", "a"), ("TOKEN", "2")]), one);
        assert_ne!(number(&[("HOST", "b"), ("TOKEN", "1")]), one);
        assert_eq!(environments.vars(one).get("TOKEN"), Some("1".into()));
        assert_eq!(environments.vars(one).get("PATH"), Some("".into()), "its value is nobody's business");
    }

    #[test]
    fn what_the_servers_own_replaces_tells_nobody_apart() {
        let environments = Environments::default();
        let mut server = ServerConfig::for_command("s", "cmd", Vec::new());
        server.env.push(("PATH".to_owned(), "/own".to_owned()));
        let number = |pairs: &[(&str, &str)]| environments.number(&server, &vars(pairs));
        let one = number(&[("PATH", "/bin"), ("LANG", "C")]);
        assert_eq!(number(&[("PATH", "/other"), ("LANG", "C")]), one);
        assert_ne!(number(&[("PATH", "/bin"), ("LANG", "de")]), one);
    }

    #[test]
    fn servers_that_get_others_are_told_apart() {
        let environments = Environments::default();
        let pairs = vars(&[("FOO", "1"), ("PATH", "/bin")]);
        let usual = ServerConfig::for_command("s", "cmd", Vec::new());
        let passing = ServerConfig { pass_env: vec!["F*".to_owned()], ..usual.clone() };
        let of = |server| environments.vars(environments.number(server, &pairs)).get("FOO");
        assert_eq!((of(&usual), of(&passing)), (Some("".into()), Some("1".into())));
    }

    #[test]
    fn what_is_filled_into_the_command_counts_too() {
        let environments = Environments::default();
        let args = vec!["--token=${TOKEN}".to_owned()];
        let server = ServerConfig { expand: true, ..ServerConfig::for_command("s", "cmd", args) };
        let number = |token: &str| environments.number(&server, &vars(&[("TOKEN", token)]));
        assert_ne!(number("a"), number("b"));
        assert_eq!(number("a"), number("a"));
    }
}
