//! Two legacy clients that share a process of a modern server: questions, tasks and log messages of a call reach only its
//! own client, whatever happens to either of them.

use crate::eras::play;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

/// The answer to `server/discover` of a server that announces no list changes.
const QUIET: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}"#;

/// An `input_required` answer.
const WANTED: &str = r#"{"resultType":"input_required","requestState":"\u0041=","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}}}"#;

/// The answer to `tools/call` with a task.
const TASK: &str = r#"{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":5000}"#;

#[track_caller]
fn tell(given: &str, story: &str) {
    let hello = r#""method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}}}}"#;
    let story = format!(
        r#"
        given era modern; shared; {given}
        A starts 1
        A> {{"id":"i",{hello}
            1< {{"id":1,"method":"server/discover","params":{{{META}}}}}
        1> {{"id":1,"result":{QUIET}}}
            A< {{"id":"i","result":…"capabilities":{{"tools":{{}},"logging":{{}}}},…}}
        A> {{"method":"notifications/initialized"}}
        B comes
        B> {{"id":"i",{hello}
            B< {{"id":"i","result":…}}
        B> {{"method":"notifications/initialized"}}
        {story}"#
    );
    let story = story.replace("$W", WANTED).replace("$T", TASK).replace("$O", "45035996273704");
    play(&story);
}

/// Both clients have called, and the server asks A.
const ASKED: &str = r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":3,"method":"tools/call","params":{…"name":"x"}}
        B> {"id":"b","method":"tools/call","params":{"name":"y"}}
            1< {"id":4,"method":"tools/call","params":{…"name":"y"}}
        1> {"id":3,"result":$W}
            A< {"id":1,"method":"elicitation/create","params":{"message":"?"}}
"#;

#[track_caller]
fn asked(given: &str, story: &str) {
    tell(given, &format!("{ASKED}{story}"));
}

#[test]
fn each_caller_is_asked() {
    asked(
        "timeout 60s",
        r#"
        1> {"id":4,"result":$W}
            B< {"id":2,"method":"elicitation/create","params":{"message":"?"}}
        B> {"id":2,"result":{"action":"accept"}}
            1< {"id":$O99,"method":"tools/call","params":{…"inputResponses":{"k":{"action":"accept"}},"requestState":"\u0041=","name":"y"}}
        A> {"id":1,"result":{"action":"decline"}}
            1< {"id":4503599627370500,"method":"tools/call","params":{…"inputResponses":{"k":{"action":"decline"}},"requestState":"\u0041=","name":"x"}}
        1> {"id":$O99,"result":{"resultType":"complete","content":[1]}}
            B< {"id":"b","result":{"content":[1]}}
        1> {"id":4503599627370500,"result":{"resultType":"complete","content":[2]}}
            A< {"id":"a","result":{"content":[2]}}
        "#,
    );
}

#[test]
fn others_cannot_answer() {
    asked(
        "timeout 60s",
        r#"
        B> {"id":1,"result":{"action":"accept"}}
        A> {"id":1,"result":{"action":"decline"}}
            1< {"id":$O98,"method":"tools/call","params":{…"inputResponses":{"k":{"action":"decline"}},"requestState":"\u0041=","name":"x"}}
        A> {"id":1,"result":{"action":"accept"}}
        "#,
    );
}

#[test]
fn cancelled_question_is_withdrawn() {
    asked(
        "timeout 60s",
        r#"
        A> {"method":"notifications/cancelled","params":{"requestId":"a"}}
            A< {"method":"notifications/cancelled","params":{"requestId":1}}
        A> {"id":1,"result":{"action":"accept"}}
        1> {"id":4,"result":{"resultType":"complete","content":[1]}}
            B< {"id":"b","result":{"content":[1]}}
        "#,
    );
}

/// The cancellation did not fit.
#[test]
fn slow_server_asks_no_cancelled_caller() {
    let large = "x".repeat(900);
    tell(
        "backend_bytes 1100",
        &format!(
            r#"
        A> {{"id":"a","method":"tools/call","params":{{"name":"x"}}}}
            1< {{"id":3,"method":"tools/call",…
        1 stops reading
        B> {{"id":"b","method":"tools/call","params":{{"name":"{large}"}}}}
            1< {{"id":4,"method":"tools/call",…
        A> {{"method":"notifications/cancelled","params":{{"requestId":"a"}}}}
            - notification dropped
        1 reads
        1> {{"id":3,"result":$W}}
        1> {{"id":4,"result":$W}}
            B< {{"id":1,"method":"elicitation/create","params":{{"message":"?"}}}}
        "#
        ),
    );
}

#[test]
fn timed_out_question_is_withdrawn() {
    asked(
        "timeout 60s; on_timeout keep",
        r#"
        1> {"id":4,"result":{"resultType":"complete","content":[1]}}
            B< {"id":"b","result":{"content":[1]}}
        +60s
            A< {"id":"a","error":{"code":-32003…
            A< {"method":"notifications/cancelled","params":{"requestId":1}}
        A> {"id":1,"result":{"action":"accept"}}
        "#,
    );
}

#[test]
fn lost_caller_is_not_replaced() {
    asked(
        "timeout 60s",
        r#"
        A leaves
        1> {"id":4,"result":$W}
            B< {"id":2,"method":"elicitation/create","params":{"message":"?"}}
        B> {"id":1,"result":{"action":"accept"}}
        B> {"id":2,"result":{"action":"accept"}}
            1< {"id":$O99,"method":"tools/call",…"name":"y"}}
        "#,
    );
}

#[test]
fn ended_process_withdraws_its_question() {
    asked(
        "timeout 60s",
        r#"
        1 ends: exit code 1
            A< {"id":"a","error":{"code":-32002…
            B< {"id":"b","error":{"code":-32002…
            A< {"method":"notifications/cancelled","params":{"reason":"the server that asked has stopped","requestId":1}}
            - restart after a pause
        A> {"id":1,"result":{"action":"accept"}}
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":5,"method":"server/discover",…}
        "#,
    );
}

#[test]
fn refused_question_ends_its_call() {
    asked(
        "timeout 60s",
        r#"
        A> {"id":1,"error":{"code":-32601,"message":"no forms here"}}
            A< {"id":"a","error":{"code":-32601,"message":"no forms here"}}
        1> {"id":4,"result":{"resultType":"complete","content":[1]}}
            B< {"id":"b","result":{"content":[1]}}
        "#,
    );
}

#[test]
fn denied_questions_end_the_call() {
    tell(
        "denies sampling",
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":3,"method":"tools/call","params":{…"name":"x"}}
        1> {"id":3,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{}}}}}
            - denied to owner: sampling/createMessage
            A< {"id":"a","error":{"code":-32601,…`asks.sampling`…
        "#,
    );
}

/// Log messages of a program name no request: they go to the clients that set a level.
#[test]
fn levels_belong_to_their_clients() {
    tell(
        "timeout 60s",
        r#"
        A> {"id":"l","method":"logging/setLevel","params":{"level":"info"}}
            A< {"id":"l","result":{}}
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":4,…"io.modelcontextprotocol/logLevel":"info"},"name":"x"}}
        B> {"id":"b","method":"tools/call","params":{"name":"y"}}
            1< {"id":5,…"extensions":{"io.modelcontextprotocol/tasks":{}}}},"name":"y"}}
        1> {"method":"notifications/message","params":{"level":"info","data":1}}
            A< {"method":"notifications/message","params":{"level":"info","data":1}}
        1> {"method":"notifications/message","params":{"level":"debug","data":2}}
        "#,
    );
}

/// The task runs for longer than the timeout of a request.
#[test]
fn tasks_are_waited_for() {
    tell(
        "timeout 12s",
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":3,…"extensions":{"io.modelcontextprotocol/tasks":{}}…"name":"x"}}
        1> {"id":3,"result":$T}
        +4.9s
        +0.1s
            1< {"id":$O97,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O97,"result":{"taskId":"t","status":"working","pollIntervalMs":10000}}
        +10s
            1< {"id":$O98,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O98,"result":{"taskId":"t","status":"completed","result":{"resultType":"complete","content":[1]}}}
            A< {"id":"a","result":{"content":[1]}}
        "#,
    );
}

#[test]
fn task_of_a_lost_client_is_cancelled() {
    tell(
        "timeout 12s",
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":3,…"name":"x"}}
        B> {"id":"b","method":"tools/call","params":{"name":"y"}}
            1< {"id":4,…"name":"y"}}
        1> {"id":3,"result":$T}
        A leaves
            1< {"id":$O97,"method":"tasks/cancel",…"taskId":"t"}}
        1> {"id":4,"result":{"resultType":"complete","content":[1]}}
            B< {"id":"b","result":{"content":[1]}}
        "#,
    );
}

#[test]
fn task_asks_its_own_client() {
    tell(
        "timeout 60s",
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":3,…"name":"x"}}
        B> {"id":"b","method":"tools/call","params":{"name":"y"}}
            1< {"id":4,…"name":"y"}}
        1> {"id":3,"result":$T}
        +5s
            1< {"id":$O97,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O97,"result":{"taskId":"t","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}}}}
            A< {"id":1,"method":"elicitation/create","params":{"message":"?"}}
        B> {"id":1,"result":{"action":"accept"}}
        A> {"id":1,"result":{"action":"decline"}}
            1< {"id":$O99,"method":"tasks/update",…"taskId":"t","inputResponses":{"k":{"action":"decline"}}}}
        "#,
    );
}
