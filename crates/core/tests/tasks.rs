//! Tasks of 2025-11-25 in both directions: those that a server runs for a client, and those that a client runs for a
//! server. Among several servers, an id has the name of its server, and a server reaches its own tasks only.

use crate::aggregates::open;
use crate::story::run;

#[test]
fn a_task_is_followed_to_its_result() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"t","task":{"ttl":60000}}} -> 1 as 2
        1> {"id":2,"result":{"task":{"taskId":"t1","status":"working","n":0.70}}} -> A as 1
        A> {"id":2,"method":"tasks/get","params":{"taskId":"t1"}} -> 1 as 3
        1> {"id":3,"result":{"taskId":"t1","status":"working"}} -> A as 2
        1> {"method":"notifications/tasks/status","params":{"taskId":"t1","status":"completed"}}
            A< {"method":"notifications/tasks/status","params":{"taskId":"t1","status":"completed"}}
        A> {"id":3,"method":"tasks/result","params":{"taskId":"t1"}} -> 1 as 4
        1> {"id":4,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}} -> A as 3
        A> {"id":4,"method":"tasks/list"} -> 1 as 5
        1> {"id":5,"result":{"tasks":[ {"taskId":"t1"} , 7 ]}} -> A as 4
        A> {"id":5,"method":"tasks/cancel","params":{"taskId":"t1"}} -> 1 as 6
    "#);
}

/// Two servers with the same id.
#[test]
fn ids_of_tasks_name_their_server() {
    open(
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"files__read","task":{}}}
            1< {"id":10,"method":"tools/call","params":{"name":"read","task":{}}}
        1> {"id":10,"result":{"task":{"taskId":"t\/1","status":"working","n":0.70},"taskId":"no"}}
            A< {"id":"a","result":{"task":{"taskId":"files:t\/1","status":"working","n":0.70},"taskId":"no"}}
        A> {"id":"b","method":"tools/call","params":{"name":"more__read","task":{}}}
            2< {"id":11,"method":"tools/call","params":{"name":"read","task":{}}}
        2> {"id":11,"result":{"task":{"taskId":"t/1","status":"working"}}}
            A< {"id":"b","result":{"task":{"taskId":"more:t/1","status":"working"}}}
        A> {"id":"c","method":"tasks/get","params":{"taskId":"more:t\/1"}}
            2< {"id":12,"method":"tasks/get","params":{"taskId":"t/1"}}
        2> {"id":12,"result":{"taskId":"t/1","status":"working"}}
            A< {"id":"c","result":{"taskId":"more:t/1","status":"working"}}
        A> {"id":"d","method":"tasks/cancel","params":{"taskId":"files:t/1"}}
            1< {"id":13,"method":"tasks/cancel","params":{"taskId":"t/1"}}
        1> {"id":13,"result":{"taskId":"t\/1","status":"cancelled"}}
            A< {"id":"d","result":{"taskId":"files:t\/1","status":"cancelled"}}
        2> {"method":"notifications/tasks/status","params":{"taskId":"t/1","status":"completed"}}
            A< {"method":"notifications/tasks/status","params":{"taskId":"more:t/1","status":"completed"}}
        A> {"id":"e","method":"tasks/result","params":{"taskId":"more:t/1"}}
            2< {"id":14,"method":"tasks/result","params":{"taskId":"t/1"}}
        2> {"id":14,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t/1"}}}}
            A< {"id":"e","result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"more:t/1"}}}}
        A> {"id":"f","method":"tasks/get","params":{"taskId":"other:t/1"}}
            A< {"id":"f","error":{"code":-32602,…
        "#,
    );
}

/// A question about a task, and its answer, which names the task as the client knows it.
#[test]
fn a_question_names_the_shown_task() {
    open(
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"more__read","task":{}}}
            2< {"id":10,"method":"tools/call","params":{"name":"read","task":{}}}
        2> {"id":10,"result":{"task":{"taskId":"t1","status":"working"}}}
            A< {"id":"a","result":{"task":{"taskId":"more:t1","status":"working"}}}
        2> {"id":5,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}
            A< {"id":1,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"more:t1"}}}}
        A> {"id":1,"result":{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"more:t1"}}}}
            2< {"id":5,"result":{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}
        "#,
    );
}

#[test]
fn a_client_runs_a_task_for_its_server() {
    run(r#"
        A opens 1
        1> {"id":5,"method":"sampling/createMessage","params":{"task":{"ttl":60000}}}
            A< {"id":1,"method":"sampling/createMessage","params":{"task":{"ttl":60000}}}
        A> {"id":1,"result":{"task":{"taskId":"c1","status":"working","n":0.70}}}
            1< {"id":5,"result":{"task":{"taskId":"c1","status":"working","n":0.70}}}
        1> {"id":6,"method":"tasks/get","params":{"taskId":"c1"}}
            A< {"id":2,"method":"tasks/get","params":{"taskId":"c1"}}
        A> {"id":2,"result":{"taskId":"c1","status":"working"}}
            1< {"id":6,"result":{"taskId":"c1","status":"working"}}
        A> {"method":"notifications/tasks/status","params":{"taskId":"c1","status":"completed"}}
            1< {"method":"notifications/tasks/status","params":{"taskId":"c1","status":"completed"}}
        1> {"id":7,"method":"tasks/result","params":{"taskId":"c1"}}
            A< {"id":3,"method":"tasks/result","params":{"taskId":"c1"}}
        A> {"id":3,"result":{"role":"assistant","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"c1"}}}}
            1< {"id":7,"result":{"role":"assistant","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"c1"}}}}
        1> {"id":8,"method":"tasks/list"}
            A< {"id":4,"method":"tasks/list"}
        A> {"id":4,"result":{"tasks":[ {"taskId":"c1"} , 7 ]}}
            1< {"id":8,"result":{"tasks":[ {"taskId":"c1"} , 7 ]}}
        1> {"id":9,"method":"tasks/cancel","params":{"taskId":"c9"}}
            A< {"id":5,"method":"tasks/cancel","params":{"taskId":"c9"}}
    "#);
}

/// A server of an aggregate client cannot reach what the client does for another.
#[test]
fn a_server_reaches_its_own_tasks_only() {
    open(
        r#"
        1> {"id":5,"method":"elicitation/create","params":{"task":{}}}
            A< {"id":1,"method":"elicitation/create","params":{"task":{}}}
        A> {"id":1,"result":{"task":{"taskId":"c1","status":"working"}}}
            1< {"id":5,"result":{"task":{"taskId":"c1","status":"working"}}}
        2> {"id":5,"method":"elicitation/create","params":{"task":{}}}
            A< {"id":2,"method":"elicitation/create","params":{"task":{}}}
        A> {"id":2,"result":{"task":{"taskId":"c2","status":"working"}}}
            2< {"id":5,"result":{"task":{"taskId":"c2","status":"working"}}}
        2> {"id":6,"method":"tasks/get","params":{"taskId":"c1"}}
            2< {"id":6,"error":{"code":-32602,…
        2> {"id":7,"method":"tasks/result","params":{"taskId":"\u00631"}}
            2< {"id":7,"error":{"code":-32602,…
        2> {"id":8,"method":"tasks/cancel","params":{"taskId":"c9"}}
            2< {"id":8,"error":{"code":-32602,…
        2> {"id":9,"method":"tasks/list"}
            A< {"id":3,"method":"tasks/list"}
        A> {"id":3,"result":{"tasks":[{"taskId":"c1"}, {"taskId":"c2","n":0.70}]}}
            2< {"id":9,"result":{"tasks":[{"taskId":"c2","n":0.70}]}}
        A> {"method":"notifications/tasks/status","params":{"taskId":"c2","status":"completed"}}
            2< {"method":"notifications/tasks/status","params":{"taskId":"c2","status":"completed"}}
        A> {"method":"notifications/tasks/status","params":{"taskId":"c9","status":"completed"}}
        1> {"id":6,"method":"tasks/result","params":{"taskId":"c1"}}
            A< {"id":4,"method":"tasks/result","params":{"taskId":"c1"}}
        A> {"id":4,"result":{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"c1"}}}}
            1< {"id":6,"result":{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"c1"}}}}
        "#,
    );
}

/// Progress on a task that a client runs keeps the token of the server's request.
#[test]
fn a_held_task_reports_progress() {
    run(r#"
        A opens 1
        1> {"id":5,"method":"sampling/createMessage","params":{"task":{},"_meta":{"progressToken":"p"}}}
            A< {"id":1,"method":"sampling/createMessage","params":{"task":{},"_meta":{"progressToken":1}}}
        A> {"id":1,"result":{"task":{"taskId":"c1","status":"working"}}}
            1< {"id":5,"result":{"task":{"taskId":"c1","status":"working"}}}
        A> {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
            1< {"method":"notifications/progress","params":{"progressToken":"p","progress":1}}
    "#);
}

/// A and B share a process, which asks each of them about its own task. B, who is hostile, can neither take over nor
/// report on what A runs for the server.
#[test]
fn a_held_task_belongs_to_its_client() {
    run(r#"
        given shared
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{"task":{}}}
            1< {"id":3,…}
        1> {"id":3,"result":{"task":{"taskId":"t1","status":"working"}}}
            A< …
        B> {"id":1,"method":"tools/call","params":{"task":{}}}
            1< {"id":4,…}
        1> {"id":4,"result":{"task":{"taskId":"t2","status":"working"}}}
            B< …
        1> {"id":5,"method":"elicitation/create","params":{"task":{},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}
            - no longer shared by …
            A< {"id":1,…}
        A> {"id":1,"result":{"task":{"taskId":"c1","status":"working"}}}
            1< {"id":5,…}
        1> {"id":6,"method":"elicitation/create","params":{"task":{},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t2"}}}}
            - no longer shared by …
            B< {"id":2,…}
        B> {"id":2,"result":{"task":{"taskId":"c\u0031","status":"working"}}}
            1< {"id":6,"error":{"code":-32004,…
        B> {"method":"notifications/tasks/status","params":{"taskId":"c1","status":"cancelled"}}
        B> {"id":2,"method":"tasks/cancel","params":{"taskId":"c1"}}
            start 2 at /p
        1> {"id":7,"method":"tasks/result","params":{"taskId":"c1"}}
            A< {"id":3,"method":"tasks/result","params":{"taskId":"c1"}}
    "#);
}
