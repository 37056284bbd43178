//! Compares conversations through us with direct ones, and reads the list of expected differences.

use super::peers::Steps;
use crate::real::peers::installed;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::sync::LazyLock;

/// The list of expected differences, beside this file.
const EXPECTED: &str = "modern/expected-differences.txt";

/// Members that only modern results have. The Python SDK adds some of them to its own objects in both eras.
const MODERN_MEMBERS: [&str; 4] = ["resultType", "ttlMs", "cacheScope", "io.modelcontextprotocol/serverInfo"];

/// The comparisons of one test, which fails at its end if a result was not as expected.
pub(super) struct Differences {
    direction: &'static str,
    report: String,
    compared: usize,
}

/// A case as the list names it: client, server, front and back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) client: &'a str,
    pub(super) server: &'a str,
    /// `stdio/http`: the client reaches us over stdio, and we reach the server over HTTP. `all-` before it means several
    /// servers.
    pub(super) route: &'a str,
}

impl Differences {
    /// `direction` is the first word of the lines about this test.
    pub(super) fn of(direction: &'static str) -> Self {
        Self { direction, report: String::new(), compared: 0 }
    }

    /// Compares the steps by their names; order counts as well.
    pub(super) fn compare(&mut self, case: Case, through: &Steps, directly: &Steps) {
        self.compare_as(self.direction, case, through, directly);
    }

    pub(super) fn compare_as(&mut self, direction: &str, case: Case, through: &Steps, directly: &Steps) {
        self.compared += 1;
        let found = through.differing(directly);
        let names: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let expected = expected(direction, case);
        if names == expected {
            return;
        }
        let _ = writeln!(
            self.report,
            "{direction} {case:?}: differs through us in {names:?}, is expected to in {expected:?}"
        );
        for (name, difference) in found.iter().filter(|(name, _)| !expected.contains(name.as_str())) {
            let _ = writeln!(self.report, "  {name}: {difference}");
        }
    }

    #[track_caller]
    pub(super) fn check(self) {
        assert!(self.compared > 0, "nothing was compared");
        assert!(self.report.is_empty(), "{}", self.report);
    }
}

/// The lines of the list.
fn lines() -> impl Iterator<Item = &'static str> {
    static LIST: LazyLock<String> = LazyLock::new(|| fs::read_to_string(installed(EXPECTED)).unwrap());
    LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The names of the steps that the list has for this case.
fn expected(direction: &str, case: Case) -> BTreeSet<&'static str> {
    let matching = lines().filter_map(|line| {
        let mut words = line.splitn(5, ' ');
        let is_meant = [direction, case.client, case.server, case.route]
            .iter()
            .all(|value| words.next().is_some_and(|pattern| matches(pattern, value)));
        is_meant.then(|| words.next().expect("each line ends with a step"))
    });
    matching.collect()
}

/// A pattern is one or several words with `|` between them; `*` stands for any text at the beginning or end.
fn matches(pattern: &str, value: &str) -> bool {
    pattern.split('|').any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => value.ends_with(end),
        (None, Some(start)) => value.starts_with(start),
        (None, None) => value == pattern,
    })
}

/// A conversation without these steps, and without the members that only the modern era has.
pub(super) fn of_both_eras(steps: &Steps, of_one: &[&str]) -> Steps {
    steps.map(|name, value| {
        let mut value = value.clone();
        strip(&mut value);
        (!of_one.contains(&name)).then_some(value)
    })
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !MODERN_MEMBERS.contains(&name.as_str()));
            members.values_mut().for_each(strip);
            members.retain(|name, value| name != "_meta" || *value != json!({}));
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// What a server says of itself, in the handshake or when it is discovered: the same three steps in both eras.
#[track_caller]
pub(super) fn introduction(steps: &Steps) -> Steps {
    let modern = steps.find("discover").map(|it| {
        let info = it["_meta"]["io.modelcontextprotocol/serverInfo"].clone();
        [info, it["capabilities"].clone(), it["instructions"].clone()]
    });
    // The Python and TypeScript clients print a list.
    let legacy = || {
        let it = steps.get("server");
        match it.as_array() {
            Some(_) => [0, 1, 2].map(|at| it[at].clone()),
            None => ["serverInfo", "capabilities", "instructions"].map(|name| it[name].clone()),
        }
    };
    let [info, capabilities, instructions] = modern.unwrap_or_else(legacy);
    assert!(!info["name"].is_null() && capabilities.is_object(), "{info} {capabilities}");
    Steps::of(vec![
        ("its info", info),
        ("its capabilities", capabilities),
        ("its instructions", instructions),
    ])
}

/// A line with an unknown word would match no case.
#[test]
fn expected_differences_have_cases() {
    let directions = [
        "to-modern",
        "to-modern-old",
        "to-legacy",
        "introduced",
        "introduced-old",
        "discovered",
        "discovered-old",
        "everything",
        "pair",
        "legacy-pair",
        "to-sessionless",
    ];
    let parties = ["python", "typescript", "typescript-1", "rust", "everything"];
    let fronts = ["stdio", "http", "all-stdio", "all-http", "direct"];
    let routes: Vec<String> =
        fronts.iter().flat_map(|it| [format!("{it}/stdio"), format!("{it}/http")]).collect();
    let routes: Vec<&str> = routes.iter().map(String::as_str).collect();
    for line in lines() {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        assert_eq!(words.len(), 5, "{line}");
        for (word, known) in words.iter().zip([&directions[..], &parties, &parties, &routes]) {
            let is_known = |one: &str| known.iter().any(|value| matches(one, value));
            assert!(word.split('|').all(is_known), "{line}: {word}");
        }
    }
}
