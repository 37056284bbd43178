//! Requests that a server may send to its clients: what is denied is neither declared nor delivered.

use crate::eras::play;
use crate::story::run;

#[test]
fn denied_requests_get_an_error() {
    run(r#"
        given denies sampling elicitation roots
        A opens 1
        1> {"id":"s","method":"sampling/createMessage","params":{}}
            - denied to owner: sampling/createMessage
            1< {"id":"s","error":{"code":-32601,"data":{"hint":"`asks.sampling` of the server `files` is `deny` in the config","kind":"method_not_found","retryable":false,"server":"files"},"message":"the client does not support `sampling/createMessage`"}}
        1> {"id":7,"method":"elicitation/create","params":{}}
            - denied to owner: elicitation/create
            1< {"id":7,"error":{"code":-32601,…`asks.elicitation`…
        1> {"id":8,"method":"roots/list"}
            - denied to owner: roots/list
            1< {"id":8,"error":{"code":-32601,…`asks.roots`…
        1> {"id":9,"method":"ping"}
            A< {"id":1,"method":"ping"}
        1> {"method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}
        1> {"method":"notifications/message","params":{"level":"info"}}
            A< {"method":"notifications/message","params":{"level":"info"}}
    "#);
}

#[test]
fn others_still_reach_the_client() {
    run(r#"
        given denies sampling
        A opens 1
        1> {"id":1,"method":"elicitation/create","params":{}}
            A< {"id":1,"method":"elicitation/create","params":{}}
        1> {"id":2,"method":"roots/list"}
            A< {"id":2,"method":"roots/list"}
    "#);
}

/// The bytes of the rest stay as they are, also in a handshake that is replayed.
#[test]
fn denied_capabilities_are_not_declared() {
    run(r#"
        given denies sampling roots
        A comes; folder /p
            start 1 at /p
        1 spawns
        A> raw {"params":{ "capabilities" : {"roots":{"listChanged":true}, "sampling":{},"elicitation":{} },"rootUri":"file:///p","n":1.0},"method":"initialize","jsonrpc":"2.0","id":"x"}
            1< raw {"params":{ "capabilities" : {"elicitation":{} },"n":1.0},"method":"initialize","jsonrpc":"2.0","id":1}
        1 greets
            A< {"id":"x","result":{"serverInfo":1}}
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"id":1,"method":"tools/list"}
            1< {"id":2,"method":"tools/list"}
        1 ends
            - retry: tools/list
            - restart after a pause
        +2s
            start 2 at /p
        2 spawns
            2< raw {"params":{ "capabilities" : {"elicitation":{} },"n":1.0},"method":"initialize","jsonrpc":"2.0","id":3}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":2,"method":"tools/list"}
        2> {"id":5,"method":"sampling/createMessage","params":{}}
            - denied to owner: sampling/createMessage
            2< {"id":5,"error":{"code":-32601,…
    "#);
}

/// Each server of an aggregate hears what it may ask for.
#[test]
fn aggregates_declare_by_server() {
    run(r#"
        given servers more; server 0; framing newline; denies sampling; server 1; framing newline
        A greets all: 1 2; with {"sampling":{},"elicitation":{}}
        1 spawns
            1< {"id":2,"method":"initialize","params":{"protocolVersion":"v","capabilities":{"elicitation":{}}}}
        2 spawns
            2< {"id":3,"method":"initialize","params":{"protocolVersion":"v","capabilities":{"sampling":{},"elicitation":{}}}}
        1 greets
            1< {"method":"notifications/initialized"}
            store 0
        2 greets
            A< {"id":0,"result":…
            2< {"method":"notifications/initialized"}
            store 1
        A confirms
        1> {"id":1,"method":"sampling/createMessage","params":{}}
            - denied to owner: sampling/createMessage
            1< {"id":1,"error":{"code":-32601,…
        2> {"id":1,"method":"sampling/createMessage","params":{}}
            A< {"id":1,"method":"sampling/createMessage","params":{}}
    "#);
}

#[test]
fn denied_roots_are_not_told() {
    run(r#"
        given denies roots
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets with {"roots":{"listChanged":true}}
            1< {"id":1,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"method":"notifications/roots/list_changed"}
        A> {"method":"notifications/other"}
            1< {"method":"notifications/other"}
    "#);
}

/// Clients that differ only in what the server may not ask for share a process.
#[test]
fn denied_capabilities_do_not_separate() {
    run(r#"
        given denies sampling elicitation; exact
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets with {"sampling":{}}
            1< {"id":1,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
        A confirms
            1< {"method":"notifications/initialized"}
        B comes; folder /p
        B greets with {"elicitation":{}}
            B< {"id":0,"result":{"serverInfo":1}}
    "#);
}

/// A server that asked questions in an earlier run, or asks now in vain, needs no process per client.
#[test]
fn clients_share_what_may_not_ask() {
    run(r#"
        given denies sampling elicitation; asks_questions
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":3,"method":"tools/call","params":{"name":"a"}}
        B> {"id":1,"method":"tools/call","params":{"name":"b"}}
            1< {"id":4,"method":"tools/call","params":{"name":"b"}}
        1> {"id":9,"method":"sampling/createMessage","params":{}}
            - denied to ?: sampling/createMessage
            1< {"id":9,"error":{"code":-32601,…
        C joins 1
    "#);
}

/// Another question than the denied ones separates the clients, as ever.
#[test]
fn other_questions_separate() {
    run(r#"
        given denies sampling elicitation
        A opens 1
        B joins 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":3,"method":"tools/call","params":{"name":"a"}}
        B> {"id":1,"method":"tools/call","params":{"name":"b"}}
            1< {"id":4,"method":"tools/call","params":{"name":"b"}}
        1> {"id":9,"method":"acme/ask","params":{}}
            - no longer shared by 2
            1< {"id":9,"error":{"code":-32004,…
        1> {"id":3,"result":{}}
            A< {"id":1,"result":{}}
    "#);
}

/// An answer that wants a URL opened is a question too.
#[test]
fn urls_in_errors_are_denied() {
    let call = r#"
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"a"}}
            1< {"id":2,"method":"tools/call","params":{"name":"a"}}
        1> {"id":2,"error":{"code":-32042,"message":"open","data":{"elicitations":[{"url":"https://evil.example"}]}}}
    "#;
    run(&format!(
        r#"given denies elicitation
        {call}
            - denied to owner: elicitation/create
            A< {{"id":1,"error":{{"code":-32603,"data":{{"hint":"set `asks.elicitation` of the server `files` to `allow` to see the URL","kind":"forbidden",…
        "#
    ));
    run(&format!("{call}\nA< {{\"id\":1,\"error\":{{\"code\":-32042,…evil.example…"));
}

/// Modern servers ask with an answer, or with the state of a task. A malformed neighbour hides nothing.
#[test]
fn denied_input_is_not_delivered() {
    play(
        r#"
        given era modern; denies elicitation
        A starts 1
        A> {"id":"a","method":"tools/call","params":{"name":"x",$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"tools/call","params":{"name":"x",$M}}
        1> {"id":1,"result":{"resultType":"input_required","inputRequests":{"a":7,"b":{"method":"elicitation/create"}}}}
            - denied to owner: elicitation/create
            A< {"id":"a","error":{"code":-32601,…`asks.elicitation`…
        A> {"id":"b","method":"tools/call","params":{"name":"x",$M}} -> 1 as 3
        1> {"id":3,"result":{"resultType":"task","taskId":"t","status":"working"}} -> A as "b"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"]},$M}} -> 1 as 4
        1> {"method":"notifications/tasks","params":{"taskId":"t","inputRequests":{"b":{"method":"elicitation/create"}},"_meta":{$sub:4}}}
            - denied to ?: elicitation/create
        1> {"method":"notifications/tasks","params":{"taskId":"t","inputRequests":{"b":{"method":"roots/list"}},"_meta":{$sub:4}}}
            A< {"method":"notifications/tasks","params":{"taskId":"t","inputRequests":{"b":{"method":"roots/list"}},"_meta":{$sub:"s"}}}
        "#,
    );
}
