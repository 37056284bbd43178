//! A start goes on after its client has left, until the server's lists are stored.

use crate::story::run;

/// A daemon with one server whose lists are stored.
const STARTED: &str = r#"
    given linger 120s; stores_lists
    A comes; folder /p; server all
    A greets as codex
        start 1 at /p
    1 spawns
        1< {"id":2,"method":"initialize",…}
"#;

#[track_caller]
fn started(story: &str) {
    run(&format!("{STARTED}{story}"));
}

#[test]
fn the_lists_are_stored_and_the_process_goes() {
    started(
        r#"
        A leaves
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        +29s
        +1s
            - nobody has used it for a while
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
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        B comes; folder /p; server all
        B greets as codex
            B< …
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        "#,
    );
}

/// Used by somebody else meanwhile, it stays.
#[test]
fn a_process_that_is_used_stays() {
    started(
        r#"
        A leaves
        1 greets with {"tools":{}}
            1< …
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        B comes; folder /p; server all
        B greets as codex
            B< …
        B> {"id":1,"method":"tools/call","params":{"name":"files__read"}}
            1< …
        1> {"id":5,"result":{}}
            B< {"id":1,"result":{}}
        +60s
        "#,
    );
}

/// It asks for roots and a sample: nobody is there to answer, and nothing is sent to anybody else.
#[test]
fn nothing_is_asked_of_a_client_that_has_left() {
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
fn a_start_that_fails_keeps_nobody() {
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

/// The next client does not wait for what this one did not wait for.
#[test]
fn what_a_client_did_not_wait_for_is_slow() {
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
fn a_client_of_one_server_leaves_early() {
    run(r#"
        given linger 120s; stores_lists
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…}
        A leaves
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read"}]}}
            store 0
        +30s
            - nobody has used it for a while
            stop 1
        "#);
}

#[test]
fn a_client_of_one_server_leaves_before_the_spawn() {
    run(r#"
        given linger 120s; stores_lists
        A comes; folder /p
            start 1 at /p
        A greets
        A leaves
        1 spawns
            1< {"id":2,"method":"initialize",…}
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        +30s
            - nobody has used it for a while
            stop 1
        "#);
}

/// Nothing is asked of a server beside what its client wants to know, until the client leaves.
#[test]
fn one_server_is_asked_for_its_lists_at_the_end() {
    run(r#"
        given linger 120s; stores_lists
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…}
        1 greets with {"tools":{}}
            A< …
        A confirms
            1< …
        A leaves
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read"}]}}
            store 0
        "#);
}

/// Told to end, a daemon does not wait for lists.
#[test]
fn a_daemon_that_ends_stops_it() {
    started(
        r#"
        A leaves
        drain
            - switchboard ends
            stop 1 within 5s
        1 ends
            finished
        "#,
    );
}

/// Where nothing is to linger, it goes as soon as its lists are stored.
#[test]
fn without_linger_it_goes_at_once() {
    run(r#"
        given linger 0s; stores_lists
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…}
        A leaves
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read"}]}}
            store 0
        +0.1s
            - nobody has used it for a while
            stop 1
        "#);
    run(r#"
        given linger 0s; stores_lists
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…}
        1 greets with {"tools":{}}
            A< …
        A leaves
        +0.1s
            - nobody has used it for a while
            stop 1
        "#);
}

/// A process that a call has started is in use, although nothing but lists was asked of it since.
#[test]
fn process_started_by_a_call_stays() {
    started(
        r#"
        1 greets with {"tools":{}}
            A< …
            1< {"method":"notifications/initialized"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        B comes; folder /q; server all
        B greets as codex
            B< …
        B confirms
        B> {"id":1,"method":"tools/call","params":{"name":"files__read"}}
            start 2 at /q
        2 spawns
            2< …
        2 greets with {"tools":{}}
            2< {"method":"notifications/initialized"}
            2< {"id":7,"method":"tools/list"}
            2< {"id":5,"method":"tools/call",…}
        2> {"id":5,"result":{}}
            B< {"id":1,"result":{}}
        2> {"id":7,"result":{"tools":[{"name":"read"}]}}
            store 0
        +31s
            - nobody has used it for a while
            stop 1
        +31s
        "#,
    );
}
