//! Output of a server that is not a message reaches no client, and requests that it spoils are answered.

use crate::story::run;

#[test]
fn chatter_and_logs_are_quarantined() {
    run(r#"
        A opens 1
        1> raw listening on stdio
            - quarantined: listening on stdio
        1> raw {"level":30,"method":"GET"}
            - quarantined: {"level":30,"method":"GET"}
        1> raw {"level":30,"method":"GET","id":1,"url":"/"}
            - quarantined: {"level":30,"method":"GET","id":1,"url":"/"}
        1> {"method":"notifications/message","params":{"level":"info"}}
            A< {"method":"notifications/message","params":{"level":"info"}}
    "#);
}

#[test]
fn a_message_behind_a_log_text_is_recovered() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"ping"} -> 1 as 2
        1> raw [info] done {"jsonrpc":"2.0","id":2,"result":{}}
            A< {"id":1,"result":{}}
            - quarantined: [info] done…
    "#);
}

#[test]
fn a_logged_request_is_not_a_request() {
    run(r#"
        A opens 1
        1> {"id":1,"method":"roots/list"} -> A as 1
        1> raw received {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
            - quarantined: received …
        A> {"id":1,"result":{"roots":[]}} -> 1 as 1
    "#);
}

#[test]
fn a_broken_answer_fails_its_request() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        1> {"id":2,"result":{"x":NaN}}
            - quarantined: {"jsonrpc":"2.0","id":2,"result":{"x":NaN}}
            A< {"id":"a","error":{"code":-32603,…"kind":"bad_answer"…
    "#);
}

#[test]
fn a_broken_question_is_refused() {
    run(r#"
        A opens 1
        1> {"id":"q","method":"sampling/createMessage","params":{"temperature":NaN}}
            - quarantined: …
            1< {"id":"q","error":{"code":-32700,…
    "#);
}

#[test]
fn an_oversized_answer_fails_its_request() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"resources/read"} -> 1 as 2
        1> (too long) {"result":{"contents":"xxx"},"jsonrpc":"2.0","id":2}
            A< {"id":"a","error":{"code":-32603,…"kind":"message_too_large"…
        A> {"id":"b","method":"ping"} -> 1 as 3
    "#);
}

#[test]
fn invalid_input_of_a_client_is_answered() {
    run(r#"
        A opens 1
        A> raw hello
            A< {"id":null,"error":{"code":-32700,…
        A> {"id":4,"method":"tools/call","params":{"x":NaN}}
            A< {"id":4,"error":{"code":-32700,…
        A> {"id":5,"method":"a","method":"b"}
            A< {"id":5,"error":{"code":-32600,…
        A> {"id":{},"method":"a"}
            A< {"id":null,"error":{"code":-32600,…
        A> (too long) {"method":"tools/call","params":{"text":"xxx"},"id":"last"}
            A< {"id":"last","error":{"code":-32603,…"kind":"message_too_large"…
    "#);
}

#[test]
fn a_broken_client_answer_fails_a_question() {
    run(r#"
        A opens 1
        1> {"id":"q","method":"roots/list"} -> A as 1
        A> {"id":1,"result":{"x":NaN}}
            1< {"id":"q","error":{"code":-32700,…
    "#);
}

/// A call under `"a"`, which the server knows as 2, and its broken answer.
fn broken_answer(line: &str) {
    let story = r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        1> raw LINE
            - quarantined: …
            A< {"id":"a","error":{"code":-32603,…"kind":"bad_answer"…
    "#;
    run(&story.replace("LINE", line));
}

#[test]
fn answers_without_their_parts_are_errors() {
    broken_answer(r#"{"jsonrpc":"2.0","id":2}"#);
    broken_answer(r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"},"result":{}}"#);
    broken_answer(r#"{"jsonrpc":"2.0","\u0069d":2,"result":{}}"#);
    broken_answer(r#"{"jsonrpc":"2.0","ID":2,"result":{}}"#);
    broken_answer(r#"{"jsonrpc":"2.0","id":2,"\u0072esult":{}}"#);
    broken_answer(r#"[info] {"jsonrpc":"2.0","id":2,"result":NaN}"#);
}

/// Right after the handshake such a result could answer `notifications/initialized`.
#[test]
fn a_result_without_an_id_is_an_error() {
    for line in [r#"{"jsonrpc":"2.0","id":[3],"result":{}}"#, r#"{"jsonrpc":"2.0","result":{}}"#] {
        let story = r#"
            A opens 1
            A> {"id":"first","method":"tools/call"} -> 1 as 2
            1> raw LINE
                - quarantined: …
                - late answer dropped
            1> {"id":2,"result":{}} -> A as "first"
            A> {"id":"a","method":"tools/call"} -> 1 as 3
            1> raw LINE
                - quarantined: …
                A< {"id":"a","error":{"code":-32603,…"kind":"bad_answer"…
        "#;
        run(&story.replace("LINE", line));
    }
}

#[test]
fn a_broken_answer_beside_a_whole_one() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        A> {"id":"c","method":"tools/call"} -> 1 as 4
        1> {"id":2}{"jsonrpc":"2.0","id":3,"result":{}}{"jsonrpc":"2.0","id":4,"result":
            A< {"id":"b","result":{}}
            - quarantined: …
            A< {"id":"a","error":{"code":-32603,…"kind":"bad_answer"…
            A< {"id":"c","error":{"code":-32603,…"kind":"bad_answer"…
    "#);
}

/// A structured result may hold what looks like an answer.
#[test]
fn parts_of_a_broken_answer_are_ignored() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        1> {"id":2,"result":{"n":NaN,"x":{"jsonrpc":"2.0","id":3,"result":{}}}}
            - quarantined: …
            A< {"id":"a","error":{"code":-32603,…"kind":"bad_answer"…
        1> {"id":3,"result":{}} -> A as "b"
    "#);
}

#[test]
fn a_bare_error_is_for_the_only_request() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        1> {"error":{"code":-32700,"message":"Parse error"}}
            - late answer dropped
            - quarantined: …
        1> {"result":{}}
            - quarantined: …
            - late answer dropped
        1> {"id":2,"result":{}} -> A as "a"
        1> {"error":{"code":-32700,"message":"Parse error"}}
            A< raw {"id":"b","jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}
            - quarantined: …
    "#);
}

#[test]
fn logs_end_no_request() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        1> raw {"Id":2,"Result":"ok"}
            - quarantined: …
        1> raw {"result":"ok","level":30}
            - quarantined: …
        1> {"level":"info"}
            - quarantined: …
        1> raw answering {"jsonrpc":"2.0","id":2}
            - quarantined: …
        1> {"id":2,"result":{}} -> A as "a"
    "#);
}
