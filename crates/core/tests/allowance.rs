//! What is kept for a client has limits, by count and by bytes.

use super::cast::play;
use crate::script::check_with;
use switchboard_core::Settings;

fn few(settings: &mut Settings) {
    settings.limits.subscriptions_per_client = 2;
    settings.limits.subscription_bytes = 100;
}

#[test]
fn subscriptions_are_counted() {
    check_with(
        few,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}
            server< {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:1"}}
        client> {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:2"}}
            server< {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:2"}}
        client> {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:3"}}
            client< {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"data":{"hint":"unsubscribe …"kind":"overloaded"…
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            client< {"jsonrpc":"2.0","id":2,"result":{}}
        client> {"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:3"}}
            client< {"jsonrpc":"2.0","id":4,"error":…
        client> {"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"a:2"}}
            server< {"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:2"}}
        server> {"jsonrpc":"2.0","id":4,"result":{}}
            client< {"jsonrpc":"2.0","id":5,"result":{}}
        client> {"jsonrpc":"2.0","id":6,"method":"resources/unsubscribe","params":{"uri":"a:1"}}
            server< {"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"a:1"}}
        server> {"jsonrpc":"2.0","id":5,"result":{}}
            client< {"jsonrpc":"2.0","id":6,"result":{}}
        client> {"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"a:3"}}
            server< {"jsonrpc":"2.0","id":6,"method":"resources/subscribe","params":{"uri":"a:3"}}
        "#,
    );
}

#[test]
fn subscriptions_are_measured() {
    let long = "x".repeat(96);
    let story = r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"LONGER"}}
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,…"kind":"overloaded"…
        client> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"LONG"}}
            server< …
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
        client> {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a"}}
            client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,…"kind":"overloaded"…
    "#;
    check_with(few, &story.replace("LONGER", &format!("{long}123")).replace("LONG", &long));
}

/// A client of many servers calls resources by names of ours, which are kept with its subscriptions.
#[test]
fn refused_subscriptions_cost_nothing() {
    play(
        few,
        r#"
        A comes; folder /p; server all
        A greets
            start 1 at /p
        1 spawns
            1< …
        1 greets with {"resources":{"subscribe":true}}
            A< …
            1< …
            1< {"id":3,"method":"resources/list"}
            1< {"id":4,"method":"resources/templates/list"}
        A confirms
        1> {"jsonrpc":"2.0","id":3,"result":{"resources":[]}}
        1> {"jsonrpc":"2.0","id":4,"result":{"resourceTemplates":[]}}
            keep 0
        A> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:1"}}
            1< {"id":5,"method":"resources/subscribe","params":{"uri":"db:1"}}
        1> {"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"no"}}
            A< {"id":1,"error":{"code":1,"message":"no"}}
        A> {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:2"}}
            1< {"id":6,"method":"resources/subscribe","params":{"uri":"db:2"}}
        1> {"jsonrpc":"2.0","id":6,"error":{"code":1,"message":"no"}}
            A< {"id":2,"error":{"code":1,"message":"no"}}
        A> {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:3"}}
            1< {"id":7,"method":"resources/subscribe","params":{"uri":"db:3"}}
        1> {"jsonrpc":"2.0","id":7,"result":{}}
            A< {"id":3,"result":{}}
        1> {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"db:3"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy://template/files/db:3"}}
        A> {"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:4-and-so-on"}}
            A< {"id":4,"error":{"code":-32603,…"kind":"overloaded"…
        "#,
    );
}

/// What may be sent once more after a crash is kept until it is answered.
#[test]
fn open_requests_are_measured() {
    let story = r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"LONG"}}
            server< …
        client> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"LONG"}}
            client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,…"kind":"overloaded"…
        client> {"jsonrpc":"2.0","id":"LONG","method":"ping"}
            client< {"jsonrpc":"2.0","id":"LONG","error":{"code":-32603,…"kind":"overloaded"…
        client> {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"short"}}
            server< …
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            client< {"jsonrpc":"2.0","id":3,"result":{}}
        client> {"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"LONG"}}
            server< …
    "#;
    check_with(|settings| settings.limits.client_bytes = 30_000, &story.replace("LONG", &"x".repeat(20_000)));
}

#[test]
fn cancelled_requests_are_counted() {
    check_with(
        |settings| settings.limits.pending_per_client = 2,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< …
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}
            server< …
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< …
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}
            server< …
        client> {"jsonrpc":"2.0","id":"c","method":"tools/call"}
            server< …
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}
            server< …
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            - a late word, dropped
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            client< {"jsonrpc":"2.0","id":"b","result":{}}
        "#,
    );
}

#[test]
fn long_tokens_are_not_remembered() {
    let story = r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"LONG"}}}
            server< …
        server> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}
            client< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"LONG"}}
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
        server> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}
            - a late word, dropped
    "#;
    check_with(|_| {}, &story.replace("LONG", &"x".repeat(2000)));
}
