//! The number of processes, the order of evictions, and the state that a new process is given.

use crate::story::run;

/// A client with its instance at /a, and one at /b.
const TWO: &str = r#"
    given splits; max_backends 2
    A opens 1; folder /a; on greeting
    A at /b/x> {"id":1,"method":"tools/call","params":{}}
        start 2 at /b
    2 completes handshake 3
        2< {"id":2,…}
    2> {"id":2,"result":1} -> A
    +1s
"#;

#[track_caller]
fn two_processes(story: &str) {
    run(&format!("{TWO}{story}"));
}

/// The new process starts when the old one is gone, and not before.
#[test]
fn the_least_recently_used_makes_room() {
    two_processes(
        r#"
        A at /c/x> {"id":2,"method":"tools/call","params":{}}
            - waits for room
            - to make room for another workspace
            stop 1
        A at /c/y> {"id":3,"method":"tools/call","params":{}}
        1 ends
            start 3 at /c
        3 completes handshake 6
            3< {"id":4,…}
            3< {"id":5,…}
        A> {"id":4,"method":"tools/list"}
            - waits for room
            - to make room for another workspace
            stop 2
        2 ends
            - stopped to make room and started again soon after, …
            start 4 at /a
        "#,
    );
}

/// A process with open requests stays; the newcomer waits.
#[test]
fn a_process_in_use_is_not_evicted() {
    two_processes(
        r#"
        given timeout 100s
        A at /a/x> {"id":2,"method":"tools/call","params":{}} -> 1
        A at /b/x> {"id":3,"method":"tools/call","params":{}} -> 2
        A at /c/x> {"id":4,"method":"tools/call","params":{}}
            - waits for room
        +50s
        2> {"id":5,"result":3} -> A as 3
            - to make room for another workspace
            stop 2
        2 ends
            start 3 at /c
        "#,
    );
}

#[test]
fn no_room_in_time_is_an_error() {
    two_processes(
        r#"
        given timeout 100s; hard_timeout 1000s
        A at /a/x> {"id":2,"method":"tools/call","params":{"_meta":{"progressToken":1}}}
            1< …
        A at /b/x> {"id":3,"method":"tools/call","params":{"_meta":{"progressToken":2}}}
            2< …
        A at /c/x> {"id":4,"method":"tools/call","params":{}}
            - waits for room
        +99s
        1> {"method":"notifications/progress","params":{"progressToken":4}}
            A< …
        2> {"method":"notifications/progress","params":{"progressToken":5}}
            A< …
        +2s
            A< {"id":4,"error":{"code":-32003,"data":{…"kind":"backend_timeout","retryable":true,"root":"/c",…},"message":"no room for another instance of `files` within 100.0 s: the limit is 2, and all are in use"}}
        "#,
    );
}

/// The client's settings reach the next process before anything else.
#[test]
fn log_level_and_subscriptions_are_replayed() {
    run(r#"
        given idle_ttl 60s
        A opens 1; folder /a
        A> {"id":1,"method":"logging/setLevel","params":{"level":"error"}} -> 1
        1> {"id":2,"result":{}} -> A
        A> {"id":2,"method":"resources/subscribe","params":{"uri":"x:/1"}} -> 1
        1> {"id":3,"result":{}} -> A
        1 ends
            - restart after a pause
        +1s
            start 2 at /a
        2 completes handshake 4
            2< {"id":5,"method":"logging/setLevel","params":{"level":"error"}}
            2< {"id":6,"method":"resources/subscribe","params":{"uri":"x:/1"}}
    "#);
}

#[test]
fn an_idle_process_stops_and_comes_back() {
    two_processes(
        r#"
        given idle_ttl 60s
        A at /b/x> {"id":2,"method":"tools/call","params":{}} -> 2
        A> {"id":3,"method":"ping"} -> 1
        1> {"id":5,"result":{}} -> A
        +59s
            - it was idle for too long
            stop 1
        +200s
        1 ends
        2> {"id":4,"result":{}} -> A
        +59s
        +1s
            - it was idle for too long
            stop 2
        A at /b/x> {"id":4,"method":"tools/call","params":{}}
        2 ends
            start 3 at /b
        "#,
    );
}

#[test]
fn a_process_with_state_is_not_stopped() {
    two_processes(
        r#"
        given idle_ttl 60s; state backend
        +500s
        A at /c/x> {"id":2,"method":"tools/call","params":{}}
            - waits for room
        "#,
    );
}

/// A single measurement is not enough: a server may need much for a moment.
#[test]
fn a_process_over_its_memory_is_stopped() {
    two_processes(
        r#"
        given memory_limit 100; state backend
        1 holds 101
            - over its memory limit
        1 holds 99
        1 holds 101
            - over its memory limit
        A> {"id":2,"method":"tools/call","params":{}} -> 1
        1 holds 102
            - it uses too much memory
            A< {"method":"notifications/message","params":{"data":"…its state is lost","level":"warning","logger":"switchboard"}}
            - state lost
            A< {"id":2,"error":{"code":-32002,…}}
            stop 1
        "#,
    );
    two_processes(
        r#"
        given pool.memory_limit 100
        2 holds 101
            - all over the memory limit
        2 holds 101
            - all servers together use too much memory
            stop 1
        "#,
    );
}

#[test]
fn a_server_in_use_is_probed() {
    two_processes(
        r#"
        given health 30s
        A at /b/x> {"id":2,"method":"tools/list"} -> 2
        2> {"id":4,"result":{}} -> A
        +29s
            - probe
            2< {"id":5,"method":"ping"}
        +11s
            - it did not answer a health check
            stop 2 within 1s
        "#,
    );
}

/// The first time an instance at /c takes the place of the one at /a, and that one comes back.
const CROWD: &str = r#"
    A at /c/x> {"id":2,"method":"tools/call","params":{}}
        - waits for room
        - to make room for another workspace
        stop 1
    1 ends
        start 3 at /c
    3 completes handshake 5
        3< {"id":4,…}
    3> {"id":4,"result":1} -> A
"#;

const BACK: &str = r#"
    A at /a/x> {"id":3,"method":"tools/call","params":{}}
        - waits for room
        - to make room for another workspace
        stop 2
"#;

#[test]
fn eviction_then_return_warns_once() {
    two_processes(&format!(
        r#"
        {CROWD}
        +60s
        {BACK}
        2 ends
            - stopped to make room and started again soon after, once in the last 10 minutes; raise `maxBackends` of the server `files`, now 2
            start 4 at /a
        4 completes handshake 7
            4< {{"id":6,…}}
        4> {{"id":6,"result":1}}
            A< …
        A at /b/x> {{"id":4,"method":"tools/call","params":{{}}}}
            - waits for room
            - to make room for another workspace
            stop 3
        3 ends
            start 5 at /b
        5 completes handshake 9
            5< …
        5> {{"id":8,"result":1}}
            A< …
        +601s
        A at /c/x> {{"id":5,"method":"tools/call","params":{{}}}}
            - waits for room
            - to make room for another workspace
            stop 4
        4 ends
            start 6 at /c
        6 completes handshake 11
            6< …
        6> {{"id":10,"result":1}}
            A< …
        A at /a/x> {{"id":6,"method":"tools/call","params":{{}}}}
            - waits for room
            - to make room for another workspace
            stop 5
        5 ends
            - stopped to make room and started again soon after, once in the last 10 minutes; raise `maxBackends` of the server `files`, now 2
            start 7 at /a
        "#
    ));
}

#[test]
fn late_return_is_no_warning() {
    two_processes(&format!(
        r#"
        {CROWD}
        +121s
        {BACK}
        2 ends
            start 4 at /a
        "#
    ));
}

#[test]
fn warning_names_the_pool_where_it_is_full() {
    let back = format!(
        r#"
        {CROWD}
        {BACK}
        2 ends
            - stopped to make room and started again soon after, once in the last 10 minutes; raise `pool.maxBackends`, now 2
            start 4 at /a
        "#
    );
    two_processes(&format!("given max_backends 8; pool.max_backends 2\n{back}"));
}

const TOO_MUCH: &str = r#"
    2 holds 3145729
        - all over the memory limit
"#;

#[test]
fn warning_names_the_memory_limit() {
    two_processes(&format!(
        r#"
        given pool.memory_limit 3145728
        {TOO_MUCH}
        2 holds 3145729
            - all servers together use too much memory
            stop 1
        1 ends
        +5s
        A at /a/x> {{"id":3,"method":"tools/call","params":{{}}}}
            - stopped to make room and started again soon after, once in the last 10 minutes; raise `pool.memoryLimit`, now 3 MiB
            start 3 at /a
        "#
    ));
}

/// Open calls are broken off only for a limit that the user has set.
#[test]
fn default_memory_limit_spares_busy_ones() {
    let busy = format!(
        r#"
        A at /a/x> {{"id":2,"method":"tools/call","params":{{}}}}
            1< …
        A at /b/x> {{"id":3,"method":"tools/call","params":{{}}}}
            2< …
        {TOO_MUCH}
        2 holds 3145729
        "#
    );
    two_processes(&format!("given pool.memory_limit 3145728\n{busy}"));
    two_processes(&format!(
        r#"
        given pool.memory_limit 3145728; pool.is_memory_limit_given
        {busy}
            - all servers together use too much memory
            A< {{"id":3,"error":{{"code":-32002,…}}}}
            stop 2
        "#
    ));
}
