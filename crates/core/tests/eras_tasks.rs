//! Two legacy clients with tasks of 2025-11-25 share a process of a modern server with the tasks extension.

use crate::eras::play;

/// The answer to `server/discover`.
const FOUND: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}"#;

/// The answer to `tools/call` with a task, from the server and for the client.
const TASK: &str = r#"{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":5000}"#;
const KNOWN: &str =
    r#"{"createdAt":"","lastUpdatedAt":"","pollInterval":5000,"status":"working","taskId":"t","ttl":null}"#;

/// An answer to `tasks/get` with a question.
const WANTING: &str = r#"{"taskId":"t","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}}}"#;

/// The `_meta` of a message about the task.
const RELATED: &str = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}"#;

/// The id of a task whose call the server answered at once.
const KEPT: &str = "switchboard-0-3";

#[track_caller]
fn tell(given: &str, story: &str) {
    let hello = r#""method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}"#;
    let story = format!(
        r#"
        given era modern; shared; {given}
        A starts 1
        A> {{"id":"i",{hello}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{FOUND}}}
            A< {{"id":"i","result":…"capabilities":{{"tasks":{{"cancel":{{}},"requests":{{"tools":{{"call":{{}}}}}}}},"tools":{{}}}},…}}
        A> {{"method":"notifications/initialized"}}
        B comes
        B> {{"id":"i",{hello}
            B< {{"id":"i","result":…}}
        B> {{"method":"notifications/initialized"}}
        {story}"#
    );
    let words =
        [("$F", FOUND), ("$T", TASK), ("$KNOWN", KNOWN), ("$W", WANTING), ("$R", RELATED), ("$KEPT", KEPT)];
    let story = words.iter().fold(story, |story, (word, text)| story.replace(word, text));
    play(&story.replace("$O", "45035996273704"));
}

/// A has started a task.
const BEGUN: &str = r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x","task":{"ttl":60000}}}
            1< {"id":3,"method":"tools/call","params":{…"name":"x"}}
        1> {"id":3,"result":$T}
            A< {"id":"a","result":{"task":$KNOWN}}
"#;

#[track_caller]
fn begun(given: &str, story: &str) {
    tell(given, &format!("{BEGUN}{story}"));
}

/// A call of A was answered at once.
const ANSWERED: &str = r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x","task":{"ttl":60000}}}
            1< {"id":3,"method":"tools/call","params":{…"name":"x"}}
        1> {"id":3,"result":{"resultType":"complete","content":[1]}}
            A< {"id":"a","result":{"task":{…"status":"completed","taskId":"$KEPT","ttl":60000}}}
"#;

#[track_caller]
fn answered(given: &str, story: &str) {
    tell(given, &format!("{ANSWERED}{story}"));
}

#[test]
fn task_is_reached_by_its_client_only() {
    begun(
        "timeout 60s",
        r#"
        B> {"id":"b","method":"tasks/get","params":{"taskId":"t"}}
            B< {"id":"b","error":{"code":-32602,…
        B> {"id":"b","method":"tasks/result","params":{"taskId":"\u0074"}}
            B< {"id":"b","error":{"code":-32602,…
        B> {"id":"b","method":"tasks/cancel","params":{"taskId":"t"}}
            B< {"id":"b","error":{"code":-32602,…
        A> {"id":"g","method":"tasks/get","params":{"taskId":"t"}}
            1< {"id":7,"method":"tasks/get","params":{…"taskId":"t"}}
        1> {"id":7,"result":$T}
            A< {"id":"g","result":$KNOWN}
        A> {"id":"c","method":"tasks/cancel","params":{"taskId":"t"}}
            1< {"id":8,"method":"tasks/cancel","params":{…"taskId":"t"}}
        1> {"id":8,"result":{"resultType":"complete"}}
            1< {"id":$O97,"method":"tasks/get","params":{…"taskId":"t"}}
        1> {"id":$O97,"result":{"taskId":"t","status":"cancelled","ttlMs":1}}
            A< {"id":"c","result":{"status":"cancelled","taskId":"t","ttl":1}}
        "#,
    );
}

#[test]
fn kept_result_is_reached_by_its_client_only() {
    answered(
        "timeout 60s",
        r#"
        B> {"id":"b","method":"tasks/get","params":{"taskId":"$KEPT"}}
            B< {"id":"b","error":{"code":-32602,…
        B> {"id":"b","method":"tasks/result","params":{"taskId":"$KEPT"}}
            B< {"id":"b","error":{"code":-32602,…
        A> {"id":"r","method":"tasks/result","params":{"taskId":"$KEPT"}}
            A< {"id":"r","result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"$KEPT"}},"content":[1]}}
        A> {"id":"c","method":"tasks/cancel","params":{"taskId":"$KEPT"}}
            A< {"id":"c","error":{"code":-32602,…already in terminal status…
        "#,
    );
}

/// Servers choose the ids of their tasks.
#[test]
fn task_of_the_server_may_have_our_name() {
    tell(
        "timeout 60s",
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x","task":{"ttl":60000}}}
            1< {"id":3,"method":"tools/call","params":{…"name":"x"}}
        1> {"id":3,"result":{"resultType":"task","taskId":"switchboard-1-3","status":"working"}}
            A< {"id":"a","result":{"task":{"status":"working","taskId":"switchboard-1-3","ttl":null}}}
        A> {"id":"g","method":"tasks/get","params":{"taskId":"switchboard-1-3"}}
            1< {"id":4,"method":"tasks/get","params":{…"taskId":"switchboard-1-3"}}
        "#,
    );
}

#[test]
fn kept_result_ends_with_its_time() {
    answered(
        "timeout 60s",
        r#"
        +1min
        A> {"id":"r","method":"tasks/result","params":{"taskId":"$KEPT"}}
            A< {"id":"r","error":{"code":-32602,…no longer kept…
        "#,
    );
}

#[test]
fn kept_result_ends_with_its_process() {
    answered(
        "timeout 60s",
        r#"
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":4,"method":"server/discover",…}
        A> {"id":"r","method":"tasks/result","params":{"taskId":"$KEPT"}}
        2> {"id":4,"result":$F}
            A< {"id":"r","error":{"code":-32602,…no longer kept…
        "#,
    );
}

/// The task runs for longer than the timeout of a request.
#[test]
fn result_is_waited_for() {
    begun(
        "timeout 12s",
        r#"
        A> {"id":"r","method":"tasks/result","params":{"taskId":"t"}}
            1< {"id":$O97,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O97,"result":{"taskId":"t","status":"working","pollIntervalMs":30000}}
        +29s
        +1s
            1< {"id":$O98,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O98,"result":{"taskId":"t","status":"completed","result":{"resultType":"complete","content":[1]}}}
            A< {"id":"r","result":{$R,"content":[1]}}
        "#,
    );
}

#[test]
fn question_names_its_task() {
    begun(
        "timeout 60s",
        r#"
        B> {"id":"b","method":"tools/call","params":{"name":"y"}}
            1< {"id":4,…"name":"y"}}
        A> {"id":"r","method":"tasks/result","params":{"taskId":"t"}}
            1< {"id":$O97,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O97,"result":$W}
            A< {"id":1,"method":"elicitation/create","params":{$R,"message":"?"}}
        B> {"id":1,"result":{"action":"accept"}}
        A> {"id":1,"result":{"action":"decline"}}
            1< {"id":$O99,"method":"tasks/update",…"taskId":"t","inputResponses":{"k":{"action":"decline"}}}}
        "#,
    );
}

#[test]
fn denied_question_ends_the_task() {
    begun(
        "denies elicitation",
        r#"
        A> {"id":"r","method":"tasks/result","params":{"taskId":"t"}}
            1< {"id":$O97,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O97,"result":$W}
            - denied to owner: elicitation/create
            1< {"id":$O99,"method":"tasks/cancel",…"taskId":"t"}}
            A< {"id":"r","error":{"code":-32601,…`asks.elicitation`…
        "#,
    );
}

#[test]
fn cancelled_wait_leaves_the_task() {
    begun(
        "timeout 60s",
        r#"
        A> {"id":"r","method":"tasks/result","params":{"taskId":"t"}}
            1< {"id":$O97,"method":"tasks/get",…"taskId":"t"}}
        A> {"method":"notifications/cancelled","params":{"requestId":"r"}}
        1> {"id":$O97,"result":$W}
        A> {"id":"s","method":"tasks/result","params":{"taskId":"t"}}
            1< {"id":$O98,"method":"tasks/get",…"taskId":"t"}}
        "#,
    );
}

#[test]
fn task_of_a_lost_client_has_no_owner() {
    begun(
        "timeout 60s",
        r#"
        A> {"id":"r","method":"tasks/result","params":{"taskId":"t"}}
            1< {"id":$O97,"method":"tasks/get",…"taskId":"t"}}
        1> {"id":$O97,"result":$W}
            A< {"id":1,"method":"elicitation/create",…
        A leaves
        B> {"id":1,"result":{"action":"accept"}}
        B> {"id":"b","method":"tasks/result","params":{"taskId":"t"}}
            B< {"id":"b","error":{"code":-32602,…
        "#,
    );
}
