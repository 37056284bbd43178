//! Shutdown: no new requests, open ones finish within a grace time, and no process is left.

use crate::story::run;

#[test]
fn shutdown_waits_for_earlier_requests() {
    run(r#"
        A opens 1
        A> {"id":"call","method":"tools/call"} -> 1 as 2
        A> {"id":"bye","method":"shutdown"}
        A> {"id":"late","method":"tools/call"}
            A< {"id":"late","error":{"code":-32603,…"kind":"shutting_down"…
        1> {"id":2,"result":"done"} -> A as "call"
            - switchboard is shutting down
            stop 1
            A< {"id":"bye","result":null}
        1 ends
        A> {"method":"exit"}
            finished
    "#);
}

#[test]
fn requests_beyond_the_grace_time_fail() {
    run(r#"
        A opens 1
        A> {"id":"call","method":"tools/call"} -> 1 as 2
        A> {"id":"bye","method":"shutdown"}
        +5s
            A< {"id":"call","error":{"code":-32603,…"kind":"shutting_down"…
            - switchboard is shutting down
            stop 1
            A< {"id":"bye","result":null}
    "#);
}

#[test]
fn shutdown_is_answered_during_a_drain() {
    run(r#"
        A opens 1
        drain
            - switchboard is shutting down
            stop 1 within 5s
        A> {"id":"bye","method":"shutdown"}
            A< {"id":"bye","result":null}
        A> {"id":"again","method":"shutdown"}
            A< {"id":"again","error":{"code":-32603,…"kind":"shutting_down"…
        1 ends
            finished
    "#);
}

#[test]
fn exit_ends_at_once() {
    run(r#"
        A opens 1
        A> {"id":"call","method":"tools/call"} -> 1 as 2
        A> {"method":"exit"}
            A< {"id":"call","error":{"code":-32603,…"kind":"shutting_down"…
            - switchboard is shutting down
            stop 1 now
        1 ends: signal 9
            finished
    "#);
}

#[test]
fn a_half_closed_client_gets_its_answers() {
    run(r#"
        A opens 1
        1> {"id":5,"method":"roots/list"} -> A as 1
        A> {"id":"call","method":"tools/call"} -> 1 as 2
        A closes its end
            1< {"id":5,"error":{"code":-32603,…
        1> {"id":6,"method":"roots/list"}
            1< {"id":6,"error":{"code":-32603,…
        1> {"id":2,"result":"done"} -> A as "call"
            - switchboard is shutting down
            stop 1
        1 ends
            finished
    "#);
}

#[test]
fn a_lost_client_is_not_waited_for() {
    run(r#"
        A opens 1
        1> {"id":5,"method":"roots/list"} -> A as 1
        A> {"id":"call","method":"tools/call"} -> 1 as 2
        A leaves
            1< {"id":5,"error":{"code":-32603,…
            - switchboard is shutting down
            stop 1
        A> {"id":"was on its way","method":"tools/call"}
        1 ends
            finished
    "#);
}

#[test]
fn queued_requests_are_served_at_the_end() {
    run(r#"
        A comes
            start 1 at nowhere
        A> {"id":1,"method":"tools/list"}
        A closes its end
        1 spawns
            1< {"id":2,"method":"initialize",…}
        1> {"id":2,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/list"}
        1> {"id":1,"result":{}} -> A as 1
            - switchboard is shutting down
            stop 1
        1 ends
            finished
    "#);
}

/// A client that only closes its end leaves its server the time to do the same; one that sends a signal does not.
#[test]
fn a_signal_skips_the_wait_for_closed_input() {
    run(r#"
        A opens 1
        A closes its end
            - switchboard is shutting down
            stop 1
    "#);
    run(r#"
        A opens 1
        A> {"id":"call","method":"tools/call"} -> 1 as 2
        drain
        1> {"id":2,"result":"done"} -> A as "call"
            - switchboard is shutting down
            stop 1 within 5s
        1 ends: signal 15
            finished
    "#);
}

#[test]
fn a_second_drain_shortens_the_grace_time() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"tools/call"} -> 1 as 2
        drain
        drain
            A< {"id":1,"error":{"code":-32603,…"kind":"shutting_down"…
            - switchboard is shutting down
            stop 1 within 800ms
        1 ends: signal 15
            finished
    "#);
}

#[test]
fn a_kill_does_not_wait() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"tools/call"} -> 1 as 2
        drain
        kill
            A< {"id":1,"error":{"code":-32603,…"kind":"shutting_down"…
            - switchboard is shutting down
            stop 1 now
        1 ends: signal 9
            finished
    "#);
}

#[test]
fn a_drain_stops_a_process_that_spawns() {
    run(r#"
        A comes
            start 1 at nowhere
        drain
            - switchboard is shutting down
            stop 1 within 5s
        1 spawns
        1 ends: signal 15
            finished
    "#);
    run(r#"
        A comes
            start 1 at nowhere
        drain
            - switchboard is shutting down
            stop 1 within 5s
        1 cannot spawn: no such file
            finished
    "#);
}

#[test]
fn a_crash_during_a_drain_ends_it() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"tools/list"} -> 1 as 2
        drain
        1 ends: signal 11
            A< {"id":1,"error":{"code":-32002,…
            finished
    "#);
}

/// Requests of an attachment that an ending daemon refuses wait for the next daemon, in order.
#[test]
fn requests_refused_by_a_daemon_wait() {
    run(r#"
        given relays; refusal_mark m1
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        A> {"id":"c","method":"tools/call"} -> 1 as 4
        1> {"id":3,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true,"mark":"m1"}}}
        A> {"id":"d","method":"tools/list"}
        1> {"id":4,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true,"mark":"m1"}}}
        1> {"id":2,"result":"done"} -> A as "a"
        1 ends: the connection to the daemon ended
            - restart after a pause
        +1s
            start 2 at /p
        2 completes handshake 6
            2< {"id":3,"method":"tools/call"}
            2< {"id":4,"method":"tools/call"}
            2< {"id":5,"method":"tools/list"}
    "#);
}

/// A server's error passes, whatever its text: the server may have acted.
#[test]
fn a_servers_own_shutdown_error_passes() {
    run(r#"
        given relays; refusal_mark m1
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        1> {"id":2,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true}}}
            A< {"id":"a","error":{"code":-32603,…
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        1> {"id":3,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":true,"mark":"m2"}}}
            A< {"id":"b","error":{"code":-32603,…
    "#);
}

/// A call that was open until the end may have run, so it is not repeated.
#[test]
fn a_dropped_call_is_not_repeated() {
    run(r#"
        given relays; refusal_mark m1
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        1> {"id":2,"error":{"code":-32603,"message":"m","data":{"kind":"shutting_down","retryable":false,"mark":"m1"}}}
            A< {"id":"a","error":{"code":-32603,…
    "#);
}

#[test]
fn orders_start_nothing_during_a_shutdown() {
    run(r#"
        A opens 1
        A> {"id":"bye","method":"shutdown"}
            - switchboard is shutting down
            stop 1
            A< {"id":"bye","result":null}
        1 ends
        owner restarts
        owner starts
    "#);
}
