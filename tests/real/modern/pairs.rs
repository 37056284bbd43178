//! Each client with each server, over stdio and HTTP on both sides, alone and as one of several servers: the client is told
//! the same as directly.

use super::peers::{SDKS, Sdk, Steps};
use crate::daemon::house::House;
use crate::http::served::{Served, token};
use crate::real::elsewhere::Elsewhere;
use crate::support::fake_backend;
use serde_json::{Value, json};
use std::ffi::OsString;
use switchboard_testkit::client::Start;

/// A server, started by us or elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    Stdio,
    Http,
}

/// A server's entry in a config file, and its process if we do not start it.
fn entry(server: Sdk, backend: Backend) -> (Value, Option<Elsewhere>) {
    match backend {
        Backend::Stdio => {
            let words = server.over_stdio();
            let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
            // Servers of the Python and TypeScript SDKs that were greeted with a handshake refuse `server/discover`, so
            // that `auto` takes them for legacy ones.
            (json!({ "command": words[0], "args": words[1..] }), None)
        }
        Backend::Http => {
            let elsewhere = server.over_http();
            (json!({ "url": elsewhere.url() }), Some(elsewhere))
        }
    }
}

/// All servers in one config file.
fn all(backend: Backend) -> (House, Vec<Elsewhere>) {
    let mut servers = serde_json::Map::new();
    let mut elsewhere = Vec::new();
    for server in SDKS {
        let (entry, running) = entry(server, backend);
        servers.insert(server.name().to_owned(), entry);
        elsewhere.extend(running);
    }
    (House::with(json!({ "mcpServers": servers }), json!({}), &[]), elsewhere)
}

/// The command line of a window of this house.
fn window(house: &House, more: &[&str]) -> Vec<OsString> {
    let words = [env!("CARGO_BIN_EXE_switchboard"), "stdio", "--config"].map(OsString::from);
    let more = more.iter().map(OsString::from);
    words.into_iter().chain([house.config().into()]).chain(more).collect()
}

fn at_home(house: &House, start: Start) -> Start {
    start.home(house.path("home")).env("XDG_RUNTIME_DIR", house.path("r")).cwd(house.path("home"))
}

#[track_caller]
fn compare(what: &str, through: &Steps, directly: &Steps) {
    let differences = through.differences(directly);
    assert!(differences.is_empty(), "{what}: through us\n  {}", differences.join("\n  "));
}

#[track_caller]
fn check_directly(client: Sdk) {
    for server in SDKS {
        let steps = client.directly(server);
        assert_eq!(*steps.get("closed"), true);
        assert_eq!(steps.get("add")["structuredContent"], json!({ "sum": 5 }));
        assert_eq!(steps.get("asked")["message"], "Really „delete“ 😀?");
        let answer = steps.get("confirm")["content"][0]["text"].as_str().unwrap().to_lowercase();
        assert_eq!(answer, "asked/„delete“ 😀 accept true");
        assert_eq!(steps.get("logs").as_array().map(Vec::len), Some(3));
        assert_eq!(steps.get("changed")[3], "extra");
        let far = server.over_http();
        let over_http = client.talk(&[far.url().into()], |start| start);
        compare(&format!("{client:?} with {server:?} over HTTP"), &over_http, steps);
    }
}

#[track_caller]
fn check_stdio(client: Sdk, backend: Backend) {
    let (house, _elsewhere) = all(backend);
    for server in SDKS {
        let target = window(&house, &["--server", server.name()]);
        let steps = client.talk(&target, |start| at_home(&house, start));
        let what = format!("{client:?} over stdio with {server:?} over {backend:?}");
        compare(&what, &steps, client.directly(server));
    }
}

#[track_caller]
fn check_http(client: Sdk, backend: Backend) {
    let (house, _elsewhere) = all(backend);
    let served = Served::start(house, &[]);
    for server in SDKS {
        let url = format!("http://127.0.0.1:{}/servers/{}/mcp", served.web.port(), server.name());
        let steps = client.talk(&[url.into()], |start| start.env("TOKEN", token(&served.house)));
        let what = format!("{client:?} over HTTP with {server:?} over {backend:?}");
        compare(&what, &steps, client.directly(server));
    }
}

/// The server and a fake one as one.
#[track_caller]
fn check_aggregated(client: Sdk, backend: Backend) {
    let fake = json!({ "command": fake_backend(), "args": ["--era", "modern"] });
    for server in SDKS {
        let (entry, _elsewhere) = entry(server, backend);
        let servers = json!({ "mcpServers": { "peer": entry, "fake": fake } });
        let house = House::with(servers, json!({}), &[]);
        let steps = match backend {
            Backend::Stdio => {
                let dress = |start| at_home(&house, start).env("PREFIX", "peer__");
                client.talk(&window(&house, &[]), dress)
            }
            // The front is the same as the back: both are HTTP, or neither.
            Backend::Http => {
                let served = Served::start(house, &[]);
                let url = format!("http://127.0.0.1:{}/mcp", served.web.port());
                let token = token(&served.house);
                client.talk(&[url.into()], |start| start.env("PREFIX", "peer__").env("TOKEN", &token))
            }
        };
        let what = format!("{client:?} with an aggregate of {server:?} over {backend:?}");
        compare(&what, &alone("peer__", &steps), &alone("", client.directly(server)));
    }
}

/// The parts of a conversation that are the server's own: items of lists whose names have this prefix, without it. Where
/// there are several servers, the discovery, errors about unknown names, addresses in lists, and `_meta` of lists are ours.
fn alone(prefix: &str, steps: &Steps) -> Steps {
    steps.map(|name, value| match name {
        "discover" | "unknown tool" | "unknown resource" | "read config://nothing" => None,
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
    check_directly(Sdk::Python);
}

#[test]
fn typescript_works_directly() {
    check_directly(Sdk::TypeScript);
}

#[test]
fn rust_works_directly() {
    check_directly(Sdk::Rust);
}

#[test]
fn python_is_equal_over_stdio() {
    check_stdio(Sdk::Python, Backend::Stdio);
}

#[test]
fn typescript_is_equal_over_stdio() {
    check_stdio(Sdk::TypeScript, Backend::Stdio);
}

#[test]
fn rust_is_equal_over_stdio() {
    check_stdio(Sdk::Rust, Backend::Stdio);
}

#[test]
fn python_is_equal_to_http() {
    check_stdio(Sdk::Python, Backend::Http);
}

#[test]
fn typescript_is_equal_to_http() {
    check_stdio(Sdk::TypeScript, Backend::Http);
}

#[test]
fn rust_is_equal_to_http() {
    check_stdio(Sdk::Rust, Backend::Http);
}

#[test]
fn python_is_equal_aggregated() {
    check_aggregated(Sdk::Python, Backend::Stdio);
}

#[test]
fn typescript_is_equal_aggregated() {
    check_aggregated(Sdk::TypeScript, Backend::Stdio);
}

#[test]
fn rust_is_equal_aggregated() {
    check_aggregated(Sdk::Rust, Backend::Stdio);
}

#[test]
fn python_is_equal_from_http() {
    check_http(Sdk::Python, Backend::Stdio);
}

#[test]
fn typescript_is_equal_from_http() {
    check_http(Sdk::TypeScript, Backend::Stdio);
}

#[test]
fn rust_is_equal_from_http() {
    check_http(Sdk::Rust, Backend::Stdio);
}

#[test]
fn python_is_equal_over_http() {
    check_http(Sdk::Python, Backend::Http);
}

#[test]
fn typescript_is_equal_over_http() {
    check_http(Sdk::TypeScript, Backend::Http);
}

#[test]
fn rust_is_equal_over_http() {
    check_http(Sdk::Rust, Backend::Http);
}

#[test]
fn python_is_equal_aggregated_http() {
    check_aggregated(Sdk::Python, Backend::Http);
}

#[test]
fn typescript_is_equal_aggregated_http() {
    check_aggregated(Sdk::TypeScript, Backend::Http);
}

#[test]
fn rust_is_equal_aggregated_http() {
    check_aggregated(Sdk::Rust, Backend::Http);
}
