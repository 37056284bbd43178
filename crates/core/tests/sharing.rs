//! Clients that share a process, and the recipients of its messages.

use crate::story::run;

/// B gets the answer that A got, and the server notices nothing.
#[test]
fn a_second_client_joins_the_process() {
    run(r#"
        A opens 1; unanswered
        B comes; folder /p
        B greets
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
            B< {"id":0,"result":{"serverInfo":1}}
        A confirms
            1< {"method":"notifications/initialized"}
        B confirms
        A> {"id":7,"method":"tools/call","params":{}} -> 1 as 3
        B> {"id":7,"method":"tools/call","params":{}} -> 1 as 4
        1> {"id":4,"result":"b"} -> B as 7
        1> {"id":3,"result":"a"} -> A as 7
        C joins 1; unconfirmed
    "#);
}

/// The clients connect before one of them has declared its capabilities.
#[test]
fn simultaneous_clients_share_one_start() {
    run(r#"
        A comes; folder /p
            start 1 at /p
        B comes; folder /p
        C comes; folder /p
        B greets
        A greets
        C greets with {"sampling":{}}
            start 2 at /p
        1 spawns
            1< {"id":1,"method":"initialize",…}
        1 greets
            B< {"id":0,"result":{"serverInfo":1}}
            A< {"id":0,"result":{"serverInfo":1}}
        2 spawns
            2< {"id":3,"method":"initialize",…}
        2 greets
            C< {"id":0,"result":{"serverInfo":2}}
    "#);
}

/// A client that asks for more than the server can do waits longer, and the others do not.
#[test]
fn a_flooding_client_delays_only_itself() {
    run(r#"
        given max_in_flight 1; max_queue 4
        A opens 1
        B joins 1; unconfirmed
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        A> {"id":2,"method":"tools/call","params":{}}
        A> {"id":3,"method":"tools/call","params":{}}
        A> {"id":4,"method":"tools/call","params":{}}
        A> {"id":5,"method":"tools/call","params":{}}
        A> {"id":6,"method":"tools/call","params":{}}
            A< …"overloaded"…
        B> {"id":1,"method":"tools/call","params":{}}
        B> {"id":2,"method":"tools/call","params":{}}
        B> {"id":3,"method":"tools/call","params":{}}
            B< …"overloaded"…
        1> {"id":3,"result":"1 of A"} -> A as 1
            1< {"id":4,…}
        1> {"id":4,"result":"2 of A"} -> A as 2
            1< {"id":8,…}
        1> {"id":8,"result":"1 of B"} -> B as 1
            1< {"id":5,…}
        1> {"id":5,"result":"3 of A"} -> A as 3
            1< {"id":9,…}
        1> {"id":9,"result":"2 of B"} -> B as 2
            1< {"id":6,…}
    "#);
}

#[test]
fn folder_and_environment_separate_clients() {
    run(r#"
        A opens 1; unconfirmed
        B comes; folder /q
        B greets
            start 2 at /q
        C comes; folder /p; env 1
        C greets
            start 3 at /p with env 1
    "#);
}

/// A server may offer other tools to other capabilities. Clients share once the lists were equal, and the server
/// never asked a question.
#[test]
fn equal_lists_unite_other_capabilities() {
    const ASK_BOTH: &str = r#"
        A opens 1; unconfirmed
        A> {"id":1,"method":"tools/list"}
            1< …
        1> {"id":2,"result":{"tools":[]}}
            A< …
        B comes; folder /p
        B greets with {"sampling":{}}
            start 2 at /p
        2 spawns
            2< …
        2> {"id":3,"result":{"serverInfo":1}}
            B< …
        B> {"id":1,"method":"tools/list"}
            2< …
        2> {"id":4,"result":{"tools":[]}}
            B< …
        B leaves
        2 ends
    "#;
    // The last pages of two lists may be equal although the lists differ.
    let in_pages = ASK_BOTH.replacen(r#"{"tools":[]}"#, r#"{"tools":[1],"nextCursor":"x"}"#, 1);
    let in_pages = in_pages.replacen(
        "B comes",
        r#"A> {"id":2,"method":"tools/list","params":{"cursor":"x"}}
            1< …
        1> {"id":3,"result":{"tools":[]}}
            A< …
        B comes"#,
        1,
    );
    let in_pages = in_pages.replace(r#"2> {"id":4"#, r#"2> {"id":5"#);
    let in_pages = in_pages.replace(r#"2> {"id":3"#, r#"2> {"id":4"#);
    let third = |story: &str, line: &str| {
        run(&format!("{story}\nC comes; folder /p\nC greets with {{\"sampling\":{{}}}}\n{line}"));
    };
    third(&in_pages, "start 3 at /p");
    // B's next request goes to A's process.
    let united = ASK_BOTH.replacen(
        "B< …\n        B leaves",
        r#"- no longer shared by 1
            B< …
            - clients now share another instance that offers the same
            stop 2
        B> {"id":2,"method":"tools/call","params":{}}
            1< …
        B leaves
            1< {"method":"notifications/cancelled",…}"#,
        1,
    );
    third(&united, r#"C< {"id":0,"result":{"serverInfo":1}}"#);
    third(&format!("given exact\n{ASK_BOTH}"), "start 3 at /p");
}

#[test]
fn the_config_makes_capabilities_shared() {
    run(r#"
        given shared
        A opens 1; with {"roots":{}}; unconfirmed
        B joins 1; with {"sampling":{}}; unconfirmed
    "#);
}

#[test]
fn scope_client_shares_nothing() {
    run(r#"
        given scope client
        A comes; folder /p
            start 1 at /p
        B comes; folder /p
            start 2 at /p
    "#);
}

#[test]
fn updates_reach_subscribers_only() {
    run(r#"
        given shared
        A opens 1
        B joins 1; unconfirmed
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"x:/1"}} -> 1
        1> {"id":3,"result":{}} -> A
        1> {"method":"notifications/resources/updated","params":{"uri":"x:/1"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x:/1"}}
        B> {"id":1,"method":"tools/call","params":{}} -> 1
        1> {"id":4,"result":{}} -> B
        1> {"method":"notifications/resources/updated","params":{"uri":"x:/2"}}
            - no listener for notifications/resources/updated
        B> {"id":2,"method":"resources/subscribe","params":{"uri":"x:/1"}} -> 1
        1> {"id":5,"result":{}} -> B
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"x:/1"}}
            A< {"id":2,"result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x:/1"}}
            B< …
    "#);
}

/// Calls of the leaving client are cancelled; those of the other go on.
#[test]
fn a_leaving_client_disturbs_no_other() {
    run(r#"
        given shared
        A opens 1; unconfirmed
        B joins 1; unconfirmed
        A> {"id":1,"method":"tools/call","params":{}} -> 1
        B> {"id":1,"method":"tools/call","params":{}} -> 1
        A leaves
            1< {"method":"notifications/cancelled","params":{"reason":"the client has disconnected","requestId":3}}
        1> {"id":3,"result":"a"}
        1> {"id":4,"result":"b"} -> B as 1
    "#);
}

/// A tool's name shows client state: from then on each client has its own process.
#[test]
fn a_browser_is_not_shared() {
    run(r#"
        given state auto
        A opens 1; unconfirmed
        A> {"id":1,"method":"tools/list"} -> 1
        1> {"id":2,"result":{"tools":[{"name":"browser_click"}]}}
            - keeps state: browser_click
            A< …
        B comes; folder /p
            start 2 at /p
    "#);
}
