//! Headers of requests, and calls that are refused for them.

use super::*;

fn header<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    seen.header(name)
}

#[test]
fn headers_repeat_the_body() {
    let web = plain();
    let mut line = Line::discovered(&web);
    let requests = [
        ("tools/list", json!({}), None),
        ("tools/call", json!({ "name": "read" }), Some("read")),
        ("prompts/get", json!({ "name": "grüß" }), Some("=?base64?Z3LDvMOf?=")),
        ("resources/read", json!({ "uri": "file:///a" }), Some("file:///a")),
        ("tasks/update", json!({ "taskId": "t-1" }), Some("t-1")),
        ("some/other", json!({ "name": "n" }), None),
    ];
    for (id, (method, params, name)) in (2..).zip(requests) {
        line.send(&request(id, method, params));
        line.answer(id);
        let seen = web.seen().pop().unwrap();
        assert_eq!(seen.what(), method);
        assert_eq!((header(&seen, "mcp-method"), header(&seen, "mcp-name")), (Some(method), name));
    }
    for seen in web.seen() {
        assert_eq!(seen.method, "POST", "no stream, no farewell");
        assert_eq!(header(&seen, "mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(header(&seen, "accept"), Some("application/json, text/event-stream"));
        assert_eq!(header(&seen, "authorization"), Some("Bearer s3cret-of-mine"));
        assert_eq!(header(&seen, "mcp-session-id"), None);
    }
    line.settle();
}

#[test]
fn session_ids_are_ignored() {
    let web = Web::start(|seen, wire| {
        let result = json!({ "supportedVersions": ["2026-07-28"] });
        wire.json(200, &[("mcp-session-id", "s")], &switchboard_testkit::web::answer(seen, &result));
    });
    let mut line = Line::discovered(&web);
    line.call(2, "t", json!({}));
    line.answer(2);
    assert!(web.seen().iter().all(|seen| seen.header("mcp-session-id").is_none() && seen.method == "POST"));
}

#[test]
fn notifications_are_posted() {
    let web = web(|_, wire| wire.reply(202, &[], ""));
    let mut line = Line::discovered(&web);
    line.send(&json!({ "jsonrpc": "2.0", "method": "notifications/some" }));
    line.settle();
    let seen = web.seen().pop().unwrap();
    assert_eq!(
        (header(&seen, "mcp-method"), seen.what()),
        (Some("notifications/some"), "notifications/some")
    );
    assert_eq!(header(&seen, "mcp-protocol-version"), Some("2026-07-28"));
}

#[test]
fn answers_are_not_posted() {
    let web = plain();
    let mut line = Line::discovered(&web);
    line.send(&json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
    line.settle();
    assert_eq!(web.seen().len(), 1);
}

/// A tool whose argument `region` is repeated in this header.
fn tool(name: &str, header: &str) -> Value {
    let region = json!({ "type": "string", "x-mcp-header": header });
    let schema = json!({ "type": "object", "properties": { "region": region, "n": { "type": "integer" } } });
    json!({ "name": name, "inputSchema": schema })
}

/// A server that refuses calls of `sql` without this header. Its list has two pages.
fn strict(wanted: &'static str) -> Web {
    web(move |seen, wire| match seen.what() {
        "tools/list" if seen.body["params"]["cursor"] == "p2" => {
            wire.answer(seen, &json!({ "tools": [tool("sql", wanted)] }));
        }
        "tools/list" => wire.answer(seen, &json!({ "tools": [tool("other", "Other")], "nextCursor": "p2" })),
        _ => {
            let found = seen.header(&format!("mcp-param-{}", wanted.to_lowercase()));
            match found {
                Some(value) => wire.answer(seen, &json!({ "structuredContent": value })),
                None => wire.json(400, &[], &error(&seen.body["id"], -32020, "Header mismatch")),
            }
        }
    })
}

#[test]
fn listed_headers_are_sent() {
    let web = strict("Region");
    let mut line = Line::discovered(&web);
    for (id, cursor) in [(2, json!(null)), (3, json!("p2"))] {
        line.send(&request(id, "tools/list", json!({ "cursor": cursor })));
        line.answer(id);
    }
    line.call(4, "sql", json!({ "region": "süd", "n": 1 }));
    assert_eq!(line.answer(4)["result"]["structuredContent"], "=?base64?c8O8ZA==?=");
    assert_eq!((web.count("tools/list"), web.count("tools/call")), (2, 1));
}

#[test]
fn refused_call_is_sent_again_once() {
    let web = strict("Region");
    let mut line = Line::discovered(&web);
    line.call(2, "sql", json!({ "region": "west" }));
    assert_eq!(line.answer(2)["result"]["structuredContent"], "west");
    assert_eq!((web.count("tools/list"), web.count("tools/call")), (2, 2));
    let lists: Vec<_> = web.seen().into_iter().filter(|seen| seen.what() == "tools/list").collect();
    for list in &lists {
        assert_eq!(list.body["params"]["_meta"][META], "2026-07-28");
        assert_eq!(list.body["params"]["_meta"].get("progressToken"), None);
        assert_eq!(header(list, "mcp-method"), Some("tools/list"));
        // The core's ids are numbers.
        assert!(list.body["id"].is_string(), "{}", list.body);
    }
    // The next call needs no list, and the core saw none.
    line.call(3, "sql", json!({ "region": "east" }));
    assert_eq!(line.answer(3)["result"]["structuredContent"], "east");
    assert_eq!((web.count("tools/list"), web.count("tools/call")), (2, 3));
    assert_eq!(line.heard.0.lock().messages.len(), 3);
    line.settle();
}

#[test]
fn second_refusal_is_the_answer() {
    let web = strict("Region");
    let mut line = Line::discovered(&web);
    // Without the argument there is no header to send.
    line.call(2, "sql", json!({}));
    assert_eq!(line.answer(2)["error"]["code"], -32020);
    assert_eq!((web.count("tools/list"), web.count("tools/call")), (2, 2));
    line.settle();
}

#[test]
fn only_calls_are_sent_again() {
    let web = web(|seen, wire| wire.json(400, &[], &error(&seen.body["id"], -32020, "Header mismatch")));
    let mut line = Line::discovered(&web);
    for (id, method) in [(2, "prompts/get"), (3, "tools/list"), (4, "resources/read")] {
        line.send(&request(id, method, json!({ "name": "x", "uri": "x:y" })));
        assert_eq!(line.answer(id)["error"]["code"], -32020);
        assert_eq!(web.count(method), 1);
    }
}

#[test]
fn refusal_stays_if_lists_fail() {
    let web = web(|seen, wire| match seen.what() {
        "tools/list" => wire.json(404, &[], &error(&json!(null), -32601, "no lists")),
        _ => wire.json(400, &[], &error(&seen.body["id"], -32020, "Header mismatch")),
    });
    let mut line = Line::discovered(&web);
    line.call(2, "sql", json!({}));
    assert_eq!(line.answer(2)["error"]["code"], -32020);
    assert_eq!((web.count("tools/list"), web.count("tools/call")), (1, 1));
}

#[test]
fn parallel_refusals_share_one_list() {
    let web = strict("Region");
    let mut line = Line::discovered(&web);
    for id in 2..22 {
        line.call(id, "sql", json!({ "region": format!("r{id}") }));
    }
    for id in 2..22 {
        assert_eq!(line.answer(id)["result"]["structuredContent"], format!("r{id}"));
    }
    // A call that was sent after the fetch may need no second attempt, but none needs a third.
    assert!(web.count("tools/call") <= 40);
    assert_eq!(web.count("tools/list"), 2);
}

#[test]
fn invalid_tools_are_left_out() {
    let web = web(|seen, wire| {
        let tools = [tool("good", "Good"), tool("bad", "not a token"), json!({ "name": "plain" })];
        wire.answer(seen, &json!({ "tools": tools, "ttlMs": 1 }));
    });
    let mut line = Line::discovered(&web);
    line.send(&request(2, "tools/list", json!({})));
    let result = line.answer(2)["result"].clone();
    let names: Vec<_> = result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!((names, &result["ttlMs"]), (vec![json!("good"), json!("plain")], &json!(1)));
    let log = line.heard.0.lock().log.join("\n");
    assert!(log.contains("the tool `bad` is left out"), "{log}");
}

#[test]
fn large_bodies_have_headers() {
    let web = plain();
    let mut line = Line::discovered(&web);
    line.call(2, "big", json!({ "text": "x".repeat(400 << 10) }));
    line.answer(2);
    assert_eq!(header(&web.seen().pop().unwrap(), "mcp-name"), Some("big"));
    line.settle();
}
