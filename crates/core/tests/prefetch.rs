//! A start continues after its client has left, until the server's lists are stored.

use crate::story::run;

/// A daemon with one server whose lists are stored.
const STARTED: &str = r#"
    given linger 120s; stores_lists
    A greets all: 1; as codex
    1 spawns
        1< {"id":2,"method":"initialize",…}
"#;

#[track_caller]
fn started(story: &str) {
    run(&format!("{STARTED}{story}"));
}

#[test]
fn the_lists_are_stored_before_the_stop() {
    started(
        r#"
        A leaves
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
        1 lists 3: read
        +29s
        +1s
            - it was idle for too long
            stop 1
        1 ends
        +1s
            finished
        "#,
    );
}

#[test]
fn the_next_client_is_answered_at_once() {
    started(
        r#"
        A leaves
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
        1 lists 3: read
        B comes; folder /p; server all
        B greets as codex
            B< …
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        "#,
    );
}

/// Another client has called a tool meanwhile.
#[test]
fn a_process_in_use_stays() {
    started(
        r#"
        A leaves
        1 greets with {"tools":{}}
            1< …
        1 lists 3: read
        B comes; folder /p; server all
        B greets as codex
            B< …
        B> {"id":1,"method":"tools/call","params":{"name":"files__read"}}
            1< …
        1> {"id":5,"result":{}} -> B as 1
        +60s
        "#,
    );
}

/// The server asks for roots and a sample; the questions reach no other client.
#[test]
fn questions_without_a_client_are_refused() {
    started(
        r#"
        A leaves
        1 greets with {"tools":{}}
            1< …
            1< {"id":3,"method":"tools/list"}
        1> {"id":"r","method":"roots/list"}
            1< {"id":"r","error":…}
        1> {"id":"s","method":"sampling/createMessage","params":{}}
            1< {"id":"s","error":…}
        1> {"method":"notifications/message","params":{"level":"error","data":"x"}}
            - no listener for notifications/message
        1> {"id":3,"result":{"tools":[]}}
            store 0
        "#,
    );
}

#[test]
fn a_failed_start_does_not_keep_the_daemon() {
    started(
        r#"
        given framing newline
        A leaves
        +29s
        +1s
            - it did not answer `initialize`
            stop 1 now
        1 ends
            record 0: slow, try 1
        +1s
            finished
        "#,
    );
}

/// The next client does not wait for it either.
#[test]
fn a_start_that_a_client_left_is_slow() {
    started(
        r#"
        +2s
        A leaves
            record 0: slow, try 1
        B comes; folder /p; server all
        B greets as codex
            B< {"id":0,"result":…}
        "#,
    );
}

/// The client of one server has left before the server answered it.
#[test]
fn a_client_leaves_before_the_answer() {
    run(r#"
        given linger 120s; stores_lists
        A opens 1; unanswered
        A leaves
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
        1 lists 2: read
        +30s
            - it was idle for too long
            stop 1
    "#);
}

#[test]
fn a_client_leaves_before_the_spawn() {
    run(r#"
        given linger 120s; stores_lists
        A comes; folder /p
            start 1 at /p
        A greets
        A leaves
        1 completes handshake 2; offers {"tools":{}}
        1 lists 3: read
        +30s
            - it was idle for too long
            stop 1
    "#);
}

/// While its client is there, a server gets the client's own requests only.
#[test]
fn lists_are_fetched_when_the_client_leaves() {
    run(r#"
        given linger 120s; stores_lists
        A opens 1; offers {"tools":{}}
        A leaves
        1 lists 2: read
    "#);
}

/// Told to end, a daemon does not wait for lists.
#[test]
fn a_drain_does_not_wait_for_lists() {
    started(
        r#"
        A leaves
        drain
            - switchboard is shutting down
            stop 1 within 5s
        1 ends
            finished
        "#,
    );
}

/// Without linger, the process ends as soon as its lists are stored.
#[test]
fn without_linger_it_stops_after_the_lists() {
    run(r#"
        given linger 0s; stores_lists
        A opens 1; unanswered
        A leaves
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
        1 lists 2: read
        +0.1s
            - it was idle for too long
            stop 1
    "#);
    run(r#"
        given linger 0s; stores_lists
        A opens 1; offers {"tools":{}}; unconfirmed
        A leaves
        +0.1s
            - it was idle for too long
            stop 1
    "#);
}

/// A process that a call has started counts as used, although only lists were asked since.
#[test]
fn process_started_by_a_call_stays() {
    started(
        r#"
        1 greets with {"tools":{}}
            A< …
            1< {"method":"notifications/initialized"}
        1 lists 3: read
        B comes; folder /q; server all
        B greets as codex
            B< …
        B confirms
        B> {"id":1,"method":"tools/call","params":{"name":"files__read"}}
            start 2 at /q
        2 completes handshake 6; as codex; offers {"tools":{}}
            2< {"id":7,"method":"tools/list"}
            2< {"id":5,"method":"tools/call",…}
        2> {"id":5,"result":{}} -> B as 1
        2> {"id":7,"result":{"tools":[{"name":"read"}]}}
            store 0
        +31s
            - it was idle for too long
            stop 1
        +31s
        "#,
    );
}
