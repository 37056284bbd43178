//! Ids, progress tokens and cancellations are mapped in both directions, and come back as they were spelled.

use crate::story::run;

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
        run(&format!(
            r#"
            A opens 1
            A> {{"id":{id},"method":"tools/call","params":{{"name":"x","arguments":{{"id":{id}}}}}}}
                1< {{"id":2,"method":"tools/call","params":{{"name":"x","arguments":{{"id":{id}}}}}}}
            1> {{"id":2,"result":{{"id":2}}}}
                A< {{"id":{id},"result":{{"id":2}}}}
            "#
        ));
    }
}

#[test]
fn a_server_may_respell_our_ids() {
    for id in ["2", "\"2\"", "2.0"] {
        run(&format!(
            r#"
            A opens 1
            A> {{"id":"x","method":"ping"}}
                1< {{"id":2,"method":"ping"}}
            1> {{"id":{id},"result":{{}}}}
                A< {{"id":"x","result":{{}}}}
            "#
        ));
    }
}

#[test]
fn answers_come_in_any_order_but_once() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        1> {"id":3,"result":"b"} -> A as "b"
        1> {"id":3,"result":"b again"}
            - late answer dropped
        1> {"id":2,"result":"a"} -> A as "a"
        1> {"id":99,"result":"never asked"}
            - late answer dropped
    "#);
}

#[test]
fn an_error_without_id_ends_one_request() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        1> {"id":null,"error":{"code":-32700,"message":"what?"}} -> A as "a"
    "#);
}

#[test]
fn an_error_without_id_ends_neither_request() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        1> {"id":null,"error":{"code":-32700,"message":"what?"}}
            - late answer dropped
    "#);
}

/// Many hand-written servers answer `notifications/initialized` as if it were a request.
#[test]
fn answers_to_notifications_end_no_request() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
    ] {
        run(&format!(
            r#"
            A opens 1
            A> {{"id":"a","method":"tools/call"}}
                1< {{"id":2,"method":"tools/call"}}
            1> raw {answer}
                - late answer dropped
            1> {{"id":2,"result":{{}}}}
                A< {{"id":"a","result":{{}}}}
            A> {{"id":"b","method":"tools/call"}}
                1< {{"id":3,"method":"tools/call"}}
            1> {{"id":null,"error":{{"code":-32601,"message":"what?"}}}}
                A< {{"id":"b","error":{{"code":-32601,"message":"what?"}}}}
            "#
        ));
    }
}

#[test]
fn an_error_after_a_cancel_ends_no_request() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"method":"notifications/cancelled","params":{"requestId":"a"}}
            1< {"method":"notifications/cancelled","params":{"requestId":2}}
        A> {"id":"b","method":"tools/call"} -> 1 as 3
        1> {"id":null,"error":{"code":-32700,"message":"what?"}}
            - late answer dropped
        1> {"id":3,"result":{}} -> A as "b"
    "#);
}

#[test]
fn progress_tokens_return_as_spelled() {
    for token in ["\"t\"", "0", "1.50", "\"2\""] {
        run(&format!(
            r#"
            A opens 1
            A> {{"id":9,"method":"tools/call","params":{{"_meta":{{"progressToken":{token}}}}}}}
                1< {{"id":2,"method":"tools/call","params":{{"_meta":{{"progressToken":2}}}}}}
            1> {{"method":"notifications/progress","params":{{"progressToken":2,"progress":0.10}}}}
                A< {{"method":"notifications/progress","params":{{"progressToken":{token},"progress":0.10}}}}
            1> {{"id":2,"result":{{}}}}
                A< {{"id":9,"result":{{}}}}
            1> {{"method":"notifications/progress","params":{{"progressToken":2,"progress":1}}}}
                A< {{"method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}
            "#
        ));
    }
}

#[test]
fn a_task_reports_after_its_answer() {
    run(r#"
        A opens 1
        A> {"id":9,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":"t"}}}
            1< {"id":2,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":2}}}
        1> {"id":2,"result":{"task":{"taskId":"k"}}} -> A as 9
        1> {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
            A< {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}
    "#);
}

#[test]
fn a_cancellation_carries_the_minted_id() {
    run(r#"
        A opens 1
        A> {"id":"a","method":"tools/call"} -> 1 as 2
        A> {"method":"notifications/cancelled","params":{"requestId":"a","reason":"no \u2713"}}
            1< {"method":"notifications/cancelled","params":{"requestId":2,"reason":"no \u2713"}}
        A> {"method":"notifications/cancelled","params":{"requestId":"never"}}
        1> {"id":2,"result":"all the same"} -> A as "a"
    "#);
}

#[test]
fn a_cancelled_unsent_request_is_never_sent() {
    run(r#"
        A comes
            start 1 at nowhere
        A> {"id":1,"method":"tools/call"}
        A> {"id":2,"method":"tools/list"}
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
        1 spawns
            1< {"id":3,"method":"initialize",…}
        1> {"id":3,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
    "#);
}

#[test]
fn a_servers_questions_are_mapped() {
    run(r#"
        A opens 1
        1> {"id":"s-1","method":"sampling/createMessage","params":{"_meta":{"progressToken":"s-1"}}}
            A< {"id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1}}}
        A> {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
            1< {"method":"notifications/progress","params":{"progressToken":"s-1","progress":1}}
        A> {"id":1,"result":{"text":"hi"}} -> 1 as "s-1"
        A> {"id":1,"result":{"text":"again"}}
    "#);
}

#[test]
fn a_withdrawn_question_needs_no_answer() {
    run(r#"
        given asked_per_backend 1
        A opens 1
        1> {"id":7,"method":"elicitation/create"} -> A as 1
        1> {"method":"notifications/cancelled","params":{"requestId":7}}
            A< {"method":"notifications/cancelled","params":{"requestId":1}}
        A> {"id":1,"result":{"action":"too late"}}
        1> {"id":8,"method":"elicitation/create"} -> A as 2
    "#);
}

#[test]
fn an_unanswered_question_is_refused() {
    run(r#"
        given hard_timeout 900s
        A opens 1
        1> {"id":7,"method":"elicitation/create"} -> A as 1
        +15min
            1< {"id":7,"error":{"code":-32603,…
    "#);
}
