//! Orders of the owner: stop, start, restart.

use crate::story::run;

/// A call may have taken effect.
#[test]
fn a_restart_repeats_lists_but_not_calls() {
    run(r#"
        given linger 30s
        A opens 1
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 2
        A> {"id":2,"method":"tools/list"} -> 1 as 3
        owner restarts
            A< {"id":1,"error":{…"the server `files` was restarted: its owner restarts it"…}}
            - retry: tools/list
            - its owner restarts it
            stop 1
        1 ends
            start 2 at /p
        2 completes handshake 4
            2< {"id":3,"method":"tools/list"}
    "#);
}

#[test]
fn a_stopped_server_stays_stopped() {
    run(r#"
        given linger 30s
        A opens 1
        A> {"id":2,"method":"tools/list"} -> 1 as 2
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
        2 completes handshake 3
        A> {"id":4,"method":"tools/list"} -> 2 as 4
    "#);
}

#[test]
fn a_restart_starts_a_stopped_server() {
    run(r#"
        given linger 30s
        A opens 1
        owner stops
            - its owner stops it
            stop 1
        1 ends
        owner restarts
            start 2 at /p
    "#);
}

/// The server itself is not stopped: the next request starts that process again.
#[test]
fn one_workspace_is_stopped_alone() {
    run(r#"
        given linger 30s
        A opens 1
        B comes; folder /q
        B greets
            start 2 at /q
        owner stops /p
            - its owner stops it
            stop 1
        1 ends
        A> {"id":1,"method":"tools/list"}
            start 3 at /p
    "#);
}

/// An owner who has repaired a server need not wait until the breaker closes.
#[test]
fn an_order_overrides_the_breaker() {
    run(r#"
        given linger 30s
        A opens 1
        1 ends
            - restart after a pause
        owner starts
            start 2 at /p
        2 ends
            - restart after a pause
        owner restarts
            start 3 at /p
    "#);
}

/// An early start would be for a client that is refused.
#[test]
fn a_stopped_server_is_not_started_early() {
    run(r#"
        given linger 30s
        owner stops
        A comes; folder /p
    "#);
}
