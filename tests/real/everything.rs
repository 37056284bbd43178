//! server-everything: everything that it offers to a client without capabilities.

use super::peers::{Link, Server};
use super::talk::{Talk, hold, same_both_ways, same_both_ways_in_any_order};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ALL: fn() -> Value = || {
    json!({
        "roots": { "listChanged": true },
        "sampling": {},
        "elicitation": { "form": {}, "url": {} },
        "tasks": { "requests": { "sampling": { "createMessage": {} }, "elicitation": { "create": {} } } },
    })
};

#[test]
fn offer_depends_on_capabilities() {
    let server = Server::everything();
    for (capabilities, tools) in [
        (json!({}), 13),
        (json!({ "roots": {} }), 14),
        (json!({ "sampling": {} }), 14),
        (json!({ "elicitation": {} }), 14),
        (json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": {} }), 16),
        (ALL(), 19),
    ] {
        same_both_ways(&server, |talk| {
            let greeting = talk.greet(capabilities.clone());
            assert_eq!(greeting["result"]["serverInfo"]["name"], "mcp-servers/everything");
            let list = talk.request("tools/list", json!({}));
            assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(tools), "for {capabilities}");
            settle_roots(talk, &capabilities);
        });
    }
}

#[test]
fn versions_are_negotiated_as_directly() {
    let server = Server::everything();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"] {
        same_both_ways(&server, |talk| {
            talk.greet_in(version, json!({}));
            talk.request("tools/list", json!({}));
        });
    }
}

#[test]
fn lists_reads_and_prompts_are_equal() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({}));
        talk.request("ping", json!({}));
        for list in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            talk.request(list, json!({}));
            talk.request(list, json!({ "cursor": "nowhere" }));
        }
        for uri in [
            "demo://resource/static/document/features.md",
            "demo://resource/dynamic/text/7",
            "demo://resource/dynamic/blob/8",
            "demo://resource/dynamic/text/none",
            "demo://nowhere",
        ] {
            talk.request("resources/read", json!({ "uri": uri }));
        }
        talk.request("prompts/get", json!({ "name": "simple-prompt" }));
        talk.request(
            "prompts/get",
            json!({ "name": "args-prompt", "arguments": { "city": "Zürich", "state": "ZH" } }),
        );
        talk.request("prompts/get", json!({ "name": "args-prompt" }));
        let embedded = json!({ "resourceType": "Text", "resourceId": "3" });
        talk.request("prompts/get", json!({ "name": "resource-prompt", "arguments": embedded }));
        for (reference, argument, value) in [
            (json!({ "type": "ref/prompt", "name": "completable-prompt" }), "department", "S"),
            (json!({ "type": "ref/prompt", "name": "nobody" }), "department", "S"),
            (
                json!({ "type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}" }),
                "resourceId",
                "4",
            ),
        ] {
            let argument = json!({ "name": argument, "value": value });
            talk.request("completion/complete", json!({ "ref": reference, "argument": argument }));
        }
        talk.request(
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "completable-prompt" },
                "argument": { "name": "name", "value": "A" },
                "context": { "arguments": { "department": "Engineering" } },
            }),
        );
        talk.request("no/such/method", json!({ "x": [1, 2.50, null] }));
    });
    let mentions = |text: &str| heard.iter().any(|frame| frame.contains(text));
    assert!(
        mentions("\"Sales\"") && mentions("\"Alice\"") && mentions("Zürich") && mentions("-32601"),
        "{heard:#?}"
    );
}

#[test]
fn tool_results_are_equal() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({}));
        for message in
            ["", "plain", "„quoted“ \"text\"\n\t\u{0}\u{1f}\u{2028}\\u0041 äöü 漢字 😀", "</script>"]
        {
            talk.call("echo", json!({ "message": message }));
        }
        for kind in ["error", "success", "debug", "nonsense"] {
            talk.call("get-annotated-message", json!({ "messageType": kind, "includeImage": true }));
        }
        talk.call("get-resource-links", json!({ "count": 10 }));
        talk.call("get-resource-reference", json!({ "resourceType": "Blob", "resourceId": 2 }));
        talk.call("get-resource-reference", json!({ "resourceType": "Text", "resourceId": -1 }));
        for city in ["New York", "Chicago", "Los Angeles", "Atlantis"] {
            talk.call("get-structured-content", json!({ "location": city }));
        }
        talk.call("get-sum", json!({ "a": 0.1, "b": 0.2 }));
        talk.call("get-sum", json!({ "a": 9007199254740993_i64, "b": 1e300 }));
        talk.call("get-sum", json!({}));
        talk.call("get-tiny-image", json!({}));
        for kind in ["resource", "resourceLink"] {
            let data = "data:text/plain;base64,SGVsbG8sIFN3aXRjaGJvYXJkIQ==";
            talk.call("gzip-file-as-resource", json!({ "name": "x.gz", "data": data, "outputType": kind }));
        }
        talk.request("resources/read", json!({ "uri": "demo://resource/session/x.gz" }));
        talk.call("no-such-tool", json!({}));
    });
    let mentions = |text: &str| heard.iter().any(|frame| frame.contains(text));
    assert!(mentions("0.30000000000000004") && mentions("structuredContent") && mentions("iVBORw0KGgo"));
    assert!(mentions("application/gzip") && mentions("notifications/resources/list_changed"), "{heard:#?}");
}

#[test]
fn long_texts_pass_both_ways() {
    same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({}));
        for length in [1_000, 64 << 10, 256 << 10, 3 << 20] {
            let text = "äb\\\"\n".repeat(length / 5);
            let answer = talk.call("echo", json!({ "message": text }));
            assert!(
                answer["result"]["content"][0]["text"].as_str().is_some_and(|echo| echo.ends_with(&text))
            );
        }
    });
}

#[test]
fn progress_carries_the_clients_token() {
    let server = Server::everything();
    for token in [json!(1), json!("my token"), json!(0), json!(-7)] {
        let heard = same_both_ways(&server, |talk| {
            talk.greet(json!({}));
            long_operation(talk, 4, Some(&token));
        });
        let progress = heard.iter().filter(|frame| frame.contains("notifications/progress"));
        assert_eq!(progress.filter(|frame| frame.contains(&format!("\"progressToken\":{token}"))).count(), 4);
    }
}

#[test]
fn concurrent_calls_keep_their_progress() {
    same_both_ways_in_any_order(&Server::everything(), |talk| {
        talk.greet(json!({}));
        let calls = [json!("a"), json!("b")].map(|token| start_operation(talk, 0.4, 4, Some(&token)));
        let plain = talk.call("echo", json!({ "message": "meanwhile" }));
        assert_eq!(plain["result"]["content"][0]["text"], "Echo: meanwhile");
        calls.iter().for_each(|call| drop(talk.answer(call)));
    });
}

#[test]
fn cancelled_call_is_never_answered() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({}));
        let call = start_operation(talk, 0.2, 2, Some(&json!("t")));
        talk.told("notifications/progress");
        talk.notify("notifications/cancelled", json!({ "requestId": call, "reason": "no longer needed" }));
        // Longer than the cancelled call would take, so that its answer would arrive first.
        long_operation(talk, 4, None);
        talk.notify("notifications/cancelled", json!({ "requestId": "never asked" }));
        talk.call("echo", json!({ "message": "after" }));
    });
    assert!(!heard.iter().any(|frame| frame.contains("\"id\":\"ask-2\"")), "{heard:#?}");
}

#[test]
fn subscription_updates_are_equal() {
    let uri = "demo://resource/dynamic/text/1";
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({}));
        talk.request("resources/subscribe", json!({ "uri": uri }));
        talk.request("resources/subscribe", json!({ "uri": "demo://resource/dynamic/text/2" }));
        talk.request("resources/unsubscribe", json!({ "uri": "demo://resource/dynamic/text/2" }));
        talk.call("toggle-subscriber-updates", json!({}));
        talk.call("toggle-subscriber-updates", json!({}));
        talk.request("resources/unsubscribe", json!({ "uri": uri }));
    });
    let updates = heard.iter().filter(|frame| frame.contains("notifications/resources/updated"));
    assert_eq!(updates.filter(|frame| frame.contains(uri)).count(), 1, "{heard:#?}");
}

#[test]
fn log_level_is_honoured() {
    let count = |level: &str| {
        let heard = same_both_ways(&Server::everything(), |talk| {
            talk.greet(json!({}));
            talk.request("logging/setLevel", json!({ "level": level }));
            talk.call("toggle-simulated-logging", json!({}));
            talk.call("toggle-simulated-logging", json!({}));
        });
        heard.iter().filter(|frame| frame.contains("notifications/message")).count()
    };
    assert_eq!((count("debug"), count("emergency"), count("nonsense")), (1, 0, 1));
}

/// The one intended difference: variables that we set for every server.
#[test]
fn environment_gains_four_variables() {
    let server = Server::everything();
    let [direct, through] = [Link::Direct, Link::Through].map(|link| {
        let heard = hold(&server, link, &|talk| {
            talk.greet(json!({}));
            talk.call("get-env", json!({}));
        });
        let answer: Value = serde_json::from_str(heard.last().unwrap()).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        serde_json::from_str::<BTreeMap<String, String>>(text).unwrap()
    });
    let mut expect = direct;
    for (name, value) in
        [("MCP_STDIO_MODE", "true"), ("LOG_CONSOLE", "false"), ("LOG_STDIO", "false"), ("LOG_FILE", "true")]
    {
        expect.insert(name.into(), value.into());
    }
    assert_eq!(through, expect);
}

/// A tool call that takes a second and reports progress.
#[track_caller]
fn long_operation(talk: &mut Talk, steps: u32, token: Option<&Value>) {
    let id = start_operation(talk, 1.0, steps, token);
    talk.answer(&id);
}

fn start_operation(talk: &mut Talk, seconds: f64, steps: u32, token: Option<&Value>) -> Value {
    let mut params = json!({
        "name": "trigger-long-running-operation",
        "arguments": { "duration": seconds, "steps": steps },
    });
    if let Some(token) = token {
        params["_meta"] = json!({ "progressToken": token });
    }
    talk.ask("tools/call", params)
}

/// The server requests the roots a moment after the handshake; waits until it has them.
pub(super) fn settle_roots(talk: &mut Talk, capabilities: &Value) {
    if capabilities.get("roots").is_some() {
        talk.told("roots/list");
        talk.told("notifications/message");
    }
}
