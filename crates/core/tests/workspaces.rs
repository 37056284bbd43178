//! The workspace of a request, and the roots that servers are told.

use crate::story::run;

#[test]
fn a_named_path_chooses_the_process() {
    run(r#"
        given splits; needs_root
        A opens 1; on greeting
        A at /q/x> {"id":1,"method":"tools/call","params":{}}
            start 2 at /q
        A at /q/y> {"id":2,"method":"tools/call","params":{}}
        A> {"id":3,"method":"tools/call","params":{}} -> 1 as 4
        2 completes handshake 5
            2< {"id":2,…}
            2< {"id":3,…}
        A> {"method":"notifications/cancelled","params":{"requestId":2}}
            2< {"method":"notifications/cancelled","params":{"requestId":3}}
    "#);
}

#[test]
fn roots_are_asked_for_and_followed() {
    run(r#"
        given splits; needs_root
        A opens 1; with {"roots":{}}; on greeting
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"method":"tools/list"}
        A> {"id":1,"result":{"roots":[{"uri":"file:///q"},{"uri":"file:///r"}]}}
            look up /q /r
        found /q /real
            - no client uses this workspace any more
            stop 1
            start 2 at /q
        2 completes handshake 3; with {"roots":{}}
            2< {"id":2,"method":"tools/list"}
        A at /real/x> {"id":2,"method":"tools/call","params":{}}
            start 3 at /real
        3 completes handshake 5; with {"roots":{}}
            3< …
        3> {"id":"q","method":"roots/list"}
            3< {"id":"q","result":{"roots":[{"uri":"file:///r"}]}}
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A> {"id":2,"result":{"roots":[{"uri":"file:///r"}]}}
            look up /r
        found /real
        A> {"id":3,"method":"tools/call","params":{}} -> 3
    "#);
}

/// No process can start before the client has named a root, which it does after its handshake.
#[test]
fn late_roots_are_waited_for() {
    run(r#"
        given splits; needs_root
        A comes
        A greets with {"roots":{}}
            A< {"id":0,"result":{"capabilities":…,"protocolVersion":"v","serverInfo":{"name":"files",…}}}
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"method":"tools/list"}
        A answers 1 with roots /q
            start 1 at /q
        1 completes handshake 3; with {"roots":{}}
            1< {"id":2,"method":"tools/list"}
    "#);
}

#[test]
fn a_client_without_roots_gets_a_hint() {
    run(r#"
        given splits; needs_root
        A comes
        A greets with {"roots":{}}
            A< …
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"method":"tools/list"}
        +6s
            A< {"id":1,"error":{"code":-32004,…"kind":"routing_failed"…}}
        B comes
        B greets
            B< {"id":0,"error":{"code":-32004,…}}
    "#);
}

#[test]
fn a_server_without_a_root_has_a_fallback() {
    run(r#"
        given splits
        A comes
        A greets
            - no workspace is known
            start 1 at nowhere
    "#);
    run(r#"
        given splits; no_fallback
        A comes
        A greets
            A< {"id":0,"error":{"code":-32004,…}}
    "#);
}

/// The same if one process would serve all roots.
#[test]
fn late_roots_without_a_fallback() {
    run(r#"
        given no_fallback
        A comes
        A greets with {"roots":{}}
            A< {"id":0,"result":…}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"error":{"code":-32004,…}}
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":2,"method":"tools/list"}
        A answers 1 with roots /q
            start 1 at /q
    "#);
}

#[test]
fn a_pinned_client_stays_where_it_is() {
    run(r#"
        given splits; needs_root
        A comes; pinned /p; folder /q
        A greets with {"roots":{}}
            start 1 at /p
        1 spawns
            1< …
        1 greets
            A< …
        A confirms
            1< …
        A at /r/x> {"id":1,"method":"tools/call","params":{}} -> 1
        1> {"id":"q","method":"roots/list"}
            1< {"id":"q","result":{"roots":[{"uri":"file:///p"}]}}
    "#);
}

/// The launch does not depend on the root, so one process serves all roots, and is told of all.
#[test]
fn one_process_serves_all_roots() {
    run(r#"
        A opens 1; with {"roots":{"listChanged":true}}
        1> {"id":"q","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"result":{"roots":[{"uri":"file:///p","name":"é"},{"uri":"file:///q"}]}}
            look up /p /q
        found /p /q
            1< {"id":"q","result":{"roots":[{"uri":"file:///p","name":"é"},{"uri":"file:///q"}]}}
        1> {"id":"r","method":"roots/list"}
            1< {"id":"r","result":{"roots":[{"uri":"file:///p","name":"é"},{"uri":"file:///q"}]}}
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A answers 2 with roots /q
            1< {"method":"notifications/roots/list_changed"}
        1> {"id":"s","method":"roots/list"}
            1< {"id":"s","result":{"roots":[{"uri":"file:///q"}]}}
    "#);
}

#[test]
fn repeated_notifications_are_merged() {
    run(r#"
        given debounce notifications/tools/list_changed 300ms
        A opens 1; unconfirmed
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
        1> {"method":"notifications/tools/list_changed"}
        1> {"method":"notifications/tools/list_changed"}
        1> {"method":"notifications/prompts/list_changed"}
            A< {"method":"notifications/prompts/list_changed"}
        +0.2s
        +0.2s
            A< {"method":"notifications/tools/list_changed"}
        +5s
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
    "#);
}
