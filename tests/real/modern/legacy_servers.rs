//! Modern clients of legacy servers: through us they get the same as from a modern server of the same SDK directly, apart
//! from features of only one era.

use super::differences::{Case, Differences, introduction, of_both_eras};
use super::peers::{Era, Job, Sdk, Speaks, Talker};
use super::routes::{Each, Held, Pairing, at_home, window};
use super::translated::{OF_ONE_ERA, OF_TOOL_CHANGES};
use crate::daemon::house::House;
use serde_json::json;

/// Steps that need a session. A server without sessions has a separate object for each request, so questions, cancellations
/// and subscriptions do not work.
const OF_SESSIONS: [&str; 13] = [
    "asked",
    "confirm",
    "asked for sampling",
    "sample",
    "where",
    "asked to open",
    "login",
    "updated",
    "read counter",
    "cancelled",
    "server knows",
    "changed",
    "restored",
];

#[track_caller]
fn compare(found: &mut Differences, talker: &mut Talker, held: &Held) {
    let server = held.server;
    let mut left_out = OF_ONE_ERA.to_vec();
    if !server.tells_of_tools(Era::Legacy) {
        left_out.extend(OF_TOOL_CHANGES);
    }
    let directly = talker.directly(Era::Modern, server);
    let [through, expected] = held.beside(directly);
    found.compare(held.case(), &of_both_eras(&through, &left_out), &of_both_eras(&expected, &left_out));
    if !held.is_aggregated() {
        // The answer to `server/discover`, and the answer to `initialize` from which it is made.
        let discovered = introduction(&held.steps);
        found.compare_as("discovered", held.case(), &discovered, &introduction(directly));
        let legacy = introduction(talker.directly(Era::Legacy, server));
        found.compare_as("discovered-old", held.case(), &discovered, &legacy);
    }
}

#[track_caller]
fn check(client: Sdk, hold: impl Fn(Pairing, Each<'_>)) {
    let pairing = Pairing { client, speaks: Era::Modern, servers: Era::Legacy };
    let mut found = Differences::of("to-legacy");
    hold(pairing, &mut |talker, held| compare(&mut found, talker, &held));
    found.check();
}

/// Servers of the TypeScript SDK have no legacy HTTP sessions, unless a program adds them.
#[test]
fn modern_clients_use_sessionless_server() {
    let elsewhere = Sdk::TypeScript.over_http(Speaks::Sessionless);
    let entry = json!({ "url": elsewhere.url(), "era": "legacy" });
    let house = House::with(json!({ "mcpServers": { "typescript": entry } }), json!({}), &[]);
    let mut found = Differences::of("to-sessionless");
    for client in [Sdk::Python, Sdk::TypeScript, Sdk::Rust] {
        // Progress of the cancelled call; the other clients print the progress of another call.
        let progress = (client == Sdk::TypeScript).then_some("progress");
        let left_out: Vec<&str> = OF_ONE_ERA.into_iter().chain(OF_SESSIONS).chain(progress).collect();
        let mut talker = Talker::start(client);
        let job = Job::new(Era::Modern, &window(&house, &["--server", "typescript"]));
        let steps = talker.talk(&at_home(&house, job).with("stateless", true));
        let directly = talker.directly(Era::Modern, Sdk::TypeScript);
        let case = Case { client: client.name(), server: "typescript", route: "stdio/http" };
        found.compare(case, &of_both_eras(&steps, &left_out), &of_both_eras(directly, &left_out));
    }
    found.check();
}

#[test]
fn modern_python_uses_legacy_servers() {
    check(Sdk::Python, Pairing::over_stdio);
}

#[test]
fn modern_python_uses_legacy_http() {
    check(Sdk::Python, Pairing::over_http);
}

#[test]
fn modern_python_uses_mixed_servers() {
    check(Sdk::Python, Pairing::beside_others);
}

#[test]
fn modern_typescript_uses_legacy_servers() {
    check(Sdk::TypeScript, Pairing::over_stdio);
}

#[test]
fn modern_typescript_uses_legacy_http() {
    check(Sdk::TypeScript, Pairing::over_http);
}

#[test]
fn modern_typescript_uses_mixed_servers() {
    check(Sdk::TypeScript, Pairing::beside_others);
}

#[test]
fn modern_rust_uses_legacy_servers() {
    check(Sdk::Rust, Pairing::over_stdio);
}

#[test]
fn modern_rust_uses_legacy_http() {
    check(Sdk::Rust, Pairing::over_http);
}

#[test]
fn modern_rust_uses_mixed_servers() {
    check(Sdk::Rust, Pairing::beside_others);
}
