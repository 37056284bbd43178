//! A peer that does not read gets errors, or loses notifications; no other peer waits for it.

use crate::story::run;

#[test]
fn answers_over_the_budget_become_errors() {
    run(r#"
        given client_bytes 200
        A opens 1
        A> {"id":1,"method":"tools/list"} -> 1 as 2
        A> {"id":2,"method":"tools/list"} -> 1 as 3
        A stops reading
        1> {"id":2,"result":"an empty outbox takes any answer, however long it may be, since the limit is for what piles up, and this one is longer than the whole budget of two hundred bytes, which is why it is here"}
            A< {"id":1,"result":"an empty outbox …
        1> {"id":3,"result":"one too many"}
            A< {"id":2,"error":{"code":-32603,…"kind":"client_too_slow"…
        A reads
        A> {"id":3,"method":"tools/list"} -> 1 as 4
        1> {"id":4,"result":"again"} -> A as 3
    "#);
}

#[test]
fn slow_clients_lose_notifications() {
    run(r#"
        given client_bytes 200
        A opens 1
        A stops reading
        1> {"method":"notifications/message","params":{"n":1}}
            A< {"method":"notifications/message","params":{"n":1}}
        1> {"method":"notifications/message","params":{"n":2}}
            - notification dropped
        1> {"id":9,"method":"sampling/createMessage","params":{"n":3}}
            - notification dropped
            1< {"id":9,"error":{"code":-32603,…"kind":"overloaded"…
        A reads
        1> {"method":"notifications/message","params":{"n":4}}
            A< {"method":"notifications/message","params":{"n":4}}
    "#);
}

#[test]
fn a_server_that_does_not_read_gets_no_more() {
    run(r#"
        given backend_bytes 100
        A opens 1
        1 stops reading
        A> {"id":1,"method":"tools/call","params":{"n":1}} -> 1 as 2
        A> {"id":2,"method":"tools/call","params":{"n":2}}
            A< {"id":2,"error":{"code":-32603,…"kind":"overloaded"…does not read…
        A> {"method":"notifications/roots/list_changed"}
            - notification dropped
        1 reads
        A> {"id":3,"method":"tools/call","params":{"n":3}} -> 1 as 3
    "#);
}

#[test]
fn repeated_initialized_is_limited() {
    run(r#"
        given backend_bytes 200
        A opens 1
        1 stops reading
        A> {"method":"notifications/initialized","params":{"n":1}}
            1< {"method":"notifications/initialized","params":{"n":1}}
        A> {"method":"notifications/initialized","params":{"n":2}}
            - notification dropped
    "#);
}

#[test]
fn open_requests_of_a_client_are_limited() {
    run(r#"
        given pending_per_client 1
        A opens 1
        A> {"id":1,"method":"tools/call"} -> 1 as 2
        A> {"id":2,"method":"tools/call"}
            A< {"id":2,"error":{"code":-32603,…"kind":"overloaded"…
        1> {"id":2,"result":{}} -> A as 1
        A> {"id":3,"method":"tools/call"} -> 1 as 3
    "#);
}

#[test]
fn queued_requests_are_limited() {
    run(r#"
        given max_queue 1
        A comes
            start 1 at nowhere
        A> {"id":1,"method":"initialize"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"error":{"code":-32603,…"kind":"overloaded"…
    "#);
    run(r#"
        given backend_bytes 80
        A comes
            start 1 at nowhere
        A> {"id":1,"method":"initialize"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"error":{"code":-32603,…"kind":"overloaded"…
    "#);
}

#[test]
fn open_questions_of_a_server_are_limited() {
    run(r#"
        given asked_per_backend 1
        A opens 1
        1> {"id":1,"method":"roots/list"} -> A as 1
        1> {"id":2,"method":"roots/list"}
            1< {"id":2,"error":{"code":-32603,…"kind":"overloaded"…
    "#);
}
