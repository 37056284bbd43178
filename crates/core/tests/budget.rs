//! Time that clients of many servers wait for unknown servers, and retries of slow ones.

use crate::story::run;

/// `files` answers and is known; `more` hangs.
const ONE_HANGS: &str = r#"
    given framing newline; servers more; linger 3600s; stays
    A greets all: 1 2
    1 spawns
        1< …
    2 spawns
        2< …
    1 greets with {"tools":{}}
        1< {"method":"notifications/initialized"}
    1 lists 4: read
    +10s
        record 1: slow, try 1
        A< {"id":0,"result":…}
    A confirms
    A> {"id":1,"method":"tools/list"}
        A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
"#;

#[track_caller]
fn after_hang(story: &str) {
    run(&format!("{ONE_HANGS}{story}"));
}

#[test]
fn a_slow_server_is_not_waited_for_again() {
    after_hang(
        r#"
        B comes; folder /q; server all
        B greets
            B< {"id":0,"result":{…"instructions":"`more` is unavailable; run `switchboard status`"…}}
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        "#,
    );
}

/// The start under way fails after 30 s; then the server is tried after 1, 2 and 4 minutes.
#[test]
fn a_slow_server_is_retried_in_background() {
    after_hang(
        r#"
        +20s
            - it did not answer `initialize`
            stop 2 now
            - it was idle for too long
            stop 1
        1 ends
        2 ends
        +39s
        +1s
            record 1: slow, try 2
            start 3 at /p
        3 spawns
            3< …
        +30s
            - it did not answer `initialize`
            stop 3 now
        3 ends
        +89s
        +1s
            record 1: slow, try 3
            start 4 at /p
        4 completes handshake 7; offers {"tools":{}}
        4 lists 8: write; store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"result":{"tools":[{"name":"files__read"},{"name":"more__write"}]}}
        "#,
    );
}

/// A client that comes a minute after the last try causes another; no client waits for it.
#[test]
fn a_new_client_retries_a_slow_server() {
    run(r#"
        given servers more; linger 3600s; stays; unlisted; server 1; slow 7 3000s
        A comes; folder /p; server all
        A greets
            record 1: slow, try 8
            start 1 at /p
            A< {"id":0,"result":{…"instructions":"`more` is unavailable; run `switchboard status`"…}}
        1 completes handshake 2; offers {"tools":{}}
        1 lists 3: write; store 1
    "#);
}

/// An earlier run found the server slow, a moment ago.
#[test]
fn a_stored_verdict_counts_from_the_start() {
    run(r#"
        given servers more; linger 3600s; stays; unlisted; server 1; slow 1 50s
        A comes; folder /p; server all
        A greets
            A< {"id":0,"result":{"capabilities":{"completions":{},"logging":{},"prompts":…}}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[]}}
        +49s
        +1s
            record 1: slow, try 2
            start 1 at /p
    "#);
}

#[test]
fn codex_is_answered_within_four_seconds() {
    run(r#"
        given servers more; linger 3600s; stays; server 1; unlisted
        A greets all: 1; as codex-mcp-client
        1 spawns
            1< …
        +3.9s
        +0.1s
            record 0: slow, try 1
            A< {"id":0,"result":…}
    "#);
}

/// A failed list does not mean that the server has none: no list is stored, and the server is asked again.
#[test]
fn a_list_that_fails_is_asked_for_again() {
    run(r#"
        given linger 3600s
        A greets all: 1
        1 completes handshake 2; offers {"tools":{},"prompts":{}}; answers A
            1< {"id":3,"method":"tools/list"}
            1< {"id":4,"method":"prompts/list"}
        A confirms
        1> {"id":4,"error":{"code":-32601,"message":"it has none after all"}}
        1> {"id":3,"error":{"code":-32603,"message":"not now"}}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[]}}
        A> {"id":2,"method":"tools/call","params":{"name":"files__read"}}
            1< …
        +60s
        1 lists 7: read
        +1s
            A< {"method":"notifications/tools/list_changed"}
    "#);
}

/// Four that hang do not hold up the fifth, also when nothing else happens.
#[test]
fn hanging_starts_hold_up_nobody() {
    run(r#"
        given servers more third; linger 3600s; stays; pool.max_list_starts 1
        A greets all: 1
            - waits for room
            - waits for room
        1 spawns
            1< …
        +3s
            start 2 at /p
        2 spawns
            2< …
        +3s
            start 3 at /p
    "#);
}

/// A second handshake takes the place of the first, which is answered too.
#[test]
fn a_second_handshake_answers_the_first() {
    run(r#"
        given servers more; linger 3600s; stays
        A greets all: 1 2
        A greets
            A< {"id":0,"error":{"code":-32600,…}}
    "#);
}

/// Codex would begin without any tools: stored lists are not held up for the rest.
#[test]
fn codex_does_not_wait_if_lists_are_stored() {
    run(r#"
        given servers more; linger 3600s; stays; stored_capabilities {"tools":{}} for another kind
        A greets all: 1 2; as codex-mcp-client
            A< {"id":0,"result":…}
        1 spawns
            1< …
        2 spawns
            2< …
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[]}}
        +10s
    "#);
}

/// The budget counts from the handshake; a later server is not waited for.
#[test]
fn a_server_added_later_delays_no_list() {
    run(r#"
        given linger 3600s
        A greets all: 1
        1 completes handshake 2; offers {"tools":{}}; answers A
        1 lists 3: read
        A confirms
        +15s
        config adds one
            start 2 at /p
        2 spawns
            2< …
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        2 greets with {"tools":{}}
            2< …
        2 lists 6: read; store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
    "#);
}

/// A fast failure costs no time, and the next client gives the server another chance.
#[test]
fn a_server_that_fails_fast_is_not_slow() {
    run(r#"
        given servers more; linger 3600s; stays
        A greets all: 1 2
        1 cannot spawn: no
        2 cannot spawn: no
            A< {"id":0,"result":…}
        B greets all: 3 4; folder /q
    "#);
}

/// A server that is slow to start answers in neither framing; the next try is by line again.
#[test]
fn a_slow_server_is_retried_by_line() {
    run(r#"
        given linger 3600s
        A greets all: 1
        1 spawns
            1< …
        +10s
            record 0: slow, try 1
            A< {"id":0,"result":…}
        A confirms
        +20s
            - it did not answer; trying the other framing
            stop 1 now
        1 ends
            start 2 at /p by content-length
        2 spawns
            2< …
        +30s
            - it did not answer; trying the other framing
            stop 2 now
        2 ends
            start 3 at /p
        3 completes handshake 4; offers {"tools":{}}
        3 lists 5: read
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
    "#);
}

/// Servers that are missing when a client asks for logs, and servers that fail later.
#[test]
fn logs_name_unavailable_servers() {
    run(r#"
        given linger 3600s
        A greets all: 1
        1 cannot spawn: no
            A< …
        A confirms
        A> {"id":1,"method":"logging/setLevel","params":{"level":"info"}}
            A< {"id":1,"result":{}}
            A< {"method":"notifications/message","params":{"data":"`files` is unavailable; run `switchboard status`","level":"warning","logger":"switchboard"}}
        config adds one
            start 2 at /p
        2 cannot spawn: no
            A< {"method":"notifications/message","params":{"data":"`more` is unavailable; run `switchboard status`",…}}
        A> {"id":2,"method":"tools/list"}
            start 3 at /p
            start 4 at /p
            A< {"id":2,"result":{"tools":[]}}
        3 cannot spawn: no
        4 cannot spawn: no
    "#);
}

/// Unknown servers start a few at a time. A server that hangs holds up no other.
#[test]
fn starts_for_lists_are_limited() {
    run(r#"
        given servers more; linger 3600s; stays; pool.max_list_starts 1
        A greets all: 1
            - waits for room
        1 spawns
            1< …
        +2s
        +1s
            start 2 at /p
    "#);
    // No running process is evicted for a list.
    run(r#"
        given servers more third; linger 3600s; stays; pool.max_list_starts 1
        A greets all: 1
            - waits for room
            - waits for room
        1 completes handshake 2; offers {"tools":{}}
        1 lists 3
            start 2 at /p
    "#);
}

/// `more` may have the same URI, and is still starting.
#[test]
fn a_plain_uri_waits_for_all_servers() {
    run(r#"
        given servers more; linger 3600s; stays
        A greets all: 1 2
        1 spawns
            1< …
        2 completes handshake 3; offers {"resources":{}}
            2< {"id":4,"method":"resources/list"}
            2< {"id":5,"method":"resources/templates/list"}
        1 greets with {"resources":{}}
            A< {"id":0,…}
            1< {"method":"notifications/initialized"}
            1< {"id":6,"method":"resources/list"}
            1< {"id":7,"method":"resources/templates/list"}
        2> {"id":4,"result":{"resources":[{"name":"x","uri":"x://same"}]}}
        2> {"id":5,"result":{"resourceTemplates":[]}}
            store 1
        A confirms
        A> {"id":1,"method":"resources/read","params":{"uri":"x://same"}}
        1> {"id":6,"result":{"resources":[{"name":"x","uri":"x://same"}]}}
        1> {"id":7,"result":{"resourceTemplates":[]}}
            store 0
            A< {"id":1,"error":…"servers":["files","more"]…}
    "#);
}
