//! Limits on the state stored for a client, by count and by bytes.

use super::subscriptions::with_resources;
use crate::story::run;

#[test]
fn subscriptions_are_counted() {
    run(r#"
        given subscriptions_per_client 2; subscription_bytes 100
        A opens 1
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"a:1"}} -> 1 as 2
        A> {"id":2,"method":"resources/subscribe","params":{"uri":"a:2"}} -> 1 as 3
        A> {"id":3,"method":"resources/subscribe","params":{"uri":"a:3"}}
            A< {"id":3,"error":{"code":-32603,"data":{"hint":"unsubscribe …"kind":"overloaded"…
        1> {"id":2,"result":{}} -> A as 1
        1> {"id":3,"result":{}} -> A as 2
        A> {"id":4,"method":"resources/subscribe","params":{"uri":"a:3"}}
            A< {"id":4,"error":…
        A> {"id":5,"method":"resources/subscribe","params":{"uri":"a:2"}} -> 1 as 4
        1> {"id":4,"result":{}} -> A as 5
        A> {"id":6,"method":"resources/unsubscribe","params":{"uri":"a:1"}} -> 1 as 5
        1> {"id":5,"result":{}} -> A as 6
        A> {"id":7,"method":"resources/subscribe","params":{"uri":"a:3"}} -> 1 as 6
    "#);
}

#[test]
fn subscriptions_are_measured() {
    let long = "x".repeat(96);
    let story = r#"
        given subscriptions_per_client 2; subscription_bytes 100
        A opens 1
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"LONGER"}}
            A< {"id":1,"error":{"code":-32603,…"kind":"overloaded"…
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"LONG"}} -> 1
        1> {"id":2,"result":{}} -> A as 1
        A> {"id":2,"method":"resources/subscribe","params":{"uri":"a"}}
            A< {"id":2,"error":{"code":-32603,…"kind":"overloaded"…
    "#;
    run(&story.replace("LONGER", &format!("{long}123")).replace("LONG", &long));
}

/// A client of many servers knows resources by our aliases, which are stored with its subscriptions.
#[test]
fn refused_subscriptions_cost_nothing() {
    with_resources(
        r#"
        given subscriptions_per_client 2; subscription_bytes 100
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:1"}}
            1< {"id":5,"method":"resources/subscribe","params":{"uri":"db:1"}}
        1> {"id":5,"error":{"code":1,"message":"no"}} -> A as 1
        A> {"id":2,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:2"}}
            1< {"id":6,"method":"resources/subscribe","params":{"uri":"db:2"}}
        1> {"id":6,"error":{"code":1,"message":"no"}} -> A as 2
        A> {"id":3,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:3"}}
            1< {"id":7,"method":"resources/subscribe","params":{"uri":"db:3"}}
        1> {"id":7,"result":{}} -> A as 3
        1> {"method":"notifications/resources/updated","params":{"uri":"db:3"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy://template/files/db:3"}}
        A> {"id":4,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db:4-and-so-on"}}
            A< {"id":4,"error":{"code":-32603,…"kind":"overloaded"…
        "#,
    );
}

/// A request that may be retried after a crash is stored until it is answered.
#[test]
fn open_requests_are_measured() {
    let story = r#"
        given client_bytes 30000
        A opens 1
        A> {"id":1,"method":"resources/read","params":{"uri":"LONG"}} -> 1
        A> {"id":2,"method":"resources/read","params":{"uri":"LONG"}}
            A< {"id":2,"error":{"code":-32603,…"kind":"overloaded"…
        A> {"id":"LONG","method":"ping"}
            A< {"id":"LONG","error":{"code":-32603,…"kind":"overloaded"…
        A> {"id":3,"method":"resources/read","params":{"uri":"short"}} -> 1
        1> {"id":2,"result":{}} -> A as 1
        1> {"id":3,"result":{}} -> A as 3
        A> {"id":4,"method":"resources/read","params":{"uri":"LONG"}} -> 1
    "#;
    run(&story.replace("LONG", &"x".repeat(20_000)));
}

#[test]
fn cancelled_requests_are_counted() {
    run(r#"
        given pending_per_client 2
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1
        A> {"method":"notifications/cancelled","params":{"requestId":"a"}}
            1< …
        A> {"id":"b","method":"tools/call"} -> 1
        A> {"method":"notifications/cancelled","params":{"requestId":"b"}}
            1< …
        A> {"id":"c","method":"tools/call"} -> 1
        A> {"method":"notifications/cancelled","params":{"requestId":"c"}}
            1< …
        1> {"id":2,"result":{}}
            - late answer dropped
        1> {"id":3,"result":{}} -> A as "b"
    "#);
}

#[test]
fn long_tokens_are_not_remembered() {
    let story = r#"
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"_meta":{"progressToken":"LONG"}}}
            1< …
        1> {"method":"notifications/progress","params":{"progressToken":2}}
            A< {"method":"notifications/progress","params":{"progressToken":"LONG"}}
        1> {"id":2,"result":{}} -> A as 1
        1> {"method":"notifications/progress","params":{"progressToken":2}}
            - late answer dropped
    "#;
    run(&story.replace("LONG", &"x".repeat(2000)));
}
