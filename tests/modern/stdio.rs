//! A modern client of one modern server over stdio, in both modes: messages pass untouched but for their ids. Clients
//! without a handshake, of one server and of several.

use crate::aggregate::servers::{Servers, tools};
use crate::support::{Mode, error, text};
use serde_json::{Value, json};
use switchboard_testkit::client::{Modern, Start};

const MODES: [Mode; 2] = [Mode::Solo, Mode::Daemon];

fn client(mode: Mode, options: &[&str]) -> Modern {
    let options = [&["--era", "modern"], options].concat();
    Modern::start(mode.configured(json!({}), json!({ "era": "modern" }), &options))
}

#[test]
fn params_pass_to_the_byte() {
    for mode in MODES {
        let mut client = client(mode, &[]);
        let meta = client.profile.dress(json!({}))["_meta"].to_string();
        let params = format!(
            r#"{{ "name":"params","_meta":{meta} , "arguments":{{"z":1.50,"a":"\u0041\/","n":12345678901234567890123}}}}"#
        );
        let id = client.ask_raw("tools/call", &params);
        assert_eq!(text(&client.answer(id)), params);
    }
}

#[test]
fn input_round_trips_pass() {
    for mode in MODES {
        let mut client = client(mode, &[]).declaring(json!({ "elicitation": {} }));
        let responses = json!({ "who": { "action": "accept", "content": { "name": "Ann" } } });
        let params = json!({ "name": "input", "arguments": { "rounds": 3 } });
        let answer = client.request_with_input("tools/call", params, &responses);
        let got = &answer["result"]["structuredContent"];
        assert_eq!(got["inputResponses"], responses, "{answer}");
        // The fake compares the state with its own, which has escapes that a parser would not write again.
        assert!(got["requestState"].as_str().unwrap().starts_with(r#""round-3 \u0065\/"#), "{answer}");
    }
}

#[test]
fn subscription_lives_until_it_is_cancelled() {
    for mode in MODES {
        let mut client = client(mode, &[]);
        let (listen, agreed) = client.listen(json!({ "toolsListChanged": true }));
        assert_eq!(agreed, json!({ "toolsListChanged": true }));
        assert_eq!(client.call("change", json!({ "list": "tools" }))["result"]["listens"], 1);
        client.heard(listen, "notifications/tools/list_changed");
        client.cancel(listen);
        assert_eq!(client.call("change", json!({ "list": "tools" }))["result"]["listens"], 0);
        let seen = client.call("cancellations", json!({}));
        assert_eq!(seen["result"]["cancelled"][0]["listen"], true, "{seen}");
    }
}

#[test]
fn server_may_end_a_subscription() {
    for mode in MODES {
        let mut client = client(mode, &[]);
        let (listen, _) = client.listen(json!({ "toolsListChanged": true }));
        client.call("unlisten", json!({}));
        let ended = client.answer(listen);
        assert_eq!(ended["result"]["resultType"], "complete");
        assert_eq!(ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listen);
    }
}

#[test]
fn closed_input_ends_a_subscription() {
    for mode in MODES {
        let mut client = client(mode, &[]);
        let (listen, _) = client.listen(json!({ "toolsListChanged": true }));
        client.close_input();
        assert_eq!(client.answer(listen)["result"]["resultType"], "complete");
        assert_eq!(client.wait_for_end().code, Some(0));
    }
}

#[test]
fn progress_and_logs_reach_their_request() {
    for mode in MODES {
        let mut client = client(mode, &[]).log_level("error");
        let params =
            json!({ "name": "report", "arguments": { "steps": 2 }, "_meta": { "progressToken": "p" } });
        let id = client.ask("tools/call", params);
        for step in 1..=2 {
            let told = client.recv_where("progress", |it| it["method"] == "notifications/progress");
            assert_eq!(told["params"], json!({ "progressToken": "p", "progress": step }));
        }
        assert_eq!(
            client.recv_where("a log message", |it| it["method"] == "notifications/message")["params"]["level"],
            "error"
        );
        assert_eq!(text(&client.answer(id)), "reported");
    }
}

#[test]
fn cancellation_reaches_the_server() {
    for mode in MODES {
        let mut client = client(mode, &[]);
        let hanging = client.start_call("hang", json!({ "label": "x" }));
        client.call("echo", json!({}));
        client.cancel(hanging);
        let seen = client.call("cancellations", json!({}));
        assert_eq!(seen["result"]["cancelled"].as_array().unwrap().len(), 1, "{seen}");
    }
}

#[test]
fn incomplete_requests_are_refused() {
    for mode in MODES {
        let mut client = client(mode, &[]);
        client.call("echo", json!({}));
        let id = client.ask_raw("tools/list", "{}");
        error(&client.answer(id), -32602, "missing_meta");
        client.profile.version = "2027-01-01".into();
        let refused = client.request("tools/list", json!({}));
        assert_eq!(
            error(&refused, -32022, "unsupported_version")["data"]["supported"],
            json!(["2026-07-28"])
        );
    }
}

#[test]
fn crash_is_told_in_modern_codes() {
    for mode in MODES {
        let mut client = client(mode, &[]);
        client.call("echo", json!({}));
        let answer = client.call("crash", json!({ "code": 3 }));
        error(&answer, -32603, "backend_unavailable");
        client.call("echo", json!({}));
    }
}

#[test]
fn config_can_turn_modern_clients_off() {
    for mode in MODES {
        let start = mode.configured(json!({ "clientEra": "legacy" }), json!({}), &["--era", "dual"]);
        let mut client = Modern::start(start);
        error(&client.discover(), -32601, "method_not_found");
        client.initialize();
    }
}

fn plain(start: Start) {
    let mut client = start.start();
    let answer = client.request("tools/call", json!({ "name": "echo", "arguments": { "x": 1 } }));
    assert_eq!(serde_json::from_str::<Value>(text(&answer)).unwrap(), json!({ "x": 1 }));
}

#[test]
fn client_without_a_handshake_is_served() {
    for mode in MODES {
        // This server exits on any request before `initialize`.
        plain(mode.fake(&["--wants-initialize"]));
        plain(mode.configured(json!({}), json!({}), &["--wants-initialize"]));
    }
}

#[test]
fn plain_client_reaches_all_servers() {
    for mode in 0..2 {
        let servers = Servers::none().and("a", json!({}), &["--wants-initialize"]).and(
            "b",
            json!({}),
            &["--wants-initialize"],
        );
        let starts = [servers.start(), servers.shared()];
        let mut client = starts.into_iter().nth(mode).unwrap().start();
        for name in ["a", "b"] {
            let called = json!({ "name": format!("{name}__echo"), "arguments": { "at": name } });
            let answer = client.request("tools/call", called);
            assert_eq!(text(&answer), json!({ "at": name }).to_string());
            assert!(answer["result"].get("resultType").is_none(), "{answer}");
            assert_eq!(servers.told(name, r#""protocolVersion":"2024-11-05""#), 1, "the handshake is ours");
        }
        let tools = tools(&mut client);
        assert!(tools.contains(&"a__echo".to_owned()) && tools.contains(&"b__echo".to_owned()), "{tools:?}");
        assert_eq!(servers.launches(["a", "b"]), [1, 1]);
    }
}
