//! Old bridges omit `jsonrpc`: servers get it all the same, and clients that send it get it back.

use crate::eras::play;
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

/// The modern era: the bytes of the client, and our own requests.
#[test]
fn a_bare_modern_server_gets_no_jsonrpc() {
    play(
        r#"
        given era modern; dialect bare
        A starts 1
        A> {"id":"a","method":"server/discover","params":{$M}}
            1< raw {"id":2,"method":"server/discover","params":{$M}}
        1> raw {"id":2,"result":$D}
            1< raw {"id":1,"method":"server/discover","params":{$M}}
        1> raw {"id":1,"result":$D}
            A< {"id":"a","result":$D}
        A> {"id":"b","method":"tools/call","params":{"jsonrpc":"2.0",$M}}
            1< raw {"id":3,"method":"tools/call","params":{"jsonrpc":"2.0",$M}}
        1> raw {"id":3,"result":{"content":[]}}
            A< {"id":"b","result":{"content":[]}}
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}}
            1< raw {"id":4,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}}
        1> raw {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:4}}}
            A< {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:"s"}}}
        1> raw {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:4}}}
            A< {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:"s"}}}
        A> {"method":"notifications/cancelled","params":{"requestId":"s"}}
            1< raw {"method":"notifications/cancelled","params":{"requestId":4}}
        "#,
    );
}

/// Our own subscription, for a client of several servers.
#[test]
fn bare_listen_of_ours_works() {
    play(
        r#"
        given era modern; dialect bare
        A comes; folder /p; server all
        A> {"id":"a","method":"tools/list","params":{$M}}
            start 1 at /p
        1 spawns
            1< raw {"id":2,"method":"server/discover","params":{$M}}
        1> raw {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}
            1< raw {"id":3,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
            1< raw {"id":4,"method":"tools/list","params":{$M}}
        1> raw {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:3}}}
        1> raw {"id":4,"result":{"tools":[]}}
            store 0
            A< {"id":"a",…
        +1s
        1> raw {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:3}}}
            1< raw {"id":6,"method":"tools/list","params":{$M}}
        "#,
    );
}

/// Behind a translator, for a legacy client.
#[test]
fn a_bare_translated_server_gets_no_jsonrpc() {
    play(
        r#"
        given dialect bare
        A starts 1
        A> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
            1< raw {"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        1> raw {"id":1,"error":{"code":-32601,"message":"no"}}
            1< raw {"id":4503599627370498,"method":"server/discover","params":{$M}}
        1> raw {"id":4503599627370498,"result":$D}
            1< raw {"id":4503599627370499,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
            record 0: modern only
            A< {"id":"i","result":{"protocolVersion":"2025-06-18",…
        A> {"method":"notifications/initialized"}
        1> raw {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:4503599627370499}}}
        1> raw {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:4503599627370499}}}
            A< {"method":"notifications/tools/list_changed","params":{}}
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< raw {"id":2,"method":"tools/call","params":{$M,"name":"x"}}
        1> raw {"id":2,"result":{"resultType":"complete","content":[]}}
            A< {"id":"a","result":{"content":[]}}
        "#,
    );
}
