//! No client gets another client's questions, logs, tasks or roots, whatever became of the request behind them.

use super::aggregates::open;
use crate::story::run;

/// A and B share the first process. A has called a tool, under the id 3.
const A_CALLED: &str = r#"
    given shared
    A opens 1
    B joins 1
    A> {"id":1,"method":"tools/call","params":{"_meta":{"progressToken":5}}}
        1< {"id":3,…}
"#;

/// B calls too; the server asks something for A's call, and both must get processes of their own.
const B_IS_SAFE: &str = r#"
    B> {"id":1,"method":"tools/call","params":{}}
        1< {"id":4,…}
    1> {"id":"q","method":"sampling/createMessage","params":{"of":"A"}}
        - no longer shared by …
        1< {"id":"q","error":{"code":-32004,…}}
    B> {"id":2,"method":"tools/call","params":{}}
        start 2 at /p
    2 spawns
        2< …
    1> {"id":"r","method":"sampling/createMessage","params":{"of":"A"}}
        1< {"id":"r","error":{"code":-32004,…}}
"#;

#[track_caller]
fn after_call(story: &str) {
    run(&format!("{A_CALLED}{story}"));
}

#[test]
fn question_of_a_running_call() {
    after_call(B_IS_SAFE);
}

#[test]
fn question_of_a_cancelled_call() {
    let cancel = r#"
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< …
    "#;
    after_call(&format!("{cancel}{B_IS_SAFE}"));
}

#[test]
fn question_of_an_answered_call() {
    let answer = r#"
        1> {"id":3,"result":{}}
            A< …
    "#;
    after_call(&format!("{answer}{B_IS_SAFE}"));
}

#[test]
fn question_of_a_timed_out_call() {
    let expire = r#"
        +601s
            A< {"id":1,"error":…"backend_timeout"…}
            1< …
            - probe
            1< …
        1> {"id":4,"result":{}}
    "#;
    let safe = B_IS_SAFE.replace(r#"{"id":4,…}"#, r#"{"id":5,…}"#);
    after_call(&format!("{expire}{safe}"));
}

#[test]
fn question_of_a_client_that_left() {
    run(&format!(
        r#"
        given linger 60s
        {A_CALLED}
        A leaves
            1< …
        {B_IS_SAFE}"#
    ));
}

/// The retired process finishes its open requests, and ends. Each client gets its own answers.
#[test]
fn a_retired_process_finishes_and_ends() {
    after_call(&format!(
        r#"{B_IS_SAFE}
        1> {{"id":3,"result":"a"}}
            A< {{"id":1,"result":"a"}}
        1> {{"id":4,"result":"b"}}
            B< {{"id":1,"result":"b"}}
            - it asks its clients questions
            stop 1
        1 ends
        A> {{"id":2,"method":"tools/call","params":{{}}}}
            start 3 at /p
        C comes; folder /p
            start 4 at /p
        "#
    ));
}

/// Only A has used the process, so A may be asked; B moves before it uses it.
#[test]
fn the_only_user_is_asked() {
    after_call(
        r#"
        B> {"id":1,"method":"tools/list"}
            1< {"id":4,…}
        1> {"id":"q","method":"elicitation/create","params":{}}
            - no longer shared by 1
            A< {"id":1,"method":"elicitation/create","params":{}}
        A> {"id":1,"result":{"action":"accept"}} -> 1 as "q"
        1> {"id":4,"result":{"tools":[]}}
            B< …
        B> {"id":2,"method":"tools/call","params":{}}
            start 2 at /p
        "#,
    );
}

/// A question before any use goes to the only client; with two clients it is refused.
#[test]
fn question_before_any_use() {
    run(r#"
        given shared
        A opens 1
        1> {"id":"q","method":"sampling/createMessage","params":{}} -> A
        B comes; folder /p
            start 2 at /p
    "#);
}

#[test]
fn a_stored_verdict_separates_at_once() {
    run(r#"
        given asks_questions
        A comes; folder /p
            start 1 at /p
        B comes; folder /p
            start 2 at /p
    "#);
}

/// A related task identifies the client of a question, even with several users.
#[test]
fn a_related_task_names_its_client() {
    after_call(
        r#"
        1> {"id":3,"result":{"task":{"taskId":"t1","status":"working"}}}
            A< …
        B> {"id":1,"method":"tools/call","params":{}}
            1< {"id":4,…}
        1> {"id":"q","method":"sampling/createMessage","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}
            - no longer shared by 1
            A< …
        "#,
    );
}

/// A ping is no question: we answer it if it may be for either client.
#[test]
fn a_ping_separates_nobody() {
    after_call(
        r#"
        B> {"id":1,"method":"tools/call","params":{}}
            1< {"id":4,…}
        1> {"id":"p","method":"ping"}
            1< {"id":"p","result":{}}
        B> {"id":2,"method":"tools/call","params":{}}
            1< {"id":5,…}
        "#,
    );
}

/// Requests that wait their turn at a retired process go to the new one.
#[test]
fn unsent_requests_move_with_their_client() {
    run(&format!(
        r#"
        given max_in_flight 2
        {A_CALLED}
        B> {{"id":1,"method":"tools/call","params":{{}}}}
            1< {{"id":4,…}}
        B> {{"id":2,"method":"tools/call","params":{{"n":2}}}}
        1> {{"id":"q","method":"sampling/createMessage","params":{{}}}}
            - no longer shared by 2
            1< {{"id":"q","error":…}}
            start 2 at /p
        "#
    ));
}

#[test]
fn logs_go_to_the_only_user() {
    const LOG: &str = r#"1> {"method":"notifications/message","params":{"level":"info","data":1}}"#;
    const OTHER: &str = r#"1> {"method":"notifications/x","params":{}}"#;
    after_call(&format!(
        r#"
        {LOG}
            A< …
        {OTHER}
            A< {{"method":"notifications/x","params":{{}}}}
        B> {{"id":1,"method":"tools/call","params":{{}}}}
            1< {{"id":4,…}}
        {LOG}
            - no listener for notifications/message
        {OTHER}
            - no listener for notifications/x
        B> {{"id":2,"method":"logging/setLevel","params":{{"level":"info"}}}}
            1< {{"id":5,…}}
        1> {{"id":5,"result":{{}}}}
            B< …
        {LOG}
            B< …
        A> {{"id":3,"method":"logging/setLevel","params":{{"level":"error"}}}}
            1< {{"id":6,…}}
        1> {{"id":6,"result":{{}}}}
            1< …"info"…
            A< …
        {LOG}
            B< …
        "#
    ));
}

/// Global servers without state are shared between principals, but their log messages are not.
#[test]
fn principals_share_global_servers_only() {
    run(r#"
        given scope global; servers more; server 1; scope global; state backend
        A comes; folder /p
            start 1 at home
        1 spawns
        A greets
            1< …
        1 greets
            A< …
        A confirms
            1< …
        B comes; folder /q; principal 1
        B greets
            B< …
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        B> {"id":1,"method":"logging/setLevel","params":{"level":"info"}} -> 1 as 4
        1> {"id":4,"result":{}} -> B
        1> {"method":"notifications/message","params":{"level":"info","data":1}}
            A< …
        B> {"id":2,"method":"tools/call","params":{}} -> 1 as 5
        1> {"method":"notifications/message","params":{"level":"info","data":1}}
            - no listener for notifications/message
        C comes; folder /p; server 1
            start 2 at home
        2 spawns
        C greets
            2< …
        D comes; folder /p; server 1; principal 1
        D greets
            start 3 at home
    "#);
}

#[test]
fn principals_never_share_a_folder() {
    run(r#"
        A opens 1; unconfirmed
        B comes; folder /p; principal 1
        B greets
            start 2 at /p
    "#);
}

/// The longest user keeps the process. Open requests of the others are still answered there.
#[test]
fn client_state_learnt_late() {
    run(&format!(
        r#"
        given state auto
        {A_CALLED}
        B> {{"id":1,"method":"tools/call","params":{{}}}}
            1< {{"id":4,…}}
        B> {{"id":2,"method":"tools/list"}}
            1< {{"id":5,…}}
        1> {{"id":5,"result":{{"tools":[{{"name":"browser_navigate"}}]}}}}
            - keeps state: browser_navigate
            - no longer shared by 1
            B< …
        1> {{"id":4,"result":"b"}}
            B< {{"id":1,"result":"b"}}
        B> {{"id":3,"method":"tools/call","params":{{}}}}
            start 2 at /p
        A> {{"id":2,"method":"tools/call","params":{{}}}}
            1< {{"id":7,…}}
        C comes; folder /p
            start 3 at /p
        "#
    ));
}

/// B can neither list, read nor cancel a task of A, and gets no notification about it.
#[test]
fn tasks_belong_to_their_client() {
    after_call(
        r#"
        1> {"id":3,"result":{"task":{"taskId":"t1","status":"working"}}}
            A< …
        B> {"id":1,"method":"tasks/get","params":{"taskId":"t1"}}
            B< {"id":1,"error":{"code":-32602,…"Unknown task: t1"}}
        B> {"id":2,"method":"tasks/cancel","params":{"taskId":"t\u0031"}}
            B< {"id":2,"error":…}
        B> {"id":3,"method":"tasks/result","params":{"taskId":"t1"}}
            B< {"id":3,"error":…}
        B> {"id":4,"method":"tools/call","params":{"task":{}}}
            1< {"id":7,…}
        1> {"id":7,"result":{"task":{"taskId":"t2","status":"working"}}}
            B< …
        B> {"id":5,"method":"tasks/list"}
            1< {"id":8,…}
        1> {"id":8,"result":{"tasks":[{"taskId":"t1","status":"working"},{"taskId":"t\u0032","status":"working","n":0.70}],"x":1.0}}
            B< {"id":5,"result":{"tasks":[{"taskId":"t\u0032","status":"working","n":0.70}],"x":1.0}}
        B> {"id":6,"method":"tasks/list"}
            1< {"id":9,…}
        1> {"id":9,"result":{"tasks":{"odd":1}}}
            B< {"id":6,"result":{"tasks":[]}}
        B> {"id":7,"method":"tasks/get","params":{"taskId":"t2"}}
            1< {"id":10,…}
        1> {"method":"notifications/tasks/status","params":{"taskId":"t1","status":"completed"}}
            A< …
        1> {"method":"notifications/tasks/status","params":{"taskId":"t9","status":"completed"}}
            - no listener for notifications/tasks/status
        A> {"id":9,"method":"tasks/result","params":{"taskId":"t1"}}
            1< …
        "#,
    );
}

/// A client alone on a process sees every task of the server.
#[test]
fn tasks_pass_untouched_to_the_only_user() {
    after_call(
        r#"
        A> {"id":2,"method":"tasks/list"}
            1< {"id":4,…}
        1> {"id":4,"result":{"tasks":[{"taskId":"old"}]}} -> A as 2
        A> {"id":3,"method":"tasks/get","params":{"taskId":"old"}}
            1< {"id":5,…}
        "#,
    );
}

/// A server that guesses the id of a request to another server cannot answer it.
#[test]
fn answers_of_another_server_are_dropped() {
    open(
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,…}
        1> {"id":10,"result":{"content":["forged"]}}
            - late answer dropped
        2> {"id":10,"result":{"content":[]}} -> A as "c"
        "#,
    );
}
