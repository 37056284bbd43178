//! The daemon's life: clients come and go, and unused processes stop.

use crate::story::run;

#[test]
fn the_last_client_takes_the_daemon_with_it() {
    run(r#"
        given linger 30s; idle_ttl 600s
        A opens 1
        A leaves
        +29s
        +1s
            - it was idle for too long
            stop 1
        +100s
        1 ends
        +1s
            finished
    "#);
}

#[test]
fn a_client_within_the_linger_finds_it() {
    run(r#"
        given linger 30s; idle_ttl 600s
        A opens 1
        A leaves
        +29s
        B joins 1; unconfirmed
        +100s
        B> {"id":1,"method":"tools/list"} -> 1
    "#);
}

#[test]
fn without_linger_the_process_stops_at_once() {
    run(r#"
        given linger 30s; idle_ttl 600s
        A opens 1
        given linger 0s
        A leaves
        +0s
            - it was idle for too long
            stop 1
    "#);
}

/// The client that started the daemon leaves at once.
#[test]
fn an_unused_daemon_ends() {
    run(r#"
        given linger 30s; idle_ttl 600s
        +0s
        A comes; folder /p
            start 1 at /p
        A leaves
            - its client has left it
            stop 1
        1 ends
        +2s
            finished
    "#);
}

/// Open requests are cancelled, and the server is told to end the subscriptions.
#[test]
fn a_leaving_client_frees_all_it_held() {
    run(r#"
        given linger 30s; idle_ttl 600s
        A opens 1
        B joins 1; unconfirmed
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"x:/1"}} -> 1 as 3
        1> {"id":3,"result":{}} -> B
        B> {"id":2,"method":"tools/call","params":{}} -> 1 as 4
        B leaves
            1< {"method":"notifications/cancelled","params":{"reason":"the client has disconnected","requestId":4}}
            1< …"resources/unsubscribe"…
        1> {"id":4,"result":"too late"}
        A> {"id":1,"method":"tools/list"} -> 1
    "#);
}

/// An attachment's server is another Switchboard, whose questions are for the client.
#[test]
fn questions_of_another_switchboard_pass() {
    run(r#"
        given relays
        A opens 1; with {"roots":{}}; unconfirmed
        1> {"id":700,"method":"roots/list"} -> A as 1
        A> {"id":1,"result":{"roots":[]}} -> 1 as 700
        A> {"id":1,"method":"tools/call","params":{}} -> 1
        1 ends
            A< {"id":1,"error":{"code":-32002,…"message":"the Switchboard daemon died during this request: exit code 0"}}
    "#);
}
