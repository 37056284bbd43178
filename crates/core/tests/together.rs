//! Clients of one server do not affect each other. Found by the pool simulator.

use crate::story::run;

/// The first client that confirms does so for both.
#[test]
fn initialized_is_sent_once() {
    run(r#"
        given shared
        A opens 1; unconfirmed
        B joins 1; unconfirmed
        B confirms
            1< {"method":"notifications/initialized"}
        A confirms
    "#);
}

#[test]
fn one_log_level_does_not_silence_the_other() {
    run(r#"
        given shared
        A opens 1; unconfirmed
        B joins 1; unconfirmed
        A confirms
            1< …
        B confirms
        A> {"id":1,"method":"logging/setLevel","params":{"level":"debug"}} -> 1
        1> {"id":3,"result":{}} -> A
        B> {"id":1,"method":"logging/setLevel","params":{"level":"error"}} -> 1 as 4
        1> {"id":4,"result":{}}
            1< {"id":5,"method":"logging/setLevel","params":{"level":"debug"}}
            B< …
    "#);
}

/// The server would handle both in order, and forget the later subscriber.
#[test]
fn a_pending_subscription_survives() {
    run(r#"
        given shared
        A opens 1; unconfirmed
        B joins 1; unconfirmed
        A confirms
            1< …
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"u"}} -> 1
        1> {"id":3,"result":{}} -> A
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"u"}} -> 1
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"u"}}
            A< {"id":2,"result":{}}
        1> {"id":4,"result":{}} -> B
        1> {"method":"notifications/resources/updated","params":{"uri":"u"}}
            B< …
    "#);
}

/// Otherwise the server would go on sending updates.
#[test]
fn subscriptions_end_with_their_client() {
    run(r#"
        given shared
        A opens 1; unconfirmed
        B joins 1; unconfirmed
        A confirms
            1< …
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"u"}} -> 1
        1> {"id":3,"result":{}} -> A
        A leaves
            1< {"id":4,"method":"resources/unsubscribe","params":{"uri":"u"}}
    "#);
}

/// The lookup of an earlier answer must not stand for the last one.
#[test]
fn only_the_last_roots_lookup_counts() {
    run(r#"
        given shared; splits
        A opens 1; with {"roots":{}}; on greeting
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"result":{"roots":[{"uri":"file:///p"}]}}
            look up /p
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        found /p
        A answers 2 with roots /p /q
        A at /q/x> {"id":5,"method":"tools/call","params":{}}
            start 2 at /q
    "#);
}

#[test]
fn a_left_workspace_finishes_its_requests() {
    run(r#"
        given shared; splits
        A opens 1; with {"roots":{}}; on greeting
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A answers 1 with roots /p
        A> {"id":5,"method":"tools/call","params":{}} -> 1 as 2
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A answers 2 with roots /q
        1> {"id":2,"result":1} -> A as 5
            - no client uses this workspace any more
            stop 1
    "#);
}
