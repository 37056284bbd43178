//! Answers with an error status, and the era that they prove.

use super::*;

#[test]
fn error_bodies_are_answers() {
    let web = web(|seen, wire| {
        let id = &seen.body["id"];
        match seen.tool() {
            "version" => wire.json(400, &[], &error(id, -32022, "no such version")),
            "method" => wire.json(404, &[], &error(id, -32601, "no such method")),
            "nameless" => wire.json(400, &[], &error(&json!(null), -32602, "no meta")),
            "failed" => wire.json(500, &[], &error(id, -32603, "oops")),
            // Longer than what is read of a page.
            _ => wire.json(400, &[], &error(id, -32021, &"x".repeat(20 << 10))),
        }
    });
    let mut line = Line::discovered(&web);
    let tools =
        [("version", -32022), ("method", -32601), ("nameless", -32602), ("failed", -32603), ("long", -32021)];
    for (id, (tool, code)) in (2..).zip(tools) {
        line.call(id, tool, json!({}));
        assert_eq!(line.answer(id)["error"]["code"], code, "{tool}");
    }
    assert_eq!(web.count("tools/call"), tools.len());
    line.settle();
}

#[test]
fn refusals_without_a_body_are_errors() {
    let web = web(|seen, wire| {
        let status = seen.tool().parse().unwrap();
        // The body does not matter for these.
        wire.json(status, &[], &error(&json!(8), -32099, "s3cret-of-mine"));
    });
    let mut line = Line::discovered(&web);
    for (id, (status, text)) in
        (2..).zip([(401, "token"), (403, "denied"), (429, "busy"), (500, "failed"), (503, "busy")])
    {
        line.call(id, &status.to_string(), json!({}));
        let told = line.answer(id)["error"].clone();
        assert_ne!(told["code"], -32099);
        let told = told["message"].as_str().unwrap();
        assert!(told.contains(text) && told.contains(&status.to_string()), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    }
    line.settle();
}

#[test]
fn unusable_bodies_are_errors() {
    let web = web(|seen, wire| match seen.tool() {
        "page" => wire.reply(200, &[("content-type", "text/html")], "<html>"),
        "empty" => wire.reply(202, &[], ""),
        "foreign" => wire.json(200, &[], &json!({ "jsonrpc": "2.0", "id": 99, "result": {} })),
        _ => wire.reply(404, &[], "not here"),
    });
    let mut line = Line::discovered(&web);
    for (id, tool) in (2..).zip(["page", "empty", "foreign", "404"]) {
        line.call(id, tool, json!({}));
        let told = line.answer(id)["error"].clone();
        // Modern clients know no codes of ours.
        assert_eq!((&told["code"], told["data"]["kind"].is_string()), (&json!(-32603), true), "{tool}");
    }
    assert_eq!(web.count("tools/call"), 4);
}

#[test]
fn legacy_server_is_recognised() {
    let check = |answer: fn(&Seen, &mut Wire<'_>), code: i32| {
        let web = Web::start(answer);
        let mut line = Line::open(&web);
        assert_eq!(line.answer(1)["error"]["code"], code);
        // The core may go on with a handshake on the same connection.
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
        line.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params }));
        assert_eq!(line.answer(2)["result"]["protocolVersion"], "2025-11-25");
        line.settle();
        web
    };
    fn legacy(seen: &Seen, wire: &mut Wire<'_>) {
        switchboard_testkit::web::mcp(seen, wire, "s-1");
    }
    check(legacy, -32001);
    check(
        |seen, wire| match seen.what() {
            "server/discover" => wire.reply(400, &[], "Bad Request: Missing session ID"),
            _ => legacy(seen, wire),
        },
        -32601,
    );
    check(
        |seen, wire| match seen.what() {
            "server/discover" => wire.reply(405, &[], ""),
            _ => legacy(seen, wire),
        },
        -32601,
    );
    let web = check(
        |seen, wire| match seen.what() {
            "server/discover" => wire.reply(202, &[], ""),
            _ => legacy(seen, wire),
        },
        -32601,
    );
    let greeting = web.seen().into_iter().find(|seen| seen.what() == "initialize").unwrap();
    assert_eq!(greeting.header("mcp-method"), None);
}

#[test]
fn legacy_connection_asks_outside_its_session() {
    let web = Web::start(|seen, wire| match (seen.what(), seen.header("mcp-session-id")) {
        ("server/discover", None) => wire.answer(seen, &json!({ "supportedVersions": ["2026-07-28"] })),
        _ => switchboard_testkit::web::mcp(seen, wire, "s-1"),
    });
    let mut line = Line::new(&web, Transport::Auto);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    line.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    line.answer(1);
    line.send(&request(2, "server/discover", json!({})));
    assert_eq!(line.answer(2)["result"]["supportedVersions"], json!(["2026-07-28"]));
    let seen = web.seen().into_iter().find(|seen| seen.what() == "server/discover").unwrap();
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("mcp-method"), Some("server/discover"));
    line.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    assert!(line.answer(3)["result"]["tools"].is_array(), "the session goes on");
}

#[test]
fn legacy_lists_stay_whole() {
    let property = json!({ "type": "number", "x-mcp-header": "not a token" });
    let tools = json!([{ "name": "t", "inputSchema": { "properties": { "a": property } } }]);
    let listed = tools.clone();
    let web = Web::start(move |seen, wire| match seen.what() {
        "tools/list" => wire.answer(seen, &json!({ "tools": listed })),
        _ => switchboard_testkit::web::mcp(seen, wire, "s-1"),
    });
    let mut line = Line::open(&web);
    line.answer(1);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    line.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params }));
    line.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    assert_eq!(line.answer(3)["result"]["tools"], tools);
}

#[test]
fn unreachable_server_proves_nothing() {
    for (status, text) in [(401, "401"), (403, "403"), (500, "500"), (502, "502"), (503, "503")] {
        let web = Web::start(move |seen, wire| {
            wire.json(status, &[("retry-after", "3600")], &error(&seen.body["id"], -32601, "no"));
        });
        let line = Line::open(&web);
        let end = line.wait(|heard| heard.end.clone());
        assert!(end.as_ref().is_err_and(|why| why.contains(text)), "{end:?}");
        assert!(line.heard.0.lock().messages.is_empty());
        line.settle();
    }
}

#[test]
fn lost_discover_is_sent_again_once() {
    let web = Web::start(|_, wire| wire.cut());
    let line = Line::open(&web);
    let end = line.wait(|heard| heard.end.clone());
    assert!(end.is_err_and(|why| why.contains("was lost before the answer arrived")));
    assert_eq!(web.count("server/discover"), 2);
}

#[test]
fn sse_transport_is_legacy() {
    let web = plain();
    let mut line = Line::new(&web, Transport::Sse);
    line.send(&request(1, "server/discover", json!({})));
    assert_eq!(line.answer(1)["error"]["code"], -32601);
    assert_eq!(web.seen().len(), 0);
    line.settle();
}

#[test]
fn redirects_keep_the_headers() {
    let web = web(|seen, wire| match seen.path.as_str() {
        "/mcp" => wire.reply(307, &[("location", "/new")], ""),
        _ => wire.answer(seen, &json!({ "resultType": "complete" })),
    });
    let mut line = Line::discovered(&web);
    line.call(2, "t", json!({}));
    line.answer(2);
    let seen = web.seen().pop().unwrap();
    assert_eq!((seen.path.as_str(), seen.header("mcp-name")), ("/new", Some("t")));
}
