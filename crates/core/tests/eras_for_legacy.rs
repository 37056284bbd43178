//! Legacy clients of modern-only servers: detection of such a server, and the translated handshake.

use crate::eras::play;

/// `$O` in a story: an id of the translator's own, without its last two digits.
const OWN_IDS: &str = "45035996273704";

/// A translated answer to `initialize`.
const WELCOME: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{}},"serverInfo":{"name":"unknown","version":"0"}}"#;

#[track_caller]
fn translate(story: &str) {
    play(&story.replace("$W", WELCOME).replace("$O", OWN_IDS));
}

/// A client whose server of unknown era refuses `initialize`, and gets `server/discover`.
const REFUSED: &str = r#"
    A starts 1
    A> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}} -> 1 as 1
    1> {"id":1,"error":{"code":-32601,"message":"no"}}
        1< {"id":$O98,"method":"server/discover","params":{$M}}
"#;

#[track_caller]
fn refused(story: &str) {
    translate(&format!("{REFUSED}{story}"));
}

/// The same, after the server's answer.
const FOUND: &str = r#"
    1> {"id":$O98,"result":$D}
        1< {"id":$O99,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
        record 0: modern only
        A< {"id":"i","result":$W}
    A> {"method":"notifications/initialized"}
"#;

#[track_caller]
fn found(story: &str) {
    refused(&format!("{FOUND}{story}"));
}

#[test]
fn refused_initialize_triggers_discovery() {
    found(
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":2,"method":"tools/call","params":{$M,"name":"x"}}
        1> {"id":2,"result":{"resultType":"complete","content":[]}}
            A< {"id":"a","result":{"content":[]}}
        "#,
    );
}

/// Some clients write absent members as null.
#[test]
fn null_is_no_declaration() {
    for meta in ["null", "[]", "7"] {
        found(&format!(
            r#"
            A> {{"id":"a","method":"tools/call","params":{{"name":"x","_meta":{meta}}}}}
                1< {{"id":2,"method":"tools/call","params":{{"name":"x",$M}}}}
            "#
        ));
    }
}

/// Several servers may be one to a client, and each process begins to count anew.
#[test]
fn each_process_has_its_own_elicitation_ids() {
    let asks = |process: u32, id: u32, question: u32| {
        format!(
            r#"
            A> {{"id":"a","method":"tools/call","params":{{"name":"x"}}}}
                {process}< {{"id":{id},"method":"tools/call",…
            {process}> {{"id":{id},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"elicitation/create","params":{{"mode":"url","url":"https://x.test/","message":"m"}}}}}}}}}}
                A< {{"id":{question},"method":"elicitation/create","params":{{"elicitationId":"switchboard-0-1.{process}-$O97","mode":"url",…
            "#
        )
    };
    let (first, second) = (asks(1, 2, 1), asks(2, 4, 2));
    translate(&format!(
        r#"
        given era modern
        A starts 1
        A> {{"id":"i","method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{"elicitation":{{"url":{{}}}}}}}}}}
            1< {{"id":1,"method":"server/discover",…
        1> {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}
            A< {{"id":"i",…
        A> {{"method":"notifications/initialized"}}
        {first}
        1 ends: exit code 1
            A< {{"id":"a","error":{{"code":-32002…
            A< {{"method":"notifications/cancelled",…
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {{"id":3,"method":"server/discover",…
        2> {{"id":3,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}
        {second}
        "#
    ));
}

#[test]
fn refusal_is_returned_if_not_modern() {
    refused(
        r#"
        1> {"id":$O98,"error":{"code":-32601,"message":"never heard of it"}}
            A< {"id":"i","error":{"code":-32601,"message":"no"}}
        A> {"id":"j","method":"initialize","params":{}} -> 1 as 2
        1> {"id":2,"error":{"code":-32601,"message":"no"}}
            1< {"id":$O99,"method":"server/discover","params":{$M}}
        "#,
    );
}

#[test]
fn refusal_is_returned_if_the_server_exits() {
    refused(
        r#"
        1 ends
            A< {"id":"i","error":{"code":-32601,"message":"no"}}
        "#,
    );
}

/// A refusal that names our modern version.
const NAMES_OURS: &str =
    r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-06-18"}}"#;

/// Servers of the Rust SDK exit after they have refused the version.
#[test]
fn exit_after_version_refusal_restarts() {
    translate(&format!(
        r#"
        A starts 1
        A> {{"id":"i","method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}}}}}} -> 1 as 1
        B comes
        B> {{"id":"j","method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}}}}}}
        1> {{"id":1,"error":{NAMES_OURS}}}
            1< {{"id":$O98,"method":"server/discover","params":{{$M}}}}
        1 ends: exit code 1
            - retry: initialize
            start 2 at nowhere
        2 spawns
            2< {{"id":$O97,"method":"server/discover","params":{{$M}}}}
        2> {{"id":$O97,"result":$D}}
            2< {{"id":$O98,"method":"subscriptions/listen","params":{{$M,"notifications":{{"toolsListChanged":true}}}}}}
            record 0: modern only
            A< {{"id":"i","result":$W}}
            B< {{"id":"j","result":$W}}
        A> {{"method":"notifications/initialized"}}
        A> {{"id":"a","method":"tools/call","params":{{"name":"x"}}}}
            2< {{"id":3,"method":"tools/call","params":{{$M,"name":"x"}}}}
        "#
    ));
}

/// The server is restarted only once.
#[test]
fn server_that_keeps_exiting_fails() {
    translate(&format!(
        r#"
        A starts 1
        A> {{"id":"i","method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}}}}}} -> 1 as 1
        1> {{"id":1,"error":{NAMES_OURS}}}
            1< {{"id":$O98,"method":"server/discover","params":{{$M}}}}
        1 ends: exit code 1
            - retry: initialize
            start 2 at nowhere
        2 spawns
            2< {{"id":$O97,"method":"server/discover","params":{{$M}}}}
        2 ends: exit code 1
            A< {{"id":"i","error":{{…"kind":"backend_spawn_failed"…
        "#
    ));
}

/// A process that has ended gets nothing.
#[test]
fn waiting_handshake_fails_with_its_process() {
    refused(
        r#"
        B comes
        B> {"id":"j","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        1 ends
            A< {"id":"i","error":{"code":-32601,"message":"no"}}
            B< {"id":"j","error":{…"kind":"backend_spawn_failed"…
        "#,
    );
}

#[test]
fn refusal_is_returned_after_silence() {
    refused(
        r#"
        +4.9s
        +0.1s
            A< {"id":"i","error":{"code":-32601,"message":"no"}}
        "#,
    );
}

#[test]
fn other_refusals_are_passed_on() {
    translate(
        r#"
        A starts 1
        A> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}} -> 1 as 1
        1> {"id":1,"error":{"code":-32000,"message":"no licence"}}
            A< {"id":"i","error":{"code":-32000,"message":"no licence"}}
        "#,
    );
}

#[test]
fn next_process_gets_discovery_first() {
    found(
        r#"
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":$O97,"method":"server/discover","params":{$M}}
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
        2> {"id":$O97,"result":$D}
            2< {"id":$O98,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
            2< {"id":3,"method":"tools/call","params":{$M,"name":"x"}}
        2> {"id":3,"result":{"resultType":"complete","content":[]}}
            A< {"id":"a","result":{"content":[]}}
        "#,
    );
}

#[test]
fn second_client_gets_the_stored_welcome() {
    found(
        r#"
        B comes
        B> {"id":9,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
            B< {"id":9,"result":$W}
        B> {"method":"notifications/initialized"}
        B> {"id":10,"method":"ping"}
            B< {"id":10,"result":{}}
        B> {"id":11,"method":"tools/list"}
            1< {"id":4,"method":"tools/list","params":{$M}}
        "#,
    );
}

/// The server was updated, or replaced by an older one.
#[test]
fn outdated_era_is_forgotten() {
    found(
        r#"
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":$O97,"method":"server/discover","params":{$M}}
        2> {"id":$O97,"error":{"code":-32601,"message":"never heard of it"}}
            2< {"id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        2> {"id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}
            2< {"method":"notifications/initialized"}
        A> {"id":"a","method":"tools/call","params":{"name":"x"}} -> 2 as 3
        "#,
    );
}

#[test]
fn silent_server_gets_the_handshake() {
    found(
        r#"
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":$O97,"method":"server/discover","params":{$M}}
        +5s
            2< {"id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        2> {"id":$O97,"error":{"code":-32601,"message":"late"}}
            - late answer dropped
        2> {"id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}
            2< {"method":"notifications/initialized"}
        "#,
    );
}

#[test]
fn exit_on_initialize_triggers_discovery() {
    translate(
        r#"
        A starts 1
        A> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}} -> 1 as 1
        1 ends: exit code 9
            A< {"id":"i","error":{"code":-32001…
        A> {"id":"j","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
            start 2 at nowhere
        2 spawns
            2< {"id":$O97,"method":"server/discover","params":{$M}}
        A> {"method":"notifications/initialized"}
        2> {"id":$O97,"error":{"code":-32601,"message":"never heard of it"}}
            2< {"id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
            2< {"method":"notifications/initialized"}
        2> {"id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}
            A< {"id":"j","result":{"protocolVersion":"2025-06-18","capabilities":{}}}
        "#,
    );
}

#[test]
fn known_legacy_server_is_not_probed() {
    translate(
        r#"
        given era legacy
        A starts 1
        A> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}} -> 1 as 1
        1> {"id":1,"error":{"code":-32601,"message":"no"}}
            A< {"id":"i","error":{"code":-32601,"message":"no"}}
        "#,
    );
}

/// Switchboard answers a client's ping itself, so the health check must reach the server.
#[test]
fn health_check_reaches_the_server() {
    found(
        r#"
        A> {"id":"a","method":"tools/call","params":{"name":"x"}}
            1< {"id":2,"method":"tools/call","params":{$M,"name":"x"}}
        +10min
            A< {"id":"a","error":{"code":-32003…
            1< {"method":"notifications/cancelled","params":{"reason":"timed out","requestId":2}}
            - probe
            1< {"id":3,"method":"server/discover","params":{$M}}
        1> {"id":3,"result":$D}
        +1min
        "#,
    );
}
