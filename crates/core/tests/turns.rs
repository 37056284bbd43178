//! Requests that a server works on at a time.

use crate::story::run;

#[test]
fn an_answer_sends_the_next_request() {
    run(r#"
        given max_in_flight 1
        A opens 1
        A> {"id":"a","method":"tools/call","params":{"name":"one"}} -> 1 as 2
        A> {"id":"b","method":"tools/call","params":{"name":"two"}}
        A> {"id":"c","method":"tools/list"}
        1> {"id":2,"result":{}} -> A as "a"
            1< {"id":3,"method":"tools/call","params":{"name":"two"}}
        1> {"id":3,"error":{"code":1,"message":"no"}} -> A as "b"
            1< {"id":4,"method":"tools/list"}
    "#);
}

/// A request at work may depend on them.
#[test]
fn pings_and_notifications_do_not_wait() {
    run(r#"
        given max_in_flight 1
        A opens 1
        A> {"id":"a","method":"tools/call","params":{"name":"one"}} -> 1 as 2
        A> {"id":"b","method":"tools/call","params":{"name":"two"}}
        A> {"id":"p","method":"ping"} -> 1 as 4
        A> {"method":"notifications/roots/list_changed"}
            1< {"method":"notifications/roots/list_changed"}
        A> {"method":"notifications/cancelled","params":{"requestId":"a"}}
            1< {"method":"notifications/cancelled","params":{"requestId":2}}
            1< {"id":3,"method":"tools/call","params":{"name":"two"}}
    "#);
}

#[test]
fn a_cancelled_queued_request_is_not_sent() {
    run(r#"
        given max_in_flight 1
        A opens 1
        A> {"id":"a","method":"tools/call","params":{"name":"one"}} -> 1 as 2
        A> {"id":"b","method":"tools/call","params":{"name":"two"}}
        A> {"id":"c","method":"tools/call","params":{"name":"three"}}
        A> {"method":"notifications/cancelled","params":{"requestId":"b"}}
        1> {"id":2,"result":{}} -> A as "a"
            1< {"id":4,"method":"tools/call","params":{"name":"three"}}
    "#);
}

#[test]
fn one_request_over_the_queue_is_refused() {
    run(r#"
        given max_in_flight 1; max_queue 1
        A opens 1
        A> {"id":"a","method":"tools/list"} -> 1 as 2
        A> {"id":"b","method":"tools/list"}
        A> {"id":"c","method":"tools/list"}
            A< {"id":"c","error":{"code":-32603,…"kind":"overloaded","retryable":true,…"message":"overloaded: the server is at its limit of 1 concurrent requests, and its queue is full"}}
    "#);
}

#[test]
fn a_request_without_a_turn_is_told_why() {
    run(r#"
        given max_in_flight 1; timeout 60s; on_timeout keep
        A opens 1
        A> {"id":"a","method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}
            1< {"id":2,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":2}}}
        A> {"id":"b","method":"tools/list"}
        +40s
        1> {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
            A< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
        +30s
            A< {"id":"b","error":{"code":-32003,"data":{"hint":"raise `maxInFlight` …","kind":"backend_timeout",…"message":"queued for 60.0 s: the server `files` is at its limit of 1 concurrent requests"}}
    "#);
}

/// A timeout and a crash free the turn as well.
#[test]
fn a_timed_out_request_frees_its_turn() {
    run(r#"
        given max_in_flight 1; timeout 60s; on_timeout keep
        A opens 1
        A> {"id":"a","method":"tools/call","params":{"name":"one"}} -> 1 as 2
        +30s
        A> {"id":"b","method":"tools/call","params":{"name":"two"}}
        +30s
            A< {"id":"a","error":{"code":-32003,…"message":"the server `files` did not answer within 60.0 s"}}
            1< {"method":"notifications/cancelled","params":{"reason":"timed out","requestId":2}}
            1< {"id":3,"method":"tools/call","params":{"name":"two"}}
    "#);
}
