//! The official conformance suite for the modern era finds the same through us as without us, scenario by scenario: for two
//! servers, over stdio and HTTP, alone and as one of several, and for a client.

use crate::daemon::house::House;
use crate::http::served::Served;
use crate::real::conformance::{Found, direct, fixture, run, run_suite};
use crate::real::peers::{driver, installed, node_package, python};
use crate::support::testkit_example;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::OnceLock;
use switchboard_testkit::client::Start;

const SUITE: &str = "conformance-new";
const FLAGS: [&str; 2] = ["--requirements", "2026-07-28"];
const SCENARIOS: usize = 50;
const EXPECTED: &str = include_str!("expected-failures.txt");

/// Scenarios for clients: all but those about authorization.
const CLIENT_SCENARIOS: [&str; 8] = [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
];

#[derive(Debug, Clone, Copy)]
enum Fixture {
    Python,
    FastMcp,
}

impl Fixture {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::FastMcp => "fastmcp",
        }
    }

    /// Command line, without `stdio` or a port.
    fn words(self) -> Vec<OsString> {
        match self {
            Self::Python => fixture(),
            Self::FastMcp => {
                let folder = installed(".venv-fastmcp/fixture");
                vec![python(".venv-fastmcp").into(), driver("fixture_fastmcp.py").into(), folder.into()]
            }
        }
    }

    /// Findings without us. Checked once against the list of expected failures.
    #[track_caller]
    fn directly(self) -> &'static Found {
        static FOUND: [OnceLock<Found>; 2] = [const { OnceLock::new() }; 2];
        FOUND[self as usize].get_or_init(|| {
            let (_server, url) = direct(&self.words());
            let found = run(SUITE, &FLAGS, &url);
            assert_eq!(found.len(), SCENARIOS, "{:?}", found.keys());
            assert_eq!(
                failures(&found),
                self.expected_failures(),
                "fails now (left), is expected to (right)"
            );
            found
        })
    }

    fn expected_failures(self) -> BTreeSet<String> {
        let lines = EXPECTED.lines();
        let pairs =
            lines.filter_map(|line| line.split_once(' ')).filter(|(fixture, _)| *fixture == self.name());
        pairs.map(|(_, scenario)| format!("server-{scenario}")).collect()
    }
}

fn failures(found: &Found) -> BTreeSet<String> {
    let has_failed = |outcomes: &BTreeMap<String, usize>| outcomes.keys().any(|it| it.ends_with("FAILURE"));
    found.iter().filter(|(_, outcomes)| has_failed(outcomes)).map(|(name, _)| name.clone()).collect()
}

/// Runs the suite against a server in our config. `name` is that of its lines in the list of expected failures.
#[track_caller]
fn check(fixture: Fixture, name: &str, entry: &Value) {
    check_at("servers/fixture/mcp", fixture, name, &json!({ "mcpServers": { "fixture": entry } }));
}

#[track_caller]
fn check_at(path: &str, fixture: Fixture, name: &str, config: &Value) {
    let served = Served::start(House::with(config.clone(), json!({}), &[]), &["--no-auth"]);
    let url = format!("http://127.0.0.1:{}/{path}", served.web.port());
    compare(name, &run(SUITE, &FLAGS, &url), fixture.directly());
}

/// Compares each check, and the differences with the list.
#[track_caller]
fn compare(name: &str, through: &Found, directly: &Found) {
    let mut different = BTreeSet::new();
    for (scenario, checks) in directly {
        let ours = through.get(scenario).unwrap_or_else(|| panic!("not run through us: {scenario}"));
        let all: BTreeSet<&String> = checks.keys().chain(ours.keys()).collect();
        let unequal = all.into_iter().filter(|check| checks.get(*check) != ours.get(*check));
        different
            .extend(unequal.filter_map(|check| Some(format!("{scenario} {}", check.split_once(' ')?.0))));
    }
    assert_eq!(through.len(), directly.len());
    let lines = EXPECTED.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let expected: BTreeSet<String> = lines.map(str::to_owned).collect();
    assert_eq!(different, expected, "differs through us (left), is expected to (right)");
}

#[track_caller]
fn check_stdio(fixture: Fixture) {
    check(fixture, &format!("{}/stdio", fixture.name()), &over_stdio(fixture));
}

fn over_stdio(fixture: Fixture) -> Value {
    let words = fixture.words();
    let args: Vec<_> = words[1..].iter().filter_map(|word| word.to_str()).chain(["stdio"]).collect();
    // The suite waits half a second for some answers: too short for the start of a process for other capabilities.
    json!({ "command": words[0].to_str(), "args": args })
}

/// One of two servers, under the names that the suite knows.
#[track_caller]
fn check_aggregated(fixture: Fixture) {
    // Over stdio each set of capabilities has a process of its own, for the start of which the suite does not wait.
    let (_server, url) = direct(&fixture.words());
    let other = json!({ "command": testkit_example("rmcp_peer"), "args": ["serve", "stdio"] });
    let servers = json!({ "fixture": { "url": url }, "other": other });
    let config = json!({ "names": "plain", "mcpServers": servers });
    check_at("mcp", fixture, &format!("{}/all", fixture.name()), &config);
}

#[track_caller]
fn check_http(fixture: Fixture) {
    let (_server, url) = direct(&fixture.words());
    check(fixture, &format!("{}/http", fixture.name()), &json!({ "url": url }));
}

#[test]
fn python_conforms_over_stdio() {
    check_stdio(Fixture::Python);
}

#[test]
fn python_conforms_over_http() {
    check_http(Fixture::Python);
}

#[test]
fn fastmcp_conforms_over_stdio() {
    check_stdio(Fixture::FastMcp);
}

#[test]
fn fastmcp_conforms_over_http() {
    check_http(Fixture::FastMcp);
}

#[test]
fn python_conforms_among_others() {
    check_aggregated(Fixture::Python);
}

#[test]
fn fastmcp_conforms_among_others() {
    check_aggregated(Fixture::FastMcp);
}

/// The names of the suite's scenarios for clients, apart from those about authorization.
#[track_caller]
fn client_scenarios() -> Vec<String> {
    let listed = Start::new("node")
        .arg("--import")
        .arg(driver("node20.mjs"))
        .arg(node_package(SUITE).join("dist/index.js"))
        .args(["list", "--client", "--spec-version", "2026-07-28"])
        .start()
        .wait_for_end();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed.lines().filter_map(|line| line.strip_prefix("  - ")?.split(' ').next());
    names.filter(|name| !name.starts_with("auth/")).map(str::to_owned).collect()
}

/// The Python SDK's client, with the suite as the server: the suite sees what we send.
#[test]
fn python_client_conforms() {
    assert_eq!(client_scenarios(), CLIENT_SCENARIOS);
    let client = installed(".fixture/mcp-2.3.0/.github/actions/conformance/client.py");
    let words =
        [python(".venv"), driver("conformance_client.py"), client].map(|path| path.display().to_string());
    let [directly, through] = ["directly", env!("CARGO_BIN_EXE_switchboard")].map(|way| {
        let command = format!("{} {way}", words.join(" "));
        let mut found = Found::new();
        for scenario in CLIENT_SCENARIOS {
            let words =
                ["client", "--spec-version", "2026-07-28", "--scenario", scenario, "--command", &command];
            found.extend(run_suite(SUITE, &words));
        }
        found
    });
    assert_eq!(failures(&directly), BTreeSet::new());
    assert_eq!(directly.len(), CLIENT_SCENARIOS.len());
    compare("client", &through, &directly);
}
