//! The home page at `/`: no token, no secrets, and only under our own host names.

use super::served::{Served, token};
use serde_json::json;

#[test]
fn home_page_tells_how_to_connect() {
    let served = Served::new();
    let mut page = served.web.get("/").without("Authorization").send();
    let text = page.text();
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(text.contains(&format!("127.0.0.1:{}/mcp", served.web.port())), "{text}");
    assert!(text.contains("switchboard token show"), "{text}");
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    // Neither the token nor a server's name is shown.
    assert!(!text.contains(&token(&served.house)) && !text.contains("fake"), "{text}");
}

#[test]
fn home_page_checks_host_and_origin() {
    let served = Served::set(json!({}));
    let page = || served.web.get("/").without("Authorization");
    assert_eq!(page().header("Host", "evil.test").send().status, 403);
    assert_eq!(page().header("Origin", "http://evil.test").send().status, 403);
    assert_eq!(served.web.post("/", "{}").without("Authorization").send().status, 401);
    assert_eq!(served.web.post("/", "{}").send().status, 404);
    assert_eq!(served.web.get("/other").without("Authorization").send().status, 401);
}
