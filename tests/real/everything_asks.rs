//! server-everything: requests to its client (sampling, elicitation, roots, tasks).

use super::everything::settle_roots;
use super::peers::Server;
use super::talk::same_both_ways;
use serde_json::{Value, json};

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
