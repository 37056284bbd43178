//! Clients and servers of the modern era, and clients that make no handshake at all.

use crate::story::run;

/// `$M` in a story: the declaration of a modern request.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// `$S` in a story: the declaration of a request whose client supports sampling.
const SAMPLING: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}"#;

/// `$T` in a story: the declaration of a request whose client knows tasks.
const TASKS: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

/// `$D` in a story: the result of `server/discover`.
const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{}},"ttlMs":0,"cacheScope":"private"}"#;

/// `$sub` in a story: the `_meta` key of a subscription.
const SUBSCRIPTION: &str = r#""io.modelcontextprotocol/subscriptionId""#;

#[track_caller]
pub(crate) fn play(story: &str) {
    let story =
        story.replace("$M", META).replace("$S", SAMPLING).replace("$T", TASKS).replace("$D", DISCOVERED);
    run(&story.replace("$sub", SUBSCRIPTION));
}

/// A modern client of a modern server, whose process has answered `server/discover`.
const OPEN: &str = r#"
    given era modern
    A starts 1
    A> {"id":"a","method":"tools/list","params":{$M}}
        1< {"id":2,"method":"server/discover","params":{$M}}
    1> {"id":2,"result":$D}
        1< {"id":1,"method":"tools/list","params":{$M}}
    1> {"id":1,"result":{"tools":[],"ttlMs":5}} -> A as "a"
"#;

#[track_caller]
fn open(story: &str) {
    play(&format!("{OPEN}{story}"));
}

/// A modern client, and a process of unknown era that is asked for it.
const ASKED: &str = r#"
    A starts 1
    A> {"id":"a","method":"tools/list","params":{$M}}
        1< {"id":2,"method":"server/discover","params":{$M}}
"#;

#[track_caller]
fn ask(story: &str) {
    play(&format!("{ASKED}{story}"));
}

#[test]
fn modern_pair_passes_untouched() {
    open(
        r#"
        A> raw { "jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"x",$M,"n":0.700}}
            1< raw { "jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x",$M,"n":0.700}}
        1> raw {"result":{"resultType":"input_required","requestState":"\u0041=","inputRequests":{}},"jsonrpc":"2.0","id":3}
            A< raw {"result":{"resultType":"input_required","requestState":"\u0041=","inputRequests":{}},"jsonrpc":"2.0","id":"b"}
        A> {"id":"c","method":"tools/call","params":{"name":"x","requestState":"\u0041=","inputResponses":{},$M}} -> 1 as 4
        A> {"method":"notifications/cancelled","params":{"requestId":"c"}}
            1< {"method":"notifications/cancelled","params":{"requestId":4}}
        A> {"id":"d","method":"server/discover","params":{$M}} -> 1 as 5
        1> {"id":5,"result":$D} -> A as "d"
        "#,
    );
}

#[test]
fn modern_request_declares_everything() {
    open(
        r#"
        A> {"id":"b","method":"tools/list"}
            A< {"id":"b","error":{"code":-32602,…"kind":"missing_meta"…
        A> {"id":"c","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
            A< {"id":"c","error":{"code":-32602,…clientCapabilities…
        A> {"id":"d","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}
            A< {"id":"d","error":{"code":-32022,…"requested":"1900-01-01"…"supported":["2026-07-28"]…
        "#,
    );
}

/// The specification has both a result and a cancellation for it.
#[test]
fn server_cancels_a_subscription() {
    open(
        r#"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}} -> 1 as 3
        1> {"method":"notifications/cancelled","params":{"requestId":99}}
        1> {"method":"notifications/cancelled","params":{"requestId":3}}
            A< {"id":"s","result":{"resultType":"complete","_meta":{$sub:"s"}}}
        1> {"method":"notifications/cancelled","params":{"requestId":3}}
        "#,
    );
}

#[test]
fn subscription_has_the_ids_of_each_side() {
    open(
        r#"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}} -> 1 as 3
        1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:3}}}
            A< {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:"s"}}}
        1> {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:3}}}
            A< {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:"s"}}}
        1> {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:99}}}
        +10min
        1> {"id":3,"result":{"resultType":"complete","_meta":{$sub:3}}}
            A< {"id":"s","result":{"resultType":"complete","_meta":{$sub:"s"}}}
        "#,
    );
}

#[test]
fn cancelled_subscription_is_over() {
    open(
        r#"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}} -> 1 as 3
        A> {"method":"notifications/cancelled","params":{"requestId":"s"}}
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
        1> {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:3}}}
        A closes its end
            - switchboard is shutting down
            stop 1
        "#,
    );
}

#[test]
fn subscription_ends_in_order_with_us() {
    open(
        r#"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}} -> 1 as 3
        drain
            1< {"method":"notifications/cancelled","params":{"reason":"the subscription has ended","requestId":3}}
            A< {"id":"s","result":{"resultType":"complete","_meta":{$sub:"s"}}}
            - switchboard is shutting down
            stop 1 within 5s
        "#,
    );
}

#[test]
fn modern_server_has_no_requests() {
    open(
        r#"
        1> {"id":7,"method":"sampling/createMessage"}
            1< {"id":7,"error":{"code":-32601,…
        1> {"method":"notifications/tools/list_changed"}
        "#,
    );
}

#[test]
fn log_messages_follow_the_only_request() {
    open(
        r#"
        1> {"method":"notifications/message","params":{"level":"info","data":0}}
            - no listener for notifications/message
        A> {"id":"b","method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}}} -> 1 as 3
        1> {"method":"notifications/message","params":{"level":"info","data":1}}
            A< {"method":"notifications/message","params":{"level":"info","data":1}}
        "#,
    );
}

#[test]
fn initialize_makes_a_client_legacy() {
    open(
        r#"
        A> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
            start 2 at nowhere
        "#,
    );
}

#[test]
fn capabilities_may_change_per_request() {
    open(
        r#"
        A> {"id":"b","method":"tools/call","params":{"name":"x",$S}} -> 1 as 3
        A> {"id":"c","method":"tools/call","params":{"name":"x",$M}} -> 1 as 4
        1> {"id":3,"result":{}} -> A as "b"
        "#,
    );
}

#[test]
fn server_of_unknown_era_is_asked_first() {
    play(
        r#"
        A starts 1
        A> {"id":"a","method":"tools/list","params":{$S}}
            1< {"id":2,"method":"server/discover","params":{$S}}
        1> {"id":2,"result":$D}
            record 0: modern
            1< {"id":1,"method":"tools/list","params":{$S}}
        1> {"id":1,"result":{"tools":[]}} -> A as "a"
        "#,
    );
}

/// The next process must find what this one holds, such as a port.
#[test]
fn legacy_server_ends_before_it_is_told() {
    play(
        r#"
        A starts 1
        A> {"id":"a","method":"server/discover","params":{$S}}
            1< {"id":2,"method":"server/discover","params":{$S}}
        1> {"id":2,"error":{"code":-32601,"message":"no"}}
            - it does not speak the modern era
            stop 1 now
        1 ends: killed
            start 2 at nowhere
        2 spawns
            2< {"id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},…}}
        2> {"id":3,"result":{"capabilities":{"tools":{}}}}
            record 0: legacy
            2< {"method":"notifications/initialized"}
            A< {"id":"a","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}
        "#,
    );
}

#[test]
fn server_that_wants_our_version_is_modern() {
    ask(r#"
        1> {"id":2,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}
            1< {"id":3,"method":"server/discover","params":{$M}}
        1> {"id":3,"result":$D}
            record 0: modern
            1< {"id":1,"method":"tools/list","params":{$M}}
        "#);
}

#[test]
fn version_is_refused_twice() {
    ask(r#"
        1> {"id":2,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}
            1< {"id":3,"method":"server/discover","params":{$M}}
        1> {"id":3,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}
            - it does not speak the modern era
            stop 1 now
        "#);
}

#[test]
fn silent_server_gets_the_handshake() {
    play(
        r#"
        A starts 1
        A> {"id":"a","method":"server/discover","params":{$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        +5s
            1< {"id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25",…}}
        1> {"id":3,"result":{"capabilities":{}}}
            - it does not speak the modern era
            stop 1 now
        1 ends: killed
            start 2 at nowhere
        "#,
    );
}

#[test]
fn slow_server_may_still_be_modern() {
    ask(r#"
        +5s
            1< {"id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25",…}}
        +5s
        1> {"id":2,"result":$D}
            record 0: modern
            1< {"id":1,"method":"tools/list","params":{$M}}
        1> {"id":3,"error":{"code":-32601,"message":"no"}}
        1> {"id":1,"result":{"tools":[]}} -> A as "a"
        "#);
}

/// It may have ended for another reason, so the verdict is stored when it has answered `initialize`.
#[test]
fn process_may_end_on_the_question() {
    ask(r#"
        1 ends: exit code 1
            start 2 at nowhere
        2 spawns
            2< {"id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25",…}}
        2> {"id":3,"result":{"capabilities":{}}}
            record 0: legacy
            2< {"method":"notifications/initialized"}
            2< {"id":1,"method":"tools/list","params":{}}
        "#);
}

/// A broken start says nothing about the era for long.
#[test]
fn supposed_era_is_asked_again() {
    ask(r#"
        1 ends: exit code 1
            start 2 at nowhere
        2 spawns
            2< {"id":3,"method":"initialize",…}
        2 ends: exit code 1
            A< {"id":"a","error":{…"kind":"backend_spawn_failed"…
        +1min
        A> {"id":"b","method":"tools/list","params":{$M}}
            start 3 at nowhere
        3 spawns
            3< {"id":5,"method":"initialize",…}
        "#);
}

#[test]
fn client_without_a_handshake_is_served() {
    run(r#"
        A starts 1
        A> {"id":7,"method":"tools/list"}
            1< {"id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},…}}
        1> {"id":2,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/list"}
        1> {"id":1,"result":{"tools":[]}} -> A as 7
        A> {"id":8,"method":"ping"} -> 1 as 3
    "#);
}

#[test]
fn request_before_initialize_is_greeted() {
    run(r#"
        A comes
            start 1 at nowhere
        A> {"id":7,"method":"tools/call"}
        A> {"id":8,"method":"initialize"}
            start 2 at nowhere
        1 spawns
            1< {"id":3,"method":"initialize","params":{"protocolVersion":"2024-11-05",…}}
        1> {"id":3,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/call"}
        1> {"id":1,"result":{}} -> A as 7
    "#);
}

#[test]
fn open_handshake_is_not_replaced_by_ours() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"initialize"} -> 1 as 1
        A> {"id":2,"method":"initialize"} -> 1 as 2
        1> {"id":2,"error":{"code":-1,"message":"no"}} -> A as 2
        A> {"id":3,"method":"tools/list"} -> 1 as 3
    "#);
}

#[test]
fn modern_errors_use_the_modern_codes() {
    open(
        r#"
        A> {"id":"b","method":"tools/call","params":{"name":"x",$M}} -> 1 as 3
        1 ends: exit code 1
            A< {"id":"b","error":{"code":-32603,…"kind":"backend_unavailable"…
            - restart after a pause
        "#,
    );
}

/// `$L` in a story: the declaration of a request that wants log messages.
pub(crate) const LOGGED: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}"#;

#[test]
fn two_modern_clients_share_a_process() {
    play(
        &r#"
        given era modern; linger 30s
        A comes; folder /p
            start 1 at /p
        1 spawns
        A> {"id":1,"method":"tools/call","params":{"name":"x",$L}}
            1< {"id":2,"method":"server/discover",…}
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"tools/call","params":{"name":"x",$L}}
        B comes; folder /p
        B> {"id":1,"method":"tools/call","params":{"name":"y",$L}} -> 1 as 3
        1> {"method":"notifications/message","params":{"level":"info","data":1}}
            - no listener for notifications/message
        B> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$S}} -> 1 as 4
        1> {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:4}}}
            B< {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:"s"}}}
        A> {"method":"notifications/cancelled","params":{"requestId":"s"}}
        1> {"id":3,"result":{"resultType":"task","taskId":"t","status":"working"}} -> B as 1
        A> {"id":2,"method":"tasks/get","params":{"taskId":"t",$T}}
            A< {"id":2,"error":{"code":-32602,…
        A> {"id":2,"method":"tasks/update","params":{"taskId":"t","inputResponses":{},$T}}
            A< {"id":2,"error":{"code":-32602,…
        A> {"id":2,"method":"tasks/cancel","params":{"taskId":"t",$T}}
            A< {"id":2,"error":{"code":-32602,…
        A> {"id":3,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"]},$M}}
            A< {"id":3,"error":{"code":-32602,…
        B> {"id":2,"method":"tasks/update","params":{"taskId":"t",$T}} -> 1 as 9
        B leaves
            1< {"method":"notifications/cancelled","params":{…"requestId":4}}
            1< {"method":"notifications/cancelled","params":{…"requestId":9}}
        1> {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:4}}}
        1> {"method":"notifications/message","params":{"level":"info","data":2}}
            A< {"method":"notifications/message","params":{"level":"info","data":2}}
        "#
        .replace("$L", LOGGED),
    );
}

/// What cannot be read cannot be checked.
#[test]
fn unreadable_subscription_is_refused() {
    open(
        r#"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"],"toolsListChanged":1},$M}}
            A< {"id":"s","error":{"code":-32602,…
        A> {"id":"t","method":"subscriptions/listen","params":{"notifications":{},"notifications":{"taskIds":["t"]},$M}}
            A< {"id":"t","error":{"code":-32602,…
        A> {"id":"u","method":"subscriptions/listen","params":{$M}}
            A< {"id":"u","error":{"code":-32602,…
        "#,
    );
}

/// The id of a task can be guessed before it exists.
#[test]
fn news_of_anothers_task_are_withheld() {
    open(
        r#"
        B comes
        B> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"]},$M}} -> 1 as 3
        A> {"id":"b","method":"tools/call","params":{"name":"x",$M}} -> 1 as 4
        1> {"id":4,"result":{"resultType":"task","taskId":"t","status":"working"}} -> A as "b"
        1> {"method":"notifications/tasks","params":{"taskId":"t","status":"completed","_meta":{$sub:3}}}
        A> {"id":"l","method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"]},$M}} -> 1 as 5
        1> {"method":"notifications/tasks","params":{"taskId":"t","status":"completed","_meta":{$sub:5}}}
            A< {"method":"notifications/tasks","params":{"taskId":"t","status":"completed","_meta":{$sub:"l"}}}
        "#,
    );
}

/// Each token has a connection of its own to a remote server, but all of them reach the same tasks.
#[test]
fn tasks_of_a_remote_server_have_owners() {
    play(
        r#"
        given remote; era modern
        A comes; principal 1
            start 1 at nowhere
        1 spawns
        A> {"id":"a","method":"tools/call","params":{"name":"x",$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"tools/call","params":{"name":"x",$M}}
        1> {"id":1,"result":{"resultType":"task","taskId":"t","status":"working"}} -> A as "a"
        B comes; principal 2
        B> {"id":"b","method":"tasks/get","params":{"taskId":"t",$T}}
            start 2 at nowhere
        2 spawns
            2< {"id":4,"method":"server/discover","params":{$T}}
        2> {"id":4,"result":$D}
            B< {"id":"b","error":{…"message":"Unknown task: t"…
        "#,
    );
}

/// What an input round got is for one request only, however equal the next one is.
#[test]
fn continued_reads_reach_the_server_twice() {
    open(
        r#"
        A> {"id":"r","method":"resources/read","params":{"uri":"x:a",$M}} -> 1 as 3
        1> {"id":3,"result":{"resultType":"input_required","requestState":"s","inputRequests":{}}} -> A as "r"
        A> {"id":"r1","method":"resources/read","params":{"uri":"x:a","requestState":"s","inputResponses":{},$M}} -> 1 as 4
        1> {"id":4,"result":{"resultType":"complete","contents":[],"ttlMs":60000,"cacheScope":"public"}} -> A as "r1"
        A> {"id":"r2","method":"resources/read","params":{"uri":"x:a","requestState":"s","inputResponses":{},$M}} -> 1 as 5
        A> {"id":"r3","method":"resources/read","params":{"uri":"x:a","requestState":"s","inputResponses":{},$M}} -> 1 as 6
        1> {"id":6,"result":{"contents":[]}} -> A as "r3"
        1> {"id":5,"error":{"code":-32602,"message":"used"}} -> A as "r2"
        "#,
    );
}

/// Its server may have used the state before it died. What continues nothing is sent again.
#[test]
fn crash_ends_continued_requests() {
    let sent = |method: &str, params: &str| {
        format!(
            r#"
            A> {{"id":"{method}","method":"{method}","params":{{{params},"requestState":"s",$M}}}} -> 1
            A> {{"id":"i-{method}","method":"{method}","params":{{{params},"inputResponses":{{}},$M}}}} -> 1
            "#
        )
    };
    let ended = r#"
        A> {"id":"fresh","method":"resources/read","params":{"uri":"x:b",$M}} -> 1 as 7
        1 ends: exit code 1
            A< {"id":"prompts/get","error":{"code":-32603,…"kind":"backend_unavailable"…
            A< {"id":"i-prompts/get","error":{"code":-32603,…"kind":"backend_unavailable"…
            A< {"id":"resources/read","error":{"code":-32603,…"kind":"backend_unavailable"…
            A< {"id":"i-resources/read","error":{"code":-32603,…"kind":"backend_unavailable"…
            - retry: resources/read
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":8,"method":"server/discover",…
        2> {"id":8,"result":$D}
            2< {"id":7,"method":"resources/read","params":{"uri":"x:b",$M}}
    "#;
    let [prompt, resource] = [("prompts/get", r#""name":"p""#), ("resources/read", r#""uri":"x:a""#)];
    open(&format!("{}{}{ended}", sent(prompt.0, prompt.1), sent(resource.0, resource.1)));
}

/// A subscription is a use of resources and tasks.
#[test]
fn rights_hold_for_subscriptions() {
    play(
        r#"
        given era modern; profile work methods subscriptions/listen
        A comes; profile work
            start 1 at nowhere
        1 spawns
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["x:a"]},$M}}
            A< {"id":"s","error":{…"kind":"forbidden"…
        A> {"id":"t","method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"]},$M}}
            A< {"id":"t","error":{…"kind":"forbidden"…
        "#,
    );
}
