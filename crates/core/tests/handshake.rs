//! The client greets the server through us, as if it were connected directly.

use crate::story::run;

#[test]
fn the_handshake_passes_byte_for_byte() {
    run(r#"
        A starts 1
        A> raw { "jsonrpc":"2.0","id":"a","method":"initialize","params":{"x":0.7000,"clientInfo":{"name":"\u00e9"}}}
            1< raw { "jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":0.7000,"clientInfo":{"name":"\u00e9"}}}
        1> raw {"result":{"protocolVersion":"2025-06-18","n":1E2,"unknown":[ ]},"jsonrpc":"2.0","id":1}
            A< raw {"result":{"protocolVersion":"2025-06-18","n":1E2,"unknown":[ ]},"jsonrpc":"2.0","id":"a"}
        A> raw {"method":"notifications/initialized","jsonrpc":"2.0"}
            1< raw {"method":"notifications/initialized","jsonrpc":"2.0"}
    "#);
}

#[test]
fn an_early_client_is_queued_in_order() {
    run(r#"
        A comes
            start 1 at nowhere
        A> {"id":1,"method":"initialize"}
        A> {"method":"notifications/initialized"}
        A> {"id":2,"method":"tools/list"}
        1 spawns
            1< {"id":1,"method":"initialize"}
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[]}} -> A as 2
        1> {"id":1,"result":{}} -> A as 1
    "#);
}

#[test]
fn discover_is_answered_by_us() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"server/discover","params":{}}
            A< {"id":1,"error":{"code":-32601,…
        A> {"id":2,"method":"initialize"} -> 1 as 1
    "#);
}

#[test]
fn a_refused_handshake_is_not_replayed() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"initialize","params":{"protocolVersion":"1999"}} -> 1 as 1
        1> {"id":1,"error":{"code":-32600,"message":"no"}} -> A as 1
        1 ends
        A> {"id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
            start 2 at nowhere
        2 spawns
            2< {"id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
    "#);
}

#[test]
fn a_replayed_handshake_has_its_own_token() {
    run(r#"
        A starts 1
        A> {"id":"i","method":"initialize","params":{"_meta":{"progressToken":2}}}
            1< {"id":1,"method":"initialize","params":{"_meta":{"progressToken":1}}}
        1> {"id":1,"result":{}} -> A as "i"
        A> {"id":"a","method":"tools/list","params":{"_meta":{"progressToken":"t"}}}
            1< {"id":2,"method":"tools/list","params":{"_meta":{"progressToken":2}}}
        1 ends: exit code 1
            - retry: tools/list
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":3,"method":"initialize","params":{"_meta":{"progressToken":3}}}
    "#);
}

#[test]
fn a_failed_rehandshake_keeps_the_first() {
    run(r#"
        A opens 1
        A> {"id":5,"method":"initialize","params":{"again":true}} -> 1 as 2
        1> {"id":2,"error":{"code":-32600,"message":"already initialized"}} -> A as 5
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at /p
        2 completes handshake 3
    "#);
}

/// An early `initialized` is queued behind `initialize`. When that fails, the notification must go too, although other
/// requests stay queued: the next process would take it for the end of a handshake.
#[test]
fn a_failed_handshake_drops_initialized() {
    run(r#"
        given max_backends 1
        A opens 1
        A> {"id":1,"method":"tools/call"} -> 1 as 2
        B comes; folder /q
        B greets
            - waits for room
        B confirms
        B> {"id":1,"method":"tools/call"}
        +30s
            B< {"id":0,"error":{"code":-32003,…
        1> {"id":2,"result":{}} -> A as 1
            - to make room for another workspace
            stop 1
        1 ends
            start 2 at /q
        2 spawns
            2< {"id":4,"method":"tools/call"}
    "#);
}

#[test]
fn a_second_greeter_keeps_its_order() {
    run(r#"
        given shared
        A comes; folder /p
            start 1 at /p
        B comes; folder /p
        A> {"id":1,"method":"initialize","params":{"capabilities":{}}}
        A> {"method":"notifications/initialized"}
        B> {"id":1,"method":"initialize","params":{"capabilities":{}}}
        B> {"id":2,"method":"tools/list"}
        A leaves
        1 spawns
            1< {"id":2,"method":"initialize","params":{"capabilities":{}}}
            1< {"id":3,"method":"tools/list"}
    "#);
}

/// A process that hangs in the handshake of a client that has left is replaced for the clients that wait.
#[test]
fn a_lost_clients_handshake_expires() {
    run(r#"
        given shared; linger 30s
        A comes; folder /p
            start 1 at /p
        A greets
        1 spawns
            1< {"id":1,"method":"initialize",…}
        +10s
        B comes; folder /p
        B greets
        A leaves
        +21s
            - it did not answer `initialize`
            stop 1 within 1s
        1 ends: signal 15
            - restart after a pause
        +1s
            start 2 at /p
        2 spawns
            2< {"id":2,"method":"initialize",…}
        2 greets
            B< {"id":0,"result":{…
    "#);
}

/// A request was queued for a client that made no handshake. Then its own handshake fails, and the queue moves.
#[test]
fn a_stranded_request_is_told_why() {
    run(r#"
        given linger 30s; max_backends 1; max_in_flight 1
        A comes; folder /p
            start 1 at /p
        A> {"id":1,"method":"tools/call","params":{}}
        A> {"id":2,"method":"tools/call","params":{}}
        A greets
            - waits for room
        1 spawns
            1< {"id":4,"method":"initialize",…}
        1 greets
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/call","params":{}}
        +31s
            A< {"id":0,"error":{"code":-32003,…
        config changes
            A< {"id":2,"error":{"code":-32002,…"kind":"backend_unavailable",…"message":"the server `files` was not told `initialize`"}}
    "#);
}
