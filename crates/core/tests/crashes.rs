//! A server that dies: whoever waits learns why at once, what is safe is asked again, and nothing that was
//! handed over is done twice.

use crate::script::{check, check_with};
use switchboard_core::RetryAfterCrash;

#[test]
fn a_pending_call_is_answered_at_once_with_the_reason() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        ended: exit code 1; said: Error: out of memory
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32002,…"kind":"backend_unavailable"…"stderr":"Error: out of memory"…exit code 1; it said: Error: out of memory"}}
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

#[test]
fn lists_are_asked_once_more_and_the_rest_waits_in_its_order() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"list","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        client> {"jsonrpc":"2.0","id":"read","method":"resources/read"}
            server< {"jsonrpc":"2.0","id":3,"method":"resources/read"}
        ended: signal 9
            - once more: tools/list
            - once more: resources/read
            - restarts after a pause
        client> {"jsonrpc":"2.0","id":"call","method":"tools/call"}
        client> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}
        client> {"jsonrpc":"2.0","id":"last","method":"ping"}
        server> {"jsonrpc":"2.0","id":5,"result":{}}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
            server< {"jsonrpc":"2.0","id":3,"method":"resources/read"}
            server< {"jsonrpc":"2.0","id":4,"method":"tools/call"}
            server< {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}
            server< {"jsonrpc":"2.0","id":6,"method":"ping"}
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":"list","result":{}}
        ended: signal 9
            client< {"jsonrpc":"2.0","id":"read","error":{"code":-32002,…
            client< {"jsonrpc":"2.0","id":"call","error":{"code":-32002,…
            - once more: ping
            - restarts after a pause
        "#,
    );
}

#[test]
fn nothing_is_asked_again_if_the_config_says_so() {
    check_with(
        |settings| settings.servers[0].retry_after_crash = RetryAfterCrash::Off,
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        ended: signal 9
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32002,…
            - restarts after a pause
        "#,
    );
}

#[test]
fn a_process_that_cannot_be_made_is_an_answer_with_the_reason() {
    check(
        r#"
        connect
            start newline
        client> {"jsonrpc":"2.0","id":1,"method":"initialize"}
        cannot spawn: `npx` was not found in PATH
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32001,…`npx` was not found in PATH"}}
        +10min
        client> {"jsonrpc":"2.0","id":2,"method":"initialize"}
            start newline
        "#,
    );
}

#[test]
fn a_process_that_dies_before_the_handshake_is_an_answer_at_once() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"initialize"}
            server< {"jsonrpc":"2.0","id":1,"method":"initialize"}
        client> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        ended: exit code 1; said: Error: Cannot find module 'x'
            client< {"jsonrpc":"2.0","id":1,"error":{"code":-32001,…Cannot find module…
            client< {"jsonrpc":"2.0","id":2,"error":{"code":-32001,…Cannot find module…
        +10min
        "#,
    );
}

#[test]
fn a_server_that_has_answered_is_restarted_even_if_nobody_greeted_it() {
    check(
        r#"
        connect
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
            server< {"jsonrpc":"2.0","id":1,"method":"tools/list"}
        server> {"jsonrpc":"2.0","id":1,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
        client> {"jsonrpc":"2.0","id":2,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        ended: exit code 1
            client< {"jsonrpc":"2.0","id":2,"error":{"code":-32002,…
            - restarts after a pause
        +1s
            start newline
        spawned
        client> {"jsonrpc":"2.0","id":3,"method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        "#,
    );
}

#[test]
fn what_the_dead_process_asked_is_withdrawn() {
    check(
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":7,"method":"elicitation/create"}
            client< {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}
        ended: exit code 1
            client< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"the server that asked is gone","requestId":1}}
            - restarts after a pause
        client> {"jsonrpc":"2.0","id":1,"result":{}}
        "#,
    );
}

#[test]
fn late_words_of_a_dead_process_mean_nothing() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        ended: exit code 1
            - once more: tools/list
            - restarts after a pause
        +1s
            start newline
        old server> {"jsonrpc":"2.0","id":2,"result":{}}
        old server> {"jsonrpc":"2.0","id":2,"result":{"x":NaN}}
            - quarantined: …
        spawned
            server< {"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        "#,
    );
}

#[test]
fn a_replay_that_is_refused_or_not_answered_is_as_good_as_a_crash() {
    check(
        r#"
        greeted
        ended: exit code 1
            - restarts after a pause
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}
        server> {"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}
            stop now
        ended: signal 9
            - restarts after a pause
        +1s
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}
        +30s
            stop now
        ended: signal 9
            - restarts after a pause
        "#,
    );
}

/// Five crashes, each followed by a start.
const FIVE_CRASHES: &str = r#"
        greeted
        ended: exit code 1
            - restarts after a pause
        +200ms
            start newline
        ended: exit code 1
            - restarts after a pause
        +400ms
            start newline
        ended: exit code 1
            - restarts after a pause
        +800ms
            start newline
        ended: exit code 1
            - restarts after a pause
        +2s
            start newline
        ended: exit code 1
            - restarts after a pause
        +3s
            start newline
"#;

#[test]
fn after_more_than_five_crashes_it_rests_and_requests_fail_fast() {
    let story = r#"
        client> {"jsonrpc":"2.0","id":"waits","method":"tools/call"}
        ended: exit code 1
            - gives up for 15 s
            client< {"jsonrpc":"2.0","id":"waits","error":{"code":-32002,…keeps crashing…
        client> {"jsonrpc":"2.0","id":"a","method":"tools/list"}
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32002,…"retryAfterMs":15000…
        +15s
        client> {"jsonrpc":"2.0","id":"b","method":"tools/list"}
            start newline
        spawned
            server< {"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}
        server> {"jsonrpc":"2.0","id":4,"result":{}}
            server< {"jsonrpc":"2.0","method":"notifications/initialized"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/list"}
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            client< {"jsonrpc":"2.0","id":"b","result":{}}
    "#;
    check(&format!("{FIVE_CRASHES}{story}"));
}

#[test]
fn a_trial_that_fails_is_the_only_one() {
    let story = r#"
        ended: exit code 1
            - gives up for 15 s
        +5min
        client> {"jsonrpc":"2.0","id":"b","method":"tools/list"}
            start newline
        ended: exit code 1
            - gives up for 30 s
            client< {"jsonrpc":"2.0","id":"b","error":{"code":-32002,…
        client> {"jsonrpc":"2.0","id":"c","method":"tools/list"}
            client< {"jsonrpc":"2.0","id":"c","error":{"code":-32002,…
    "#;
    check(&format!("{FIVE_CRASHES}{story}"));
}
