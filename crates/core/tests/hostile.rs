//! Sequences from a hostile review: messages, tasks, roots and subscriptions that reached the wrong client, or none.

use super::aggregates::open;
use crate::story::run;

/// The client's home is gone with the reload.
#[test]
fn unknown_task_after_reload() {
    run(r#"
        given shared
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        1> {"id":3,"result":{}} -> A
        config changes
            - its settings have changed
            stop 1
        1 ends
        A> {"id":2,"method":"tools/call","params":{"task":{}}}
            start 2 at /p
        2 completes handshake 5
            2< {"id":4,…}
        2> {"id":4,"result":{"task":{"taskId":"t1","status":"working"}}} -> A
        B> {"id":7,"method":"tasks/result","params":{"taskId":"t1"}}
            B< {"id":7,"error":…}
    "#);
}

/// The request names a path in another client's workspace.
#[test]
fn unknown_task_by_place() {
    run(r#"
        given shared; splits
        A opens 1; on greeting
        A> {"id":2,"method":"tools/call","params":{"task":{}}} -> 1 as 2
        1> {"id":2,"result":{"task":{"taskId":"t1","status":"working"}}} -> A
        B opens 2; folder /q; id 3; on greeting
        B at /p/x> {"id":7,"method":"tasks/result","params":{"taskId":"t1"}}
            B< {"id":7,"error":…}
    "#);
}

/// B's call waits its turn when the server asks for A's roots.
#[test]
fn roots_asked_while_b_waits_its_turn() {
    run(r#"
        given shared; max_in_flight 1
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        B> {"id":1,"method":"tools/call","params":{"b":1}}
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A answers 1 with roots /a
            1< {"id":"r","result":{"roots":[{"uri":"file:///a"}]}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        1> {"id":3,"result":{}} -> A
        B answers 2 with roots /b
            - no longer shared by 1
            start 2 at /b
    "#);
}

/// The next process uses ids of tasks again.
#[test]
fn stale_task_takes_a_question() {
    run(r#"
        given shared
        A opens 1
        B joins 1
        A> {"id":2,"method":"tools/call","params":{"task":{}}} -> 1 as 3
        1> {"id":3,"result":{"task":{"taskId":"1","status":"working"}}} -> A
        owner restarts
            - …
            stop 1
        1 ends
            start 2 at /p
        2 completes handshake 4
        B> {"id":3,"method":"tools/call","params":{"task":{}}} -> 2 as 5
        2> {"id":"q","method":"elicitation/create","params":{"of":"B","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}}
            - …
            B< …
    "#);
}

/// The owner of the task keeps the process, although another has used it longer.
#[test]
fn task_owner_is_not_longest_user() {
    run(r#"
        given shared
        A opens 1
        B joins 1
        B> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        A> {"id":1,"method":"tools/call","params":{"task":{}}} -> 1 as 4
        1> {"id":4,"result":{"task":{"taskId":"t1","status":"working"}}} -> A
        1> {"id":"q","method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}
            - no longer shared by 1
            A< …
        A> {"id":5,"method":"tools/call","params":{}} -> 1 as 5
    "#);
}

/// The client has named its roots for another server already, so nothing has to be waited for.
#[test]
fn known_roots_are_not_waited_for() {
    open(
        r#"
        given asks_roots; server 1; asks_roots
        B comes; folder /p; server all
        B greets with {"roots":{}}
            B< {"id":0,…}
        B confirms
        B> {"id":1,"method":"tools/call","params":{"name":"files__read"}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        B answers 1 with roots /p
            1< …
        B> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< …
        "#,
    );
}

/// A has left, and the process still works for A.
#[test]
fn roots_of_b_for_an_operation_of_a() {
    run(r#"
        given linger 60s
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        1> {"id":3,"result":{}} -> A
        A leaves
        1> {"id":"r","method":"roots/list"}
            1< {"id":"r","error":…}
    "#);
}

/// Both are in the middle of their handshakes.
#[test]
fn retired_while_both_greet() {
    run(r#"
        given shared
        A opens 1; unanswered
        B comes; folder /p
        B greets
        1> {"id":"q","method":"sampling/createMessage","params":{}}
            - no longer shared by 2
            1< {"id":"q","error":…}
        B leaves
        1 greets
            A< …
            - it asks its clients questions
            stop 1
        A confirms
        A> {"id":1,"method":"tools/call","params":{}}
            start 2 at /p
        1 ends
        2 completes handshake 4
            2< …
    "#);
}

/// There is room for one process only.
#[test]
fn separated_without_room() {
    run(r#"
        given shared; pool.max_backends 1
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{"task":{}}} -> 1 as 3
        1> {"id":3,"result":{"task":{"taskId":"t1","status":"working"}}} -> A
        B> {"id":1,"method":"tools/call","params":{}} -> 1 as 4
        1> {"id":"q","method":"sampling/createMessage","params":{}}
            - no longer shared by 2
            1< {"id":"q","error":…}
        1> {"id":4,"result":{}} -> B
        B> {"id":2,"method":"tools/call","params":{}}
            - waits for room
        +600s
            B< {"id":2,"error":…}
        +3000s
            - it asks its clients questions
            stop 1
    "#);
}

/// An error without an id may speak of a call that was cancelled.
#[test]
fn error_without_id_of_a_cancelled_call() {
    run(r#"
        given shared
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< …
        B> {"id":1,"method":"tools/call","params":{}} -> 1 as 4
        1> {"id":null,"error":{"code":1,"message":"secret of A"}}
            - late answer dropped
        1> {"id":4,"result":{}} -> B as 1
    "#);
}

/// Subscriptions move to processes of their own, and do not meet again there.
#[test]
fn subscribers_with_other_roots() {
    run(r#"
        given shared
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"x:a"}} -> 1 as 3
        1> {"id":3,"result":{}} -> A
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"x:b"}} -> 1 as 4
        1> {"id":4,"result":{}} -> B
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A answers 1 with roots /a
        B answers 2 with roots /b
            1< {"id":"r","error":…}
            - no longer shared by 2
            1< …unsubscribe…
            start 2 at /p
            start 3 at /p
            - its clients have different roots
            stop 1
    "#);
}

#[test]
fn unknown_task_while_starting() {
    run(r#"
        given shared
        A opens 1
        B joins 1
        owner restarts
            - …
            stop 1
        1 ends
            start 2 at /p
        A> {"id":2,"method":"tools/call","params":{"task":{}}}
        B> {"id":7,"method":"tasks/result","params":{"taskId":"t1"}}
        2 completes handshake 5
            2< {"id":3,…}
            B< {"id":7,"error":…"Unknown task: t1"…}
    "#);
}

/// Two clients of a process. B asks for a task that nobody has started.
#[track_caller]
fn guess(story: &str) {
    let opening = r#"
        given shared
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        1> {"id":3,"result":{}} -> A as 1
        B> {"id":7,"method":"tasks/get","params":{"taskId":"t1"}} -> 1 as 4
    "#;
    run(&format!("{opening}{story}"));
}

/// Some servers number their tasks, so the next id can be guessed.
#[test]
fn task_started_meanwhile_is_withheld() {
    guess(
        r#"
        A> {"id":2,"method":"tools/call","params":{"task":{}}} -> 1 as 5
        1> {"id":5,"result":{"task":{"taskId":"t1","status":"working"}}} -> A as 2
        1> {"id":4,"result":{"taskId":"t1","status":"working"}}
            B< {"id":7,"error":…"Unknown task: t1"…}
        B> {"id":8,"method":"tasks/cancel","params":{"taskId":"t1"}}
            B< {"id":8,"error":…"Unknown task: t1"…}
    "#,
    );
}

/// The server says itself that it has no such task, or no tasks at all.
#[test]
fn server_answers_for_unknown_tasks() {
    guess(
        r#"
        1> {"id":4,"error":{"code":-32601,"message":"no tasks"}} -> B as 7
    "#,
    );
}

#[test]
fn reload_refuses_hidden_waiting_calls() {
    run(r#"
        given shared; max_in_flight 1
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{"name":"x"}} -> 1 as 3
        B> {"id":1,"method":"tools/call","params":{"name":"read"}}
        config changes and denies read
            B< {"id":1,"error":…"Unknown tool: read"…}
        1> {"id":3,"result":{}} -> A
            - its settings have changed
            stop 1
    "#);
}

/// Subscriptions go with a client whose roots have changed.
#[test]
fn subscriptions_after_roots_change() {
    run(r#"
        given shared; asks_roots
        A opens 1; with {"roots":{}}
        B joins 1; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A answers 1 with roots /p
            1< {"id":3,…}
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"x:b"}}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B answers 2 with roots /p
            1< {"id":4,…}
        1> {"id":4,"result":{}} -> B
        B> {"method":"notifications/roots/list_changed"}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":3}
        B answers 3 with roots /p /q
            - no longer shared by 1
            1< …unsubscribe…
            start 2 at /p
    "#);
}

/// Folders of a client on another machine, or without a token, reach no server.
#[test]
fn foreign_folders_reach_no_server() {
    run(r#"
        A comes; elsewhere yes
            start 1 at nowhere
        1 spawns
        A greets with {"roots":{}}
            1< …
        1 greets
            A< …
        A confirms
            1< …
        1> {"id":"r","method":"roots/list"}
            1< {"id":"r",…}
    "#);
}

/// Equal roots share, also with a window that comes after the first has left.
#[test]
fn equal_roots_share_after_leave() {
    run(r#"
        given asks_roots; linger 60s
        A opens 1; with {"roots":{}}
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A answers 1 with roots /p
            1< …
        A> {"id":1,"method":"tools/call","params":{}} -> 1
        A leaves
            1< …
        B joins 1; with {"roots":{}}; unconfirmed
        B confirms
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        B answers 2 with roots /p
        B> {"id":1,"method":"tools/call","params":{}} -> 1
        B> {"method":"notifications/roots/list_changed"}
            B< raw {"method":"roots/list","jsonrpc":"2.0","id":3}
        B answers 3 with roots /p /q
            1< …list_changed…
    "#);
}

/// The answer that shows client state also frees a turn.
#[test]
fn moves_come_before_freed_turns() {
    run(r#"
        given shared; max_in_flight 1; state auto
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        1> {"id":3,"result":{}} -> A
        B> {"id":1,"method":"tools/list"} -> 1 as 4
        B> {"id":2,"method":"tools/call","params":{"name":"browser_navigate"}}
        1> {"id":4,"result":{"tools":[{"name":"browser_navigate"}]}}
            - keeps state: browser_navigate
            - no longer shared by 1
            B< …
            start 2 at /p
    "#);
}
