//! Modern clients of several modern servers.

use super::eras::play;

/// A modern client of two modern servers, whose lists are known.
const OPEN: &str = r#"
    given servers more; era modern; server 1; era modern
    A comes; folder /p; server all
    A> {"id":"a","method":"tools/list","params":{$M}}
        start 1 at /p
        start 2 at /p
    1 spawns
        1< {"id":2,"method":"server/discover","params":{$M}}
    2 spawns
        2< {"id":3,"method":"server/discover","params":{$M}}
    1> {"id":2,"result":$D}
        1< {"id":4,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
        1< {"id":5,"method":"tools/list","params":{$M}}
        1< {"id":6,"method":"resources/list","params":{$M}}
        1< {"id":7,"method":"resources/templates/list","params":{$M}}
"#;

/// The same, whose lists are known too: of two servers, each with a tool `read`.
pub(crate) const LISTED: &str = r#"
    given servers more; era modern; server 1; era modern
    A comes; folder /p; server all
    A> {"id":"a","method":"tools/list","params":{$M}}
        start 1 at /p
        start 2 at /p
    1 spawns
        1< {"id":2,"method":"server/discover","params":{$M}}
    2 spawns
        2< {"id":3,"method":"server/discover","params":{$M}}
    1> {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}
        1< {"id":4,"method":"tools/list","params":{$M}}
    2> {"id":3,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}
        2< {"id":5,"method":"tools/list","params":{$M}}
    1> {"id":4,"result":{"tools":[{"name":"read"}]}}
        store 0
    2> {"id":5,"result":{"tools":[{"name":"read"}]}}
        store 1
        A< {"id":"a","result":{…
"#;

#[track_caller]
fn open(story: &str) {
    play(&format!("{OPEN}{story}"));
}

#[test]
fn modern_servers_are_asked_for_lists() {
    open("");
}

/// The first client's end ends the listen, which the next client needs again.
#[test]
fn next_client_hears_of_changes() {
    let open = OPEN.replace("given servers more;", "given linger 1min; servers more;");
    play(&format!(
        r#"{open}
        A leaves
            1< {{"method":"notifications/cancelled","params":{{"reason":"nobody listens any more","requestId":4}}}}
        B comes; folder /p; server all
        B> {{"id":"b","method":"tools/list","params":{{$M}}}}
            1< {{"id":8,"method":"subscriptions/listen","params":{{$M,"notifications":{{"toolsListChanged":true}}}}}}
        "#
    ));
}

#[test]
fn removed_methods_do_not_exist() {
    open(
        r#"
        A> {"id":"p","method":"ping","params":{$M}}
            A< {"id":"p","error":{"code":-32601,…
        A> {"id":"l","method":"logging/setLevel","params":{"level":"info",$M}}
            A< {"id":"l","error":{"code":-32601,…
        "#,
    );
}

#[test]
fn news_of_a_task_reach_its_client() {
    open(
        r#"
        1> {"id":5,"result":{"tools":[{"name":"x"}]}}
        1> {"id":6,"result":{"resources":[]}}
        1> {"id":7,"result":{"resourceTemplates":[]}}
            store 0
        2> {"id":3,"error":{"code":-32601,"message":"no"}}
            - it refused `initialize`
            stop 2 now
        2 ends: killed
            start 3 at /p
            A< {"id":"a","result":{…
        A> {"id":"b","method":"tools/call","params":{"name":"files__x",$M}}
            1< {"id":9,"method":"tools/call","params":{"name":"x",$M}}
        1> {"id":9,"result":{"resultType":"task","taskId":"t","status":"working"}}
            A< {"id":"b","result":{"resultType":"task","taskId":"files:t","status":"working"}}
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"taskIds":["files:t","files:u","t2"]},$M}}
            A< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:"s"},"notifications":{"taskIds":["files:t"]}}}
            1< {"id":11,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true,"taskIds":["t"]}}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:11}}}
            1< {"method":"notifications/cancelled","params":{"reason":"replaced by another subscription","requestId":4}}
        1> {"method":"notifications/tasks","params":{"taskId":"t","status":"working","_meta":{$sub:11}}}
            A< {"method":"notifications/tasks","params":{"taskId":"files:t","status":"working","_meta":{$sub:"s"}}}
        1> {"method":"notifications/tasks","params":{"taskId":"u","status":"working","_meta":{$sub:11}}}
        A> {"method":"notifications/cancelled","params":{"requestId":"s"}}
            1< {"id":12,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
        1> {"method":"notifications/tasks","params":{"taskId":"t","status":"working","_meta":{$sub:11}}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:12}}}
            1< {"method":"notifications/cancelled","params":{"reason":"replaced by another subscription","requestId":11}}
        "#,
    );
}

/// A server that announces no changes says how long its lists are good.
#[test]
fn stale_list_is_fetched_again() {
    play(
        r#"
        given era modern; idle_ttl 10min; linger 10min
        A comes; folder /p; server all
        A> {"id":"a","method":"tools/list","params":{$M}}
            start 1 at /p
        1 spawns
            1< {"id":2,"method":"server/discover","params":{$M}}
        1> {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}
            1< {"id":3,"method":"tools/list","params":{$M}}
        1> {"id":3,"result":{"tools":[{"name":"x"}],"ttlMs":6000}}
            store 0
            A< {"id":"a","result":{"resultType":"complete","ttlMs":6000,…
        +3s
        A> {"id":"b","method":"tools/list","params":{$M}}
            A< {"id":"b","result":{"resultType":"complete","ttlMs":6000,…
        +3s
        A> {"id":"c","method":"tools/list","params":{$M}}
            1< {"id":6,"method":"tools/list","params":{$M}}
            A< {"id":"c","result":{"resultType":"complete","ttlMs":0,…
        1> {"id":6,"result":{"tools":[{"name":"y"}],"ttlMs":6000}}
            store 0
        A> {"id":"d","method":"tools/list","params":{$M}}
            A< {"id":"d","result":{"resultType":"complete","ttlMs":6000,…"files__y"…
        "#,
    );
}

/// The Python SDK's servers do not declare `logging`, but log as much as a request wants.
#[test]
fn level_of_legacy_client_reaches_modern_server() {
    play(
        r#"
        given era modern
        A comes; folder /p; server all
        A> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
            start 1 at /p
        1 spawns
            1< {"id":2,"method":"server/discover","params":{$M}}
        1> {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}
            A< {"id":"i","result":{…
            1< {"id":3,"method":"tools/list","params":{$M}}
        A> {"method":"notifications/initialized"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        A> {"id":"l","method":"logging/setLevel","params":{"level":"info"}}
            A< {"id":"l","result":{}}
        A> {"id":"a","method":"tools/call","params":{"name":"files__read"}}
            1< {"id":6,…"io.modelcontextprotocol/logLevel":"info"},"name":"read"}}
        "#,
    );
}

/// Whoever does not know tasks has none. That is said before the task is looked at, as servers do.
#[test]
fn tasks_need_their_extension() {
    let asked = |declared: &str, error: &str| {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let listed = LISTED.replace("$M", declared);
            play(&format!(
                r#"{listed}
                A> {{"id":"b","method":"{method}","params":{{"taskId":"t",{declared}}}}}
                    A< {{"id":"b","error":{{{error}
                "#
            ));
        }
    };
    asked("$T", r#""code":-32602,…"Unknown task: t"…"#);
    let needed = r#""requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    asked("$M", &format!(r#""code":-32021,…{needed}…"#));
}
