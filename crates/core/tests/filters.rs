//! Filters of a server, for clients of that server alone: names that they may use, and lists that they see.

use crate::story::run;
/// A client of the one server, after the handshake.
#[track_caller]
fn greeted(story: &str) {
    let before = r#"
        A opens 1; offers {"tools":{},"prompts":{},"resources":{"subscribe":true}}; unconfirmed
    "#;
    run(&format!("{before}{story}"));
}

#[test]
fn hidden_tools_are_unknown() {
    greeted(
        r#"
        given deny write*; rename read get
        A> {"id":1,"method":"tools/call","params":{"name":"write_all"}}
            A< {"id":1,"error":{…"kind":"unknown_name"…"Unknown tool: write_all"}}
        A> {"id":2,"method":"tools/call","params":{"name":"\u0077rite"}}
            A< {"id":2,"error":{…"Unknown tool: write"}}
        A> {"id":3,"method":"tools/call","params":{"Name":"write"}}
            A< {"id":3,"error":{…"Unknown tool: "}}
        A> {"id":4,"method":"tools/call","params":["write"]}
            A< {"id":4,"error":{…"Unknown tool: "}}
        A> {"id":5,"method":"tools/call","params":{"name":"other","n":0.70}} -> 1 as 2
        "#,
    );
}

#[test]
fn renames_hold_in_both_directions() {
    greeted(
        r#"
        given deny write*; rename read get
        A> {"id":1,"method":"tools/call","params":{"name":"get","n":0.70}}
            1< {"id":2,"method":"tools/call","params":{"name":"read","n":0.70}}
        A> {"id":2,"method":"prompts/get","params":{"name":"read"}}
            A< {"id":2,"error":{…"Unknown prompt: read"}}
        A> {"id":3,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"get"},"x":1}}
            1< {"id":3,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"read"},"x":1}}
        A> {"id":4,"method":"tools/list"} -> 1 as 4
        1> {"id":4,"result":{"tools":[{"name":"read", "n":0.70},{"name":"get"},{"name":"write"}]}}
            A< {"id":4,"result":{"tools":[{"name":"get", "n":0.70}]}}
        "#,
    );
}

#[test]
fn every_page_is_filtered() {
    greeted(
        r#"
        given deny write*; rename read get
        A> {"id":1,"method":"tools/list","params":{"cursor":"7"}} -> 1 as 2
        1> {"result":{"n":0.70,"tools":[ {"name":"write"}, {"x":1.0,"name":"a"} ],"nextCursor":"8"},"id":2}
            A< {"result":{"n":0.70,"tools":[ {"x":1.0,"name":"a"} ],"nextCursor":"8"},"id":1}
        A> {"id":2,"method":"prompts/list","params":{"cursor":"8"}} -> 1 as 3
        1> {"id":3,"result":{"prompts":{"write":1}}}
            A< {"id":2,"error":{…`prompts/list` cannot be read…}}
        A> raw [{"jsonrpc":"2.0","id":3,"method":"resources/list"}]
            1< {"id":4,"method":"resources/list"}
        1> {"id":4,"result":{"resources":[{"uri":"write:1"},{"uri":"x:1"}]}}
            A< raw [{"jsonrpc":"2.0","id":3,"result":{"resources":[{"uri":"x:1"}]}}]
        "#,
    );
}

#[test]
fn hidden_resources_are_not_found() {
    greeted(
        r#"
        given deny *.env
        A> {"id":1,"method":"resources/read","params":{"uri":"file:///p/.%65nv"}}
            A< {"id":1,"error":{"code":-32002,…"kind":"resource_not_found"…"Resource not found: file:///p/.%65nv"}}
        A> {"id":2,"method":"resources/subscribe","params":{"uri":"file:///p/.env?x"}}
            A< {"id":2,"error":{…"resource_not_found"…}}
        A> {"id":3,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///p/.env#"}}}
            A< {"id":3,"error":{…"resource_not_found"…}}
        A> {"id":4,"method":"completion/complete","params":{"ref":{"type":"ref/resource","name":"p","uri":"file:///p/.env"}}}
            A< {"id":4,"error":{…"resource_not_found"…}}
        A> {"id":5,"method":"resources/read","params":{"uri":"file:\/\/\/p\/%2eenv"}}
            A< {"id":5,"error":{…"resource_not_found"…}}
        A> {"id":6,"method":"resources/read","params":{"uri":"file:\/\/\/p\/a%20b"}} -> 1 as 2
        "#,
    );
}

/// The filter cannot tell which resource such a method names.
#[test]
fn unknown_methods_are_refused() {
    greeted(
        r#"
        given deny *.env
        A> {"id":1,"method":"resources/delete","params":{"path":"/p/.env"}}
            A< {"id":1,"error":{…"kind":"method_not_found"…}}
        A> {"id":2,"method":"Tools/Call","params":{"name":"x"}}
            A< {"id":2,"error":{…"kind":"method_not_found"…}}
        A> {"id":3,"method":"custom/thing","params":{}} -> 1 as 2
        "#,
    );
}

/// After the handshake, with two reads that wait for the templates.
#[track_caller]
fn by_template(story: &str) {
    let before = r#"
        given allow doc:///p/{name} doc:x
        A confirms
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
            1< {"id":3,"method":"prompts/list"}
            1< {"id":4,"method":"resources/list"}
            1< {"id":5,"method":"resources/templates/list"}
        1> {"id":2,"result":{"tools":[]}}
        1> {"id":3,"result":{"prompts":[]}}
        1> {"id":4,"result":{"resources":[]}}
        A> {"id":1,"method":"resources/read","params":{"uri":"doc:///p/a"}}
        A> {"id":2,"method":"resources/read","params":{"uri":"doc:///q/a"}}
        A> {"id":3,"method":"tools/call","params":{"name":"doc:x"}} -> 1 as 8
    "#;
    greeted(&format!("{before}{story}"));
}

/// A request waits for the templates that it depends on, and nothing else waits with it.
#[test]
fn templates_are_fetched_to_decide() {
    by_template(
        r#"
        1> {"id":5,"result":{"resourceTemplates":[{"uriTemplate":"doc:///p/{name}"},{"uriTemplate":"doc:///q/{name}"}]}}
            store 0
            1< {"id":6,"method":"resources/read","params":{"uri":"doc:///p/a"}}
            A< {"id":2,"error":{…"resource_not_found"…}}
        A> {"id":4,"method":"resources/read","params":{"uri":"doc:///p/..%2fq"}}
            A< {"id":4,"error":{…"resource_not_found"…}}
        "#,
    );
}

#[test]
fn unknown_templates_let_nothing_in() {
    by_template(
        r#"
        +30s
            record 0: slow, try 1
            A< {"id":1,"error":{…"resource_not_found"…}}
            A< {"id":2,"error":{…"resource_not_found"…}}
        "#,
    );
}

/// A request for a server that starts waits for it, and is judged then.
#[test]
fn a_failed_start_answers_undecided_reads() {
    run(r#"
        given allow doc:///p/{name}
        A comes; folder /p
            start 1 at /p
        A greets
        A> {"id":1,"method":"resources/read","params":{"uri":"doc:///p/a"}}
        1 cannot spawn: no
            A< {"id":0,"error":{…"backend_spawn_failed"…}}
            A< {"id":1,"error":{…"backend_spawn_failed"…}}
    "#);
}

#[test]
fn a_crash_keeps_undecided_reads() {
    by_template(
        r#"
        1 ends
            A< {"id":3,"error":{…}}
            - restart after a pause
        +1s
            start 2 at /p
        2 completes handshake 9; offers {"resources":{}}
            2< {"id":10,"method":"resources/list"}
            2< {"id":11,"method":"resources/templates/list"}
        2> {"id":10,"result":{"resources":[]}}
        2> {"id":11,"result":{"resourceTemplates":[{"uriTemplate":"doc:///p/{name}"}]}}
            store 0
            2< {"id":6,"method":"resources/read","params":{"uri":"doc:///p/a"}}
            A< {"id":2,"error":{…"resource_not_found"…}}
        "#,
    );
}

#[test]
fn stored_lists_are_filtered() {
    run(r#"
        given deny write*; rename read get; stored read write wrote
        A comes; folder /p
            start 1 at /p
        A greets
            A< {"id":0,"result":{"serverInfo":"stored",…}}
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"get"},{"name":"wrote"}]}}
        A> {"id":2,"method":"tools/call","params":{"name":"write"}}
            A< {"id":2,"error":{…"nearest":["wrote"]…"Unknown tool: write"}}
        A> {"id":3,"method":"tools/call","params":{"name":"get"}}
        1 completes handshake 4; offers {"tools":{}}
            1< {"id":5,"method":"tools/list"}
            1< {"id":3,"method":"tools/call","params":{"name":"read"}}
    "#);
}

#[test]
fn a_reload_changes_what_is_shown() {
    greeted(
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}} -> 1 as 2
        A> {"id":2,"method":"tools/list"} -> 1 as 3
        config denies read
            A< {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/resources/list_changed"}
        1> {"id":3,"result":{"tools":[{"name":"read"},{"name":"list"}]}}
            A< {"id":2,"result":{"tools":[{"name":"list"}]}}
        A> {"id":3,"method":"tools/call","params":{"name":"read"}}
            A< {"id":3,"error":{…"Unknown tool: read"}}
        "#,
    );
}

/// For clients of one server and of all servers.
#[test]
fn a_reload_ends_hidden_subscriptions() {
    let all = r#"
        A greets all: 1
        1 completes handshake 2; offers {"resources":{"subscribe":true}}; answers A
            1< {"id":3,"method":"resources/list"}
            1< {"id":4,"method":"resources/templates/list"}
        1> {"id":3,"result":{"resources":[{"uri":"read"},{"uri":"x:1"}]}}
        1> {"id":4,"result":{"resourceTemplates":[]}}
            store 0
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"read"}} -> 1 as 5
        1> {"id":5,"result":{}} -> A as 1
        config denies read
            1< {"id":6,"method":"resources/unsubscribe","params":{"uri":"read"}}
        1> {"method":"notifications/resources/updated","params":{"uri":"read"}}
            - no listener for notifications/resources/updated
        1> {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
    "#;
    run(all);
    greeted(
        r#"
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"read"}} -> 1 as 2
        1> {"id":2,"result":{}} -> A as 1
        config denies read
            1< {"id":3,"method":"resources/unsubscribe","params":{"uri":"read"}}
            A< {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/resources/list_changed"}
        1> {"method":"notifications/resources/updated","params":{"uri":"read"}}
            - no listener for notifications/resources/updated
        1> {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
        "#,
    );
}

/// An aggregate of one server passes unknown methods on, and a completion may name two things.
#[test]
fn aggregates_check_every_named_resource() {
    run(r#"
        given deny *.env
        A greets all: 1
        1 completes handshake 2; offers {"prompts":{},"completions":{}}; answers A
            1< {"id":3,"method":"prompts/list"}
        1> {"id":3,"result":{"prompts":[{"name":"p"}]}}
            store 0
        A> {"id":1,"method":"completion/complete","params":{"ref":{"name":"files__p","uri":"x:/.env"}}}
            A< {"id":1,"error":{…"resource_not_found"…}}
        A> {"id":2,"method":"completion/complete","params":{"ref":{"name":"files__p"}}}
            1< {"id":4,"method":"completion/complete","params":{"ref":{"name":"p"}}}
        A> {"id":3,"method":"resources/delete","params":{"path":"/.env"}}
            A< {"id":3,"error":{…"kind":"method_not_found"…}}
        A> {"id":4,"method":"custom/thing"} -> 1 as 5
    "#);
}

/// Calls that were accepted before wait for their server; the new filter holds for them too.
#[test]
fn a_reload_refuses_waiting_calls() {
    run(r#"
        given stored read write wrote
        A comes; folder /p
            start 1 at /p
        A greets
            A< …
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        A> {"id":2,"method":"tools/call","params":{"name":"wrote"}}
        config denies read
            A< {"id":1,"error":{…"Unknown tool: read"}}
            A< {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/resources/list_changed"}
        1 spawns
            1< {"id":4,"method":"initialize",…}
        1 greets with {"tools":{}}
            1< {"id":3,"method":"tools/call","params":{"name":"wrote"}}
    "#);
    run(r#"
        given stored read write wrote
        A comes; folder /p; server all
        A greets
            A< …
        A> {"id":1,"method":"tools/call","params":{"name":"files__read"}}
            start 1 at /p
        A> {"id":2,"method":"tools/call","params":{"name":"files__wrote"}}
        config denies read
            A< {"id":1,"error":{…"Unknown tool: files__read"}}
    "#);
}
