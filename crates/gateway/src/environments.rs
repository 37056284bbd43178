//! Environments of clients, and the variables that matter when clients share a backend. The core gets names
//! and digests of values, and returns whose variables a backend is started with.
//!
//! Three kinds of variables reach a server:
//! - *named* ones, which its entry requests (`passEnv`, `${VAR}`, all with `inheritEnv: all`): a different
//!   value means a different backend;
//! - *common* ones, of the safe list: a client joins a backend that has all of its own;
//! - *session* ones (`config::separating`), which describe the session rather than the machine:
//!   they never separate clients.

use crate::command_line::Runner;
use crate::config::environment::{self, Inherited, TOLD, is_named};
use crate::config::folders::HOME_VARIABLES;
use crate::config::separating::separates;
use crate::config::{InheritEnv, ServerConfig, expand};
use crate::tokens::TOKEN_VARIABLE;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use switchboard_core::Environment;
use switchboard_core::environment::{Source, ValueDigest, Variable, Variables};
use switchboard_process::child;
use switchboard_process::lock::Lock;

/// Variables of one client.
#[derive(Default)]
pub(crate) struct Vars {
    all: Vec<(OsString, OsString)>,
    /// Cache of the servers' selections. Most servers get the same variables, and selecting
    /// them is the most expensive step.
    selections: Lock<Vec<Arc<Selection>>>,
    /// Cache of the files that commands were found at.
    programs: Lock<HashMap<String, ValueDigest>>,
}

/// Variables for servers with equal `inheritEnv`, `passEnv` and package runner.
struct Selection {
    inherit: InheritEnv,
    runner: Option<Runner>,
    pass: Vec<String>,
    gets: Inherited,
    named: Vec<Variable>,
    common: Variables,
    /// Variables to keep for servers whose entry names none.
    kept: Arc<Vars>,
}

impl Vars {
    pub(crate) fn own() -> Self {
        Self::new(std::env::vars_os().collect())
    }

    /// Without the variable of the client's token: it is for us, and never for a server.
    pub(crate) fn new(mut all: Vec<(OsString, OsString)>) -> Self {
        all.retain(|(name, _)| !is_same(name, TOKEN_VARIABLE));
        Self { all, ..Self::default() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        self.all.iter().find(|(known, _)| is_same(known, name)).map(|(_, value)| value.clone())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.all.iter().cloned()
    }

    /// Variables of all clients that share a backend. Where values differ, the first client's win.
    pub(crate) fn of(environment: &Environment) -> Arc<Self> {
        let mut sources = environment.sources().filter_map(Source::get::<Self>);
        let Some(first) = sources.next() else { return Arc::default() };
        // Copied only if there is a second client.
        let mut all: Option<Vec<(OsString, OsString)>> = None;
        for source in sources {
            let all = all.get_or_insert_with(|| first.all.clone());
            let is_new = |name: &OsStr| !all.iter().any(|(known, _)| is_same(known, name));
            let new: Vec<_> = source.all.iter().filter(|(name, _)| is_new(name)).cloned().collect();
            all.extend(new);
        }
        all.map_or(first, |all| Arc::new(Self::new(all)))
    }

    fn selection(&self, server: &ServerConfig) -> Arc<Selection> {
        let (inherit, pass) = (server.inherit_env, &server.pass_env);
        let runner = environment::runner_of(server);
        // Held while selecting, so that equal selections are made once.
        let mut selections = self.selections.lock();
        let is_it = |known: &&Arc<Selection>| {
            known.inherit == inherit && known.runner == runner && known.pass == *pass
        };
        if let Some(known) = selections.iter().find(is_it) {
            return known.clone();
        }
        let gets = Inherited::of_server(self.all(), server);
        let (mut named, mut common) = (Vec::new(), Vec::new());
        for (key, (name, value)) in gets.keyed() {
            let text = name.to_string_lossy();
            let variable = || Variable { name: key.into(), value: digest(value) };
            // Many programs treat `HTTPS_PROXY` and `https_proxy` as one variable.
            let folded = || Variable { name: key.to_uppercase().into(), value: digest(value) };
            match () {
                // The standard value that every server is told says nothing about the client.
                () if TOLD.iter().any(|(told, usual)| *told == text && value == usual) => {}
                () if is_named(&text, inherit, pass) => named.push(variable()),
                () if separates(&text) => common.push(folded()),
                // A session variable is passed on, but never a reason to separate.
                () => {}
            }
        }
        let kept = Arc::new(self.keeping(&gets, |_| false));
        let common = sorted(common);
        let selection =
            Arc::new(Selection { inherit, runner, pass: pass.clone(), gets, named, common, kept });
        selections.push(selection.clone());
        selection
    }

    /// Variables that the server gets, or that its entry may name. The rest have their values removed; their
    /// names are kept for the hint about withheld variables.
    fn for_server(&self, server: &ServerConfig) -> Arc<Self> {
        // A substring match may keep too many values, but never too few.
        let is_named = |name: &str| server.texts().any(|text| text.contains(name));
        let names_none = !server.texts().any(|text| text.contains("${"));
        match server.remote {
            Some(_) => Arc::new(self.keeping(&Inherited::default(), is_named)),
            None if names_none => self.selection(server).kept.clone(),
            None => Arc::new(self.keeping(&self.selection(server).gets, is_named)),
        }
    }

    fn keeping(&self, gets: &Inherited, is_named: impl Fn(&str) -> bool) -> Self {
        // Needed for `~`, and as the working folder of servers without a workspace.
        let is_kept = |name: &OsStr| match name.to_str() {
            Some(name) => HOME_VARIABLES.contains(&name) || gets.has(name) || is_named(name),
            // A name that is not Unicode can only be inherited: no setting can name it.
            None => gets.vars().any(|(known, _)| known == name),
        };
        let kept = |(name, value): &(OsString, OsString)| {
            (name.clone(), if is_kept(name) { value.clone() } else { OsString::new() })
        };
        Self::new(self.all.iter().map(kept).collect())
    }

    /// Digest of the file that a command is found at in this client's PATH.
    fn program(&self, command: &str) -> ValueDigest {
        let mut known = self.programs.lock();
        *known.entry(command.to_owned()).or_insert_with(|| {
            let path = self.get("PATH");
            let found = child::resolve(OsStr::new(command), path.as_deref(), None);
            // Clients that do not find the program count as equal.
            found.map(|file| digest(file.as_os_str())).unwrap_or_default()
        })
    }
}

/// Environment of a client with these variables at a server.
pub(crate) fn environment(server: &ServerConfig, vars: &Arc<Vars>) -> Environment {
    let source = Some(Source::new(vars.for_server(server)));
    let filled_in = filled_in(server, vars);
    // Remote servers get no variables.
    if server.remote.is_some() {
        return Environment::new(sorted(filled_in), Arc::default(), source);
    }
    let selection = vars.selection(server);
    // Variables that the entry sets are the same for all clients.
    let is_replaced = |name: &str| server.env.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let is_inherited = |variable: &&Variable| !is_replaced(&variable.name);
    let mut named = filled_in;
    named.extend(selection.named.iter().filter(is_inherited).cloned());
    let command = expand::command(server, &|name| vars.get(name));
    let is_searched = !command.contains(std::path::is_separator) && !is_replaced("PATH");
    if is_searched && !named.iter().any(|variable| is_same(OsStr::new(&*variable.name), "PATH")) {
        // PATH itself differs between windows; only the program that it leads to matters.
        named.push(Variable { name: "PATH".into(), value: vars.program(&command) });
    }
    let common = match selection.common.iter().any(|variable| is_replaced(&variable.name)) {
        true => selection.common.iter().filter(is_inherited).cloned().collect(),
        false => selection.common.clone(),
    };
    Environment::new(sorted(named), common, source)
}

/// Variables that are expanded in a server's entry.
fn filled_in(server: &ServerConfig, vars: &Vars) -> Vec<Variable> {
    let lookup = |name: &str| vars.get(name);
    let filled = expand::variables(server, &lookup).into_iter();
    filled
        .map(|(name, value)| Variable {
            name: name.into(),
            value: value.map(|value| digest(&value)).unwrap_or_default(),
        })
        .collect()
}

/// Sorted by name, without duplicates. For a name with two values, the digest covers both.
fn sorted(variables: Vec<Variable>) -> Variables {
    let mut known: BTreeMap<Arc<str>, ValueDigest> = BTreeMap::new();
    for Variable { name, value } in variables {
        let all = known.entry(name).or_default();
        *all = match *all == ValueDigest::default() || *all == value {
            true => value,
            false => digest_of(&[&all[..], &value[..]]),
        };
    }
    known.into_iter().map(|(name, value)| Variable { name, value }).collect()
}

fn digest(value: &OsStr) -> ValueDigest {
    digest_of(&[value.as_encoded_bytes()])
}

fn digest_of(parts: &[&[u8]]) -> ValueDigest {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let whole: [u8; 32] = hash.finalize().into();
    let mut digest = ValueDigest::default();
    digest.copy_from_slice(&whole[..size_of::<ValueDigest>()]);
    digest
}

fn is_same(one: &OsStr, other: impl AsRef<OsStr>) -> bool {
    let other = other.as_ref();
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Arc<Vars> {
        Arc::new(Vars::new(pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }

    /// Whether a backend that was started for the first client serves the second.
    #[track_caller]
    fn check(server: &ServerConfig, backend: &[(&str, &str)], client: &[(&str, &str)], expect: bool) {
        let [backend, client] = [backend, client].map(|pairs| environment(server, &vars(pairs)));
        assert_eq!(backend.serves(&client), expect);
    }

    fn server() -> ServerConfig {
        ServerConfig { inherit_env: InheritEnv::Safe, ..ServerConfig::for_command("s", "cmd", Vec::new()) }
    }

    #[test]
    fn only_inherited_variables_count() {
        check(&server(), &[("WINDOWID", "1")], &[("WINDOWID", "2")], true);
        check(&server(), &[("DISPLAY", ":0")], &[("DISPLAY", ":1")], false);
        check(&server(), &[("DISPLAY", ":0")], &[], true);
        check(&server(), &[], &[("DISPLAY", ":0")], false);
    }

    #[test]
    fn variables_of_the_client_never_count() {
        for name in ["CLAUDE_PROJECT_DIR", "GEMINI_CLI", "CODEX_HOME", "VSCODE_PID", "TERM", "TERM_PROGRAM"] {
            check(&server(), &[(name, "1")], &[(name, "2")], true);
            assert_eq!(Vars::of(&environment(&server(), &vars(&[(name, "1")]))).get(name), Some("".into()));
        }
    }

    #[test]
    fn session_variables_do_not_count() {
        for name in ["LANG", "LC_ALL", "NO_COLOR", "SHELL", "TMPDIR"] {
            check(&server(), &[(name, "1")], &[(name, "2")], true);
            assert_eq!(Vars::of(&environment(&server(), &vars(&[(name, "1")]))).get(name), Some("1".into()));
        }
    }

    #[test]
    fn named_variables_must_be_equal() {
        let passing = ServerConfig { pass_env: vec!["F*".to_owned()], ..server() };
        check(&passing, &[("FOO", "1")], &[("FOO", "1")], true);
        check(&passing, &[("FOO", "1")], &[("FOO", "2")], false);
        check(&passing, &[("FOO", "1")], &[], false);
        let all = ServerConfig { inherit_env: InheritEnv::All, ..server() };
        check(&all, &[("LANG", "C")], &[("LANG", "de")], false);
        let args = vec!["--token=${TOKEN}".to_owned(), "${HOST:-a}".to_owned()];
        let filled = ServerConfig { expand: true, args, ..server() };
        check(&filled, &[("TOKEN", "1")], &[("TOKEN", "1")], true);
        check(&filled, &[("TOKEN", "1")], &[("TOKEN", "2")], false);
        check(&filled, &[("TOKEN", "1")], &[("TOKEN", "1"), ("HOST", "a")], true);
        check(&filled, &[("TOKEN", "1")], &[("TOKEN", "1"), ("HOST", "b")], false);
    }

    #[test]
    fn remote_servers_get_no_variables() {
        use crate::config::{RemoteConfig, Transport};
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
        let own = [("HOST", "a"), ("TOKEN", "1"), ("DISPLAY", ":0")];
        check(&server, &own, &[("HOST", "a"), ("TOKEN", "1"), ("DISPLAY", ":1")], true);
        check(&server, &own, &[("HOST", "a"), ("TOKEN", "2")], false);
        check(&server, &own, &[("HOST", "b"), ("TOKEN", "1")], false);
        let kept = Vars::of(&environment(&server, &vars(&own)));
        assert_eq!(kept.get("TOKEN"), Some("1".into()));
        assert_eq!(kept.get("DISPLAY"), Some("".into()), "its value is nobody's business");
    }

    #[test]
    fn variables_set_by_the_entry_do_not_count() {
        let mut server = server();
        server.env.push(("DISPLAY".to_owned(), ":9".to_owned()));
        check(&server, &[("DISPLAY", ":0"), ("TZ", "a")], &[("DISPLAY", ":1"), ("TZ", "a")], true);
        check(&server, &[("TZ", "a")], &[("TZ", "b")], false);
    }

    #[cfg(unix)]
    #[test]
    fn path_counts_by_the_program_it_finds() {
        let shell = ServerConfig { command: "sh".to_owned(), ..server() };
        check(&shell, &[("PATH", "/bin")], &[("PATH", "/bin:/opt/elsewhere")], true);
        check(&shell, &[("PATH", "/bin")], &[("PATH", "/nowhere")], false);
        let absolute = ServerConfig { command: "/bin/sh".to_owned(), ..server() };
        check(&absolute, &[("PATH", "/bin")], &[("PATH", "/nowhere")], true);
    }

    #[test]
    fn backend_gets_variables_of_all_clients() {
        let [one, other] = [
            &[("DISPLAY", ":0"), ("LANG", "C")][..],
            &[("SSH_AUTH_SOCK", "/s"), ("TZ", "x"), ("LANG", "de"), ("TERM", "xterm")],
        ]
        .map(|pairs| environment(&server(), &vars(pairs)));
        let both = Vars::of(&one.merged(&other).unwrap());
        let value = |name: &str| both.get(name).unwrap().into_string().unwrap();
        assert_eq!(["DISPLAY", "SSH_AUTH_SOCK", "TZ", "LANG"].map(value), [":0", "/s", "x", "de"]);
    }

    /// Merged, one client's proxy or registry would be used for the other.
    #[cfg(unix)]
    #[test]
    fn spellings_of_a_name_are_one_variable() {
        let npx = ServerConfig {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "x".to_owned()],
            ..server()
        };
        for (one, other) in [("NPM_CONFIG_REGISTRY", "npm_config_registry"), ("HTTPS_PROXY", "https_proxy")] {
            check(&npx, &[(one, "https://a/")], &[(other, "https://b/")], false);
            check(&npx, &[(one, "https://a/")], &[(other, "https://a/")], true);
            check(&npx, &[(one, "https://a/"), (other, "https://a/")], &[(other, "https://a/")], true);
        }
    }
}
