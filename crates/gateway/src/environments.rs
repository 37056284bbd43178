//! The environments that clients come with. Two clients share a backend only if it would be started with exactly the same
//! command, arguments and variables for both, so each such launch has a number.

use crate::config::environment::child_environment;
use crate::config::{ServerConfig, expand};
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The variables of one client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vars(Vec<(OsString, OsString)>);

impl Vars {
    pub(crate) fn own() -> Self {
        Self(std::env::vars_os().collect())
    }

    pub(crate) fn new(vars: Vec<(OsString, OsString)>) -> Self {
        Self(vars)
    }

    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        self.0.iter().find(|(known, _)| is_same(known, name)).map(|(_, value)| value.clone())
    }

    /// Those that the server gets, or that its entry may name. Of the rest only the names, for the hint that it may miss one
    /// of them: their values are nobody's business.
    fn for_server(&self, server: &ServerConfig) -> Self {
        let gets = match server.remote {
            Some(_) => Default::default(),
            None => child_environment(self.all(), server.inherit_env, &server.pass_env, &[]).vars,
        };
        let texts = || {
            let own = server.env.iter().map(|(_, value)| value);
            let elsewhere = server.remote.iter().flat_map(|remote| {
                std::iter::once(&remote.url).chain(remote.headers.iter().map(|(_, value)| value))
            });
            std::iter::once(&server.command)
                .chain(&server.args)
                .chain(own)
                .chain(&server.cwd)
                .chain(elsewhere)
        };
        // HOME may stand behind a `~`.
        let is_named = |name: &str| name == "HOME" || texts().any(|text| text.contains(name));
        let is_kept = |name: &OsString| {
            gets.iter().any(|(known, _)| known == name) || name.to_str().is_some_and(is_named)
        };
        let kept = |(name, value)| if is_kept(&name) { (name, value) } else { (name, OsString::new()) };
        Self(self.all().map(kept).collect())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0.iter().cloned()
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
            known.push((mark, Arc::new(vars.for_server(server))));
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
    let mut hash = Sha256::new();
    let mut put = |text: &OsStr| {
        let bytes = text.as_encoded_bytes();
        hash.update(bytes.len().to_le_bytes());
        hash.update(bytes);
    };
    put(server.name.as_ref());
    let own = match &parts {
        Ok(parts) => {
            put(parts.command.as_ref());
            parts.args.iter().for_each(|arg| put(arg.as_ref()));
            put(parts.cwd.as_deref().unwrap_or(Path::new("")).as_os_str());
            if let Some((url, headers)) = &parts.remote {
                put(url.as_ref());
                for (name, value) in headers.iter() {
                    put(name.as_ref());
                    put(value.as_ref());
                }
            }
            &parts.env[..]
        }
        Err(error) => {
            put(error.to_string().as_ref());
            &[]
        }
    };
    // A server elsewhere gets no variables: those who differ in nothing else share it.
    if server.remote.is_some() {
        return hash.finalize().into();
    }
    for (name, value) in child_environment(vars.all(), server.inherit_env, &server.pass_env, own).vars {
        put(&name);
        put(&value);
    }
    hash.finalize().into()
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
    fn what_is_filled_into_the_command_counts_too() {
        let environments = Environments::default();
        let args = vec!["--token=${TOKEN}".to_owned()];
        let server = ServerConfig { expand: true, ..ServerConfig::for_command("s", "cmd", args) };
        let number = |token: &str| environments.number(&server, &vars(&[("TOKEN", token)]));
        assert_ne!(number("a"), number("b"));
        assert_eq!(number("a"), number("a"));
    }
}
