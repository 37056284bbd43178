//! Legacy clients over HTTP, with remote modern servers: errors of any status reach the client with status 200. To a legacy
//! client, 404 means the end of its session, and 400 a broken message.

use super::remote::{modern, wait_for_close, web};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use switchboard_testkit::http::{Reply, Talk};
use switchboard_testkit::message;
use switchboard_testkit::monitor::Monitor;
use switchboard_testkit::web::Web;

/// Serves this remote server.
fn served(web: &Web) -> Served {
    let house = House::new();
    let servers = json!({ "fake": { "url": web.url("/mcp") } });
    let config = json!({ "linger": "100ms", "profiles": { "some": ["fake"] }, "mcpServers": servers });
    fs::write(house.config(), config.to_string()).unwrap();
    Served::start(house, &[])
}

/// The status of the response, and the answer to the request.
#[track_caller]
fn ask(talk: &Talk, id: u64, method: &str, params: Value) -> (u16, Value) {
    let mut reply = talk.say(&message::request(id, method, params)).send();
    let answer = match reply.is_stream() {
        // A list change of the server may arrive first.
        true => std::iter::from_fn(|| reply.message()).find(|message| message.get("id").is_some()).unwrap(),
        false => reply.json(),
    };
    assert_eq!(answer["id"], id, "{method}: {answer}");
    (reply.status, answer)
}

#[test]
fn unknown_method_does_not_end_the_session() {
    let (web, _) = web();
    let served = served(&web);
    let talk = Talk::open(&served.web, FAKE);
    for (id, method) in [(1, "prompts/list"), (2, "no/such"), (3, "prompts/get")] {
        let before = web.count(method);
        let (status, answer) = ask(&talk, id, method, json!({ "name": "x" }));
        assert_eq!(status, 200, "{method}: {answer}");
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        // The server answered with status 404.
        assert_eq!(web.count(method), before + 1, "{method}");
    }
    let listed = talk.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "sql", "{listed}");
    assert_eq!(web.count("initialize"), 1);
}

#[test]
fn bad_request_is_answered_with_200() {
    let closed = Monitor::default();
    let web = Web::start(move |seen, wire| {
        let code = match (seen.what(), seen.tool()) {
            ("prompts/get", _) => -32602,
            ("completion/complete", _) => -32021,
            ("tools/call", "sql") => -32020,
            ("tools/call", "hang") => -32021,
            _ => return modern(seen, wire, &closed),
        };
        let data = json!({ "requiredCapabilities": { "sampling": {} }, "n": 1.5 });
        let error = json!({ "code": code, "message": "not like this", "data": data });
        wire.json(400, &[], &json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error }));
    });
    let served = served(&web);
    for path in [FAKE, "/mcp"] {
        let talk = Talk::open(&served.web, path);
        let name = |own: &str| if path == FAKE { own.to_owned() } else { format!("fake__{own}") };
        talk.request("tools/list", json!({}));
        let reference = json!({ "type": "ref/prompt", "name": "x" });
        for (id, method, params, code) in [
            (101, "tools/call", json!({ "name": name("sql"), "arguments": {} }), -32020),
            (102, "prompts/get", json!({ "name": "x" }), -32602),
            (103, "completion/complete", json!({ "ref": reference }), -32021),
        ] {
            // The server declares no prompts, so among several it gets no request for one.
            if path != FAKE && method != "tools/call" {
                continue;
            }
            let (status, answer) = ask(&talk, id, method, params);
            let error = &answer["error"];
            assert_eq!(
                (status, &error["code"], &error["message"], &error["data"]["n"]),
                (200, &json!(code), &json!("not like this"), &json!(1.5)),
                "{path} {method}: {answer}"
            );
        }
        // A missing capability is the result of a tool.
        let (status, answer) = ask(&talk, 104, "tools/call", json!({ "name": name("hang") }));
        assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)), "{path}: {answer}");
        let listed = talk.request("tools/list", json!({}));
        assert_eq!(listed["result"]["tools"][0]["name"], name("sql"), "{path}: {listed}");
    }
    assert_eq!(web.count("initialize"), 1);
}

/// The server's changes may be told before.
#[track_caller]
fn progress_in(response: &mut Reply) -> Value {
    let is_it = |message: &Value| message["method"] == "notifications/progress";
    std::iter::from_fn(|| response.message()).find(is_it).unwrap()
}

/// A remote modern server gets no `notifications/cancelled`.
#[test]
fn cancellation_closes_the_remote_response() {
    for (path, tool) in [(FAKE, "hang"), ("/mcp", "fake__hang"), ("/profiles/some/mcp", "fake__hang")] {
        // Closed responses of calls, without those of subscriptions.
        let (calls, others) = (Arc::new(Monitor::default()), Monitor::default());
        let counted = calls.clone();
        let web = Web::start(move |seen, wire| match seen.what() {
            "tools/call" => modern(seen, wire, &counted),
            _ => modern(seen, wire, &others),
        });
        let served = served(&web);
        let talk = Talk::open(&served.web, path);
        let (id, call) = talk.call_of(tool, json!({}));
        let mut response = talk.say(&call).send();
        let progress = progress_in(&mut response);
        assert_eq!(progress["params"]["progressToken"], format!("token-{id}"), "{path}: {progress}");
        assert_eq!(*calls.lock(), 0);
        talk.notify("notifications/cancelled", json!({ "requestId": id }));
        wait_for_close(&calls);
        let listed = talk.request("tools/list", json!({}));
        assert!(listed.get("result").is_some(), "{path}: the session goes on: {listed}");
        // The end of a session cancels its calls.
        let (_, call) = talk.call_of(tool, json!({}));
        let mut response = talk.say(&call).send();
        progress_in(&mut response);
        calls.update(|closed| *closed = 0);
        assert_eq!(talk.end(), 200);
        wait_for_close(&calls);
        assert_eq!(web.count("notifications/cancelled"), 0);
    }
}
