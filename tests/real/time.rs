//! The time server, in Python: another SDK, which writes JSON differently.

use super::peers::{Link, Server};
use super::talk::{hold, same_both_ways};
use serde_json::json;

#[test]
fn time_server_is_equal() {
    let heard = same_both_ways(&Server::time(), |talk| {
        talk.greet(json!({}));
        talk.request("tools/list", json!({}));
        talk.request("ping", json!({}));
        talk.call("get_current_time", json!({ "timezone": "America/New_York" }));
        talk.call("get_current_time", json!({ "timezone": "Nowhere/None" }));
        talk.call("get_current_time", json!({}));
        let convert = |time: &str| json!({ "source_timezone": "Asia/Kathmandu", "time": time, "target_timezone": "UTC" });
        talk.call("convert_time", convert("16:30"));
        talk.call("convert_time", convert("25:99"));
        talk.call("no_such_tool", json!({}));
        talk.request("prompts/list", json!({}));
        talk.request("no/such/method", json!({}));
        talk.notify("notifications/cancelled", json!({ "requestId": 99 }));
        talk.request("ping", json!({}));
    });
    let mentions = |text: &str| heard.iter().any(|frame| frame.contains(text));
    assert!(mentions("2026-07-28T08:00:00-04:00") && mentions("-5.75h"), "{heard:#?}");
}

/// The server also speaks the era without a handshake.
#[test]
fn newest_era_is_found() {
    let server = Server::time();
    let ask = |link| {
        let heard = hold(&server, link, &|talk| {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            talk.request("server/discover", json!({ "_meta": meta }));
        });
        serde_json::from_str::<serde_json::Value>(&heard[0]).unwrap()
    };
    let versions = |link| ask(link)["result"]["supportedVersions"].clone();
    let direct = versions(Link::Direct);
    assert!(direct.as_array().is_some_and(|versions| versions.contains(&json!("2026-07-28"))), "{direct}");
    assert_eq!(versions(Link::Through), direct);
}
