//! Old bridges leave `jsonrpc` out: servers get it all the same, and whoever sends it gets it back.

use crate::script::{check, check_with};
use switchboard_protocol::Dialect;
use switchboard_protocol::dialect::LearntDialect;

#[test]
fn a_bare_client_is_answered_as_it_speaks() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"id":1,"result":{}}
        client> {"method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
        server> {"jsonrpc":"2.0","id":5,"method":"roots/list"}
            client< {"id":1,"method":"roots/list"}
        client> {"id":1,"result":{"roots":[]}}
            server< {"jsonrpc":"2.0","id":5,"result":{"roots":[]}}
        client> {"id":2,"method":"server/discover"}
            client< {"id":2,"error":{"code":-32601,…
        "#,
    );
}

#[test]
fn a_bare_client_hears_no_jsonrpc_in_our_own_words_either() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"id":1,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":1,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":5,"method":"roots/list"}
            client< {"id":1,"method":"roots/list"}
        ended: exit code 1
            client< {"id":1,"error":{"code":-32001,…
            client< {"method":"notifications/cancelled","params":{…"requestId":1}}
        "#,
    );
}

#[test]
fn whoever_sent_the_field_once_always_gets_it_back() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"id":1,"method":"ping"}
            server< {"jsonrpc":"2.0","id":1,"method":"ping"}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"id":1,"result":{}}
        client> {"jsonrpc":"2.0","id":2,"method":"ping"}
            server< {"jsonrpc":"2.0","id":2,"method":"ping"}
        client> {"id":3,"method":"ping"}
            server< {"jsonrpc":"2.0","id":3,"method":"ping"}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            client< {"jsonrpc":"2.0","id":3,"result":{}}
        "#,
    );
}

#[test]
fn the_config_may_settle_it() {
    check_with(
        |settings| settings.dialect = LearntDialect::Fixed(Dialect::Bare),
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"ping"}
            server< {"jsonrpc":"2.0","id":1,"method":"ping"}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"id":1,"result":{}}
        "#,
    );
}

#[test]
fn a_server_that_leaves_it_out_gets_it_added() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"ping"}
            server< {"jsonrpc":"2.0","id":2,"method":"ping"}
        server> {"id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
        "#,
    );
}
