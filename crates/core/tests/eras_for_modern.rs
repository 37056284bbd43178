//! Modern clients of legacy servers: what they send and get, and calls for which the server wants input.

use super::eras::play;

/// `$E` in a story: the declaration of a client that answers elicitation, also with URLs, and sampling.
pub(crate) const ASKED: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}}}"#;

#[track_caller]
pub(crate) fn tell(story: &str) {
    play(&story.replace("$E", ASKED));
}

/// A modern client of a legacy server, which answers elicitation and sampling.
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

/// The same, and a call for which the server wants input.
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
fn messages_change_only_where_the_eras_differ() {
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

/// Whatever the request is about.
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
fn legacy_methods_do_not_exist() {
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
fn question_is_answered_by_the_continued_call() {
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
fn call_may_end_before_it_is_continued() {
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
fn state_is_good_for_one_call_once() {
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

/// The state is of an earlier run of ours, which this one does not know, nor the server's era.
#[test]
fn state_is_refused_once_the_server_turns_out_to_be_legacy() {
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
fn call_that_is_not_continued_is_cancelled() {
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
fn client_that_leaves_cancels_its_paused_call() {
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

/// Only then a question belongs to a call without doubt.
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
fn url_is_opened_before_the_call_is_sent_again() {
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

/// A process of the legacy era serves clients of both.
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

/// Only calls, prompts and reads can be answered with a question.
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

/// Before a server has asked for the first time, several calls may be open. The answer reaches it all the same.
#[test]
fn question_of_another_call_is_answered() {
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
fn kept_answer_is_dropped_in_time() {
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

/// The health check must not take a server for hung that waits for its client.
#[test]
fn paused_call_excuses_a_silent_server() {
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

/// Owners may change a server while one of its calls is paused: the process ends when the call has ended.
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

/// Only calls can be answered `input_required`.
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

/// Each request is answered as it was asked, though its client has changed its era meanwhile.
#[test]
fn request_from_before_the_modern_era_is_not_translated() {
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
