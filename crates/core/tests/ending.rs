//! The end: no new requests, what is in flight may finish within a grace time, and nothing is left running.

use crate::script::{check, check_with};
use switchboard_core::Settings;

#[test]
fn shutdown_is_answered_when_everything_before_it_is() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"call","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"bye","method":"shutdown"}
        client> {"jsonrpc":"2.0","id":"late","method":"tools/call"}
            client< {"jsonrpc":"2.0","id":"late","error":{"code":-32603,…"kind":"shutting_down"…
        server> {"jsonrpc":"2.0","id":2,"result":"done"}
            client< {"jsonrpc":"2.0","id":"call","result":"done"}
            stop gently
            client< {"jsonrpc":"2.0","id":"bye","result":null}
        ended: exit code 0
        client> {"jsonrpc":"2.0","method":"exit"}
            finished
        "#,
    );
}

#[test]
fn what_does_not_finish_within_the_grace_time_is_answered_by_us() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"call","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"bye","method":"shutdown"}
        +5s
            client< {"jsonrpc":"2.0","id":"call","error":{"code":-32603,…"kind":"shutting_down"…
            stop gently
            client< {"jsonrpc":"2.0","id":"bye","result":null}
        "#,
    );
}

#[test]
fn shutdown_is_answered_also_when_the_end_has_begun() {
    check(
        r#"
        greeted
        drain
            stop within 5s
        client> {"jsonrpc":"2.0","id":"bye","method":"shutdown"}
            client< {"jsonrpc":"2.0","id":"bye","result":null}
        client> {"jsonrpc":"2.0","id":"again","method":"shutdown"}
            client< {"jsonrpc":"2.0","id":"again","error":{"code":-32603,…"kind":"shutting_down"…
        ended: exit code 0
            finished
        "#,
    );
}

#[test]
fn exit_ends_at_once() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"call","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","method":"exit"}
            client< {"jsonrpc":"2.0","id":"call","error":{"code":-32603,…"kind":"shutting_down"…
            stop now
        ended: signal 9
            finished
        "#,
    );
}

#[test]
fn a_client_that_closes_its_end_still_gets_its_answers() {
    check(
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":5,"method":"roots/list"}
            client< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
        client> {"jsonrpc":"2.0","id":"call","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client closes its end
            server< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,…
        server> {"jsonrpc":"2.0","id":6,"method":"roots/list"}
            server< {"jsonrpc":"2.0","id":6,"error":{"code":-32603,…
        server> {"jsonrpc":"2.0","id":2,"result":"done"}
            client< {"jsonrpc":"2.0","id":"call","result":"done"}
            stop gently
        ended: exit code 0
            finished
        "#,
    );
}

#[test]
fn a_client_that_is_lost_is_not_waited_for() {
    check(
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":5,"method":"roots/list"}
            client< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
        client> {"jsonrpc":"2.0","id":"call","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client is lost
            server< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,…
            stop gently
        client> {"jsonrpc":"2.0","id":"was on its way","method":"tools/call"}
        ended: exit code 0
            finished
        "#,
    );
}

#[test]
fn requests_that_wait_for_a_start_are_served_before_the_end() {
    check(
        r#"
        connect
            start newline
        client> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        client closes its end
        spawned
            server< {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
            stop gently
        ended: exit code 0
            finished
        "#,
    );
}

/// A client that only closes its end leaves its server the time to do the same; one that sends a signal does not.
#[test]
fn a_signal_skips_the_wait_for_closed_input() {
    check(
        r#"
        greeted
        client closes its end
            stop gently
        "#,
    );
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"call","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        drain
        server> {"jsonrpc":"2.0","id":2,"result":"done"}
            client< {"jsonrpc":"2.0","id":"call","result":"done"}
            stop within 5s
        ended: signal 15
            finished
        "#,
    );
}

#[test]
fn a_second_order_to_end_is_in_more_of_a_hurry() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        drain
        drain
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,…"kind":"shutting_down"…
            stop within 800ms
        ended: signal 15
            finished
        "#,
    );
}

#[test]
fn an_order_to_end_at_once_does_not_wait() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        drain
        kill
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,…"kind":"shutting_down"…
            stop now
        ended: signal 9
            finished
        "#,
    );
}

#[test]
fn a_process_that_is_still_being_made_is_stopped_too() {
    check(
        r#"
        connect
            start newline
        drain
            stop within 5s
        spawned
        ended: signal 15
            finished
        "#,
    );
    check(
        r#"
        connect
            start newline
        drain
            stop within 5s
        cannot spawn: no such file
            finished
        "#,
    );
}

#[test]
fn a_crash_in_the_end_is_the_end() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        drain
        ended: signal 11
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32002,…
            finished
        "#,
    );
}

fn attached(settings: &mut Settings) {
    settings.servers[0].relays = true;
    settings.servers[0].refusal_mark = Some("m1".into());
}

/// Behind an attachment that carries the messages: what an ending daemon turns away waits for the next one, in order.
#[test]
fn what_a_daemon_turns_away_waits_for_the_next() {
    check_with(
        attached,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"c","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":4,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true,"mark":"m1"}}}
        client> {"jsonrpc":"2.0","id":"d","method":"tools/list"}
        server> {"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true,"mark":"m1"}}}
        server> {"jsonrpc":"2.0","id":2,"result":"done"}
            client< {"jsonrpc":"2.0","id":"a","result":"done"}
        ended: the connection to the daemon ended
            - restarts after a pause
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":6,"method":"initialize","params":{}}
        server> {"jsonrpc":"2.0","id":6,"result":{}}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":4,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":5,"method":"tools/list"}
        "#,
    );
}

/// What a server says is passed on, whatever it sounds like: it may have acted.
#[test]
fn what_a_server_says_of_its_end_is_an_answer() {
    check_with(
        attached,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true}}}
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true,"mark":"m2"}}}
            client< {"jsonrpc":"2.0","id":"b","error":{"code":-32603,…
        "#,
    );
}

/// A call that was open until the end may have run: nobody asks for it again.
#[test]
fn what_a_daemon_drops_in_the_end_is_not_repeated() {
    check_with(
        attached,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":false,"mark":"m1"}}}
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…
        "#,
    );
}
