//! Modern clients of several servers, some of them legacy: merged discovery and lists, and errors of one server.

use super::eras::play;

/// A modern client of a legacy server that has tasks, and of a modern one.
const OPEN: &str = r#"
    given era legacy; servers more; server 1; era modern
    A comes; folder /p; server all
    A> {"id":"a","method":"tools/list","params":{$M}}
        start 1 at /p
        start 2 at /p
    1 spawns
        1< {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25",…}}
    2 spawns
        2< {"id":3,"method":"server/discover","params":{$M}}
    1> {"id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}},"resources":{}},"serverInfo":{"name":"s"}}}
        1< {"method":"notifications/initialized"}
        1< {"id":4,"method":"tools/list"}
        1< {"id":5,"method":"resources/list"}
        1< {"id":6,"method":"resources/templates/list"}
    2> {"id":3,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"own":{}},"ttlMs":9000,"cacheScope":"public"}}
        2< {"id":7,"method":"tools/list","params":{$M}}
    1> {"id":4,"result":{"tools":[{"name":"a","execution":{"taskSupport":"optional"},"n":1.0},{ "name":"b" }]}}
    1> {"id":5,"result":{"resources":[{"uri":"x:y","name":"y"}]}}
    1> {"id":6,"result":{"resourceTemplates":[]}}
        store 0
    2> {"id":7,"result":{"tools":[{"name":"c","execution":{"own":1}}],"ttlMs":9000,"cacheScope":"public"}}
        store 1
        A< {"id":"a","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private",…"tools":[{"name":"files__a","n":1.0},{ "name":"files__b" },{"name":"more__c","execution":{"own":1}}]}}
"#;

#[track_caller]
fn open(story: &str) {
    play(&format!("{OPEN}{story}"));
}

#[test]
fn legacy_tasks_are_not_discovered() {
    open(
        r#"
        A> {"id":"d","method":"server/discover","params":{$M}}
            A< {"id":"d","result":{"_meta":{…},"cacheScope":"private","capabilities":{"own":{},"resources":{"listChanged":true},"tools":{"listChanged":true}},"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0}}
        "#,
    );
}

/// Legacy clients share the process and the lists with modern clients.
#[test]
fn legacy_clients_still_see_tasks() {
    play(
        r#"
        given era legacy; linger 10min
        A comes; folder /p; server all
        A> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
            start 1 at /p
        1 spawns
            1< {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
        1> {"id":2,"result":{"capabilities":{"tools":{},"tasks":{}}}}
            A< {"id":0,"result":{"capabilities":{"tasks":{},"tools":{"listChanged":true}},…}}
            1< {"method":"notifications/initialized"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"a","execution":{"taskSupport":"optional"}}]}}
            store 0
        B comes; folder /p; server all
        B> {"id":"b","method":"tools/list","params":{$M}}
            B< {"id":"b","result":{…"tools":[{"name":"files__a"}]}}
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__a","execution":{"taskSupport":"optional"}}]}}
        B> {"id":"c","method":"server/discover","params":{$M}}
            B< {"id":"c","result":{…"capabilities":{"tools":{"listChanged":true}},…}}
        "#,
    );
}

#[test]
fn errors_have_modern_codes() {
    for (method, params, public, code, expect) in [
        ("resources/read", r#""uri":"x:y""#, r#""uri":"x:y""#, -32002, -32602),
        ("tools/call", r#""name":"a""#, r#""name":"files__a""#, -32002, -32602),
        ("tools/call", r#""name":"a""#, r#""name":"files__a""#, -32099, -32603),
        (
            "completion/complete",
            r#""ref":{"type":"ref/resource","uri":"x:y"}"#,
            r#""ref":{"type":"ref/resource","uri":"x:y"}"#,
            -32002,
            -32602,
        ),
    ] {
        open(&format!(
            r#"
            A> {{"id":"r","method":"{method}","params":{{{public},$M}}}}
                1< {{"id":9,"method":"{method}","params":{{{params}}}}}
            1> {{"id":9,"error":{{"code":{code},"message":"no","data":{{"n":1.0}}}}}}
                A< {{"id":"r","error":{{"code":{expect},"message":"no","data":{{"n":1.0}}}}}}
            "#
        ));
    }
    open(
        r#"
        A> {"id":"u","method":"tools/call","params":{"name":"files__a",$M}}
            1< {"id":9,"method":"tools/call","params":{"name":"a"}}
        1> {"id":9,"error":{"code":-32042,"message":"open","data":{"elicitations":[{"mode":"url","url":"x:y"}]}}}
            A< {"id":"u","error":{"code":-32021,"message":"open","data":{"requiredCapabilities":{"elicitation":{"url":{}}},"elicitations":[{"mode":"url","url":"x:y"}]}}}
        "#,
    );
}

/// A single server with plain names, whose discovery is that of the server itself.
const PLAIN: &str = r#"
    given plain; linger 10min
"#;

#[test]
fn single_legacy_server_is_discovered() {
    play(&format!(
        r#"
        {PLAIN}
        given era legacy
        A comes; folder /p; server all
        A> {{"id":"a","method":"server/discover","params":{{$M}}}}
            start 1 at /p
        1 spawns
            1< {{"id":2,"method":"initialize",…}}
        1> {{"id":2,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{"listChanged":true}},"tasks":{{}}}},"serverInfo":{{"name":"s"}},"instructions":"be kind"}}}}
            1< {{"method":"notifications/initialized"}}
            1< {{"id":3,"method":"tools/list"}}
        1> {{"id":3,"result":{{"tools":[{{"name":"a","execution":{{"taskSupport":"required"}}}}]}}}}
            store 0
            A< {{"id":"a","result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{"listChanged":true}}}},"instructions":"be kind","ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s"}}}}}}}}
        A> {{"id":"l","method":"tools/list","params":{{$M}}}}
            A< {{"id":"l","result":{{"resultType":"complete",…"tools":[{{"name":"a"}}]}}}}
        "#
    ));
}

/// The server is slow, so its client gets the stored answers.
#[test]
fn stored_welcome_is_of_the_clients_era() {
    for (given, shown) in [
        (
            r#"stored read for "2026-07-28" {"x":{}}"#,
            r#"{"capabilities":{"completions":{},…,"serverInfo":{"name":"switchboard",…"#,
        ),
        (
            r#"stored read for "2025-06-18" {"x":{}}"#,
            r#"{"serverInfo":"stored","capabilities":{"tools":{}}}}"#,
        ),
    ] {
        play(&format!(
            r#"
            {PLAIN}
            given slow 1 50s; {given}
            A comes; folder /p; server all
            A greets
                A< {{"id":0,"result":{shown}
            "#
        ));
    }
}

/// A slow server with stored lists from other clients, of one era or of both.
#[test]
fn stored_lists_are_of_the_servers_era() {
    let stored = r#"stored old for "2025-06-18" {"x":{}}"#;
    let other = r#"stored new for "2026-07-28" {"x":{}}"#;
    let probed = "start 1 at /p\n+10s";
    for (given, probed, shown) in [
        (stored.to_owned(), probed, r#"[{"name":"files__old"}]"#),
        (format!("{other}; {stored}"), probed, r#"[{"name":"files__new"}]"#),
        (format!("era modern; {stored}"), "", "[]"),
        (format!("era modern; {other}; {stored}"), "", r#"[{"name":"files__new"}]"#),
        (format!("era legacy; {other}"), "", "[]"),
        (format!("era legacy; {other}; {stored}"), "", r#"[{"name":"files__old"}]"#),
    ] {
        println!("{given}");
        play(&format!(
            r#"
            given slow 1 50s; {given}
            A comes; folder /p; server all
            A> {{"id":"a","method":"tools/list","params":{{$M}}}}
                {probed}
                A< {{"id":"a","result":{{…"tools":{shown}}}}}
            "#
        ));
    }
}
