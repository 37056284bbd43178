//! A process that asks `roots/list` gets the answer of its clients, and only clients with equal answers share it.

use crate::story::run;

/// The server asks during A's call. B is asked for its roots before anything of it goes there, and moves if they differ.
#[test]
fn other_roots_are_another_process() {
    run(r#"
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"result":{"roots":[{"uri":"file:///a"}],"x":0.70}}
            look up /a
        found /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}],"x":0.70}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B> {"id":1,"method":"tools/call","params":{}}
        B answers 2 with roots /b
            - no longer shared by 1
            start 2 at /b
        2 completes handshake 5; with {"roots":{}}
            2< {"id":4,"method":"tools/call","params":{}}
        2> {"id":"r","method":"roots/list"}
            2< {"id":"r","result":{"roots":[{"uri":"file:///b"}]}}
    "#);
}

/// Equal answers, however they are spelled, share the process.
#[test]
fn equal_roots_share() {
    run(r#"
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        B> {"id":1,"method":"tools/call","params":{}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A> {"id":1,"result":{"roots":[{"uri":"file:///a","name":"n"}]}}
            look up /a
        found /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a","name":"n"}]}}
        B> {"id":2,"result":{"roots":[{"name":"n", "uri":"file:\/\/\/a"}]}}
            look up /a
        found /a
            1< {"id":3,"method":"tools/call","params":{}}
    "#);
}

/// Both have used the process when it asks for the first time: it is answered only if their roots are equal.
#[test]
fn asked_when_two_have_used_it() {
    let check = |second: &str, outcomes: &str| {
        let story = r#"
            A opens 1; with {"roots":{}}
            B joins 1; with {"roots":{}}
            A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
            B> {"id":1,"method":"tools/call","params":{}} -> 1 as 4
            1> {"id":"r","method":"roots/list"}
                A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
                B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
            A answers 1 with roots /a
            B> {"id":2,"result":{"roots":[{"uri":"SECOND"}]}}
                look up /a
            found /a
            OUTCOMES
        "#;
        run(&story.replace("SECOND", second).replace("OUTCOMES", outcomes));
    };
    check("file:///a", r#"1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}"#);
    check("file:///a/", "1< {\"id\":\"r\",\"error\":…}\n- no longer shared by 2");
}

/// The client's own error passes on, not one of ours.
#[test]
fn an_error_passes_through() {
    run(r#"
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"error":{"code":-7,"message":"no folder is open"}} -> 1 as "r"
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
    "#);
}

/// Earlier runs have seen the server ask, so roots are compared before its first use.
#[test]
fn a_known_asker_is_not_joined_blindly() {
    run(r#"
        given asks_roots
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A answers 1 with roots /a
            1< {"id":3,…}
        B> {"id":1,"method":"tools/call","params":{}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        1> {"id":"r","method":"roots/list"}
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}
        B answers 2 with roots /b
            - no longer shared by 1
            start 2 at /b
    "#);
}

/// The process still works for the client that left, and no other client answers for it.
#[test]
fn the_asked_client_leaves() {
    run(r#"
        given linger 60s
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A leaves
            1< …
            1< {"id":"r","error":…}
    "#);
}

/// A server that asks as soon as it is ready: B must not work with the roots of A.
#[test]
fn aggregates_with_different_roots() {
    run(r#"
        A greets all: 1; with {"roots":{}}
        1 completes handshake 2; with {"roots":{}}; offers {"tools":{}}; answers A
            1< {"id":3,"method":"tools/list"}
        1> {"id":"r","method":"roots/list"}
        1> {"id":3,"result":{"tools":[{"name":"t"}]}}
            store 0
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        B comes; folder /p; server all
        B greets with {"roots":{}}
            B< …
        B confirms
        A answers 1 with roots /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}
        B> {"id":1,"method":"tools/call","params":{"name":"files__t"}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B answers 2 with roots /b
            - no longer shared by 1
            start 2 at /b
    "#);
}

/// A lingering process was told the roots of a client that has left. The next client is asked before anything of it goes there.
#[test]
fn a_departed_clients_roots_are_not_reused() {
    run(r#"
        given linger 60s
        A opens 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 2
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A answers 1 with roots /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}
        1> {"id":2,"result":{}} -> A
        A leaves
        B joins 1; with {"roots":{}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B> {"id":1,"method":"tools/call","params":{}}
        B answers 2 with roots /b
            - no longer shared by 1
            start 2 at /b
    "#);
}

/// The same if the client that left has made no call.
#[test]
fn idle_departed_clients_roots_stay_apart() {
    run(r#"
        given linger 60s
        A opens 1; with {"roots":{}}
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A answers 1 with roots /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}
        A leaves
        B joins 1; with {"roots":{}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B> {"id":1,"method":"tools/call","params":{}}
        B answers 2 with roots /a
            1< {"id":3,"method":"tools/call","params":{}}
    "#);
}
