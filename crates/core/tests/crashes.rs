//! A server that dies: open requests fail at once with the reason, safe ones are retried, and no call runs twice.

use crate::story::run;

#[test]
fn a_crash_answers_open_calls_with_a_reason() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        1 ends: exit code 1; said: Error: out of memory
            A< {"id":"a","error":{"code":-32002,…"kind":"backend_unavailable"…"stderr":"Error: out of memory"…exit code 1; it said: Error: out of memory"}}
            - restart after a pause
        +1s
            start 2 at /p
        2 completes handshake 3
    "#);
}

#[test]
fn lists_are_retried_and_the_rest_waits() {
    run(r#"
        A opens 1
        A> {"id":"list","method":"tools/list"} -> 1 as 2
        A> {"id":"read","method":"resources/read"} -> 1 as 3
        1 ends: signal 9
            - retry: tools/list
            - retry: resources/read
            - restart after a pause
        A> {"id":"call","method":"tools/call"}
        A> {"method":"notifications/roots/list_changed"}
        +1s
            start 2 at /p
        2 spawns
            2< {"id":5,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}
        A> {"id":"last","method":"ping"}
        2> {"id":5,"result":{}}
            2< {"method":"notifications/initialized"}
            2< {"id":2,"method":"tools/list"}
            2< {"id":3,"method":"resources/read"}
            2< {"id":4,"method":"tools/call"}
            2< {"method":"notifications/roots/list_changed"}
            2< {"id":6,"method":"ping"}
        2> {"id":2,"result":{}} -> A as "list"
        2 ends: signal 9
            A< {"id":"read","error":{"code":-32002,…
            A< {"id":"call","error":{"code":-32002,…
            - retry: ping
            - restart after a pause
    "#);
}

#[test]
fn the_config_turns_retries_off() {
    run(r#"
        given retry_after_crash off
        A opens 1
        A> {"id":1,"method":"tools/list"} -> 1 as 2
        1 ends: signal 9
            A< {"id":1,"error":{"code":-32002,…
            - restart after a pause
    "#);
}

#[test]
fn a_failed_spawn_is_answered_with_a_reason() {
    run(r#"
        A comes
            start 1 at nowhere
        A> {"id":1,"method":"initialize"}
        1 cannot spawn: `npx` was not found in PATH
            A< {"id":1,"error":{"code":-32001,…`npx` was not found in PATH"}}
        +10min
        A> {"id":2,"method":"initialize"}
            start 2 at nowhere
    "#);
}

#[test]
fn a_crash_before_the_handshake_is_answered() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"initialize"} -> 1 as 1
        A> {"id":2,"method":"tools/list"} -> 1 as 2
        1 ends: exit code 1; said: Error: Cannot find module 'x'
            A< {"id":1,"error":{"code":-32001,…Cannot find module…
            A< {"id":2,"error":{"code":-32001,…Cannot find module…
        +10min
    "#);
}

#[test]
fn an_ungreeted_server_is_restarted_too() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"tools/list"}
            1< {"id":2,"method":"initialize",…}
        1> {"id":2,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/list"}
        1> {"id":1,"result":{}} -> A as 1
        A> {"id":2,"method":"tools/call"} -> 1 as 3
        1 ends: exit code 1
            A< {"id":2,"error":{"code":-32002,…
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":4,"method":"initialize",…}
    "#);
}

#[test]
fn a_dead_process_withdraws_its_questions() {
    run(r#"
        A opens 1
        1> {"id":7,"method":"elicitation/create"} -> A as 1
        1 ends: exit code 1
            A< {"method":"notifications/cancelled","params":{"reason":"the server that asked has stopped","requestId":1}}
            - restart after a pause
        A> {"id":1,"result":{}}
    "#);
}

#[test]
fn late_output_of_a_dead_process_is_ignored() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/list"} -> 1 as 2
        1 ends: exit code 1
            - retry: tools/list
            - restart after a pause
        +1s
            start 2 at /p
        1> {"id":2,"result":{}}
        1> {"id":2,"result":{"x":NaN}}
            - quarantined: …
        2 completes handshake 3
            2< {"id":2,"method":"tools/list"}
    "#);
}

#[test]
fn a_failed_replay_counts_as_a_crash() {
    run(r#"
        A opens 1
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at /p
        2 spawns
            2< {"id":2,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}
        2> {"id":2,"error":{"code":-1,"message":"no"}}
            - it refused `initialize`
            stop 2 now
        2 ends: signal 9
            - restart after a pause
        +1s
            start 3 at /p
        3 spawns
            3< {"id":3,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}
        +30s
            - it did not answer `initialize`
            stop 3 now
        3 ends: signal 9
            - restart after a pause
    "#);
}

/// Five crashes, each followed by a start.
const FIVE_CRASHES: &str = r#"
    A opens 1
    1 ends: exit code 1
        - restart after a pause
    +200ms
        start 2 at /p
    2 ends: exit code 1
        - restart after a pause
    +400ms
        start 3 at /p
    3 ends: exit code 1
        - restart after a pause
    +800ms
        start 4 at /p
    4 ends: exit code 1
        - restart after a pause
    +2s
        start 5 at /p
    5 ends: exit code 1
        - restart after a pause
    +3s
        start 6 at /p
"#;

#[test]
fn six_crashes_open_the_breaker() {
    let story = r#"
        A> {"id":"waits","method":"tools/call"}
        6 ends: exit code 1
            - breaker open for 15 s
            A< {"id":"waits","error":{"code":-32002,…keeps crashing…
        A> {"id":"a","method":"tools/list"}
            A< {"id":"a","error":{"code":-32002,…"retryAfterMs":15000…
        +15s
        A> {"id":"b","method":"tools/list"}
            start 7 at /p
        7 completes handshake 4
            7< {"id":3,"method":"tools/list"}
        7> {"id":3,"result":{}} -> A as "b"
    "#;
    run(&format!("{FIVE_CRASHES}{story}"));
}

/// The order closes the breaker also while no client is there, and the next client need not wait.
#[test]
fn a_restart_closes_the_breaker_for_later() {
    let story = r#"
        6 ends: exit code 1
            - breaker open for 15 s
        A leaves
        owner restarts
        B comes; folder /p
        B greets
            B< …
        B confirms
        B> {"id":1,"method":"tools/call"}
            start 7 at /p
    "#;
    run(&format!("given linger 60s\n{FIVE_CRASHES}{story}"));
}

#[test]
fn a_failed_trial_keeps_the_breaker_open() {
    let story = r#"
        6 ends: exit code 1
            - breaker open for 15 s
        +5min
        A> {"id":"b","method":"tools/list"}
            start 7 at /p
        7 ends: exit code 1
            - breaker open for 30 s
            A< {"id":"b","error":{"code":-32002,…
        A> {"id":"c","method":"tools/list"}
            A< {"id":"c","error":{"code":-32002,…
    "#;
    run(&format!("{FIVE_CRASHES}{story}"));
}
