//! `maxInFlight` and `maxQueue`: a server with a limit of one gets one request at a time.

use crate::support::{configured, error, greet};
use serde_json::json;

#[test]
fn next_request_waits_for_its_turn() {
    let mut client = greet(configured(json!({}), json!({ "maxInFlight": 1 }), &[]));
    let first = client.start_call("hang", json!({}));
    let second = client.ask("tools/list", json!({}));
    // Sent after the other two; does not wait for its turn.
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    client.notify("notifications/cancelled", json!({ "requestId": first }));
    assert!(client.answer(second)["result"]["tools"].is_array());
}

#[test]
fn request_over_the_queue_limit_is_refused() {
    let mut client = greet(configured(json!({}), json!({ "maxInFlight": 1, "maxQueue": 2 }), &[]));
    let first = client.start_call("hang", json!({}));
    let waiting = [client.ask("tools/list", json!({})), client.ask("tools/list", json!({}))];
    let refused = client.request("tools/list", json!({}));
    assert_eq!(error(&refused, -32603, "overloaded")["data"]["retryable"], json!(true));
    client.notify("notifications/cancelled", json!({ "requestId": first }));
    for id in waiting {
        assert!(client.answer(id)["result"]["tools"].is_array());
    }
    assert!(client.request("tools/list", json!({}))["result"]["tools"].is_array());
}
