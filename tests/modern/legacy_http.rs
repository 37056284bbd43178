//! Legacy clients over HTTP, with remote modern servers: errors of any status reach the client with status 200. To a legacy
//! client, 404 means the end of its session, and 400 a broken message.

use super::remote::{modern, web};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::http::Talk;
use switchboard_testkit::message;
use switchboard_testkit::monitor::Monitor;
use switchboard_testkit::web::Web;

/// Serves this remote server.
fn served(web: &Web) -> Served {
    let house = House::new();
    let servers = json!({ "fake": { "url": web.url("/mcp") } });
    fs::write(house.config(), json!({ "linger": "100ms", "mcpServers": servers }).to_string()).unwrap();
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
