//! What a server prints on its stdout that is no message reaches nobody, and what it spoils is answered.

use crate::script::check;

#[test]
fn chatter_and_structured_logs_are_quarantined() {
    check(
        r#"
        greeted
        server> listening on stdio
            - quarantined: listening on stdio
        server> {"level":30,"method":"GET"}
            - quarantined: {"level":30,"method":"GET"}
        server> {"level":30,"method":"GET","id":1,"url":"/"}
            - quarantined: {"level":30,"method":"GET","id":1,"url":"/"}
        server> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}
            client< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}
        "#,
    );
}

#[test]
fn a_message_behind_a_log_text_is_recovered() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":1,"method":"ping"}
            server< {"jsonrpc":"2.0","id":2,"method":"ping"}
        server> [info] done {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":1,"result":{}}
            - quarantined: [info] done…
        "#,
    );
}

#[test]
fn a_log_about_a_request_is_not_taken_for_one() {
    check(
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":1,"method":"roots/list"}
            client< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
        server> received {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
            - quarantined: received …
        client> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
            server< {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
        "#,
    );
}

#[test]
fn a_broken_answer_is_an_error_for_its_request() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":2,"result":{"x":NaN}}
            - quarantined: {"jsonrpc":"2.0","id":2,"result":{"x":NaN}}
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…"kind":"bad_answer"…
        "#,
    );
}

#[test]
fn a_broken_question_is_refused() {
    check(
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"temperature":NaN}}
            - quarantined: …
            server< {"jsonrpc":"2.0","id":"q","error":{"code":-32700,…
        "#,
    );
}

#[test]
fn an_answer_that_is_too_long_is_an_error_for_its_request() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"resources/read"}
            server< {"jsonrpc":"2.0","id":2,"method":"resources/read"}
        server> (too long) {"result":{"contents":"xxx"},"jsonrpc":"2.0","id":2}
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…"kind":"message_too_large"…
        client> {"jsonrpc":"2.0","id":"b","method":"ping"}
            server< {"jsonrpc":"2.0","id":3,"method":"ping"}
        "#,
    );
}

#[test]
fn what_a_client_sends_that_is_no_message_is_answered() {
    check(
        r#"
        greeted
        client> hello
            client< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,…
        client> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"x":NaN}}
            client< {"jsonrpc":"2.0","id":4,"error":{"code":-32700,…
        client> {"jsonrpc":"2.0","id":5,"method":"a","method":"b"}
            client< {"jsonrpc":"2.0","id":5,"error":{"code":-32600,…
        client> {"jsonrpc":"2.0","id":{},"method":"a"}
            client< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,…
        client> (too long) {"method":"tools/call","params":{"text":"xxx"},"id":"last"}
            client< {"jsonrpc":"2.0","id":"last","error":{"code":-32603,…"kind":"message_too_large"…
        "#,
    );
}

#[test]
fn a_broken_answer_of_the_client_is_an_error_for_the_server_that_waits() {
    check(
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":"q","method":"roots/list"}
            client< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
        client> {"jsonrpc":"2.0","id":1,"result":{"x":NaN}}
            server< {"jsonrpc":"2.0","id":"q","error":{"code":-32700,…
        "#,
    );
}

/// A call under `"a"`, which the server knows as 2, and its broken answer.
fn broken_answer(line: &str) {
    let story = r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        server> LINE
            - quarantined: …
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…"kind":"bad_answer"…
    "#;
    check(&story.replace("LINE", line));
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

/// Right after the handshake it could be about `notifications/initialized`.
#[test]
fn a_result_without_an_id_is_an_error() {
    for line in [r#"{"jsonrpc":"2.0","id":[3],"result":{}}"#, r#"{"jsonrpc":"2.0","result":{}}"#] {
        let story = r#"
            greeted
            client> {"jsonrpc":"2.0","id":"first","method":"tools/call"}
                server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
            server> LINE
                - quarantined: …
                - a late word, dropped
            server> {"jsonrpc":"2.0","id":2,"result":{}}
                client< {"jsonrpc":"2.0","id":"first","result":{}}
            client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
                server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
            server> LINE
                - quarantined: …
                client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…"kind":"bad_answer"…
        "#;
        check(&story.replace("LINE", line));
    }
}

#[test]
fn a_broken_answer_beside_a_whole_one() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"c","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":4,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":2}{"jsonrpc":"2.0","id":3,"result":{}}{"jsonrpc":"2.0","id":4,"result":
            client< {"jsonrpc":"2.0","id":"b","result":{}}
            - quarantined: …
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…"kind":"bad_answer"…
            client< {"jsonrpc":"2.0","id":"c","error":{"code":-32603,…"kind":"bad_answer"…
        "#,
    );
}

/// A structured result may hold what looks like an answer.
#[test]
fn nothing_inside_a_broken_answer_is_one() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":2,"result":{"n":NaN,"x":{"jsonrpc":"2.0","id":3,"result":{}}}}
            - quarantined: …
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32603,…"kind":"bad_answer"…
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            client< {"jsonrpc":"2.0","id":"b","result":{}}
        "#,
    );
}

#[test]
fn an_error_without_id_is_for_the_only_request() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}
            - a late word, dropped
            - quarantined: …
        server> {"jsonrpc":"2.0","result":{}}
            - quarantined: …
            - a late word, dropped
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":"a","result":{}}
        server> {"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}
            client< {"id":"b","jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}
            - quarantined: …
        "#,
    );
}

#[test]
fn logs_end_no_request() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        server> {"Id":2,"Result":"ok"}
            - quarantined: …
        server> {"result":"ok","level":30}
            - quarantined: …
        server> {"jsonrpc":"2.0","level":"info"}
            - quarantined: …
        server> answering {"jsonrpc":"2.0","id":2}
            - quarantined: …
        server> {"jsonrpc":"2.0","id":2,"result":{}}
            client< {"jsonrpc":"2.0","id":"a","result":{}}
        "#,
    );
}
