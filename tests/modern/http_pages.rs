//! Modern requests of web pages (CORS): an allowed origin may send the headers of this era and read the answers, another one
//! reaches nothing.

use super::http_calls::served;
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use serde_json::json;
use switchboard_testkit::http::{Ask, Modern};

const PATHS: [&str; 3] = ["/mcp", FAKE, "/profiles/some/mcp"];
const ALLOWED: [&str; 3] = ["https://app.example.com", "http://localhost:3000", "http://127.0.0.1"];
const OTHERS: [&str; 4] =
    ["http://evil.test", "null", "http://app.example.com", "https://app.example.com.evil.test"];
/// Headers that a modern client sends.
const WANTED: [&str; 6] =
    ["authorization", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region"];

fn for_pages() -> Served {
    let file = json!({ "profiles": { "some": ["fake"] }, "serve": { "allowedOrigins": [ALLOWED[0]] } });
    Served::start(House::with(file, json!({ "scope": "global" }), &["--era", "modern"]), &[])
}

/// The question of a browser before a modern POST.
fn preflight(served: &Served, path: &str, origin: &str) -> Ask {
    let ask = served.web.ask("OPTIONS", path).without("Authorization").header("Origin", origin);
    let ask = ask.header("Access-Control-Request-Method", "POST");
    ask.header("Access-Control-Request-Headers", &WANTED.join(","))
}

#[test]
fn allowed_pages_send_modern_requests() {
    let served = for_pages();
    for path in PATHS {
        for origin in ALLOWED {
            let may = preflight(&served, path, origin).send();
            assert_eq!((may.status, may.header("access-control-allow-origin")), (204, Some(origin)));
            assert!(may.header("access-control-allow-methods").unwrap().contains("POST"));
            let allowed = may.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
            let allowed: Vec<&str> = allowed.split(',').map(str::trim).collect();
            for name in WANTED {
                assert!(allowed.contains(&name), "{path}: {name} in {allowed:?}");
            }
            let modern = Modern::at(&served.web.with("Origin", origin), path);
            let (_, mut reply) = modern.begin("tools/list", json!({}));
            assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some(origin)));
            assert!(reply.json().get("result").is_some());
            // Refusals and streams can be read as well.
            let (_, reply) = modern.begin("ping", json!({}));
            assert_eq!((reply.status, reply.header("access-control-allow-origin")), (404, Some(origin)));
            let (_, stream) = modern.listen(json!({ "toolsListChanged": true }));
            assert_eq!(stream.header("access-control-allow-origin"), Some(origin));
        }
    }
}

#[test]
fn other_pages_are_refused() {
    let served = for_pages();
    for path in PATHS {
        for origin in OTHERS {
            let may = preflight(&served, path, origin).send();
            assert_eq!((may.status, may.header("access-control-allow-origin")), (403, None), "{origin}");
            assert_eq!(may.header("access-control-allow-headers"), None, "{origin}");
            let modern = Modern::at(&served.web.with("Origin", origin), path);
            let arguments = json!({ "is": "forbidden" });
            for name in ["echo", "fake__echo"] {
                let (_, reply) = modern.begin("tools/call", json!({ "name": name, "arguments": arguments }));
                assert_eq!((reply.status, reply.header("access-control-allow-origin")), (403, None));
            }
        }
    }
    assert_eq!(Modern::at(&served.web, FAKE).begin("tools/list", json!({})).1.status, 200);
    assert!(!served.record().all_lines().iter().any(|line| line.contains("forbidden")));
}

/// Without the setting, pages of this machine are the only ones.
#[test]
fn only_own_pages_are_allowed_by_default() {
    let served = served();
    assert_eq!(preflight(&served, FAKE, ALLOWED[0]).send().status, 403);
    assert_eq!(preflight(&served, FAKE, ALLOWED[1]).send().status, 204);
}
