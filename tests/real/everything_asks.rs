//! server-everything: requests to its client (sampling, elicitation, roots, tasks).

use super::everything::settle_roots;
use super::peers::{Link, Server};
use super::talk::{Talk, compare, hold, same_both_ways};
use crate::support::program;
use serde_json::{Value, json};
use switchboard_testkit::client::Start;

#[test]
fn sampling_is_equal() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({ "sampling": {} }));
        let answer = talk.call("trigger-sampling-request", json!({ "prompt": "Sag etwas", "maxTokens": 20 }));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("„Umlauten“: äöü 😀"), "{answer}");
        talk.replies(|_| {
            Some(json!({ "error": { "code": -1, "message": "The user said no", "data": null } }))
        });
        talk.call("trigger-sampling-request", json!({ "prompt": "Noch etwas" }));
    });
    assert_eq!(count(&heard, "sampling/createMessage"), 2);
    assert_eq!(count(&heard, "The user said no"), 1);
}

#[test]
fn elicitation_is_equal() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({ "elicitation": { "form": {}, "url": {} } }));
        talk.call("trigger-elicitation-request", json!({}));
        let url = json!({ "url": "https://example.com/", "elicitationId": "mine" });
        talk.call("trigger-url-elicitation", url);
        talk.replies(|_| Some(json!({ "result": { "action": "decline" } })));
        talk.call("trigger-elicitation-request", json!({}));
        talk.replies(|_| Some(json!({ "result": { "action": "cancel" } })));
        talk.call("trigger-elicitation-request", json!({}));
        let by_error = json!({ "url": "https://example.com/", "errorPath": true });
        let answer = talk.call("trigger-url-elicitation", by_error);
        assert_eq!(answer["error"]["code"], -32042);
    });
    assert_eq!(count(&heard, "elicitation/create"), 4);
    assert_eq!(count(&heard, "Ada"), 1);
}

#[test]
fn roots_and_their_change_are_equal() {
    let capabilities = json!({ "roots": { "listChanged": true } });
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(capabilities.clone());
        settle_roots(talk, &capabilities);
        talk.call("get-roots-list", json!({}));
        talk.replies(|_| {
            Some(json!({ "result": { "roots": [{ "uri": "file:///three", "name": "third" }] } }))
        });
        talk.notify("notifications/roots/list_changed", json!({}));
        settle_roots(talk, &capabilities);
        talk.call("get-roots-list", json!({}));
    });
    assert_eq!((count(&heard, "two%20words"), count(&heard, "file:///three")), (1, 1), "{heard:#?}");
}

/// Client and server send requests at the same time, with the same ids.
#[test]
fn crossing_requests_do_not_mix() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({ "sampling": {}, "elicitation": {} }));
        talk.replies(|_| None);
        let sampling = talk
            .ask("tools/call", json!({ "name": "trigger-sampling-request", "arguments": { "prompt": "p" } }));
        let first = talk.told("sampling/createMessage");
        let eliciting =
            talk.ask("tools/call", json!({ "name": "trigger-elicitation-request", "arguments": {} }));
        let second = talk.told("elicitation/create");
        talk.call("echo", json!({ "message": "still here" }));
        // Answers in reverse order.
        answer(talk, &second["id"], json!({ "action": "decline" }));
        talk.answer(&eliciting);
        let said =
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "at last" } });
        answer(talk, &first["id"], said);
        talk.answer(&sampling);
    });
    assert_eq!((count(&heard, "User declined"), count(&heard, "at last")), (1, 1), "{heard:#?}");
}

#[test]
fn server_task_is_equal() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({ "elicitation": {}, "tasks": {} }));
        talk.replies(|_| {
            Some(json!({ "result": { "action": "accept", "content": { "interpretation": "technical" } } }))
        });
        let params = json!({
            "name": "simulate-research-query",
            "arguments": { "topic": "python", "ambiguous": true },
            "task": { "ttl": 60000 },
        });
        let created = talk.request("tools/call", params);
        let task = json!({ "taskId": created["result"]["task"]["taskId"] });
        assert!(task["taskId"].is_string(), "{created}");
        talk.request("tasks/result", task.clone());
        talk.request("tasks/get", task.clone());
        talk.request("tasks/list", json!({}));
        talk.request("tasks/cancel", task);
        talk.request("tasks/get", json!({ "taskId": "nobody's" }));
    });
    assert_eq!(count(&heard, "\"method\":\"elicitation/create\""), 1, "{heard:#?}");
    assert_eq!(count(&heard, "# Research Report: python (technical)"), 1, "{heard:#?}");
}

/// The server requests sampling as a task of the client, and fetches the result.
#[test]
fn client_task_is_equal() {
    let heard = same_both_ways(&Server::everything(), |talk| {
        talk.greet(json!({
            "sampling": {},
            "elicitation": {},
            "tasks": { "requests": { "sampling": { "createMessage": {} }, "elicitation": { "create": {} } } },
        }));
        talk.replies(as_a_task);
        talk.call("trigger-sampling-request-async", json!({ "prompt": "later" }));
        talk.call("trigger-elicitation-request-async", json!({}));
    });
    assert_eq!((count(&heard, "\"tasks/get\""), count(&heard, "\"tasks/result\"")), (2, 2), "{heard:#?}");
    assert_eq!(count(&heard, "[COMPLETED]"), 2, "{heard:#?}");
}

fn as_a_task(question: &Value) -> Option<Value> {
    let time = "2026-07-28T12:00:00Z";
    let task = |id: &str, status: &str| json!({ "taskId": id, "status": status, "ttl": 60000, "createdAt": time, "lastUpdatedAt": time });
    let id = question["params"]["taskId"].as_str().unwrap_or_default();
    let result = match question["method"].as_str()? {
        "sampling/createMessage" => json!({ "task": task("sampling 1", "working") }),
        "elicitation/create" => json!({ "task": task("eliciting 1", "working") }),
        "tasks/get" => task(id, "completed"),
        "tasks/result" if id == "sampling 1" => {
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "done" } })
        }
        "tasks/result" => json!({ "action": "accept", "content": { "name": "Ada" } }),
        _ => return None,
    };
    Some(json!({ "result": result }))
}

fn answer(talk: &mut super::talk::Talk, id: &Value, result: Value) {
    talk.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
}

fn count(heard: &[String], text: &str) -> usize {
    heard.iter().filter(|frame| frame.contains(text)).count()
}

/// A server that may not ask offers a client what it offers to one that declares less.
#[test]
fn denied_asks_are_as_if_undeclared() {
    let all = json!({
        "roots": { "listChanged": true },
        "sampling": {},
        "elicitation": {},
        "tasks": { "requests": { "sampling": { "createMessage": {} }, "elicitation": { "create": {} } } },
    });
    let rest = json!({ "sampling": {}, "tasks": { "requests": { "sampling": { "createMessage": {} } } } });
    for (denied, declared, tools) in [
        (&["sampling", "elicitation", "roots"][..], json!({ "tasks": { "requests": {} } }), 13),
        (&["elicitation", "roots"], rest, 15),
    ] {
        let script = |capabilities: &Value| {
            let capabilities = capabilities.clone();
            move |talk: &mut Talk| {
                talk.greet(capabilities.clone());
                let list = talk.request("tools/list", json!({}));
                assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(tools), "{list}");
                talk.notify("notifications/roots/list_changed", json!({}));
                talk.call("echo", json!({ "message": "once" }));
            }
        };
        let direct = hold(&Server::everything(), Link::Direct, &script(&declared));
        for server in [Server::everything(), Server::everything_elsewhere("streamableHttp")] {
            for flags in [&["--solo"][..], &[]] {
                let asks: Value = denied.iter().map(|kind| ((*kind).to_owned(), json!("deny"))).collect();
                let mut entry = server.entry();
                entry["asks"] = asks;
                let config = json!({ "mcpServers": { "everything": entry } }).to_string();
                let path = server.folder().file("asks.json", config);
                let start =
                    program().args(["stdio", "--server", "everything", "--config"]).arg(path).args(flags);
                let folder = server.folder();
                let start =
                    start.home(folder.home()).env("XDG_RUNTIME_DIR", folder.runtime()).cwd(folder.path());
                compare(&direct, &heard_by(start, &script(&all)));
                folder.stop_daemons();
            }
        }
    }
}

/// Holds a conversation through this program.
fn heard_by(start: Start, script: &impl Fn(&mut Talk)) -> Vec<String> {
    let mut talk = Talk::with(start.start());
    script(&mut talk);
    talk.into_heard()
}
