//! The official conformance suite finds the same, scenario by scenario, for a server directly and through us
//! (`/servers/NAME/mcp`). Two releases of the suite; the server is the Python SDK's own example.

use super::peers::{driver, installed, node_package, python};
use crate::daemon::house::House;
use crate::http::served::Served;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::scratch::Scratch;

/// Number of checks by outcome, for each scenario.
pub(crate) type Found = BTreeMap<String, BTreeMap<String, usize>>;

/// The suite runs for about twenty seconds on a quiet machine.
const SUITE_TIMEOUT: Duration = Duration::from_secs(300);

/// Scenarios with different findings, and why. All pass both ways.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "server-server-sse-multiple-streams",
        "we answer at once, in one piece, what is answered at once: it finds no streams",
    ),
    (
        "server-server-sse-polling",
        "the server closes its own stream, which it has none of over stdio; we never close one",
    ),
];

pub(crate) fn fixture() -> Vec<OsString> {
    let example = installed(".fixture/mcp-2.3.0/examples/servers/everything-server");
    vec![python(".venv").into(), driver("fixture.py").into(), example.into()]
}

/// Findings about the server at this address.
#[track_caller]
pub(crate) fn run(suite: &str, flags: &[&str], url: &str) -> Found {
    run_suite(suite, &[&["server", "--url", url], flags].concat())
}

#[track_caller]
pub(crate) fn run_suite(suite: &str, words: &[&str]) -> Found {
    let folder = Scratch::new();
    let mut program = Start::new("node")
        .arg("--import")
        .arg(driver("node20.mjs"))
        .arg(node_package(suite).join("dist/index.js"))
        .args(words)
        .arg("--output-dir")
        .arg(folder.path())
        .start();
    let deadline = Instant::now() + SUITE_TIMEOUT;
    while !program.has_ended() {
        assert!(
            Instant::now() < deadline,
            "it does not end: {}",
            String::from_utf8_lossy(&program.unread_bytes())
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let end = program.wait_for_end();
    let printed = String::from_utf8_lossy(&end.stdout).into_owned();
    // 1 is a failed check, which the findings tell.
    assert!(matches!(end.code, Some(0 | 1)), "{words:?}: {printed}\n{}", end.stderr);
    found(folder.path())
}

/// Reads the result folders, one per scenario, with the time at the end of the name.
fn found(folder: &Path) -> Found {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let name = name.rsplitn(7, '-').last().unwrap_or_default().to_owned();
            let checks: Vec<Value> =
                serde_json::from_slice(&fs::read(entry.path().join("checks.json")).unwrap()).unwrap();
            let mut outcomes = BTreeMap::new();
            for check in checks {
                let outcome =
                    format!("{} {}", check["id"].as_str().unwrap(), check["status"].as_str().unwrap());
                *outcomes.entry(outcome).or_default() += 1;
            }
            (name, outcomes)
        })
        .collect()
}

/// A fixture over HTTP, once it answers.
pub(crate) fn direct(words: &[OsString]) -> (Client, String) {
    // The system assigns ports in turn, so this one stays free.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Start::new(&words[0]).args(&words[1..]).arg(port.to_string()).start();
    patience::until_true("the fixture listens", || {
        assert!(!server.has_ended(), "{}", server.stderr_so_far());
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

#[track_caller]
fn check(suite: &str, flags: &[&str], scenarios: usize) {
    let directly = {
        let (_server, url) = direct(&fixture());
        run(suite, flags, &url)
    };
    let words = fixture();
    let args: Vec<_> = words[1..].iter().map(|word| word.to_str().unwrap()).chain(["stdio"]).collect();
    // The suite opens a session per scenario, and the fixture sends requests to its client. On a shared
    // process the first of them would be refused, and each session would then get its own process; `scope:
    // client` does so from the start.
    let entry = json!({ "command": words[0].to_str(), "args": args, "scope": "client" });
    let servers = json!({ "fixture": entry });
    let served = Served::start(House::with(json!({ "mcpServers": servers }), json!({}), &[]), &["--no-auth"]);
    let url = format!("http://127.0.0.1:{}/servers/fixture/mcp", served.web.port());
    let through = run(suite, flags, &url);
    assert_eq!(directly.len(), scenarios, "{:?}", directly.keys());
    assert_eq!(through.keys().collect::<Vec<_>>(), directly.keys().collect::<Vec<_>>());
    for (scenario, found) in &directly {
        let failed = through[scenario].keys().any(|outcome| outcome.ends_with("FAILURE"));
        assert!(!failed, "{scenario}: {:?}", through[scenario]);
        if !DIFFERENT.iter().any(|(name, _)| name == scenario) {
            assert_eq!(&through[scenario], found, "{scenario}");
        }
    }
}

#[test]
fn conformance_0_1_16_matches() {
    check("conformance-old", &["--suite", "all"], 32);
}

#[test]
fn conformance_0_2_0_matches() {
    check("conformance-new", &["--requirements", "2025-11-25"], 33);
}
