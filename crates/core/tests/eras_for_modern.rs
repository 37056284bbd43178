//! Modern clients of legacy servers: translated messages, and paused calls.

use super::eras::play;

/// `$E` in a story: the declaration of a client that answers elicitation, also with URLs, and sampling.
pub(crate) const ASKED: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}}}"#;

#[track_caller]
pub(crate) fn tell(story: &str) {
    play(&story.replace("$E", ASKED));
}

/// A modern client with elicitation and sampling at a legacy server.
pub(crate) const OPEN: &str = r#"
    given era legacy; timeout 20min
    A starts 1
    A> {"id":"a","method":"server/discover","params":{$E}}
        1< {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}},…}}
    1> {"id":2,"result":{"capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"s"}}}
        1< {"method":"notifications/initialized"}
        A< {"id":"a","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}
"#;

#[track_caller]
pub(crate) fn open(story: &str) {
    tell(&format!("{OPEN}{story}"));
}

/// The same, with a paused call.
pub(crate) const PAUSED: &str = r#"
    A> {"id":"b","method":"tools/call","params":{"name":"t",$E}}
        1< {"id":3,"method":"tools/call","params":{"name":"t"}}
    1> {"id":"q","method":"elicitation/create","params":{"message":"sure?"}}
        A< {"id":"b","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"sure?"}}},"requestState":"…"}}
"#;

#[track_caller]
pub(crate) fn pause(story: &str) {
    open(&format!("{PAUSED}{story}"));
}

#[test]
fn only_era_differences_change_bytes() {
    open(
        &r#"
        A> { "id":"b","method":"tools/call","params":{"name":"t","arguments":{"n":0.700}, "_meta":{"progressToken":"p","traceparent":"00-1",$X}}}
            1< { "id":3,"method":"tools/call","params":{"name":"t","arguments":{"n":0.700}, "_meta":{"progressToken":3,"traceparent":"00-1"}}}
        1> raw {"result":{ "content":[],"n":1.50},"id":3,"jsonrpc":"2.0"}
            A< raw {"result":{ "resultType":"complete","content":[],"n":1.50},"id":"b","jsonrpc":"2.0"}
        "#
        .replace("$X", &ASKED[r#""_meta":{"#.len()..ASKED.len() - 1]),
    );
}

#[test]
fn lists_may_not_be_cached() {
    open(
        r#"
        A> {"id":"b","method":"tools/list","params":{$E}}
            1< {"id":3,"method":"tools/list","params":{}}
        1> {"id":3,"result":{"tools":[{"name":"t","execution":{"taskSupport":"optional"},"n":1.0}]}}
            A< {"id":"b","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"t","n":1.0}]}}
        "#,
    );
}

/// The code changes for every method.
#[test]
fn unknown_resource_has_its_modern_code() {
    for method in ["resources/read", "prompts/get", "tools/call", "completion/complete", "tools/list", "x/y"]
    {
        open(&format!(
            r#"
            A> {{"id":"b","method":"{method}","params":{{"x":1,$E}}}}
                1< {{"id":3,"method":"{method}","params":{{"x":1}}}}
            1> {{"id":3,"error":{{"code":-32002,"message":"no","data":{{"uri":"x:y"}}}}}}
                A< {{"id":"b","error":{{"code":-32602,"message":"no","data":{{"uri":"x:y"}}}}}}
            "#
        ));
    }
}

#[test]
fn legacy_methods_are_unknown() {
    for method in ["ping", "logging/setLevel", "resources/subscribe", "tasks/list", "tasks/get"] {
        open(&format!(
            r#"
            A> {{"id":"b","method":"{method}","params":{{$E}}}}
                A< {{"id":"b","error":{{"code":-32601,…
            "#
        ));
    }
}

#[test]
fn continuation_answers_the_question() {
    pause(
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept","content":{"n":1.0}}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept","content":{"n":1.0}}}
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"c","result":{"resultType":"complete","content":[]}}
        "#,
    );
}

#[test]
fn second_question_needs_another_round() {
    pause(
        r#"
        1> {"id":"r","method":"sampling/createMessage","params":{"x":1}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
            A< {"id":"c","result":{"resultType":"input_required","inputRequests":{"2":{"method":"sampling/createMessage","params":{"x":1}}},"requestState":"…"}}
        A> {"id":"d","method":"tools/call","params":{"name":"t","inputResponses":{"2":{"role":"user"}},"requestState":"$state2",$E}}
            1< {"id":"r","result":{"role":"user"}}
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"d","result":{"resultType":"complete","content":[]}}
        "#,
    );
}

#[test]
fn progress_goes_to_the_continued_call() {
    let token = |call: &str| call.replacen("\"_meta\":{", "\"_meta\":{\"progressToken\":\"new\",", 1);
    let continued = r#"{"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}"#;
    let continued = token(&continued.replace("$E", ASKED));
    pause(&format!(
        r#"
        1> {{"method":"notifications/progress","params":{{"progressToken":3,"progress":1}}}}
        A> {continued}
            1< {{"id":"q","result":{{"action":"accept"}}}}
        1> {{"method":"notifications/progress","params":{{"progressToken":3,"progress":2}}}}
            A< {{"method":"notifications/progress","params":{{"progressToken":"new","progress":2}}}}
        "#
    ));
}

#[test]
fn answer_during_the_pause_is_kept() {
    pause(
        r#"
        1> {"id":3,"result":{"content":[1]}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
            A< {"id":"c","result":{"resultType":"complete","content":[1]}}
        A> {"id":"d","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            A< {"id":"d","error":{"code":-32602,…"kind":"input_expired"…
        "#,
    );
}

#[test]
fn state_is_valid_once_for_one_call() {
    let expired = r#","error":{"code":-32602,…"kind":"input_expired"…"#;
    for (what, call) in [
        (
            "forged",
            r#""name":"t","requestState":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","inputResponses":{}"#,
        ),
        ("not a text", r#""name":"t","requestState":7,"inputResponses":{}"#),
        ("another tool", r#""name":"u","requestState":"$state1","inputResponses":{}"#),
        ("other arguments", r#""name":"t","arguments":{"x":1},"requestState":"$state1","inputResponses":{}"#),
    ] {
        println!("{what}");
        pause(&format!(
            r#"
            A> {{"id":"c","method":"tools/call","params":{{{call},$E}}}}
                A< {{"id":"c"{expired}
            A> {{"id":"d","method":"tools/call","params":{{"name":"t","inputResponses":{{"1":{{"action":"accept"}}}},"requestState":"$state1",$E}}}}
                1< {{"id":"q","result":{{"action":"accept"}}}}
            A> {{"id":"e","method":"tools/call","params":{{"name":"t","inputResponses":{{"1":{{"action":"accept"}}}},"requestState":"$state1",$E}}}}
                A< {{"id":"e"{expired}
            "#
        ));
    }
}

#[test]
fn state_of_another_principal_is_refused() {
    pause(
        r#"
        B comes; principal 2
            start 2 at nowhere
        B> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            B< {"id":"c","error":{"code":-32602,…"kind":"input_expired"…
        "#,
    );
}

/// The state is from an earlier run. This run knows neither the state nor the server's era.
#[test]
fn unknown_state_gets_input_expired() {
    for (request, refused) in [
        (
            r#""method":"tools/call","params":{"name":"t","inputResponses":{"1":{}},"requestState":"AAAA",$E}"#,
            r#"{"code":-32602,…"kind":"input_expired"…"#,
        ),
        (r#""method":"tasks/get","params":{"taskId":"t",$E}"#, r#"{"code":-32601,…"#),
    ] {
        tell(&format!(
            r#"
            A starts 1
            A> {{"id":"a",{request}}}
                1< {{"id":2,"method":"server/discover","params":{{$E}}}}
            1> {{"id":2,"error":{{"code":-32601,"message":"no"}}}}
                - it does not speak the modern era
                stop 1 now
            1 ends: killed
                A< {{"id":"a","error":{refused}
            "#
        ));
    }
}

#[test]
fn abandoned_call_is_cancelled() {
    pause(
        r#"
        +10min
            1< {"id":"q","result":{"action":"cancel"}}
            1< {"method":"notifications/cancelled","params":{"reason":"its client did not continue it in time","requestId":3}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            A< {"id":"c","error":{"code":-32602,…"kind":"input_expired"…
        "#,
    );
}

#[test]
fn disconnect_cancels_the_paused_call() {
    open(&format!(
        r#"{PAUSED}
        B comes
            start 2 at nowhere
        A leaves
            1< {{"id":"q","result":{{"action":"cancel"}}}}
            1< {{"method":"notifications/cancelled","params":{{"reason":"the client has disconnected","requestId":3}}}}
            - its client has left it
            stop 1
        "#
    ));
}

#[test]
fn crash_ends_a_paused_call() {
    pause(
        r#"
        1 ends: signal 9
            - restart after a pause
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            A< {"id":"c","error":{"code":-32602,…"kind":"input_expired"…
        "#,
    );
}

#[test]
fn server_may_withdraw_its_question() {
    pause(
        r#"
        1> {"method":"notifications/cancelled","params":{"requestId":"q"}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"c","result":{"resultType":"complete","content":[]}}
        "#,
    );
}

#[test]
fn continued_call_can_be_cancelled() {
    pause(
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
        A> {"method":"notifications/cancelled","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","x":1},"requestId":"c"}}
            1< {"method":"notifications/cancelled","params":{"_meta":{"x":1},"requestId":3}}
        "#,
    );
}

/// Otherwise it would be unclear to which call a question belongs.
#[test]
fn asking_server_gets_one_call_at_a_time() {
    pause(
        r#"
        A> {"id":"x","method":"tools/call","params":{"name":"u",$E}}
        A> {"id":"l","method":"tools/list","params":{$E}}
            1< {"id":5,"method":"tools/list","params":{}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"c","result":{"resultType":"complete","content":[]}}
            1< {"id":4,"method":"tools/call","params":{"name":"u"}}
        "#,
    );
}

#[test]
fn question_needs_an_open_call() {
    open(
        r#"
        1> {"id":"q","method":"elicitation/create","params":{"message":"sure?"}}
            1< {"id":"q","error":{…"kind":"routing_failed"…
        1> {"id":"p","method":"ping"}
            1< {"id":"p","result":{}}
        "#,
    );
}

#[test]
fn question_needs_a_declared_capability() {
    play(
        r#"
        given era legacy
        A starts 1
        A> {"id":"b","method":"tools/call","params":{"name":"t",$S}}
            1< {"id":2,"method":"initialize",…}
        1> {"id":2,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/call","params":{"name":"t"}}
        1> {"id":"q","method":"elicitation/create","params":{"message":"sure?"}}
            1< {"id":"q","error":{"code":-32601,…
        1> {"id":"r","method":"roots/list"}
            1< {"id":"r","result":{"roots":[]}}
        "#,
    );
}

#[test]
fn call_is_repeated_after_opening_urls() {
    open(
        r#"
        A> {"id":"b","method":"tools/call","params":{"name":"t",$E}}
            1< {"id":3,"method":"tools/call","params":{"name":"t"}}
        1> {"id":3,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.test/","message":"m"}]}}}
            A< {"id":"b","result":{"resultType":"input_required","inputRequests":{"url0":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x.test/","message":"m"}}},"requestState":"…"}}
        1> {"method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"url0":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":4,"method":"tools/call","params":{"name":"t"}}
        1> {"id":4,"result":{"content":[]}}
            A< {"id":"c","result":{"resultType":"complete","content":[]}}
        "#,
    );
}

/// A process of a legacy server serves clients of both eras.
#[test]
fn clients_of_both_eras_share_a_process() {
    play(
        r#"
        given era legacy
        A starts 1
        A> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
            1< {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
        1> {"id":1,"result":{"capabilities":{}}}
            A< {"id":0,"result":{"capabilities":{}}}
        A confirms
            1< {"method":"notifications/initialized"}
        B comes
        B> {"id":"b","method":"tools/call","params":{"name":"t",$M}}
            1< {"id":2,"method":"tools/call","params":{"name":"t"}}
        A> {"id":1,"method":"tools/call","params":{"name":"u"}} -> 1 as 3
        1> {"id":2,"result":{}}
            B< {"id":"b","result":{"resultType":"complete"}}
        1> {"id":3,"result":{}} -> A as 1
        "#,
    );
}

#[test]
fn cancelled_call_ends_once() {
    open(
        r#"
        A> {"id":"b","method":"tools/call","params":{"name":"t",$E}}
            1< {"id":3,"method":"tools/call","params":{"name":"t"}}
        A> {"method":"notifications/cancelled","params":{"requestId":"b"}}
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
        1> {"id":3,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","url":"https://x.test/"}]}}}
            A< {"id":"b","error":{"code":-32603,"message":"m","data":{"elicitations":[{"mode":"url","url":"https://x.test/"}]}}}
        A> {"id":"c","method":"tools/list","params":{$E}}
            1< {"id":4,"method":"tools/list","params":{}}
        "#,
    );
}

/// Only calls, prompts and reads can be paused.
#[test]
fn open_list_gets_no_question() {
    pause(
        r#"
        A> {"id":"l","method":"tools/list","params":{$E}}
            1< {"id":4,"method":"tools/list","params":{}}
        1> {"id":"r","method":"sampling/createMessage","params":{"x":1}}
        1> {"id":4,"result":{"tools":[]}}
            A< {"id":"l","result":{"resultType":"complete",…}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
            A< {"id":"c","result":{"resultType":"input_required","inputRequests":{"2":{…}},"requestState":"…"}}
        "#,
    );
}

/// Before a server's first question, several calls may be open. The answer reaches the server even if the paused call has
/// ended.
#[test]
fn question_pauses_the_latest_open_call() {
    open(
        r#"
        A> {"id":"b","method":"tools/call","params":{"name":"t",$E}}
            1< {"id":3,"method":"tools/call","params":{"name":"t"}}
        A> {"id":"c","method":"tools/call","params":{"name":"u",$E}}
            1< {"id":4,"method":"tools/call","params":{"name":"u"}}
        1> {"id":"q","method":"elicitation/create","params":{"message":"sure?"}}
            A< {"id":"c","result":{"resultType":"input_required",…}}
        1> {"id":4,"result":{"content":["u"]}}
        A> {"id":"d","method":"tools/call","params":{"name":"u","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
            A< {"id":"d","result":{"resultType":"complete","content":["u"]}}
        1> {"id":3,"result":{"content":["t"]}}
            A< {"id":"b","result":{"resultType":"complete","content":["t"]}}
        "#,
    );
}

#[test]
fn kept_answer_expires() {
    pause(
        r#"
        1> {"id":3,"result":{"content":[1]}}
        +10min
            1< {"id":"q","result":{"action":"cancel"}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{},"requestState":"$state1",$E}}
            A< {"id":"c","error":{"code":-32602,…"kind":"input_expired"…
        "#,
    );
}

/// A server that waits for its client must not fail the health check.
#[test]
fn paused_call_is_no_sign_of_a_hang() {
    tell(&format!(
        "{}{PAUSED}{}",
        OPEN.replace("given era legacy;", "given era legacy; health 30s;"),
        r#"
        +1min
            - probe
            1< {"id":4,"method":"ping"}
        +1min
        "#
    ));
}

/// After a changed config, the process of a paused call ends when the call has ended.
#[test]
fn reload_waits_for_a_paused_call() {
    pause(
        r#"
        config changes
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"c","result":{"resultType":"complete","content":[]}}
            - its settings have changed
            stop 1
        "#,
    );
}

/// Only `tools/call`, `prompts/get` and `resources/read` can be answered with `input_required`.
#[test]
fn list_is_not_paused() {
    open(
        r#"
        A> {"id":"b","method":"tools/list","params":{$E}}
            1< {"id":3,"method":"tools/list","params":{}}
        1> {"id":"q","method":"elicitation/create","params":{"message":"sure?"}}
            1< {"id":"q","error":{…"kind":"routing_failed"…
        1> {"id":3,"result":{"tools":[]}}
            A< {"id":"b","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}}
        "#,
    );
}

/// Each request gets an answer of its own era, although its client has changed eras meanwhile.
#[test]
fn undeclared_request_is_not_translated() {
    play(
        r#"
        given era legacy
        A starts 1
        A> {"id":"a","method":"tools/call","params":{"name":"t"}}
            1< {"id":2,"method":"initialize",…}
        1> {"id":2,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/call","params":{"name":"t"}}
        A> {"id":"b","method":"tools/call","params":{"name":"u",$M}}
            1< {"id":3,"method":"tools/call","params":{"name":"u"}}
        1> {"id":1,"result":{"content":[]}}
            A< {"id":"a","result":{"content":[]}}
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"b","result":{"resultType":"complete","content":[]}}
        "#,
    );
}

#[test]
fn audit_has_a_record_of_each_round() {
    let recorded = "- called by A owner (…, stdio): tools/call files t …: ok …";
    tell(&format!(
        "{}{PAUSED}            {recorded}{}",
        OPEN.replace("given era legacy;", "given era legacy; audit all;"),
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"c","result":{"resultType":"complete","content":[]}}
            RECORDED
        "#
        .replace("RECORDED", recorded)
    ));
}

/// Two requests that JSON values cannot hold are not equal.
#[test]
fn state_is_for_exact_arguments() {
    open(
        r#"
        A> {"id":"b","method":"tools/call","params":{"name":"t","arguments":{"n":1e999},$E}}
            1< {"id":3,"method":"tools/call","params":{"name":"t","arguments":{"n":1e999}}}
        1> {"id":"q","method":"elicitation/create","params":{"message":"sure?"}}
            A< {"id":"b","result":{"resultType":"input_required",…}}
        A> {"id":"c","method":"tools/call","params":{"name":"other","arguments":{"n":2e999},"inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            A< {"id":"c","error":{"code":-32602,…"kind":"input_expired"…
        "#,
    );
}
