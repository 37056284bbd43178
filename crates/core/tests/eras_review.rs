//! Findings of a review. Each story says what should happen, and fails until it does.

use super::eras::play;

const DECLARES: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":CAPS}"#;

/// A modern client of a legacy server that declares these capabilities, with an open call.
#[track_caller]
fn declaring(capabilities: &str, story: &str) {
    let meta = DECLARES.replace("CAPS", capabilities);
    let story = format!(
        r#"
        given era legacy; timeout 20min
        A starts 1
        A> {{"id":"b","method":"tools/call","params":{{"name":"t",$E}}}}
            1< {{"id":2,"method":"initialize",…}}
        1> {{"id":2,"result":{{"capabilities":{{}}}}}}
            1< {{"method":"notifications/initialized"}}
            1< {{"id":1,"method":"tools/call","params":{{"name":"t"}}}}
        {story}"#
    );
    play(&story.replace("$E", &meta));
}

const URL: &str = r#"{"mode":"url","elicitationId":"e","url":"https://x.test/","message":"m"}"#;

#[test]
fn url_needs_its_mode_at_a_legacy_server() {
    for declared in [r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#] {
        declaring(
            declared,
            &format!(
                r#"
            1> {{"id":"q","method":"elicitation/create","params":{URL}}}
                1< {{"id":"q","error":{{…
            "#
            ),
        );
    }
}

#[test]
fn form_needs_its_mode_at_a_legacy_server() {
    declaring(
        r#"{"elicitation":{"url":{}}}"#,
        r#"
        1> {"id":"q","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}
            1< {"id":"q","error":{…
        "#,
    );
}

#[test]
fn sampling_with_tools_needs_its_capability() {
    declaring(
        r#"{"sampling":{}}"#,
        r#"
        1> {"id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[{"name":"x","inputSchema":{"type":"object"}}]}}
            1< {"id":"q","error":{…
        "#,
    );
}

/// A legacy client of a modern server, with an open call.
#[track_caller]
fn legacy(capabilities: &str, story: &str) {
    let story = format!(
        r#"
        given era modern
        A starts 1
        A> {{"id":"i","method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}}}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}
            A< {{"id":"i","result":…}}
        A> {{"method":"notifications/initialized"}}
        {story}"#
    );
    play(&story);
}

/// The call must fail: nobody can answer.
#[test]
fn url_needs_its_mode_at_a_modern_server() {
    for declared in [r#"{"elicitation":{}}"#, "{}"] {
        legacy(
            declared,
            &format!(
                r#"
            A> {{"id":"b","method":"tools/call","params":{{"name":"t"}}}}
                1< {{"id":2,"method":"tools/call",…}}
            1> {{"id":2,"result":{{"resultType":"input_required","requestState":"s","inputRequests":{{"k":{{"method":"elicitation/create","params":{URL}}}}}}}}}
                A< {{"id":"b",…
            "#
            ),
        );
    }
}

#[test]
fn sampling_with_tools_needs_its_capability_at_a_modern_server() {
    legacy(
        r#"{"sampling":{}}"#,
        r#"
        A> {"id":"b","method":"tools/call","params":{"name":"t"}}
            1< {"id":2,"method":"tools/call",…}
        1> {"id":2,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}}}}
            A< {"id":"b",…
        "#,
    );
}

/// Two requests that JSON values cannot hold are not equal.
#[test]
fn state_is_for_its_own_arguments_whatever_they_are() {
    use super::eras_for_modern::open;
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

/// Two programs with one token over HTTP: one has closed its response, and the server asks about its call late.
#[test]
fn question_of_an_ended_call_is_not_for_another_program() {
    use super::eras_for_modern::{OPEN, tell};
    let open = OPEN.replace("A starts 1", "A comes; session none\nstart 1 at nowhere\n1 spawns");
    tell(&format!(
        r#"{open}
        A> {{"id":"one","method":"tools/call","params":{{"name":"t",$E}}}}
            1< {{"id":3,"method":"tools/call","params":{{"name":"t"}}}}
        A> {{"method":"notifications/cancelled","params":{{"requestId":"one"}}}}
            1< {{"method":"notifications/cancelled","params":{{"requestId":3}}}}
        +6s
        A> {{"id":"two","method":"tools/call","params":{{"name":"u",$E}}}}
            1< {{"id":4,"method":"tools/call","params":{{"name":"u"}}}}
        1> {{"id":"q","method":"elicitation/create","params":{{"message":"password of program one?"}}}}
            1< {{"id":"q","error":{{…
        "#
    ));
}

const WANTED: &str = r#"{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}}}"#;

/// Our own requests for lists are of no client: a server has nobody to ask about them.
#[test]
fn own_list_asks_nobody() {
    play(&format!(
        r#"
        given era modern; pinning hold
        A starts 1
        A> {{"id":"i","method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"elicitation":{{}}}}}}}}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}
            A< {{"id":"i","result":…}}
        A> {{"method":"notifications/initialized"}}
            1< {{"id":2,"method":"tools/list",…}}
        1> {{"id":2,"result":{WANTED}}}
        "#
    ));
}

/// Only calls, prompts and resources can be continued. A client must not be asked before its handshake is over.
#[test]
fn handshake_asks_nobody() {
    play(&format!(
        r#"
        given era modern
        A starts 1
        A> {{"id":"i","method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"elicitation":{{}}}}}}}}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{WANTED}}}
            A< {{"id":"i","error":…
        "#
    ));
}

/// The server asks for roots in a call of A, which alone can be meant. B has other roots, and has used the process.
#[test]
fn roots_of_a_call_are_those_of_its_client() {
    let hello =
        r#""method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}"#;
    let roots =
        r#"{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}"#;
    play(&format!(
        r#"
        given era modern; shared; timeout 60s
        A starts 1
        A> {{"id":"i",{hello}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}
            A< {{"id":"i","result":…}}
        A> {{"method":"notifications/initialized"}}
        B comes
        B> {{"id":"i",{hello}
            B< {{"id":"i","result":…}}
        B> {{"method":"notifications/initialized"}}
        B> {{"id":"b","method":"tools/call","params":{{"name":"y"}}}}
            1< {{"id":3,…}}
        A> {{"id":"a","method":"tools/call","params":{{"name":"x"}}}}
            1< {{"id":4,…}}
        1> {{"id":4,"result":{roots}}}
            B< …"method":"roots/list"…
            A< …"method":"roots/list"…
        B> {{"id":1,"result":{{"roots":[{{"uri":"file:///b"}}]}}}}
            look up /b
        found /b
        A> {{"id":2,"result":{{"roots":[{{"uri":"file:///a"}}]}}}}
            look up /a
        found /a
            1< {{…"method":"tools/call","params":{{…"inputResponses":{{"k":{{"roots":[{{"uri":"file:///a"}}]}}}}…
        "#
    ));
}

/// B has left the process' list of tools to us. The server wants input for it, and A alone has used the process.
#[test]
fn list_for_one_client_asks_no_other() {
    let hello = r#""method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}"#;
    play(&format!(
        r#"
        given era modern; shared
        A starts 1
        A> {{"id":"i",{hello}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}
            A< {{"id":"i","result":…}}
        A> {{"method":"notifications/initialized"}}
        A> {{"id":"a","method":"tools/call","params":{{"name":"x"}}}}
            1< {{"id":2,…}}
        1> {{"id":2,"result":{{"resultType":"complete","content":[]}}}}
            A< {{"id":"a","result":{{"content":[]}}}}
        B comes; server all
        B> {{"id":"i",{hello}
            1< {{"id":4,"method":"tools/list",…}}
            B< {{"id":"i","result":…
        1> {{"id":4,"result":{WANTED}}}
            store 0
        "#
    ));
}
