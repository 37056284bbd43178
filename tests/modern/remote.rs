//! Modern servers over HTTP behind modern clients on stdio. The connection itself is tested in
//! `crates/gateway/src/backends/remote/modern/tests`.

use crate::remote::{SECRET, far, finish};
use crate::support::{program, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Modern, Start};
use switchboard_testkit::monitor::Monitor;
use switchboard_testkit::web::{Seen, Web, Wire, answer, mcp};

/// A modern server: its tool `sql` needs a header, `hang` streams until its client is gone.
pub(super) fn modern(seen: &Seen, wire: &mut Wire<'_>, closed: &Monitor<u32>) {
    match (seen.what(), seen.tool()) {
        ("server/discover", _) => {
            let capabilities = json!({ "tools": { "listChanged": true } });
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                "ttlMs": 0, "cacheScope": "private",
            });
            wire.answer(seen, &result);
        }
        ("tools/list", _) => {
            let region = json!({ "type": "string", "x-mcp-header": "Region" });
            let schema = json!({ "type": "object", "properties": { "region": region } });
            let tools = json!([
                { "name": "sql", "inputSchema": schema },
                { "name": "hang", "inputSchema": { "type": "object" } },
            ]);
            let result =
                json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" });
            wire.answer(seen, &result);
        }
        ("tools/call", "sql") => match seen.header("mcp-param-region") {
            Some(region) => {
                wire.answer(
                    seen,
                    &json!({ "resultType": "complete", "content": [{ "type": "text", "text": region }] }),
                );
            }
            None => {
                let error = json!({ "code": -32020, "message": "Header mismatch" });
                wire.json(400, &[], &json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error }));
            }
        },
        ("tools/call", "log") => {
            wire.begin_events(&[]);
            let params = json!({ "level": "error", "data": seen.body["params"]["arguments"] });
            wire.event(
                None,
                &json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }),
            );
            wire.until_closed();
        }
        ("tools/call", _) => {
            wire.begin_events(&[]);
            let token = &seen.body["params"]["_meta"]["progressToken"];
            let params = json!({ "progressToken": token, "progress": 1 });
            wire.event(
                None,
                &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }),
            );
            wire.until_closed();
            closed.update(|closed| *closed += 1);
        }
        ("subscriptions/listen", _) => {
            wire.begin_events(&[]);
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.body["id"] });
            for method in ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"] {
                let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
                wire.event(None, &json!({ "jsonrpc": "2.0", "method": method, "params": params }));
            }
            wire.until_closed();
            closed.update(|closed| *closed += 1);
        }
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            wire.json(404, &[], &json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error }));
        }
    }
}

/// A modern server, and the number of its streams that clients have closed.
pub(super) fn web() -> (Web, Arc<Monitor<u32>>) {
    let closed = Arc::new(Monitor::default());
    let counted = closed.clone();
    (Web::start(move |seen, wire| modern(seen, wire, &counted)), closed)
}

fn client(web: &Web) -> Modern {
    Modern::start(far(&web.url("/mcp"), json!({})))
}

#[track_caller]
pub(super) fn wait_for_close(closed: &Monitor<u32>) {
    let deadline = Instant::now() + Duration::from_secs(30);
    assert!(closed.wait_for(Some(deadline), |closed| (*closed > 0).then_some(())).is_some());
}

#[test]
fn modern_server_needs_no_session() {
    let (web, _) = web();
    let mut client = client(&web);
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "sql");
    assert_eq!(text(&client.call("sql", json!({ "region": "west" }))), "west");
    let unknown = client.request("no/such", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    finish(client.into_client());
    for seen in web.seen() {
        assert_eq!((seen.method.as_str(), seen.header("mcp-session-id")), ("POST", None));
        assert_eq!(seen.header("mcp-method"), seen.body["method"].as_str());
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    }
    assert_eq!(web.count("initialize"), 0);
}

#[test]
fn call_without_a_list_gets_its_headers() {
    let (web, _) = web();
    let mut client = client(&web);
    assert_eq!(text(&client.call("sql", json!({ "region": "süd" }))), "=?base64?c8O8ZA==?=");
    assert!(web.count("tools/call") <= 2);
    finish(client.into_client());
}

#[test]
fn cancellation_closes_the_response() {
    let (web, closed) = web();
    let mut client = client(&web);
    let meta = json!({ "progressToken": "t" });
    let id = client.ask("tools/call", json!({ "name": "hang", "arguments": {}, "_meta": meta }));
    let progress = client.told("notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "t");
    client.cancel(id);
    wait_for_close(&closed);
    assert_eq!(web.count("notifications/cancelled"), 0);
    assert_eq!(text(&client.call("sql", json!({ "region": "west" }))), "west");
    finish(client.into_client());
}

/// Log messages name no request, but each comes in the response to its own.
#[test]
fn log_messages_reach_their_own_window() {
    let (web, _) = web();
    let one = client(&web).log_level("error");
    let again = Start::inside(one.scratch(), crate::support::switchboard()).env("FAR_TOKEN", SECRET);
    let config = one.scratch().join("config.json");
    let again = again.arg("stdio").arg("--config").arg(config).args(["--server", "far"]);
    let mut windows = [one, Modern::start(again).log_level("error")];
    let log = |label: &str| json!({ "name": "log", "arguments": { "label": label } });
    for (window, label) in [(0, "first"), (1, "second"), (0, "third")] {
        let client = &mut windows[window];
        client.ask("tools/call", log(label));
        assert_eq!(client.told("notifications/message")["params"]["data"]["label"], label);
    }
}

#[test]
fn subscription_lasts_until_cancelled() {
    let (web, closed) = web();
    let mut client = client(&web);
    let (id, agreed) = client.listen(json!({ "toolsListChanged": true }));
    assert_eq!(agreed, json!({ "toolsListChanged": true }));
    client.heard(id, "notifications/tools/list_changed");
    client.cancel(id);
    wait_for_close(&closed);
    finish(client.into_client());
}

/// A proxy may close a stream at any time. Changes until it is open again are found in the lists.
#[test]
fn closed_listen_is_opened_again() {
    let (closed, may_close) = (Monitor::default(), Arc::new(Monitor::new(false)));
    let (gate, listens) = (may_close.clone(), Monitor::new(0));
    let far = Web::start(move |seen, wire| match seen.what() {
        "subscriptions/listen" => {
            let is_first = listens.update(|count| std::mem::replace(count, *count + 1)) == 0;
            wire.begin_events(&[]);
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.body["id"] });
            let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
            let method = "notifications/subscriptions/acknowledged";
            wire.event(None, &json!({ "jsonrpc": "2.0", "method": method, "params": params }));
            if is_first {
                gate.wait_for(None, |may| may.then_some(()));
                wire.end_events();
            } else {
                wire.until_closed();
            }
        }
        "tools/list" if *listens.lock() > 1 => {
            let tools = json!([{ "name": "later", "inputSchema": { "type": "object" } }]);
            wire.answer(
                seen,
                &json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" }),
            );
        }
        _ => modern(seen, wire, &closed),
    });
    let (other, _) = web();
    let start = program();
    let servers = json!({ "far": { "url": far.url("/mcp") }, "other": { "url": other.url("/mcp") } });
    let path = start.scratch().file("config.json", json!({ "mcpServers": servers }).to_string());
    let mut client = Modern::start(start.arg("stdio").arg("--config").arg(path));
    client.request("tools/list", json!({}));
    let (id, _) = client.listen(json!({ "toolsListChanged": true }));
    may_close.update(|may| *may = true);
    let is_new = |client: &mut Modern| {
        client.heard(id, "notifications/tools/list_changed");
        let listed = client.request("tools/list", json!({}));
        listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "far__later")
    };
    // The other server announces a change as soon as it is listened to.
    while !is_new(&mut client) {}
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn aggregate_sends_the_servers_own_names() {
    let (one, _) = web();
    let (two, _) = web();
    let start = program();
    let servers = json!({ "one": { "url": one.url("/mcp") }, "two": { "url": two.url("/mcp") } });
    let path = start.scratch().file("config.json", json!({ "mcpServers": servers }).to_string());
    let mut client = Modern::start(start.arg("stdio").arg("--config").arg(path));
    let listed = client.request("tools/list", json!({}));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["one__sql", "one__hang", "two__sql", "two__hang"], "{listed}");
    assert_eq!(text(&client.call("two__sql", json!({ "region": "west" }))), "west");
    let seen = two.seen().into_iter().find(|seen| seen.what() == "tools/call").unwrap();
    assert_eq!((seen.tool(), seen.header("mcp-name")), ("sql", Some("sql")));
    assert_eq!(one.count("tools/call"), 0);
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn legacy_server_is_translated() {
    let web = Web::start(|seen, wire| mcp(seen, wire, "s-1"));
    let mut client = client(&web);
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    let seen = web.seen().into_iter().find(|seen| seen.what() == "tools/list").unwrap();
    assert_eq!(seen.body["params"], json!({}), "{}", seen.body);
    // The client may still make a handshake.
    let mut client = client.into_client();
    client.initialize();
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"][0]["name"], "one");
    finish(client);
}

/// A server that speaks both eras: legacy with a session, modern without.
fn dual() -> Web {
    let closed = Monitor::default();
    Web::start(move |seen, wire| {
        match seen.body["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion") {
            Some(_) if seen.header("mcp-session-id").is_none() => modern(seen, wire, &closed),
            Some(_) => wire.json(400, &[], &answer(seen, &Value::Null)),
            None => mcp(seen, wire, "s-1"),
        }
    })
}

#[test]
fn both_eras_reach_one_server() {
    let web = dual();
    let mut old = far(&web.url("/mcp"), json!({})).start();
    old.initialize();
    assert_eq!(text(&old.call("one", json!({}))), "one in s-1");
    // The second window joins the daemon of the first.
    let again = Start::inside(old.scratch(), crate::support::switchboard()).env("FAR_TOKEN", SECRET);
    let config = old.scratch().join("config.json");
    let mut new = Modern::start(again.arg("stdio").arg("--config").arg(config).args(["--server", "far"]));
    assert_eq!(text(&new.call("sql", json!({ "region": "west" }))), "west");
    assert_eq!(text(&old.call("two", json!({}))), "two in s-1");
    assert_eq!(new.finish().code, Some(0));
    finish(old);
}
