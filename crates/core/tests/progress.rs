//! Progress notifications in both directions: after the answer, with unknown tokens, and with tokens of other clients.

use super::aggregates::open;
use crate::story::run;

#[test]
fn unknown_client_token_reaches_server() {
    for token in ["\"mine\"", "99", "7.0", "null", "1.50"] {
        run(&format!(
            r#"
            A opens 1
            A> {{"method":"notifications/progress","params":{{"progressToken":{token},"progress":0.10}}}}
                1< {{"method":"notifications/progress","params":{{"progressToken":{token},"progress":0.10}}}}
            A> {{"method":"notifications/progress","params":{{"progress":1}}}}
                1< {{"method":"notifications/progress","params":{{"progress":1}}}}
            "#
        ));
    }
}

#[test]
fn unknown_client_token_reaches_delegates() {
    open(
        r#"
        A> {"method":"notifications/progress","params":{"progressToken":"mine","progress":1}}
            1< {"method":"notifications/progress","params":{"progressToken":"mine","progress":1}}
            2< {"method":"notifications/progress","params":{"progressToken":"mine","progress":1}}
        "#,
    );
}

/// The question has the token 0 at the server, and 1 at A. B can use neither, in any spelling: some servers read
/// `"0"` as 0.
#[test]
fn question_tokens_belong_to_their_client() {
    for token in ["1", "\"1\"", "1.0", "0", "\"0\"", "0.0", "\"\"", "\"x\""] {
        run(&format!(
            r#"
            A opens 1
            B joins 1
            A> {{"id":7,"method":"tools/call","params":{{}}}}
                1< {{"id":3,…}}
            1> {{"id":0,"method":"sampling/createMessage","params":{{"_meta":{{"progressToken":0}}}}}}
                - no longer shared by 1
                A< {{"id":1,"method":"sampling/createMessage","params":{{"_meta":{{"progressToken":1}}}}}}
            B> {{"method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}
            A> {{"method":"notifications/progress","params":{{"progressToken":1,"progress":1}}}}
                1< {{"method":"notifications/progress","params":{{"progressToken":0,"progress":1}}}}
            "#
        ));
    }
}

#[test]
fn late_progress_reaches_the_token_owner() {
    run(r#"
        A opens 1
        B joins 1
        A> {"id":7,"method":"tools/call","params":{"_meta":{"progressToken":"a"}}}
            1< {"id":3,…}
        B> {"id":7,"method":"tools/call","params":{"_meta":{"progressToken":5}}}
            1< {"id":4,…}
        1> {"id":3,"result":{}} -> A as 7
        1> {"id":4,"error":{"code":1,"message":"no"}}
            B< {"id":7,…}
        1> {"method":"notifications/progress","params":{"progressToken":3,"progress":1}}
            A< {"method":"notifications/progress","params":{"progressToken":"a","progress":1}}
        1> {"method":"notifications/progress","params":{"progressToken":4,"progress":1}}
            B< {"method":"notifications/progress","params":{"progressToken":5,"progress":1}}
    "#);
}

#[test]
fn late_progress_in_an_aggregate() {
    open(
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"more__read","_meta":{"progressToken":"t"}}}
            2< {"id":10,…}
        2> {"id":10,"result":{"content":[]}}
            A< {"id":"c",…}
        2> {"method":"notifications/progress","params":{"progressToken":10,"progress":1}}
            A< {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}
        1> {"method":"notifications/progress","params":{"progressToken":10,"progress":2}}
            - late answer dropped
        "#,
    );
}

#[test]
fn progress_after_cancel_reaches_owner_only() {
    run(r#"
        A opens 1
        B joins 1
        A> {"id":7,"method":"tools/call","params":{"_meta":{"progressToken":"a"}}}
            1< {"id":3,…}
        A> {"method":"notifications/cancelled","params":{"requestId":7}}
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
        1> {"method":"notifications/progress","params":{"progressToken":3,"progress":1}}
            A< {"method":"notifications/progress","params":{"progressToken":"a","progress":1}}
        1> {"id":3,"result":{}} -> A as 7
        1> {"method":"notifications/progress","params":{"progressToken":3,"progress":2}}
            A< {"method":"notifications/progress","params":{"progressToken":"a","progress":2}}
    "#);
}

/// Neither B nor the next client gets the progress of A.
#[test]
fn progress_after_disconnect_reaches_nobody() {
    run(r#"
        A opens 1
        B joins 1
        given linger 60s
        A> {"id":7,"method":"tools/call","params":{"_meta":{"progressToken":"a"}}}
            1< {"id":3,…}
        1> {"id":3,"result":{}} -> A as 7
        A leaves
        1> {"method":"notifications/progress","params":{"progressToken":3,"progress":1}}
            - late answer dropped
        1> {"method":"notifications/progress","params":{"progressToken":"3","progress":1}}
            - late answer dropped
    "#);
}

#[test]
fn unknown_server_token_reaches_only_user() {
    run(r#"
        A opens 1
        1> {"method":"notifications/progress","params":{"progressToken":"mine","progress":0.10}}
            A< {"method":"notifications/progress","params":{"progressToken":"mine","progress":0.10}}
    "#);
    run(r#"
        A opens 1
        B joins 1
        1> {"method":"notifications/progress","params":{"progressToken":"mine","progress":1}}
            - late answer dropped
    "#);
}

/// A minted number names one request for ever; passed on unmapped, it would name another request of the client.
#[test]
fn minted_token_never_passes_unmapped() {
    run(r#"
        A opens 1
        A> {"id":9,"method":"tools/call","params":{}} -> 1 as 2
        1> {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
            - late answer dropped
        1> {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
            - late answer dropped
    "#);
}

/// A server of an aggregate must not report on another server's request.
#[test]
fn server_cannot_use_anothers_request_token() {
    open(
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"more__read","_meta":{"progressToken":"t"}}}
            2< {"id":10,…}
        1> {"method":"notifications/progress","params":{"progressToken":10,"progress":1}}
            - late answer dropped
        1> {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}
            - late answer dropped
        2> {"id":10,"result":{"content":[]}}
            A< {"id":"c",…}
        1> {"method":"notifications/progress","params":{"progressToken":"u","progress":1}}
            A< {"method":"notifications/progress","params":{"progressToken":"u","progress":1}}
        "#,
    );
}

/// The memory of answered tokens is bounded; a task's token outlives it.
#[test]
fn oldest_answered_tokens_are_forgotten() {
    let mut story = String::from(
        r#"
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":"task"}}}
            1< …
        1> {"id":2,"result":{"task":{"taskId":"k"}}}
            A< …
        "#,
    );
    for number in 0..1025 {
        let minted = number + 3;
        story.push_str(&format!(
            r#"
            A> {{"id":1,"method":"tools/call","params":{{"_meta":{{"progressToken":"t{number}"}}}}}}
                1< …
            1> {{"id":{minted},"result":{{}}}}
                A< …
            "#
        ));
    }
    story.push_str(
        r#"
        1> {"method":"notifications/progress","params":{"progressToken":3}}
            - late answer dropped
        1> {"method":"notifications/progress","params":{"progressToken":4}}
            A< {"method":"notifications/progress","params":{"progressToken":"t1"}}
        1> {"method":"notifications/progress","params":{"progressToken":2}}
            A< {"method":"notifications/progress","params":{"progressToken":"task"}}
        "#,
    );
    run(&story);
}

/// The question has the token 0 at the server, and 1 at the client. After the answer the client's 1 still means
/// that token, although the server's next question has the token 1.
#[test]
fn late_client_progress_keeps_its_question() {
    run(r#"
        A opens 1
        1> {"id":0,"method":"sampling/createMessage","params":{"_meta":{"progressToken":0}}}
            A< {"id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1}}}
        A> {"id":1,"result":{}} -> 1 as 0
        1> {"id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1}}}
            A< {"id":2,"method":"sampling/createMessage","params":{"_meta":{"progressToken":2}}}
        A> {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
            1< {"method":"notifications/progress","params":{"progressToken":0,"progress":1}}
    "#);
}

/// A question about a task reaches the task's owner. Another client with an open call cannot report on it.
#[test]
fn a_tasks_question_keeps_its_token() {
    for token in ["1", "0", "\"0\""] {
        run(&format!(
            r#"
            A opens 1
            B joins 1
            A> {{"id":7,"method":"tools/call","params":{{"task":{{}}}}}}
                1< {{"id":3,…}}
            1> {{"id":3,"result":{{"task":{{"taskId":"k"}}}}}}
                A< …
            B> {{"id":8,"method":"tools/call","params":{{}}}}
                1< {{"id":4,…}}
            1> {{"id":0,"method":"sampling/createMessage","params":{{"_meta":{{"progressToken":0,"io.modelcontextprotocol/related-task":{{"taskId":"k"}}}}}}}}
                - no longer shared by 1
                A< …
            B> {{"method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}
            "#
        ));
    }
}
