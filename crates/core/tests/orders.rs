//! What the owner says about a server.

use crate::story::run;

/// A client that was greeted and has asked one thing.
const AT_WORK: &str = r#"
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< …
        1 greets
            A< …
        A confirms
            1< {"method":"notifications/initialized"}
"#;

#[track_caller]
fn at_work(story: &str) {
    run(&format!("given linger 30s\n{AT_WORK}{story}"));
}

/// Lists are asked again; a call may have taken effect.
#[test]
fn a_restart_repeats_what_may_be_repeated() {
    at_work(
        r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< {"id":2,…}
        A> {"id":2,"method":"tools/list"}
            1< {"id":3,…}
        owner restarts
            A< {"id":1,"error":{…"the server `files` was restarted: its owner restarts it"…}}
            - retry: tools/list
            - its owner restarts it
            stop 1
        1 ends
            start 2 at /p
        2 spawns
            2< {"id":4,"method":"initialize",…}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":3,"method":"tools/list"}
        "#,
    );
}

#[test]
fn what_is_stopped_stays_so_until_it_is_started() {
    at_work(
        r#"
        A> {"id":2,"method":"tools/list"}
            1< {"id":2,…}
        owner stops
            A< {"id":2,"error":{…`switchboard start files`…"the server `files` was stopped by its owner"}}
            - its owner stops it
            stop 1
        1 ends
        A> {"id":3,"method":"tools/list"}
            A< {"id":3,"error":{…was stopped by its owner…}}
        B comes; folder /q
        B greets
            B< {"id":0,"error":{…was stopped by its owner…}}
        owner starts
            start 2 at /p
            start 3 at /q
        2 spawns
            2< {"id":3,"method":"initialize",…}
        2 greets
            2< {"method":"notifications/initialized"}
        A> {"id":4,"method":"tools/list"}
            2< {"id":4,…}
        "#,
    );
}

#[test]
fn a_restart_lets_a_stopped_one_start_too() {
    at_work(
        r#"
        owner stops
            - its owner stops it
            stop 1
        1 ends
        owner restarts
            start 2 at /p
        "#,
    );
}

/// The server itself is not stopped: the next request starts that instance again.
#[test]
fn one_workspace_is_stopped_by_itself() {
    at_work(
        r#"
        B comes; folder /q
        B greets
            start 2 at /q
        owner stops /p
            - its owner stops it
            stop 1
        1 ends
        A> {"id":1,"method":"tools/list"}
            start 3 at /p
        "#,
    );
}

/// Who repairs a server need not wait until the breaker closes.
#[test]
fn an_order_is_over_the_breaker() {
    at_work(
        r#"
        1 ends
            - restart after a pause
        owner starts
            start 2 at /p
        2 ends
            - restart after a pause
        owner restarts
            start 3 at /p
        "#,
    );
}

/// It would be started for somebody who will not get it.
#[test]
fn nothing_of_a_stopped_server_is_started_early() {
    run(r#"
        given linger 30s
        owner stops
        A comes; folder /p
        "#);
}
