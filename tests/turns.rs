//! `maxInFlight` and `maxQueue`: a server that can do one thing at a time is asked one thing at a time.

use crate::support::{configured, error, greet};
use serde_json::json;

#[test]
fn the_next_request_goes_when_the_one_before_is_over() {
    let mut client = greet(configured(json!({}), json!({ "maxInFlight": 1 }), &[]));
    let first = client.start_call("hang", json!({}));
    let second = client.ask("tools/list", json!({}));
    // It is asked after the other two, and does not wait for its turn.
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    client.notify("notifications/cancelled", json!({ "requestId": first }));
    assert!(client.answer(second)["result"]["tools"].is_array());
}

#[test]
fn one_more_than_may_wait_is_refused_and_may_try_again() {
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
