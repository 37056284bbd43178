//! Deadlines of requests, and probes of servers that miss one.

use crate::story::run;

#[test]
fn a_timeout_is_answered_and_cancelled() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        +599s
        +1s
            A< {"id":"a","error":{"code":-32003,…"kind":"backend_timeout"…"timeoutMs":600000…
            1< {"method":"notifications/cancelled","params":{"reason":"timed out","requestId":2}}
            - probe
            1< {"id":3,"method":"ping"}
        1> {"id":2,"result":"late"}
            - late answer dropped
        +10min
    "#);
}

/// A list has timed out, and the server is probed under the id 3.
#[track_caller]
fn after_a_timeout(story: &str) {
    let before = r#"
        A opens 1
        A> {"id":"a","method":"tools/list"} -> 1 as 2
        +30s
            A< {"id":"a","error":{"code":-32003,…
            1< {"method":"notifications/cancelled",…
            - probe
            1< {"id":3,"method":"ping"}
    "#;
    run(&format!("{before}{story}"));
}

#[test]
fn lists_have_a_shorter_deadline() {
    after_a_timeout(
        r#"
        1> {"id":3,"result":{}}
        +10min
        "#,
    );
}

#[test]
fn a_hung_server_is_restarted() {
    after_a_timeout(
        r#"
        +10s
            - it did not answer a health check
            stop 1 within 1s
        A> {"id":"b","method":"tools/call"}
        1 ends: signal 15
            - restart after a pause
        +1s
            start 2 at /p
        2 completes handshake 5
            2< {"id":4,"method":"tools/call"}
        "#,
    );
}

#[test]
fn a_server_at_work_is_not_stopped() {
    run(r#"
        A opens 1
        A> {"id":"long","method":"tools/call"} -> 1 as 2
        A> {"id":"short","method":"tools/list"} -> 1 as 3
        +30s
            A< {"id":"short","error":{"code":-32003,…
            1< {"method":"notifications/cancelled",…
            - probe
            1< {"id":4,"method":"ping"}
        +9min
        1> {"id":2,"result":"done"} -> A as "long"
        1> {"id":4,"result":{}}
        +10min
    "#);
}

#[test]
fn new_requests_do_not_save_a_hung_server() {
    after_a_timeout(
        r#"
        A> {"id":"b","method":"tools/call"} -> 1 as 4
        +10s
            - it did not answer a health check
            A< {"id":"b","error":{"code":-32002,…a health check…
            stop 1 within 1s
        "#,
    );
}

#[test]
fn progress_extends_up_to_the_hard_limit() {
    run(r#"
        given timeout 60s; hard_timeout 150s; on_timeout keep
        A opens 1
        A> {"id":"a","method":"tools/call","params":{"_meta":{"progressToken":"t"}}}
            1< {"id":2,"method":"tools/call","params":{"_meta":{"progressToken":2}}}
        +59s
        1> {"method":"notifications/progress","params":{"progressToken":2}}
            A< {"method":"notifications/progress","params":{"progressToken":"t"}}
        +59s
        1> {"method":"notifications/progress","params":{"progressToken":2}}
            A< {"method":"notifications/progress","params":{"progressToken":"t"}}
        +31s
        +1s
            A< {"id":"a","error":{"code":-32003,…"timeoutMs":150000…
            1< {"method":"notifications/cancelled",…
    "#);
}

#[test]
fn questions_to_clients_count_as_progress() {
    run(r#"
        given timeout 60s; hard_timeout 150s; on_timeout keep
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        +59s
        1> {"id":1,"method":"elicitation/create"} -> A as 1
        +59s
        A> {"id":1,"result":{"action":"accept"}} -> 1 as 1
        +31s
        1> {"id":2,"result":"done"} -> A as "a"
    "#);
}

#[test]
fn the_config_sets_what_a_timeout_does() {
    run(r#"
        given on_timeout restart
        A opens 1
        A> {"id":"a","method":"tools/list"} -> 1 as 2
        +30s
            A< {"id":"a","error":{"code":-32003,…
            1< {"method":"notifications/cancelled",…
            - a request timed out
            stop 1 within 1s
    "#);
    run(r#"
        given on_timeout keep
        A opens 1
        A> {"id":"a","method":"tools/list"} -> 1 as 2
        +30s
            A< {"id":"a","error":{"code":-32003,…
            1< {"method":"notifications/cancelled",…
        +10min
    "#);
}

/// No process in time is one error; a process that does not answer is another.
#[test]
fn slow_spawn_and_handshake_are_told_apart() {
    run(r#"
        A comes
            start 1 at nowhere
        A> {"id":1,"method":"initialize","params":{}}
        +31s
            - the process did not start in time
            A< {"id":1,"error":{"code":-32001,…"message":"the process of the server `files` did not start within 30.0 s"}}
            stop 1 now
        A> {"id":2,"method":"tools/list"}
        1 spawns
        1 ends: killed
            - restart after a pause
    "#);
    run(r#"
        A opens 1
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at /p
        2 spawns
            2< …"method":"initialize"…
        A> {"id":2,"method":"tools/list"}
        +31s
            - it did not answer `initialize`
            stop 2 now
        +30s
            A< {"id":2,"error":{"code":-32003,…did not answer the handshake within…
    "#);
}
