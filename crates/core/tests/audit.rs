//! Calls of audited clients are reported: each once, whatever becomes of it.

use crate::story::run;

#[test]
fn call_is_reported_with_its_answer() {
    run(r#"
        given audit remote
        A comes; folder /p; front http
            start 1 at /p
        1 spawns
        A greets as ide
            1< {"id":1,"method":"initialize","params":{"protocolVersion":"v","capabilities":{},"clientInfo":{"name":"ide"}}}
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            1< {"id":2,"method":"tools/call","params":{"name":"read"}}
        +2s
        1> {"id":2,"result":{"content":[]}}
            A< {"id":1,"result":{"content":[]}}
            - called by A owner (ide, http): tools/call files read at /p in backend-1#1: ok after 2s, 71 and 48 bytes
        A> {"id":2,"method":"resources/read","params":{"uri":"file:///x"}}
            1< {"id":3,"method":"resources/read","params":{"uri":"file:///x"}}
        1> {"id":3,"error":{"code":1,"message":"m"}}
            A< {"id":2,"error":{"code":1,"message":"m"}}
            - called by A owner (ide, http): resources/read files file:///x at /p in backend-1#1: server_error …
        A> {"id":3,"method":"prompts/get","params":{"name":"p"}}
            1< {"id":4,"method":"prompts/get","params":{"name":"p"}}
        1> {"id":4,"result":{"isError":true}}
            A< {"id":3,"result":{"isError":true}}
            - called by A owner (ide, http): prompts/get files p at /p in backend-1#1: ok …
        A> {"id":4,"method":"tools/call","params":{"name":"write"}}
            1< {"id":5,"method":"tools/call","params":{"name":"write"}}
        1> {"id":5,"result":{"isError":true}}
            A< {"id":4,"result":{"isError":true}}
            - called by A owner (ide, http): tools/call files write at /p in backend-1#1: tool_error …
        A> {"id":5,"method":"tools/list"}
            1< {"id":6,"method":"tools/list"}
        1> {"id":6,"result":{"tools":[]}}
            A< {"id":5,"result":{"tools":[]}}
    "#);
}

/// The default: windows of the owner are not audited, other identities and HTTP are.
#[test]
fn owners_windows_are_audited_on_request() {
    for (given, options, expect) in [
        ("given audit remote", "", ""),
        ("given audit none", "; front http; principal 1", ""),
        ("given audit all", "", "- called by A owner (-, stdio): tools/call…"),
        ("given audit remote", "; principal 1", "- called by A token-1 (-, stdio): tools/call…"),
        ("given audit remote", "; front http", "- called by A owner (-, http): tools/call…"),
    ] {
        let story = r#"
            GIVEN
            A comes; folder /pOPTIONS
                start 1 at /p
            1 spawns
            A greets
                1< {"id":1,"method":"initialize",…
            1 greets
                A< {"id":0,"result":{"serverInfo":1}}
            A> {"id":1,"method":"tools/call","params":{"name":"read"}}
                1< {"id":2,"method":"tools/call","params":{"name":"read"}}
            1> {"id":2,"result":{}}
                A< {"id":1,"result":{}}
                EXPECT
        "#;
        run(&story.replace("GIVEN", given).replace("OPTIONS", options).replace("EXPECT", expect));
    }
}

#[test]
fn reload_changes_who_is_audited() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"tools/call"}
            1< {"id":2,"method":"tools/call"}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        config is as it was; audit all
        A> {"id":2,"method":"tools/call"}
            1< {"id":3,"method":"tools/call"}
        1> {"id":3,"result":{}}
            A< {"id":2,"result":{}}
            - called by A owner (-, stdio): tools/call files - at /p in backend-1#1: ok…
        config is as it was; audit none
        A> {"id":3,"method":"tools/call"}
            1< {"id":4,"method":"tools/call"}
        1> {"id":4,"result":{}}
            A< {"id":3,"result":{}}
    "#);
}

/// A cancelled call may still be answered, and a client may leave after it has cancelled.
#[test]
fn cancelled_call_is_reported_once() {
    run(r#"
        given audit all; linger 30s
        A opens 1
        A> {"id":1,"method":"tools/call"}
            1< {"id":2,"method":"tools/call"}
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            - called by A owner (-, stdio): tools/call files - at /p in backend-1#1: cancelled…
            1< {"method":"notifications/cancelled","params":{"requestId":2}}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":2,"method":"tools/call"}
            1< {"id":3,"method":"tools/call"}
        A> {"method":"notifications/cancelled","params":{"requestId":2}}
            - called by A owner (-, stdio): tools/call files - at /p in backend-1#1: cancelled…
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
        A leaves
            1< {"method":"notifications/cancelled",…
    "#);
}

#[test]
fn call_of_a_lost_client_is_reported() {
    run(r#"
        given audit all; linger 30s
        A opens 1
        A> {"id":1,"method":"tools/call"}
            1< {"id":2,"method":"tools/call"}
        A leaves
            - called by A owner (-, stdio): tools/call files - at /p in backend-1#1: cancelled…
            1< {"method":"notifications/cancelled",…
        1> {"id":2,"result":{}}
    "#);
}

#[test]
fn failed_and_refused_calls_are_reported() {
    run(r#"
        given audit all; deny secret*
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            1< {"id":2,"method":"tools/call","params":{"name":"read"}}
        1 ends: killed
            A< {"id":1,"error":…
            - called by A owner (-, stdio): tools/call files read at /p in backend-1#1: backend_unavailable…
            - restart after a pause
        A> {"id":2,"method":"tools/call","params":{"name":"secrets"}}
            - called by A owner (-, stdio): tools/call files secrets at - in -: unknown_name after 0ns…
            A< {"id":2,"error":…
    "#);
}

#[test]
fn record_has_the_servers_own_names() {
    run(r#"
        given audit all; servers other; framing newline
        A greets all: 1 2
        1 completes handshake 2; offers {"tools":{}}
        1 lists 3: read
        2 completes handshake 4; offers {"tools":{}}; answers A
        2 lists 5: write; store 1
        A confirms
        A> {"id":1,"method":"tools/call","params":{"name":"other__write"}}
            2< {"id":6,"method":"tools/call","params":{"name":"write"}}
        2> {"id":6,"result":{}}
            A< {"id":1,"result":{}}
            - called by A owner (-, stdio): tools/call other write at /p in backend-2#1: ok…
        A> {"id":2,"method":"tools/call","params":{"name":"nobody__x"}}
            - called by A owner (-, stdio): tools/call - nobody__x at - in -: unknown_name…
            A< {"id":2,"error":…
    "#);
}

#[test]
fn arguments_are_recorded_on_request() {
    run(r#"
        given audit all; audit.arguments
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"/x"}}}
            1< {"id":2,"method":"tools/call","params":{"name":"read","arguments":{"path":"/x"}}}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
            - called by A owner …bytes {"name":"read","arguments":{"path":"/x"}}
    "#);
}
