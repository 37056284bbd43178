//! Ids, progress tokens and cancellations travel mapped, in both directions, and come back as they were
//! spelled.

use crate::script::{check, check_with};
use std::time::Duration;

#[test]
fn ids_come_back_as_they_were_spelled() {
    for id in [
        "7",
        "\"7\"",
        "7.0",
        "1.50",
        "1e3",
        "-1",
        "0",
        "12345678901234567890123",
        "\"\"",
        r#""\u00e9\"""#,
        "\"3f6c1a52-7d1e-4c3b-9a57-0d6a1f5f7c11-and-longer\"",
        "null",
    ] {
        check(&format!(
            r#"
            greeted
            client> {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x","arguments":{{"id":{id}}}}}}}
                server< {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"x","arguments":{{"id":{id}}}}}}}
            server> {{"jsonrpc":"2.0","id":2,"result":{{"id":2}}}}
                client< {{"jsonrpc":"2.0","id":{id},"result":{{"id":2}}}}
            "#
        ));
    }
}

#[test]
fn a_server_may_respell_our_ids() {
    for id in ["2", "\"2\"", "2.0"] {
        check(&format!(
            r#"
            greeted
            client> {{"jsonrpc":"2.0","id":"x","method":"ping"}}
                server< {{"jsonrpc":"2.0","id":2,"method":"ping"}}
            server> {{"jsonrpc":"2.0","id":{id},"result":{{}}}}
                client< {{"jsonrpc":"2.0","id":"x","result":{{}}}}
            "#
        ));
    }
}

#[test]
fn answers_may_come_in_any_order_but_only_once() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":3,"result":"b"}
            client< {"jsonrpc":"2.0","id":"b","result":"b"}
        server> {"jsonrpc":"2.0","id":3,"result":"b again"}
            - a late word, dropped
        server> {"jsonrpc":"2.0","id":2,"result":"a"}
            client< {"jsonrpc":"2.0","id":"a","result":"a"}
        server> {"jsonrpc":"2.0","id":99,"result":"never asked"}
            - a late word, dropped
        "#,
    );
}

#[test]
fn an_error_without_an_id_belongs_to_the_only_open_request() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}
            client< {"jsonrpc":"2.0","id":"a","error":{"code":-32700,"message":"what?"}}
        "#,
    );
}

#[test]
fn with_two_open_requests_an_error_without_an_id_belongs_to_neither() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}
            - a late word, dropped
        "#,
    );
}

/// Many hand-written servers answer `notifications/initialized` as if it were a request.
#[test]
fn an_answer_to_a_notification_ends_no_request() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
    ] {
        check(&format!(
            r#"
            greeted
            client> {{"jsonrpc":"2.0","id":"a","method":"tools/call"}}
                server< {{"jsonrpc":"2.0","id":2,"method":"tools/call"}}
            server> {answer}
                - a late word, dropped
            server> {{"jsonrpc":"2.0","id":2,"result":{{}}}}
                client< {{"jsonrpc":"2.0","id":"a","result":{{}}}}
            client> {{"jsonrpc":"2.0","id":"b","method":"tools/call"}}
                server< {{"jsonrpc":"2.0","id":3,"method":"tools/call"}}
            server> {{"jsonrpc":"2.0","id":null,"error":{{"code":-32601,"message":"what?"}}}}
                client< {{"jsonrpc":"2.0","id":"b","error":{{"code":-32601,"message":"what?"}}}}
            "#
        ));
    }
}

#[test]
fn an_error_about_a_cancelled_request_ends_no_other() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}
            server< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
        client> {"jsonrpc":"2.0","id":"b","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        server> {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}
            - a late word, dropped
        server> {"jsonrpc":"2.0","id":3,"result":{}}
            client< {"jsonrpc":"2.0","id":"b","result":{}}
        "#,
    );
}

#[test]
fn progress_tokens_are_mapped_and_given_back_in_their_own_spelling() {
    for token in ["\"t\"", "0", "1.50", "\"2\""] {
        check(&format!(
            r#"
            greeted
            client> {{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"_meta":{{"progressToken":{token}}}}}}}
                server< {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"_meta":{{"progressToken":2}}}}}}
            server> {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":2,"progress":0.10}}}}
                client< {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.10}}}}
            server> {{"jsonrpc":"2.0","id":2,"result":{{}}}}
                client< {{"jsonrpc":"2.0","id":9,"result":{{}}}}
            server> {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":2,"progress":1}}}}
                client< {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}
            "#
        ));
    }
}

#[test]
fn a_task_goes_on_reporting_after_its_answer() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":"t"}}}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":2}}}
        server> {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"k"}}}
            client< {"jsonrpc":"2.0","id":9,"result":{"task":{"taskId":"k"}}}
        server> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}
            client< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
        "#,
    );
}

#[test]
fn a_cancellation_names_the_request_as_the_server_knows_it() {
    check(
        r#"
        greeted
        client> {"jsonrpc":"2.0","id":"a","method":"tools/call"}
            server< {"jsonrpc":"2.0","id":2,"method":"tools/call"}
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"no \u2713"}}
            server< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"no \u2713"}}
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never"}}
        server> {"jsonrpc":"2.0","id":2,"result":"all the same"}
            client< {"jsonrpc":"2.0","id":"a","result":"all the same"}
        "#,
    );
}

#[test]
fn what_was_not_sent_yet_is_taken_back_without_a_trace() {
    check(
        r#"
        connect
            start newline
        client> {"jsonrpc":"2.0","id":1,"method":"tools/call"}
        client> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        client> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        spawned
            server< {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        "#,
    );
}

#[test]
fn a_servers_questions_are_mapped_too() {
    check(
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":"s-1","method":"sampling/createMessage","params":{"_meta":{"progressToken":"s-1"}}}
            client< {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1}}}
        client> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}
            server< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"s-1","progress":1}}
        client> {"jsonrpc":"2.0","id":1,"result":{"text":"hi"}}
            server< {"jsonrpc":"2.0","id":"s-1","result":{"text":"hi"}}
        client> {"jsonrpc":"2.0","id":1,"result":{"text":"again"}}
        "#,
    );
}

#[test]
fn a_server_that_takes_its_question_back_needs_no_answer() {
    check_with(
        |settings| settings.limits.asked_per_backend = 1,
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":7,"method":"elicitation/create"}
            client< {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}
        server> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}
            client< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
        client> {"jsonrpc":"2.0","id":1,"result":{"action":"too late"}}
        server> {"jsonrpc":"2.0","id":8,"method":"elicitation/create"}
            client< {"jsonrpc":"2.0","id":2,"method":"elicitation/create"}
        "#,
    );
}

#[test]
fn a_question_nobody_answers_is_refused_in_the_end() {
    check_with(
        |settings| settings.servers[0].hard_timeout = Some(Duration::from_secs(900)),
        r#"
        greeted
        server> {"jsonrpc":"2.0","id":7,"method":"elicitation/create"}
            client< {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}
        +15min
            server< {"jsonrpc":"2.0","id":7,"error":{"code":-32603,…
        "#,
    );
}
