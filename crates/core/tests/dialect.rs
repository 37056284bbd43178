//! Old bridges omit `jsonrpc`: servers get it all the same, and clients that send it get it back.

use crate::story::run;

#[test]
fn a_bare_client_is_answered_as_it_speaks() {
    run(r#"
        A starts 1
        A> raw {"id":1,"method":"initialize"}
            1< {"id":1,"method":"initialize"}
        1> {"id":1,"result":{}}
            A< raw {"id":1,"result":{}}
        A> raw {"method":"notifications/initialized"}
            1< {"method":"notifications/initialized"}
        1> {"id":5,"method":"roots/list"}
            A< raw {"id":1,"method":"roots/list"}
        A> raw {"id":1,"result":{"roots":[]}}
            1< {"id":5,"result":{"roots":[]}}
        A> raw {"id":2,"method":"server/discover"}
            A< raw {"id":2,"error":{"code":-32601,…
    "#);
}

#[test]
fn our_messages_to_a_bare_client_are_bare() {
    run(r#"
        A starts 1
        A> raw {"id":1,"method":"tools/call"}
            1< {"id":2,"method":"initialize",…}
        1> {"id":2,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/call"}
        1> {"id":5,"method":"sampling/createMessage"}
            A< raw {"id":1,"method":"sampling/createMessage"}
        1 ends: exit code 1
            A< raw {"id":1,"error":{"code":-32002,…
            A< raw {"method":"notifications/cancelled","params":{…"requestId":1}}
            - restart after a pause
    "#);
}

#[test]
fn a_client_that_sent_jsonrpc_gets_it_back() {
    run(r#"
        A starts 1
        A> raw {"id":1,"method":"ping"}
            1< {"id":1,"method":"ping"}
        1> {"id":1,"result":{}}
            A< raw {"id":1,"result":{}}
        A> {"id":2,"method":"ping"} -> 1 as 2
        A> raw {"id":3,"method":"ping"}
            1< {"id":3,"method":"ping"}
        1> {"id":3,"result":{}} -> A as 3
    "#);
}

#[test]
fn the_config_fixes_the_dialect() {
    run(r#"
        given bare
        A starts 1
        A> {"id":1,"method":"ping"} -> 1 as 1
        1> {"id":1,"result":{}}
            A< raw {"id":1,"result":{}}
    "#);
}

#[test]
fn answers_of_a_bare_server_get_jsonrpc() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"ping"} -> 1 as 2
        1> raw {"id":2,"result":{}}
            A< {"id":1,"result":{}}
    "#);
}

/// Forwarded messages and our own, whatever the client sends.
#[test]
fn a_bare_server_gets_no_jsonrpc() {
    run(r#"
        given dialect bare; timeout 60s
        A starts 1
        A> {"id":1,"method":"initialize"}
            1< raw {"id":1,"method":"initialize"}
        1> raw {"id":1,"result":{}}
            A< {"id":1,"result":{}}
        A> raw {"method":"notifications/initialized"}
            1< raw {"method":"notifications/initialized"}
        A> {"id":2,"method":"tools/call","params":{"jsonrpc":"2.0"}}
            1< raw {"id":2,"method":"tools/call","params":{"jsonrpc":"2.0"}}
        1> raw {"id":5,"method":"roots/list"}
            A< {"id":1,"method":"roots/list"}
        A> {"id":1,"result":{"roots":[]}}
            1< raw {"id":5,"result":{"roots":[]}}
        +60s
            A< {"id":2,"error":{"code":-32003,…
            1< raw {"method":"notifications/cancelled",…
            - probe
            1< raw {"id":3,"method":"ping"}
    "#);
}
