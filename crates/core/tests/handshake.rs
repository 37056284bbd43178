//! The client greets the server through us, as if it spoke to it directly.

use crate::script::check;

#[test]
fn the_server_and_the_client_get_what_the_other_said_byte_for_byte() {
    check(
        r#"
        connect
            start newline
        spawned
        client> { "jsonrpc":"2.0","id":"a","method":"initialize","params":{"x":0.7000,"clientInfo":{"name":"\u00e9"}}}
            server< { "jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":0.7000,"clientInfo":{"name":"\u00e9"}}}
        server> {"result":{"protocolVersion":"2025-06-18","n":1E2,"unknown":[ ]},"jsonrpc":"2.0","id":1}
            client< {"result":{"protocolVersion":"2025-06-18","n":1E2,"unknown":[ ]},"jsonrpc":"2.0","id":"a"}
        client> {"method":"notifications/initialized","jsonrpc":"2.0"}
            server< {"method":"notifications/initialized","jsonrpc":"2.0"}
        "#,
    );
}

#[test]
fn a_client_may_say_everything_at_once_before_there_is_a_process() {
    check(
        r#"
        connect
            start newline
        client> {"jsonrpc":"2.0","id":1,"method":"initialize"}
        client> {"jsonrpc":"2.0","method":"notifications/initialized"}
        client> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        spawned
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        server> {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
            client< {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
        "#,
    );
}

#[test]
fn requests_before_a_handshake_are_the_servers_affair() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
            server< {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        server> {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"not initialized"}}
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"not initialized"}}
        "#,
    );
}

#[test]
fn discover_is_answered_by_us() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,…
        client> {"jsonrpc":"2.0","id":2,"method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        "#,
    );
}

#[test]
fn a_refused_handshake_is_not_replayed() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999"}}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999"}}
        server> {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}
        ended: exit code 0
        client> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
        "#,
    );
}

#[test]
fn a_replayed_handshake_has_a_token_of_its_own() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"_meta":{"progressToken":2}}}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"progressToken":1}}}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"jsonrpc":"2.0","id":"i","result":{}}
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{"progressToken":"t"}}}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":2}}}
        ended: exit code 1
            - once more: tools/list
            - restarts after a pause
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":3,"method":"initialize","params":{"_meta":{"progressToken":3}}}
        "#,
    );
}

#[test]
fn a_second_handshake_that_fails_does_not_undo_the_first() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":5,"method":"initialize","params":{"again":true}}
            server< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"again":true}}
        server> {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"already initialized"}}
            client< {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"already initialized"}}
        ended: exit code 1
            - restarts after a pause
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
        "#,
    );
}
