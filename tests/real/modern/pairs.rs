//! Clients with servers of their own era, over stdio and HTTP on both sides, alone and as one of several servers: the client
//! is told the same as directly, and nothing is translated.

use super::differences::{Case, Differences};
use super::peers::{Era, Job, SDKS, Sdk, Speaks, Steps, Talker};
use super::routes::{Each, Pairing};
use serde_json::{Value, json};

impl Pairing {
    fn of_one(era: Era, client: Sdk) -> Self {
        Self { client, speaks: era, servers: era }
    }

    /// Name of the comparison in the list of expected differences.
    fn direction(self) -> &'static str {
        match self.speaks {
            Era::Legacy => "legacy-pair",
            Era::Modern => "pair",
        }
    }
}

/// Over stdio and HTTP, without us.
#[track_caller]
fn check_directly(client: Sdk, era: Era) {
    let pairing = Pairing::of_one(era, client);
    let mut found = Differences::of(pairing.direction());
    let mut talker = Talker::start(client);
    for server in SDKS {
        let steps = talker.directly(era, server);
        assert_eq!(*steps.get("closed"), true);
        assert_eq!(*steps.get("spoken"), era.version());
        assert_eq!(steps.get("add")["structuredContent"], json!({ "sum": 5 }));
        assert_eq!(steps.get("asked")["message"], "Really „delete“ 😀?");
        let answer = steps.get("confirm")["content"][0]["text"].as_str().unwrap().to_lowercase();
        assert_eq!(answer, "asked/„delete“ 😀 accept true");
        assert_eq!(steps.get("logs").as_array().map(Vec::len), Some(3));
        if server.tells_of_tools(era) {
            assert!(steps.get("changed").as_array().is_some_and(|names| names.contains(&json!("extra"))));
        }
        check_features(pairing, server, steps);
        let far = server.over_http(Speaks::Both);
        let over_http = talker.talk(&Job::new(era, &[far.url().into()]).with_server(server, era));
        let case = Case { client: client.name(), server: server.name(), route: "direct/http" };
        found.compare(case, &over_http, steps);
    }
    found.check();
}

/// What the features must have led to, so that the comparisons compare something.
#[track_caller]
fn check_features(pairing: Pairing, server: Sdk, steps: &Steps) {
    let text = |name: &str| steps.get(name)["content"][0]["text"].as_str().unwrap_or_default();
    let kinds = ["text", "image", "audio", "resource_link", "resource", "resource"];
    assert_eq!(
        kinds.map(|kind| json!(kind)),
        [0, 1, 2, 3, 4, 5].map(|at| steps.get("rich")["content"][at]["type"].clone())
    );
    assert_eq!(steps.get("rich")["_meta"]["example.com/result"]["deep"][1], "two");
    assert_eq!(steps.get("rich")["structuredContent"]["nested"]["ratio"], 0.5);
    let is_legacy = pairing.speaks == Era::Legacy;
    // Structured content of the legacy era is an object.
    let is_wrapped = is_legacy || server == Sdk::Python;
    let sequence = if is_wrapped { json!({ "result": [1, 2, 3] }) } else { json!([1, 2, 3]) };
    assert_eq!(steps.get("sequence")["structuredContent"], sequence);
    let seen = steps.get("seen");
    for key in ["traceparent", "tracestate", "baggage", "example.com/foreign"] {
        assert!(!seen["meta"][key].is_null(), "{key}: {seen}");
    }
    assert_eq!(seen["capabilities"]["extensions"]["example.com/unknown"]["level"], 3);
    assert_eq!(text("sample"), "tool_use weather Köln, then It rains.");
    assert_eq!(text("where"), "file:///home/someone/project project");
    // rmcp demands the member `elicitationId`, which the modern era no longer has: as a client, it takes another SDK's question for
    // an invalid answer; as a server, it sends the member.
    if is_legacy || pairing.client != Sdk::Rust || server == Sdk::Rust {
        assert_eq!(text("login"), "accept");
        assert_eq!(steps.get("asked to open")["url"], "https://example.com/login?state=%C3%A4&x=1");
    }
    assert_eq!(steps.get("read blob")["contents"][0]["mimeType"], "image/png");
    assert_eq!(*steps.get("updated"), "counter://clicks");
    assert_eq!(steps.get("read counter")["contents"][0]["text"], "7");
}

/// Through us, in this way.
#[track_caller]
fn check(era: Era, client: Sdk, hold: impl Fn(Pairing, Each<'_>)) {
    let pairing = Pairing::of_one(era, client);
    let mut found = Differences::of(pairing.direction());
    hold(pairing, &mut |talker, held| {
        let [through, directly] = held.beside(talker.directly(era, held.server));
        found.compare(held.case(), &through, &directly);
    });
    found.check();
}

/// The parts of a conversation that are the server's own: items of lists whose names have this prefix, without it. Where
/// there are several servers, the introduction, errors about unknown names, addresses in lists, and `_meta` of lists are ours.
pub(super) fn alone(prefix: &str, steps: &Steps) -> Steps {
    steps.map(|name, value| match name {
        "discover" | "server" | "unknown tool" | "unknown resource" | "read config://nothing" => None,
        "tools" | "prompts" => {
            let mut list = value.clone();
            strip(&mut list[name], prefix);
            list.as_object_mut()?.remove("_meta");
            Some(list)
        }
        "resources" | "templates" => {
            let mut list = value.clone();
            list.as_object_mut()?.remove("_meta");
            for members in ["resources", "resourceTemplates"] {
                let items = list.get_mut(members).and_then(Value::as_array_mut).into_iter().flatten();
                for item in items.filter_map(Value::as_object_mut) {
                    let _ = (item.remove("uri"), item.remove("uriTemplate"));
                }
            }
            Some(list)
        }
        "logs" => {
            let mut logs = value.clone();
            for log in logs.as_array_mut()? {
                let own = log["logger"].as_str().map(|logger| logger.trim_start_matches("peer/").to_owned());
                log["logger"] = json!(own);
            }
            Some(logs)
        }
        "changed" => {
            let names = value.as_array()?.iter().filter_map(|name| name.as_str()?.strip_prefix(prefix));
            Some(json!(names.collect::<Vec<_>>()))
        }
        _ => Some(value.clone()),
    })
}

/// Keeps the items with this prefix, and removes it. Where there are several servers, names have no letters but those of ASCII.
fn strip(items: &mut Value, prefix: &str) {
    let Some(items) = items.as_array_mut() else { return };
    items.retain_mut(|item| {
        let own = item["name"].as_str().and_then(|name| name.strip_prefix(prefix));
        let own = own.map(|own| own.replace(|letter: char| !letter.is_ascii(), "_"));
        own.map(|own| item["name"] = json!(own)).is_some()
    });
}

#[test]
fn python_works_directly() {
    check_directly(Sdk::Python, Era::Modern);
}

#[test]
fn python_is_equal_over_stdio() {
    check(Era::Modern, Sdk::Python, Pairing::over_stdio);
}

#[test]
fn python_is_equal_aggregated() {
    check(Era::Modern, Sdk::Python, Pairing::beside_others);
}

#[test]
fn python_is_equal_over_http() {
    check(Era::Modern, Sdk::Python, Pairing::over_http);
}

#[test]
fn typescript_works_directly() {
    check_directly(Sdk::TypeScript, Era::Modern);
}

#[test]
fn typescript_is_equal_over_stdio() {
    check(Era::Modern, Sdk::TypeScript, Pairing::over_stdio);
}

#[test]
fn typescript_is_equal_aggregated() {
    check(Era::Modern, Sdk::TypeScript, Pairing::beside_others);
}

#[test]
fn typescript_is_equal_over_http() {
    check(Era::Modern, Sdk::TypeScript, Pairing::over_http);
}

#[test]
fn rust_works_directly() {
    check_directly(Sdk::Rust, Era::Modern);
}

#[test]
fn rust_is_equal_over_stdio() {
    check(Era::Modern, Sdk::Rust, Pairing::over_stdio);
}

#[test]
fn rust_is_equal_aggregated() {
    check(Era::Modern, Sdk::Rust, Pairing::beside_others);
}

#[test]
fn rust_is_equal_over_http() {
    check(Era::Modern, Sdk::Rust, Pairing::over_http);
}

#[test]
fn legacy_python_works_directly() {
    check_directly(Sdk::Python, Era::Legacy);
}

#[test]
fn legacy_python_is_equal_over_stdio() {
    check(Era::Legacy, Sdk::Python, Pairing::over_stdio);
}

#[test]
fn legacy_python_is_equal_aggregated() {
    check(Era::Legacy, Sdk::Python, Pairing::beside_others);
}

#[test]
fn legacy_python_is_equal_over_http() {
    check(Era::Legacy, Sdk::Python, Pairing::over_http);
}

#[test]
fn legacy_typescript_works_directly() {
    check_directly(Sdk::TypeScript, Era::Legacy);
}

#[test]
fn legacy_typescript_is_equal_over_stdio() {
    check(Era::Legacy, Sdk::TypeScript, Pairing::over_stdio);
}

#[test]
fn legacy_typescript_is_equal_aggregated() {
    check(Era::Legacy, Sdk::TypeScript, Pairing::beside_others);
}

#[test]
fn legacy_typescript_is_equal_over_http() {
    check(Era::Legacy, Sdk::TypeScript, Pairing::over_http);
}

#[test]
fn legacy_rust_works_directly() {
    check_directly(Sdk::Rust, Era::Legacy);
}

#[test]
fn legacy_rust_is_equal_over_stdio() {
    check(Era::Legacy, Sdk::Rust, Pairing::over_stdio);
}

#[test]
fn legacy_rust_is_equal_aggregated() {
    check(Era::Legacy, Sdk::Rust, Pairing::beside_others);
}

#[test]
fn legacy_rust_is_equal_over_http() {
    check(Era::Legacy, Sdk::Rust, Pairing::over_http);
}

#[test]
fn typescript_1_works_directly() {
    check_directly(Sdk::OldTypeScript, Era::Legacy);
}

#[test]
fn typescript_1_is_equal_over_stdio() {
    check(Era::Legacy, Sdk::OldTypeScript, Pairing::over_stdio);
}

#[test]
fn typescript_1_is_equal_aggregated() {
    check(Era::Legacy, Sdk::OldTypeScript, Pairing::beside_others);
}

#[test]
fn typescript_1_is_equal_over_http() {
    check(Era::Legacy, Sdk::OldTypeScript, Pairing::over_http);
}
