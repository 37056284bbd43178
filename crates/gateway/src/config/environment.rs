//! Decides which environment variables a server gets. Pure: ours are an argument, and the result is exactly
//! what `exec` gets.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::safe_list::SAFE;
use super::{InheritEnv, Variables, os};

/// Told to every server: it runs on stdio, so nothing but the protocol may go to stdout, and logs belong in
/// a file.
pub const TOLD: &[(&str, &str)] =
    &[("MCP_STDIO_MODE", "true"), ("LOG_CONSOLE", "false"), ("LOG_STDIO", "false"), ("LOG_FILE", "true")];

/// How many names [`withheld_hint`] gives.
const HINTED: usize = 8;

/// The parts of a variable's name that make its value likely to be a secret.
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

/// What a server's process gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildEnvironment {
    /// All its variables, sorted by name, each name once.
    pub vars: Variables<OsString>,
    /// The names of those of ours that it does not get, sorted.
    pub withheld: Vec<String>,
}

/// What of ours every server with the same `inheritEnv` and `passEnv` gets, and what it does not.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// Keyed by what makes two names the same, so that the later of `Path` and `PATH` wins on Windows.
    vars: BTreeMap<String, (OsString, OsString)>,
    withheld: BTreeMap<String, String>,
    ignore_case: bool,
}

impl Inherited {
    /// Of `ours` what `inherit` and the patterns in `pass` let through; over that [`TOLD`].
    pub fn new(
        ours: impl IntoIterator<Item = (OsString, OsString)>,
        inherit: InheritEnv,
        pass: &[String],
    ) -> Self {
        Self::choose(ours, inherit, pass, os::NAMES_IGNORE_CASE)
    }

    fn choose(
        ours: impl IntoIterator<Item = (OsString, OsString)>,
        inherit: InheritEnv,
        pass: &[String],
        ignore_case: bool,
    ) -> Self {
        let mut inherited = Self { ignore_case, ..Self::default() };
        for (name, value) in ours {
            let text = name.to_string_lossy().into_owned();
            // Windows keeps each drive's folder in variables named `=C:`; they are not for handing on.
            if text.is_empty() || text.contains('=') {
                continue;
            }
            let passes = match inherit {
                InheritEnv::All => true,
                InheritEnv::Safe => is_safe(&text, ignore_case),
                InheritEnv::None => false,
            };
            let key = inherited.key(&text);
            if passes || pass.iter().any(|pattern| matches(pattern, &text, ignore_case)) {
                inherited.vars.insert(key, (name, value));
            } else {
                inherited.withheld.insert(key, text);
            }
        }
        inherited.set(TOLD.iter().copied());
        inherited
    }

    fn key(&self, name: &str) -> String {
        if self.ignore_case { name.to_uppercase() } else { name.to_owned() }
    }

    fn set<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
        for (name, value) in pairs {
            let key = self.key(name);
            self.withheld.remove(&key);
            self.vars.insert(key, (name.into(), value.into()));
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.vars.contains_key(&self.key(name))
    }

    /// Those that the server gets, sorted by name.
    pub fn vars(&self) -> impl Iterator<Item = &(OsString, OsString)> {
        self.vars.values()
    }

    /// With the server's own `env` over it.
    pub fn with(mut self, own: &[(String, String)]) -> ChildEnvironment {
        self.set(own.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        ChildEnvironment {
            vars: Variables(self.vars.into_values().collect()),
            withheld: self.withheld.into_values().collect(),
        }
    }
}

/// For a server that did not start: which of the withheld variables it may have missed, and how to pass
/// them on.
pub fn withheld_hint(withheld: &[String]) -> Option<String> {
    let likely: Vec<&str> = withheld.iter().map(String::as_str).filter(|name| looks_secret(name)).collect();
    let example = likely.first()?;
    let mut names = likely[..likely.len().min(HINTED)].join(", ");
    if likely.len() > HINTED {
        names += &format!(" and {} more", likely.len() - HINTED);
    }
    Some(format!(
        "not passed on to the server: {names}; if it needs one of them, name it in the server's `passEnv`, \
         such as \"passEnv\": [\"{example}\"], or give `--pass-env {example}` before a command's `--`"
    ))
}

/// A pattern of the safe list lets no secret through, whatever a version manager may call its variables.
fn is_safe(name: &str, ignore_case: bool) -> bool {
    SAFE.iter()
        .flat_map(|(_, names)| *names)
        .any(|safe| matches(safe, name, ignore_case) && !(safe.contains('*') && looks_secret(name)))
}

fn looks_secret(name: &str) -> bool {
    name.to_uppercase().split('_').any(|word| SECRET_WORDS.contains(&word))
}

/// Whether `name` fits `pattern`, in which `*` stands for any characters. Goes back to the last `*` only,
/// so its time is bounded by the product of the two lengths.
fn matches(pattern: &str, name: &str, ignore_case: bool) -> bool {
    if ignore_case && !(pattern.is_ascii() && name.is_ascii()) {
        return matches(&pattern.to_uppercase(), &name.to_uppercase(), false);
    }
    // Asked of every variable for every pattern and server: without a copy.
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

    struct Case<'a> {
        ours: &'a [&'a str],
        inherit: InheritEnv,
        pass: &'a [&'a str],
        own: &'a [(&'a str, &'a str)],
        ignore_case: bool,
    }

    const SAFE_CASE: Case<'_> =
        Case { ours: &[], inherit: InheritEnv::Safe, pass: &[], own: &[], ignore_case: false };

    /// `expect` is without what every server is told, unless that was changed.
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
        let child = Inherited::choose(ours, case.inherit, &pass, case.ignore_case).with(&own);
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
    fn safe_lets_the_list_through_and_no_secrets() {
        let ours = ["PATH=/bin", "LC_ALL=C", "GITHUB_TOKEN=x", "FOO=1", "NVM_DIR=/n", "SSH_AUTH_SOCK=/s"];
        check(
            &Case { ours: &ours, ..SAFE_CASE },
            &["LC_ALL=C", "NVM_DIR=/n", "PATH=/bin", "SSH_AUTH_SOCK=/s"],
            &["FOO", "GITHUB_TOKEN"],
        );
    }

    #[test]
    fn a_pattern_of_the_safe_list_lets_no_secret_through() {
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
    fn every_server_is_told_that_it_runs_on_stdio() {
        let child = Inherited::choose([], InheritEnv::None, &[], false).with(&[]);
        let names: Vec<_> = child.vars.iter().map(|(name, value)| (name.to_str(), value.to_str())).collect();
        let mut told: Vec<_> = TOLD.iter().map(|(name, value)| (Some(*name), Some(*value))).collect();
        told.sort_unstable();
        assert_eq!(names, told);
    }

    #[test]
    fn where_case_does_not_count_one_name_is_one_variable() {
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
    fn names_with_an_equals_sign_are_dropped() {
        let ours = [("=C:".into(), "C:\\x".into())];
        let child = Inherited::choose(ours, InheritEnv::All, &[], true).with(&[]);
        assert!(child.withheld.is_empty() && child.vars.len() == TOLD.len());
    }

    #[test]
    fn debug_shows_no_value() {
        let ours = [("PATH".into(), "s3cret".into())];
        let child = Inherited::choose(ours, InheritEnv::All, &[], false).with(&[]);
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
    fn the_hint_names_what_looks_like_a_secret() {
        let hint = withheld_hint(&owned(&["FOO", "GITHUB_TOKEN", "OPENAI_API_KEY"])).unwrap();
        assert!(hint.contains("GITHUB_TOKEN, OPENAI_API_KEY;") && !hint.contains("FOO"), "{hint}");
        assert_eq!(withheld_hint(&owned(&["FOO", "MONKEY", "PATHS"])), None);
        let many: Vec<String> = (0..11).map(|i| format!("K{i}_KEY")).collect();
        let hint = withheld_hint(&many).unwrap();
        assert!(hint.contains("K7_KEY and 3 more;") && !hint.contains("K8_KEY"), "{hint}");
    }
}
