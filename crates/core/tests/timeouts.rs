//! Every request has a deadline, and a server that misses one must show that it lives.

use crate::script::{check, check_with};
use std::time::Duration;
use switchboard_core::{OnTimeout, Settings};

#[test]
fn a_request_that_times_out_is_answered_and_taken_back() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        +599s
        +1s
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32003,…"kind":"backend_timeout"…"timeoutMs":600000…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"timed out","requestId":2}}
            - asks for a sign of life
            server< {"id":3,"jsonrpc":"2.0","method":"ping"}
        server> {"jsonrpc":"2.0","id":2,"result":"late"}
            - a late word, dropped
        +10min
        "#,
    );
}

#[test]
fn lists_have_a_shorter_deadline() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        +30s
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32003,…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled",…
            - asks for a sign of life
            server< {"id":3,"jsonrpc":"2.0","method":"ping"}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
        +10min
        "#,
    );
}

#[test]
fn a_server_that_gives_no_sign_of_life_is_restarted() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        +30s
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32003,…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled",…
            - asks for a sign of life
            server< {"id":3,"jsonrpc":"2.0","method":"ping"}
        +10s
            stop within 1s
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
        ended: signal 15
            - restarts after a pause
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}
        server> {"jsonrpc":"2.0","id":5,"result":{}}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","id":4,"method":"tools/call"}
        "#,
    );
}

#[test]
fn a_server_at_work_on_an_earlier_call_is_left_alone_until_that_is_over() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"long","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"short","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/list"}
        +30s
            client< {"jsonrpc":"2.0","id":"short","error":{"code":-32003,…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled",…
            - asks for a sign of life
            server< {"id":4,"jsonrpc":"2.0","method":"ping"}
        +9min
        server> {"jsonrpc":"2.0","id":2,"result":"done"}
            client< {"jsonrpc":"2.0","id":"long","result":"done"}
        server> {"jsonrpc":"2.0","id":4,"result":{}}
        +10min
        "#,
    );
}

#[test]
fn new_requests_do_not_keep_a_hung_server_alive() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        +30s
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32003,…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled",…
            - asks for a sign of life
            server< {"id":3,"jsonrpc":"2.0","method":"ping"}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":4,"method":"tools/call"}
        +10s
            client< {"jsonrpc":"2.0","id":"b","error":{"code":-32002,…no sign of life…
            stop within 1s
        "#,
    );
}

fn hard_limit(settings: &mut Settings) {
    settings.servers[0].timeout = Duration::from_secs(60);
    settings.servers[0].hard_timeout = Some(Duration::from_secs(150));
    settings.servers[0].on_timeout = OnTimeout::Keep;
}

#[test]
fn progress_starts_the_clock_anew_up_to_the_hard_limit() {
    check_with(
        hard_limit,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"_meta":{"progressToken":"t"}}}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2}}}
        +59s
        server> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}
            client< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}
        +59s
        server> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}
            client< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}
        +31s
        +1s
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32003,…"timeoutMs":150000…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled",…
        "#,
    );
}

#[test]
fn talking_with_the_client_is_progress_too() {
    check_with(
        hard_limit,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        +59s
        server> {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}
            client< {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}
        +59s
        client> {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
            server< {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
        +31s
        server> {"jsonrpc":"2.0","id":2,"result":"done"}
            client< {"jsonrpc":"2.0","id":"a","result":"done"}
        "#,
    );
}

#[test]
fn the_config_may_want_a_restart_at_once_or_none() {
    check_with(
        |settings| settings.servers[0].on_timeout = OnTimeout::Restart,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        +30s
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32003,…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled",…
            stop within 1s
        "#,
    );
    check_with(
        |settings| settings.servers[0].on_timeout = OnTimeout::Keep,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        +30s
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32003,…
            server< {"jsonrpc":"2.0","method":"notifications/cancelled",…
        +10min
        "#,
    );
}

/// A process that is not there in time, and one that is there and does not answer, are two things.
#[test]
fn a_spawn_that_takes_too_long_is_told_apart_from_a_handshake_that_does() {
    check(
        r#"
        connect
            start newline
        client> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
        +31s
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32001,…"message":"no process of the server `files` could be made within 30.0 s"}}
            stop now
        client> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        spawned
        ended: killed
            - restarts after a pause
        "#,
    );
    check(
        r#"
        greeted
        ended: exit code 1
            - restarts after a pause
        +1s
            start newline
        spawned
            server< …"method":"initialize"…
        client> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        +31s
            stop now
        +30s
            client< {"jsonrpc":"2.0","id":2,"error":{"code":-32003,…was started, and did not answer the handshake within…
        "#,
    );
}
