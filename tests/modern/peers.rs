//! The scripted modern client and the fake modern server, straight at each other: what the other files rely on.

use crate::support::{fake_backend, text};
use serde_json::{Value, json};
use switchboard_testkit::client::{Modern, Start};
use switchboard_testkit::http;
use switchboard_testkit::message;
use switchboard_testkit::web::{self, Web};

/// A client of the fake server, without the program.
fn direct(options: &[&str]) -> Modern {
    Modern::start(Start::new(fake_backend()).args(options))
}

fn code(answer: &Value) -> &Value {
    &answer["error"]["code"]
}

#[test]
fn each_era_refuses_the_other() {
    let mut legacy = direct(&[]);
    assert_eq!(*code(&legacy.discover()), -32601);
    legacy.initialize();

    let mut modern = direct(&["--era", "modern"]);
    let hello = message::initialize_params("testkit", "2025-11-25", json!({}));
    let id = modern.ask_raw("initialize", &hello.to_string());
    assert_eq!(*code(&modern.answer(id)), -32601);
    let id = modern.ask_raw("tools/list", "{}");
    assert_eq!(*code(&modern.answer(id)), -32602);
    assert_eq!(*code(&modern.request("ping", json!({}))), -32601);
    modern.profile.version = "2027-01-01".into();
    let refused = modern.discover();
    assert_eq!(*code(&refused), -32022);
    assert_eq!(refused["error"]["data"], json!({ "supported": ["2026-07-28"], "requested": "2027-01-01" }));

    let mut dual = direct(&["--era", "dual"]);
    assert_eq!(dual.discover()["result"]["supportedVersions"], json!(["2026-07-28"]));
    dual.initialize();
    let id = dual.ask_raw("tools/list", "{}");
    assert_eq!(dual.answer(id)["result"].get("ttlMs"), None);
    assert_eq!(dual.request("tools/list", json!({}))["result"]["ttlMs"], 60_000);
}

#[test]
fn server_may_insist_on_initialize() {
    let mut client = direct(&["--wants-initialize"]);
    client.ask("server/discover", json!({}));
    assert_eq!(client.wait_for_end().code, Some(9));
    direct(&["--wants-initialize"]).initialize();
}

#[test]
fn lists_have_cache_hints() {
    let mut client = direct(&["--era", "modern", "--ttl", "7", "--cache-scope", "public"]);
    for method in ["server/discover", "tools/list"] {
        let result = &client.request(method, json!({}))["result"];
        assert_eq!(
            [&result["resultType"], &result["ttlMs"], &result["cacheScope"]],
            [&json!("complete"), &json!(7), &json!("public")],
            "{method}: {result}"
        );
    }
}

#[test]
fn params_come_back_to_the_byte() {
    let mut client = direct(&["--era", "modern"]);
    let meta = client.profile.dress(json!({}))["_meta"].to_string();
    let params = format!(
        r#"{{ "name":"params","_meta":{meta} , "arguments":{{"z":1.50,"a":"\u0041\/","z2":12345678901234567890123}}}}"#
    );
    let id = client.ask_raw("tools/call", &params);
    assert_eq!(text(&client.answer(id)), params);
}

#[test]
fn input_is_given_and_state_returned() {
    let mut client = direct(&["--era", "modern"]);
    let params = json!({ "name": "input", "arguments": { "rounds": 2 } });
    assert_eq!(*code(&client.request("tools/call", params.clone())), -32021);
    client.profile.capabilities = json!({ "elicitation": {} });
    let responses = json!({ "who": { "action": "accept", "content": { "name": "me" } } });
    let answer = client.request_with_input("tools/call", params, &responses);
    let got = &answer["result"]["structuredContent"];
    assert_eq!(got["inputResponses"], responses);
    let state = r#""round-2 \u0065\/\ud83d\ude00 \"=?base64?YQ==?=\u00E9""#;
    assert_eq!(got["requestState"], state, "the spelling is kept: {answer}");
    let forged = json!({ "name": "input", "requestState": "forged", "inputResponses": responses });
    assert_eq!(*code(&client.request("tools/call", forged)), -32602);
}

#[test]
fn listens_are_tagged_and_end() {
    let mut client = direct(&["--era", "modern"]);
    let (tools, agreed) = client.listen(json!({ "toolsListChanged": true }));
    assert_eq!(agreed, json!({ "toolsListChanged": true }));
    let (updates, _) = client.listen(json!({ "resourceSubscriptions": ["x:/1"] }));
    client.call("change", json!({ "list": "tools", "uri": "x:/1" }));
    client.heard(tools, "notifications/tools/list_changed");
    assert_eq!(client.heard(updates, "notifications/resources/updated")["params"]["uri"], "x:/1");
    client.cancel(updates);
    let seen = client.call("cancellations", json!({}));
    let cancelled = &seen["result"]["cancelled"];
    assert_eq!((&cancelled[0]["requestId"], &cancelled[0]["listen"]), (&json!(updates), &json!(true)));
    assert_eq!(client.call("unlisten", json!({}))["result"]["ended"], 1);
    assert_eq!(client.answer(tools)["result"]["resultType"], "complete");
}

#[test]
fn cancelled_call_is_reported() {
    let mut client = direct(&["--era", "modern"]);
    let id = client.start_call("hang", json!({ "label": "mine" }));
    client.cancel(id);
    let seen = client.call("cancellations", json!({}));
    assert_eq!(seen["result"]["cancelled"][0]["label"], "mine");
}

#[test]
fn log_level_and_token_are_honoured() {
    let mut client = direct(&["--era", "modern"]).log_level("critical");
    let params = json!({ "name": "report", "arguments": { "steps": 2 }, "_meta": { "progressToken": "t" } });
    let id = client.ask("tools/call", params);
    assert_eq!(client.told("notifications/progress")["params"]["progress"], 1);
    assert_eq!(
        client.told("notifications/progress")["params"],
        json!({ "progressToken": "t", "progress": 2 })
    );
    for level in ["critical", "alert", "emergency"] {
        assert_eq!(client.recv_json()["params"]["level"], level);
    }
    client.answer(id);
}

#[test]
fn task_asks_and_completes() {
    let mut client = direct(&["--era", "modern"]);
    assert_eq!(*code(&client.call("task", json!({}))), -32021);
    client.profile.capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let task = client.call("task", json!({ "polls": 1, "input": true }));
    assert_eq!(task["result"]["resultType"], "task");
    let id = json!({ "taskId": task["result"]["taskId"] });
    for status in ["working", "input_required", "input_required"] {
        assert_eq!(client.request("tasks/get", id.clone())["result"]["status"], status);
    }
    let update = json!({ "taskId": id["taskId"], "inputResponses": { "who": 1 } });
    assert_eq!(client.request("tasks/update", update)["result"], json!({ "resultType": "complete" }));
    let done = client.request("tasks/get", id);
    assert_eq!(done["result"]["result"]["content"][0]["text"], r#"{"who":1}"#);

    let task = client.call("task", json!({}))["result"]["taskId"].clone();
    let (listen, _) = client.listen(json!({ "taskIds": [task] }));
    client.call("finish_task", json!({}));
    assert_eq!(client.heard(listen, "notifications/tasks")["params"]["status"], "completed");
    client.request("tasks/cancel", json!({ "taskId": task }));
    assert_eq!(client.request("tasks/get", json!({ "taskId": task }))["result"]["status"], "cancelled");
    assert_eq!(*code(&client.request("tasks/get", json!({ "taskId": "none" }))), -32602);
}

#[test]
fn http_headers_repeat_the_body() {
    let server = Web::start(web::modern);
    let web = http::Web::at(([127, 0, 0, 1], server.port()).into());
    let client = http::Modern::at(&web, "/mcp");
    assert_eq!(client.request("server/discover", json!({}))["result"]["resultType"], "complete");
    let odd = "Größe";
    assert_eq!(text(&client.call(odd, json!({ "steps": 2 }))), odd);
    let (_, message) = client.message("tools/call", json!({ "name": odd }));
    let mut reply = client.say(&message).header("Mcp-Name", "other").send();
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32020)));
    assert_eq!(client.web.get("/mcp").send().status, 405);
    client.listen(json!({ "toolsListChanged": true }));
    assert_eq!(server.count("subscriptions/listen"), 1);
}
