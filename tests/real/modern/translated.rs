//! Legacy clients of modern servers: through us they get the same as a modern client of the same SDK directly, and the same
//! as directly after a handshake with the same server, apart from features of only one era.

use super::differences::{Differences, introduction, of_both_eras};
use super::peers::{Era, Sdk, Talker};
use super::routes::{Each, Held, Pairing};

/// Steps that differ between the eras.
pub(super) const OF_ONE_ERA: [&str; 8] =
    ["discover", "server", "ping", "version", "spoken", "watches", "listens", "told"];

/// Steps that a client skips if its server does not announce changed tools.
pub(super) const OF_TOOL_CHANGES: [&str; 4] = ["listens", "told", "changed", "restored"];

/// Compares a conversation through us with both kinds of direct ones.
#[track_caller]
fn compare(found: &mut Differences, talker: &mut Talker, held: &Held) {
    let (server, steps) = (held.server, &held.steps);
    let modern = (talker.sdk != Sdk::OldTypeScript).then(|| talker.directly(Era::Modern, server));
    if let Some(modern) = modern {
        let [through, directly] = held.beside(modern);
        found.compare(
            held.case(),
            &of_both_eras(&through, &OF_ONE_ERA),
            &of_both_eras(&directly, &OF_ONE_ERA),
        );
    }
    let legacy = talker.directly(Era::Legacy, server);
    // The server's introduction is compared below.
    let mut left_out = vec!["server", "spoken"];
    if !server.tells_of_tools(Era::Legacy) {
        left_out.extend(OF_TOOL_CHANGES);
    }
    let [through, directly] = held.beside(legacy);
    found.compare_as(
        "to-modern-old",
        held.case(),
        &of_both_eras(&through, &left_out),
        &of_both_eras(&directly, &left_out),
    );
    if !held.is_aggregated() {
        // The answer to `initialize`, and the answer to `server/discover` from which it is made.
        found.compare_as("introduced-old", held.case(), &introduction(steps), &introduction(legacy));
        if let Some(modern) = modern {
            found.compare_as("introduced", held.case(), &introduction(steps), &introduction(modern));
        }
    }
}

#[track_caller]
fn check(client: Sdk, hold: impl Fn(Pairing, Each<'_>)) {
    let pairing = Pairing { client, speaks: Era::Legacy, servers: Era::Modern };
    let mut found = Differences::of("to-modern");
    hold(pairing, &mut |talker, held| compare(&mut found, talker, &held));
    found.check();
}

#[test]
fn legacy_python_uses_modern_servers() {
    check(Sdk::Python, Pairing::over_stdio);
}

#[test]
fn legacy_python_uses_modern_http() {
    check(Sdk::Python, Pairing::over_http);
}

#[test]
fn legacy_python_uses_mixed_servers() {
    check(Sdk::Python, Pairing::beside_others);
}

#[test]
fn legacy_typescript_uses_modern_servers() {
    check(Sdk::TypeScript, Pairing::over_stdio);
}

#[test]
fn legacy_typescript_uses_modern_http() {
    check(Sdk::TypeScript, Pairing::over_http);
}

#[test]
fn legacy_typescript_uses_mixed_servers() {
    check(Sdk::TypeScript, Pairing::beside_others);
}

#[test]
fn legacy_rust_uses_modern_servers() {
    check(Sdk::Rust, Pairing::over_stdio);
}

#[test]
fn legacy_rust_uses_modern_http() {
    check(Sdk::Rust, Pairing::over_http);
}

#[test]
fn legacy_rust_uses_mixed_servers() {
    check(Sdk::Rust, Pairing::beside_others);
}

#[test]
fn typescript_1_uses_modern_servers() {
    check(Sdk::OldTypeScript, Pairing::over_stdio);
}

#[test]
fn typescript_1_uses_modern_http() {
    check(Sdk::OldTypeScript, Pairing::over_http);
}

#[test]
fn typescript_1_uses_mixed_servers() {
    check(Sdk::OldTypeScript, Pairing::beside_others);
}
