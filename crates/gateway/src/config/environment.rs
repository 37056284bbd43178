//! Environment variables of a server. Pure: our own variables are an argument, and
//! the result is what `exec` gets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::runner_list;
use super::safe_list::SAFE;
use super::{InheritEnv, ServerConfig, Variables, os};
use crate::command_line::{self, Runner};

/// Given to every server that inherits no other value: stdout belongs to the
/// protocol, and logs belong in a file.
pub const TOLD: &[(&str, &str)] =
    &[("MCP_STDIO_MODE", "true"), ("LOG_CONSOLE", "false"), ("LOG_STDIO", "false"), ("LOG_FILE", "true")];

/// Prefix of our own variables. They concern this process, and no server inherits them.
const OUR_PREFIX: &str = "SWITCHBOARD_";

/// Endings of runner variables whose value is a file or a folder.
const PATH_ENDINGS: &[&str] = &[
    "CONFIG",
    "CONFIG_FILE",
    "CAFILE",
    "_CERT",
    "FILE_PATH",
    "PREFIX",
    "CACHE",
    "DIR",
    "FOLDER",
    "_HOME",
    "FIND_LINKS",
    "NETRC",
];

/// Number of names in a [`withheld_hint`].
const MAX_HINTED_NAMES: usize = 8;

/// Words in a variable's name that make its value likely to be a secret.
const SECRET_WORDS: &[&str] = &[
    "TOKEN",
    "KEY",
    "APIKEY",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PAT",
    "AUTH",
    "CREDENTIALS",
    "CREDENTIAL",
];

/// Environment of a server's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildEnvironment {
    /// All variables, sorted by name, without duplicates.
    pub vars: Variables<OsString>,
    /// Names of our variables that the server does not get, sorted.
    pub withheld: Vec<String>,
}

/// Package runner whose variables a server gets with the safe list. Servers with equal runner, `inheritEnv`
/// and `passEnv` inherit the same variables.
pub(crate) fn runner_of(server: &ServerConfig) -> Option<Runner> {
    let is_asked = server.inherit_env == InheritEnv::Safe;
    let found = is_asked.then(|| command_line::find(server.command.as_ref(), &server.args))?;
    found.map(|found| found.runner)
}

/// Variables that a server with a given `inheritEnv` and `passEnv` inherits, and those it does not.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// Keyed by the normalized name, so that on Windows the later of `Path` and `PATH` wins.
    vars: BTreeMap<String, (OsString, OsString)>,
    withheld: BTreeMap<String, String>,
    ignore_case: bool,
}

impl Inherited {
    /// Selects from `ours` by `inherit` and the patterns in `pass`, then adds [`TOLD`]
    /// where no value is inherited.
    pub fn new(
        ours: impl IntoIterator<Item = (OsString, OsString)>,
        inherit: InheritEnv,
        pass: &[String],
    ) -> Self {
        Self::choose(ours, inherit, pass, None, os::NAMES_IGNORE_CASE)
    }

    /// Variables that a server inherits from `ours`.
    pub(crate) fn of_server(
        ours: impl IntoIterator<Item = (OsString, OsString)>,
        server: &ServerConfig,
    ) -> Self {
        let runner = runner_of(server);
        Self::choose(ours, server.inherit_env, &server.pass_env, runner, os::NAMES_IGNORE_CASE)
    }

    fn choose(
        ours: impl IntoIterator<Item = (OsString, OsString)>,
        inherit: InheritEnv,
        pass: &[String],
        runner: Option<Runner>,
        ignore_case: bool,
    ) -> Self {
        let mut inherited = Self { ignore_case, ..Self::default() };
        for (name, value) in ours {
            let text = name.to_string_lossy().into_owned();
            // Windows keeps each drive's folder in variables named `=C:`, which must not be passed on.
            if text.is_empty() || text.contains('=') {
                continue;
            }
            let passes = match inherit {
                // Our own variables concern this process only, even where all others are inherited.
                InheritEnv::All => !is_ours(&text),
                InheritEnv::Safe => {
                    let is_read = |runner| is_read_by(runner, &text) && !leads_into_workspace(&text, &value);
                    is_safe(&text, ignore_case) || runner.is_some_and(is_read)
                }
                InheritEnv::None => false,
            };
            let key = inherited.key(&text);
            if passes || is_passed(&text, pass, ignore_case) {
                inherited.vars.insert(key, (name, value));
            } else if !is_ours(&text) {
                // Our own are not listed as withheld: no server is meant to have them.
                inherited.withheld.insert(key, text);
            }
        }
        for (name, value) in TOLD.iter().filter(|(name, _)| !inherited.has(name)).collect::<Vec<_>>() {
            inherited.set([(*name, *value)].into_iter());
        }
        inherited
    }

    fn key(&self, name: &str) -> String {
        if self.ignore_case { name.to_uppercase() } else { name.to_owned() }
    }

    fn set<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
        for (name, value) in pairs {
            let key = self.key(name);
            // A variable that the entry sets is not missing.
            self.withheld.remove(&key);
            self.vars.insert(key, (name.into(), value.into()));
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.vars.contains_key(&self.key(name))
    }

    /// Variables with their normalized names, which are equal for names that this
    /// system does not distinguish.
    pub(crate) fn keyed(&self) -> impl Iterator<Item = (&str, &(OsString, OsString))> {
        self.vars.iter().map(|(key, pair)| (key.as_str(), pair))
    }

    /// Inherited variables, sorted by name.
    pub fn vars(&self) -> impl Iterator<Item = &(OsString, OsString)> {
        self.vars.values()
    }

    /// Adds the server's own `env`, which takes precedence.
    pub fn with(mut self, own: &[(String, String)]) -> ChildEnvironment {
        self.set(own.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        ChildEnvironment {
            vars: Variables(self.vars.into_values().collect()),
            withheld: self.withheld.into_values().collect(),
        }
    }
}

/// Whether a server's settings request a variable by name or pattern.
pub(crate) fn is_named(name: &str, inherit: InheritEnv, pass: &[String]) -> bool {
    inherit == InheritEnv::All || is_passed(name, pass, os::NAMES_IGNORE_CASE)
}

/// Whether `passEnv` names a variable. `*` does not match our own: their pattern must start with our prefix.
fn is_passed(name: &str, pass: &[String], ignore_case: bool) -> bool {
    let may_pass = |pattern: &str| !is_ours(name) || is_ours(pattern);
    pass.iter().any(|pattern| may_pass(pattern) && matches(pattern, name, ignore_case))
}

/// Hint for a server that did not start: withheld variables that it may have needed, and how to pass them on.
pub fn withheld_hint(withheld: &[String]) -> Option<String> {
    let likely: Vec<&str> = withheld.iter().map(String::as_str).filter(|name| looks_secret(name)).collect();
    let example = likely.first()?;
    let mut names = likely[..likely.len().min(MAX_HINTED_NAMES)].join(", ");
    if likely.len() > MAX_HINTED_NAMES {
        names += &format!(" and {} more", likely.len() - MAX_HINTED_NAMES);
    }
    Some(format!(
        "not passed on to the server: {names}; if it needs one of them, name it in the server's `passEnv`, \
         such as \"passEnv\": [\"{example}\"]; for a command after `--`, leave out `--inherit-env` or add \
         `--pass-env {example}`"
    ))
}

/// Whether the safe list contains the name. Its patterns never match a name that looks like a secret.
fn is_safe(name: &str, ignore_case: bool) -> bool {
    SAFE.iter()
        .flat_map(|(_, names)| *names)
        .any(|safe| matches(safe, name, ignore_case) && !(safe.contains('*') && looks_secret(name)))
}

/// Whether the runner reads this variable. The names are listed one by one, so a
/// registry's secret among them passes.
fn is_read_by(runner: Runner, name: &str) -> bool {
    // npm accepts its variables in either case.
    runner_list::names(runner).any(|known| matches(known, name, true))
}

/// Whether the value is a relative path: a runner resolves it in its working folder,
/// which may be a stranger's clone.
fn leads_into_workspace(name: &str, value: &OsStr) -> bool {
    let name = name.to_uppercase();
    let is_path = PATH_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let text = value.to_string_lossy();
    // `~` and an address do not start at the working folder.
    is_path && Path::new(value).is_relative() && !text.starts_with('~') && !text.contains("://")
}

fn is_ours(name: &str) -> bool {
    let start = name.as_bytes().get(..OUR_PREFIX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(OUR_PREFIX.as_bytes()))
}

fn looks_secret(name: &str) -> bool {
    name.to_uppercase().split('_').any(|word| SECRET_WORDS.contains(&word))
}

/// Whether `name` matches `pattern`, in which `*` stands for any characters. Backtracks to the last `*` only,
/// so the time is bounded by the product of the two lengths.
pub(super) fn matches(pattern: &str, name: &str, ignore_case: bool) -> bool {
    // Beyond ASCII, upper case may have another length, so whole strings are compared.
    if ignore_case && !(pattern.is_ascii() && name.is_ascii()) {
        return matches(&pattern.to_uppercase(), &name.to_uppercase(), false);
    }
    // Avoids a copy: this runs for every variable, pattern and server.
    let is_same = |one: u8, other: u8| one == other || (ignore_case && one.eq_ignore_ascii_case(&other));
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|&byte| is_same(byte, name[n])) {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            // Mismatch: the last `*` takes one more character, and matching resumes behind it.
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Case<'a> {
        ours: &'a [&'a str],
        inherit: InheritEnv,
        pass: &'a [&'a str],
        own: &'a [(&'a str, &'a str)],
        runner: Option<Runner>,
        ignore_case: bool,
    }

    const SAFE_CASE: Case<'_> =
        Case { ours: &[], inherit: InheritEnv::Safe, pass: &[], own: &[], runner: None, ignore_case: false };

    /// `expect` leaves out [`TOLD`], unless a value of it was changed.
    #[track_caller]
    fn check(case: &Case<'_>, expect: &[&str], withheld: &[&str]) {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap();
            (OsString::from(name), OsString::from(value))
        };
        let pass: Vec<String> = case.pass.iter().map(|pattern| pattern.to_string()).collect();
        let own: Vec<_> =
            case.own.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let ours = case.ours.iter().map(|text| pair(text));
        let child = Inherited::choose(ours, case.inherit, &pass, case.runner, case.ignore_case).with(&own);
        let got: Vec<String> = child
            .vars
            .iter()
            .map(|(name, value)| format!("{}={}", name.to_str().unwrap(), value.to_str().unwrap()))
            .filter(|text| !TOLD.iter().any(|(name, value)| *text == format!("{name}={value}")))
            .collect();
        assert_eq!((got.as_slice(), child.withheld.as_slice()), (&owned(expect)[..], &owned(withheld)[..]));
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| text.to_string()).collect()
    }

    #[test]
    fn safe_passes_the_list_without_secrets() {
        let ours = ["PATH=/bin", "LC_ALL=C", "GITHUB_TOKEN=x", "FOO=1", "NVM_DIR=/n", "SSH_AUTH_SOCK=/s"];
        check(
            &Case { ours: &ours, ..SAFE_CASE },
            &["LC_ALL=C", "NVM_DIR=/n", "PATH=/bin", "SSH_AUTH_SOCK=/s"],
            &["FOO", "GITHUB_TOKEN"],
        );
    }

    #[test]
    fn safe_patterns_match_no_secret() {
        let ours = ["MISE_GITHUB_TOKEN=x", "NVM_AUTH_HEADER=x", "MISE_SHELL=zsh"];
        check(
            &Case { ours: &ours, ..SAFE_CASE },
            &["MISE_SHELL=zsh"],
            &["MISE_GITHUB_TOKEN", "NVM_AUTH_HEADER"],
        );
    }

    #[test]
    fn all_and_none() {
        let ours = ["PATH=/bin", "FOO=1"];
        check(&Case { ours: &ours, inherit: InheritEnv::All, ..SAFE_CASE }, &["FOO=1", "PATH=/bin"], &[]);
        check(&Case { ours: &ours, inherit: InheritEnv::None, ..SAFE_CASE }, &[], &["FOO", "PATH"]);
    }

    #[test]
    fn ours_pass_only_by_name() {
        let ours = ["SWITCHBOARD_TOKEN=x", "SWITCHBOARD_LOG=y"];
        let case = Case { ours: &ours, inherit: InheritEnv::All, ..SAFE_CASE };
        check(&case, &[], &[]);
        check(&Case { pass: &["SWITCHBOARD_LOG"], ..case }, &["SWITCHBOARD_LOG=y"], &[]);
        check(&Case { pass: &["SWITCHBOARD_L*"], ..case }, &["SWITCHBOARD_LOG=y"], &[]);
        check(&Case { pass: &["*", "SWITCH*", "*_LOG"], ..case }, &[], &[]);
        let own = [("SWITCHBOARD_LOG", "own")];
        check(&Case { own: &own, ..case }, &["SWITCHBOARD_LOG=own"], &[]);
    }

    #[test]
    fn inherited_values_are_kept() {
        let ours = ["LOG_FILE=mine"];
        let case = Case { ours: &ours, ..SAFE_CASE };
        check(&case, &[], &[]);
        check(&Case { inherit: InheritEnv::All, ..case }, &["LOG_FILE=mine"], &[]);
        check(&Case { pass: &["LOG_*"], ..case }, &["LOG_FILE=mine"], &[]);
    }

    #[test]
    fn runners_get_their_registry() {
        let ours = [
            "NPM_CONFIG_NODE_OPTIONS=x",
            "NPM_CONFIG_REGISTRY=r",
            "NPM_CONFIG_SCRIPT_SHELL=x",
            "NPM_TOKEN=t",
            "UV_INDEX_COMPANY_PASSWORD=p",
            "UV_PROJECT=x",
            "npm_config_//host/:_authToken=t",
            "npm_config_@scope:registry=r",
        ];
        let case = Case { ours: &ours, runner: Some(Runner::Npm), ..SAFE_CASE };
        let npm = [
            "NPM_CONFIG_REGISTRY=r",
            "NPM_TOKEN=t",
            "npm_config_//host/:_authToken=t",
            "npm_config_@scope:registry=r",
        ];
        let others =
            ["NPM_CONFIG_NODE_OPTIONS", "NPM_CONFIG_SCRIPT_SHELL", "UV_INDEX_COMPANY_PASSWORD", "UV_PROJECT"];
        check(&case, &npm, &others);
        let names: Vec<&str> = ours.iter().map(|pair| pair.split_once('=').unwrap().0).collect();
        check(&Case { runner: None, ..case }, &[], &names);
        check(&Case { inherit: InheritEnv::None, ..case }, &[], &names);
        let names: Vec<&str> =
            names.into_iter().filter(|name| *name != "UV_INDEX_COMPANY_PASSWORD").collect();
        check(&Case { runner: Some(Runner::Uv), ..case }, &["UV_INDEX_COMPANY_PASSWORD=p"], &names);
    }

    #[test]
    fn relative_paths_of_runners_are_withheld() {
        let ours = [
            "NPM_CONFIG_CAFILE=ca.pem",
            "NPM_CONFIG_CACHE=/cache",
            "NPM_CONFIG_REGISTRY=r",
            "npm_config_userconfig=.npmrc",
        ];
        let case = Case { ours: &ours, runner: Some(Runner::Npm), ..SAFE_CASE };
        let passed = ["NPM_CONFIG_CACHE=/cache", "NPM_CONFIG_REGISTRY=r"];
        check(&case, &passed, &["NPM_CONFIG_CAFILE", "npm_config_userconfig"]);
    }

    #[test]
    fn runners_are_told_by_the_command() {
        let check = |line: &str, expect: Option<Runner>| {
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            let mut server = ServerConfig::for_command("s", command, words.collect());
            assert_eq!(runner_of(&server), expect, "{line}");
            server.inherit_env = InheritEnv::None;
            assert_eq!(runner_of(&server), None, "{line}");
        };
        check("npx -y thing", Some(Runner::Npm));
        check("cmd /c npx -y thing", Some(Runner::Npm));
        check("uvx thing", Some(Runner::Uv));
        check("uv run server.py", Some(Runner::Uv));
        check("pipx run thing", Some(Runner::Pipx));
        check("node npx", None);
    }

    #[test]
    fn patterns_add_to_either() {
        let ours = ["GITHUB_TOKEN=x", "GITHUB_ORG=y", "FOO=1"];
        let case = Case { ours: &ours, pass: &["GITHUB_*"], ..SAFE_CASE };
        check(&case, &["GITHUB_ORG=y", "GITHUB_TOKEN=x"], &["FOO"]);
        check(&Case { inherit: InheritEnv::None, ..case }, &["GITHUB_ORG=y", "GITHUB_TOKEN=x"], &["FOO"]);
    }

    #[test]
    fn the_servers_own_come_last() {
        let case = Case {
            ours: &["PATH=/bin", "LOG_FILE=mine", "TOKEN=ours"],
            own: &[("PATH", "/own"), ("TOKEN", "own"), ("LOG_CONSOLE", "true")],
            ..SAFE_CASE
        };
        check(&case, &["LOG_CONSOLE=true", "PATH=/own", "TOKEN=own"], &[]);
    }

    #[test]
    fn servers_are_told_of_stdio() {
        let child = Inherited::choose([], InheritEnv::None, &[], None, false).with(&[]);
        let names: Vec<_> = child.vars.iter().map(|(name, value)| (name.to_str(), value.to_str())).collect();
        let mut told: Vec<_> = TOLD.iter().map(|(name, value)| (Some(*name), Some(*value))).collect();
        told.sort_unstable();
        assert_eq!(names, told);
    }

    #[test]
    fn case_insensitive_names_are_merged() {
        let case = Case {
            ours: &["Path=a", "SYSTEMROOT=b", "Foo=c"],
            own: &[("PATH", "d")],
            ignore_case: true,
            ..SAFE_CASE
        };
        check(&case, &["PATH=d", "SYSTEMROOT=b"], &["Foo"]);
        check(&Case { ignore_case: false, ..case }, &["PATH=d"], &["Foo", "Path", "SYSTEMROOT"]);
    }

    #[test]
    fn names_with_equals_sign_are_dropped() {
        let ours = [("=C:".into(), "C:\\x".into())];
        let child = Inherited::choose(ours, InheritEnv::All, &[], None, true).with(&[]);
        assert!(child.withheld.is_empty() && child.vars.len() == TOLD.len());
    }

    #[test]
    fn debug_shows_no_value() {
        let ours = [("PATH".into(), "s3cret".into())];
        let child = Inherited::choose(ours, InheritEnv::All, &[], None, false).with(&[]);
        let shown = format!("{child:?}");
        assert!(shown.contains("PATH") && !shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn fits_patterns() {
        for (pattern, name, expect) in [
            ("A", "A", true),
            ("A", "AB", false),
            ("*", "", true),
            ("A*", "A", true),
            ("*_KEY", "MY_API_KEY", true),
            ("*_KEY", "MY_API_KEYS", false),
            ("A*B*C", "AxBBxC", true),
            ("A*B*C", "AxC", false),
            ("", "", true),
            ("", "A", false),
            ("a", "A", false),
        ] {
            assert_eq!(matches(pattern, name, false), expect, "{pattern} {name}");
        }
        assert!(matches("github_*", "GITHUB_X", true));
        assert!(!matches(&"*a".repeat(500), &"a".repeat(499), false));
    }

    #[test]
    fn hint_names_likely_secrets() {
        let hint = withheld_hint(&owned(&["FOO", "GITHUB_TOKEN", "OPENAI_API_KEY"])).unwrap();
        assert!(hint.contains("GITHUB_TOKEN, OPENAI_API_KEY;") && !hint.contains("FOO"), "{hint}");
        assert_eq!(withheld_hint(&owned(&["FOO", "MONKEY", "PATHS"])), None);
        let many: Vec<String> = (0..11).map(|i| format!("K{i}_KEY")).collect();
        let hint = withheld_hint(&many).unwrap();
        assert!(hint.contains("K7_KEY and 3 more;") && !hint.contains("K8_KEY"), "{hint}");
    }
}
