//! A process that asks `roots/list` gets the answer of its clients, and only clients with equal answers share it.

use crate::story::run;

/// A and B work in the same folder and share the first process. Nobody has used it.
const TWO: &str = r#"
    A comes; folder /p
        start 1 at /p
    1 spawns
    A greets with {"roots":{}}
        1< …
    1 greets
        A< …
    A confirms
        1< …
    B comes; folder /p
    B greets with {"roots":{}}
        B< …
    B confirms
"#;

#[track_caller]
fn with_two(story: &str) {
    run(&format!("{TWO}{story}"));
}

/// The server asks during A's call. B is asked for its roots before anything of it goes there, and moves if they differ.
#[test]
fn other_roots_are_another_process() {
    with_two(
        r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< {"id":3,…}
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"result":{"roots":[{"uri":"file:///a"}],"x":0.70}}
            look up /a
        found /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}],"x":0.70}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B> {"id":1,"method":"tools/call","params":{}}
        B> {"id":2,"result":{"roots":[{"uri":"file:///b"}]}}
            look up /b
        found /b
            - no longer shared by 1
            start 2 at /b
        2 spawns
            2< …
        2 greets
            2< …
            2< {"id":4,"method":"tools/call","params":{}}
        2> {"id":"r","method":"roots/list"}
            2< {"id":"r","result":{"roots":[{"uri":"file:///b"}]}}
        "#,
    );
}

/// Equal answers, however they are spelled, share the process.
#[test]
fn equal_roots_share() {
    with_two(
        r#"
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
        "#,
    );
}

/// Both have used the process when it asks for the first time: it is answered only if their roots are equal.
#[test]
fn asked_when_two_have_used_it() {
    let story = |second: &str, outcome: &str| {
        format!(
            r#"
            A> {{"id":1,"method":"tools/call","params":{{}}}}
                1< {{"id":3,…}}
            B> {{"id":1,"method":"tools/call","params":{{}}}}
                1< {{"id":4,…}}
            1> {{"id":"r","method":"roots/list"}}
                A< raw {{"method":"roots/list","jsonrpc":"2.0","id":1}}
                B< raw {{"method":"roots/list","jsonrpc":"2.0","id":2}}
            A> {{"id":1,"result":{{"roots":[{{"uri":"file:///a"}}]}}}}
                look up /a
            found /a
            B> {{"id":2,"result":{{"roots":[{{"uri":"{second}"}}]}}}}
                look up /a
            found /a
            {outcome}
            "#
        )
    };
    with_two(&story("file:///a", r#"1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}"#));
    let other = story("file:///a/", "- no longer shared by 2");
    let other = other.replace("- no longer", "1< {\"id\":\"r\",\"error\":…}\n- no longer");
    with_two(&other);
}

/// A client's own error is passed on, not one of ours.
#[test]
fn an_error_passes_through() {
    with_two(
        r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< {"id":3,…}
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"error":{"code":-7,"message":"no folder is open"}}
            1< {"id":"r","error":{"code":-7,"message":"no folder is open"}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        "#,
    );
}

/// It is known from earlier runs that the server asks, so nobody uses it before their roots are compared.
#[test]
fn a_known_asker_is_not_joined_blindly() {
    run(&format!(
        r#"
            given asks_roots
            {TWO}
            A> {{"id":1,"method":"tools/call","params":{{}}}}
                A< raw {{"method":"roots/list","jsonrpc":"2.0","id":1}}
            A> {{"id":1,"result":{{"roots":[{{"uri":"file:///a"}}]}}}}
                look up /a
            found /a
                1< {{"id":3,…}}
            B> {{"id":1,"method":"tools/call","params":{{}}}}
                B< raw {{"method":"roots/list","jsonrpc":"2.0","id":2}}
            1> {{"id":"r","method":"roots/list"}}
                1< {{"id":"r","result":{{"roots":[{{"uri":"file:///a"}}]}}}}
            B> {{"id":2,"result":{{"roots":[{{"uri":"file:///b"}}]}}}}
                look up /b
            found /b
                - no longer shared by 1
                start 2 at /b
            "#
    ));
}

/// The client that was asked leaves: what the process does is still its affair, and nobody else answers for it.
#[test]
fn the_asked_client_leaves() {
    run(&format!(
        r#"
            given linger 60s
            {TWO}
            A> {{"id":1,"method":"tools/call","params":{{}}}}
                1< {{"id":3,…}}
            1> {{"id":"r","method":"roots/list"}}
                A< raw {{"method":"roots/list","jsonrpc":"2.0","id":1}}
            A leaves
                1< …
                1< {{"id":"r","error":…}}
            "#
    ));
}

/// A server that asks as soon as it is ready: B must not work with the roots of A.
#[test]
fn aggregates_with_different_roots() {
    run(r#"
        A comes; folder /p; server all
        A greets with {"roots":{}}
            start 1 at /p
        1 spawns
            1< …
        1 greets with {"tools":{}}
            A< {"id":0,…}
            1< …
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
        A> {"id":1,"result":{"roots":[{"uri":"file:///a"}]}}
            look up /a
        found /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}
        B> {"id":1,"method":"tools/call","params":{"name":"files__t"}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B> {"id":2,"result":{"roots":[{"uri":"file:///b"}]}}
            look up /b
        found /b
            - no longer shared by 1
            start 2 at /b
        "#);
}
