//! Towards a server we speak first: by lines, and if nothing comes back, once more with `Content-Length`.

use crate::script::{check, check_with};
use switchboard_core::FramingChoice;
use switchboard_protocol::Framing;

#[test]
fn a_server_that_does_not_answer_is_tried_with_content_length() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"id":"i","method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        client> {"method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
        client> {"id":"l","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        +29s
        +1s
            - once more: tools/list
            stop now
        ended: signal 9
            start content-length
        spawned
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"id":"i","result":{}}
        server> {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
            client< {"id":"l","result":{"tools":[]}}
        ended: exit code 0
            - restarts after a pause
        +1s
            start content-length
        "#,
    );
}

#[test]
fn what_it_prints_besides_messages_does_not_count_as_an_answer() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        server> waiting for headers
            - quarantined: waiting for headers
        +30s
            stop now
        ended: signal 9
            start content-length
        "#,
    );
}

#[test]
fn a_server_that_answers_neither_is_given_up_and_tried_anew_later() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        +30s
            stop now
        ended: signal 9
            start content-length
        spawned
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        +30s
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32003,…
            stop within 1s
        ended: signal 15
        +10min
        client> {"jsonrpc":"2.0","id":2,"method":"initialize"}
            start newline
        "#,
    );
}

#[test]
fn what_is_asked_while_it_is_being_given_up_is_served_by_another_process() {
    check_with(
        |settings| settings.servers[0].framing = FramingChoice::Fixed(Framing::Newline),
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        +30s
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32003,…
            stop within 1s
        client> {"jsonrpc":"2.0","id":2,"method":"initialize"}
        ended: signal 15
            - restarts after a pause
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":2,"method":"initialize"}
        "#,
    );
}

#[test]
fn the_last_word_of_the_first_process_settles_it() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        +30s
            stop now
        server> {"jsonrpc":"2.0","id":1,"result":{"slow":true}}
            - a late word, dropped
        ended: signal 9
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        "#,
    );
}
