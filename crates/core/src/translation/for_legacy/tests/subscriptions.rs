//! Subscriptions that change, or are refused, while the server has not yet acknowledged an earlier one.

use super::*;

fn unsubscribe(id: u64, uri: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "resources/unsubscribe", "params": { "uri": uri } })
}

fn acknowledged(listen: &Value) -> Value {
    notice(listen, "subscriptions/acknowledged")
}

/// An acknowledgement that names these resources only.
fn agreed(listen: &Value, uris: &[&str]) -> Value {
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
    json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
        "params": { "notifications": filter, "_meta": { "io.modelcontextprotocol/subscriptionId": listen } } })
}

fn refused(listen: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": listen, "error": { "code": -32602, "message": "no such resource" } })
}

/// The resources of the subscription that these steps open, and its id. There is nothing else after it.
#[track_caller]
fn opened(steps: &[(String, Value)]) -> (Vec<&str>, Value) {
    let (to, listen) = steps.last().expect("a step");
    assert_eq!((to.as_str(), &listen["method"]), (">", &json!("subscriptions/listen")), "{steps:?}");
    let uris = listen["params"]["notifications"]["resourceSubscriptions"].as_array();
    (uris.into_iter().flatten().filter_map(Value::as_str).collect(), listen["id"].clone())
}

/// The ids of requests that these steps answer.
fn answered(steps: &[(String, Value)], member: &str) -> Vec<u64> {
    let answers = steps.iter().filter(|(to, message)| to == "<" && message.get(member).is_some());
    answers.filter_map(|(_, message)| message["id"].as_u64()).collect()
}

/// A second client subscribes to the resource that the first is refused.
#[test]
fn queued_resource_outlives_a_refusal() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    assert_eq!(desk.send(subscribe(6, "x:/1")), []);
    let steps = desk.hear(refused(&listen));
    let (uris, listen) = opened(&steps);
    assert_eq!((answered(&steps, "error"), uris), (vec![5], vec!["x:/1"]));
    // The second client is refused too, and no state remains.
    let steps = desk.hear(refused(&listen));
    assert_eq!((answered(&steps, "error"), steps.len()), (vec![6], 1));
    assert_eq!(opened(&desk.send(subscribe(7, "x:/2"))).0, ["x:/2"]);
}

#[test]
fn acknowledged_resource_outlives_a_refusal() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    desk.hear(acknowledged(&listen));
    let steps = desk.send(subscribe(6, "x:/1"));
    let steps = desk.hear(refused(&opened(&steps).1));
    assert_eq!((answered(&steps, "error"), steps.len()), (vec![6], 1));
    assert_eq!(opened(&desk.send(subscribe(7, "x:/2"))).0, ["x:/1", "x:/2"]);
}

#[test]
fn unsubscribe_follows_an_open_listen() {
    let (mut desk, first) = listening();
    let (_, second) = opened(&desk.send(subscribe(5, "x:/1")));
    assert_eq!(desk.send(unsubscribe(6, "x:/1")), [done(6)]);
    let steps = desk.hear(acknowledged(&second));
    assert_eq!((&steps[0].1["params"]["requestId"], answered(&steps, "result")), (&first, vec![5]));
    let (uris, third) = opened(&steps);
    assert!(uris.is_empty(), "{uris:?}");
    let steps = desk.hear(acknowledged(&third));
    assert_eq!((&steps[0].1["params"]["requestId"], steps.len()), (&second, 1));
}

/// There is nothing else to subscribe to.
#[test]
fn last_unsubscribe_ends_an_open_listen() {
    let mut desk = Desk::greeted(json!({ "resources": { "subscribe": true } }));
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    assert_eq!(desk.send(unsubscribe(6, "x:/1")), [done(6)]);
    let steps = desk.hear(acknowledged(&listen));
    assert_eq!((&steps[1].1["params"]["requestId"], answered(&steps, "result")), (&listen, vec![5]));
    assert_eq!(steps.len(), 2);
}

/// The old subscription still includes a resource that no client needs.
#[test]
fn unsubscribe_follows_a_refused_listen() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    desk.hear(acknowledged(&listen));
    let (uris, listen) = {
        let steps = desk.send(subscribe(6, "x:/2"));
        let (uris, listen) = opened(&steps);
        (uris.len(), listen)
    };
    assert_eq!((uris, desk.send(unsubscribe(7, "x:/1"))), (2, vec![done(7)]));
    let steps = desk.hear(refused(&listen));
    let (uris, listen) = opened(&steps);
    assert_eq!((answered(&steps, "error"), uris.len()), (vec![6], 0));
    // A server that refuses this too gets no further subscription.
    assert_eq!((desk.hear(refused(&listen)), desk.it.deadline()), (Vec::new(), None));
}

#[test]
fn queued_resource_can_be_unsubscribed() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    assert_eq!(desk.send(subscribe(6, "x:/2")), []);
    assert_eq!(desk.send(unsubscribe(7, "x:/2")), [done(7)]);
    let steps = desk.hear(acknowledged(&listen));
    let (uris, listen) = opened(&steps);
    assert_eq!((answered(&steps, "result"), uris), (vec![5], vec!["x:/1"]));
    assert_eq!(answered(&desk.hear(acknowledged(&listen)), "result"), [6]);
}

#[test]
fn two_spellings_are_one_resource() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    desk.hear(acknowledged(&listen));
    let text = r#"{"jsonrpc":"2.0","id":6,"method":"resources/unsubscribe","params":{"uri":"x:\/1"}}"#;
    let said = own_message(text.into()).expect("a message");
    let steps = shown(desk.it.outbound(&said, None, desk.now));
    assert!(steps[0].1["params"]["notifications"].get("resourceSubscriptions").is_none(), "{steps:?}");
    assert_eq!(steps[1..], [done(6)]);
}

#[test]
fn unacknowledged_resource_is_refused() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    assert_eq!(desk.send(subscribe(6, "x:/2")), []);
    assert_eq!(desk.send(subscribe(7, "x:/1")), []);
    let steps = desk.hear(agreed(&listen, &[]));
    let (uris, listen) = opened(&steps);
    assert_eq!((answered(&steps, "error"), uris), (vec![5], vec!["x:/1", "x:/2"]));
    // The server may have changed its mind by now.
    let steps = desk.hear(agreed(&listen, &["x:/1"]));
    assert_eq!((answered(&steps, "error"), answered(&steps, "result")), (vec![6], vec![7]));
    let error = &steps.iter().find(|(_, message)| message["id"] == 6).expect("an answer").1["error"];
    assert_eq!(error["code"], -32602, "{error}");
    // A refused resource is not requested again.
    let steps = desk.send(subscribe(8, "x:/3"));
    assert_eq!(opened(&steps).0, ["x:/1", "x:/3"]);
    assert_eq!(desk.it.deadline(), None);
}

/// The earlier subscriber's acknowledgement stays valid.
#[test]
fn earlier_acknowledgement_stays_valid() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    assert_eq!(answered(&desk.hear(agreed(&listen, &["x:/1"])), "result"), [5]);
    let (_, listen) = opened(&desk.send(subscribe(6, "x:/1")));
    let steps = desk.hear(agreed(&listen, &[]));
    assert_eq!((answered(&steps, "error"), steps.len()), (vec![6], 2), "{steps:?}");
    assert_eq!(opened(&desk.send(subscribe(7, "x:/2"))).0, ["x:/1", "x:/2"]);
}

/// An empty subscription is useless to us.
#[test]
fn listen_without_resources_is_cancelled() {
    let mut desk = Desk::greeted(json!({ "resources": { "subscribe": true } }));
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    let steps = desk.hear(agreed(&listen, &[]));
    assert_eq!((&steps[0].1["params"]["requestId"], answered(&steps, "error")), (&listen, vec![5]));
    assert_eq!(steps.len(), 2);
    assert_eq!(desk.hear(json!({ "jsonrpc": "2.0", "id": listen, "result": {} })), []);
    assert_eq!(opened(&desk.send(subscribe(6, "x:/2"))).0, ["x:/2"]);
}

/// An acknowledgement must list the accepted resources. Without a list, it accepts all; with an unreadable one, none.
#[test]
fn unreadable_acknowledgement_accepts_none() {
    for (notifications, member) in [
        (json!(null), "result"),
        (json!({ "resourceSubscriptions": "x:/1" }), "error"),
        (json!({ "resourceSubscriptions": null }), "error"),
        (json!({}), "error"),
        (json!([]), "error"),
        (json!(7), "error"),
    ] {
        let (mut desk, _) = listening();
        let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
        let mut said = acknowledged(&listen);
        said["params"]["notifications"] = notifications;
        let steps = desk.hear(said.clone());
        assert_eq!(answered(&steps, member), [5], "{said}");
    }
}

#[test]
fn acknowledged_uri_may_be_escaped() {
    let (mut desk, _) = listening();
    let (_, listen) = opened(&desk.send(subscribe(5, "x:/1")));
    let text = agreed(&listen, &["x:/1"]).to_string().replace("x:/1", r"x:\/\u0031");
    let said = own_message(text.into()).expect("a message");
    let steps = shown(desk.it.inbound(said, desk.now));
    assert_eq!((answered(&steps, "result"), answered(&steps, "error")), (vec![5], vec![]));
}
