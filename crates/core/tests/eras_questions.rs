//! Input that modern servers want of legacy clients: who is asked, and what a client must have declared.

use super::eras::play;

/// An `initialize` that declares these capabilities.
fn hello(capabilities: &str) -> String {
    format!(
        r#""method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}}}"#
    )
}

/// The answer to `server/discover`, of a server that announces nothing.
const QUIET: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#;

/// A result that wants input.
fn wanted(request: &str) -> String {
    format!(r#"{{"resultType":"input_required","requestState":"s","inputRequests":{{"k":{request}}}}}"#)
}

const QUESTION: &str = r#"{"method":"elicitation/create","params":{"message":"?"}}"#;

/// A legacy client of a modern server.
#[track_caller]
fn greeted(given: &str, capabilities: &str, story: &str) {
    let hello = hello(capabilities);
    play(&format!(
        r#"
        given era modern; {given}
        A starts 1
        A> {{"id":"i",{hello}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{QUIET}}}
            A< {{"id":"i","result":…}}
        A> {{"method":"notifications/initialized"}}
        {story}"#
    ));
}

/// The server has no way to hear of a refusal, so the call fails.
#[test]
fn undeclared_input_fails_the_call() {
    let url = r#"{"method":"elicitation/create","params":{"mode":"url","url":"https://x.test/"}}"#;
    let with_tools =
        r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}"#;
    let roots = r#"{"method":"roots/list"}"#;
    for (declared, request, capability) in [
        (r#"{"elicitation":{}}"#, url, "elicitation.url"),
        (r#"{"elicitation":{"url":{}}}"#, QUESTION, "elicitation.form"),
        ("{}", QUESTION, "elicitation.form"),
        (r#"{"sampling":{}}"#, with_tools, "sampling.tools"),
        ("{}", roots, "roots"),
    ] {
        let wanted = wanted(request);
        greeted(
            "shared",
            declared,
            &format!(
                r#"
                A> {{"id":"b","method":"tools/call","params":{{"name":"t"}}}}
                    1< {{"id":2,"method":"tools/call",…}}
                1> {{"id":2,"result":{wanted}}}
                    A< {{"id":"b","result":{{"content":[{{"text":"The client lacks a capability that this tool needs: the client does not declare `{capability}`",…"isError":true}}}}
                A> {{"id":"c","method":"prompts/get","params":{{"name":"p"}}}}
                    1< {{"id":3,"method":"prompts/get",…}}
                1> {{"id":3,"result":{wanted}}}
                    A< {{"id":"c","error":{{"code":-32021,…"kind":"missing_capability"…
                "#
            ),
        );
    }
}

/// A process may be shared by clients that declare different capabilities.
#[test]
fn declared_input_is_asked_for() {
    let url = wanted(r#"{"method":"elicitation/create","params":{"mode":"url","url":"https://x.test/"}}"#);
    greeted(
        "shared",
        r#"{"elicitation":{"form":{},"url":{}}}"#,
        &format!(
            r#"
            A> {{"id":"b","method":"tools/call","params":{{"name":"t"}}}}
                1< {{"id":2,"method":"tools/call",…}}
            1> {{"id":2,"result":{url}}}
                A< {{"id":1,"method":"elicitation/create",…"mode":"url"…
            "#
        ),
    );
}

/// Switchboard's own requests for lists belong to no client.
#[test]
fn own_list_asks_nobody() {
    let wanted = wanted(QUESTION);
    greeted(
        "pinning hold",
        r#"{"elicitation":{}}"#,
        &format!(
            r#"
                1< {{"id":2,"method":"tools/list",…}}
            1> {{"id":2,"result":{wanted}}}
            "#
        ),
    );
}

/// B has left the lists to Switchboard, and A alone has used the process.
#[test]
fn list_for_one_client_asks_no_other() {
    let (hello, wanted) = (hello(r#"{"elicitation":{}}"#), wanted(QUESTION));
    greeted(
        "shared",
        r#"{"elicitation":{}}"#,
        &format!(
            r#"
            A> {{"id":"a","method":"tools/call","params":{{"name":"x"}}}}
                1< {{"id":2,…}}
            1> {{"id":2,"result":{{"resultType":"complete","content":[]}}}}
                A< {{"id":"a","result":{{"content":[]}}}}
            B comes; server all
            B> {{"id":"i",{hello}
                1< {{"id":4,"method":"tools/list",…}}
                B< {{"id":"i","result":…
            1> {{"id":4,"result":{wanted}}}
            "#
        ),
    );
}

/// Only calls, prompts and resources can be continued.
#[test]
fn lists_and_handshakes_ask_nobody() {
    let (hello, wanted) = (hello(r#"{"elicitation":{}}"#), wanted(QUESTION));
    play(&format!(
        r#"
        given era modern
        A starts 1
        A> {{"id":"i",{hello}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{wanted}}}
            A< {{"id":"i","error":…
        "#
    ));
    greeted(
        "shared",
        r#"{"elicitation":{}}"#,
        &format!(
            r#"
            A> {{"id":"b","method":"tools/list"}}
                1< {{"id":2,"method":"tools/list",…}}
            1> {{"id":2,"result":{wanted}}}
                A< {{"id":"b","error":…"kind":"bad_answer"…
            "#
        ),
    );
}

/// Two clients with other roots share a process, since each call has its own. Only the client of the call is asked.
#[test]
fn roots_of_a_call_are_those_of_its_client() {
    let (hello, wanted) = (hello(r#"{"roots":{}}"#), wanted(r#"{"method":"roots/list"}"#));
    greeted(
        "shared; timeout 60s",
        r#"{"roots":{}}"#,
        &format!(
            r#"
            B comes
            B> {{"id":"i",{hello}
                B< {{"id":"i","result":…}}
            B> {{"method":"notifications/initialized"}}
            B> {{"id":"b","method":"tools/call","params":{{"name":"y"}}}}
                1< {{"id":3,…}}
            A> {{"id":"a","method":"tools/call","params":{{"name":"x"}}}}
                1< {{"id":4,…}}
            1> {{"id":4,"result":{wanted}}}
                A< {{"id":1,"method":"roots/list"…
            1> {{"id":3,"result":{wanted}}}
                B< {{"id":2,"method":"roots/list"…
            A> {{"id":1,"result":{{"roots":[{{"uri":"file:///a"}}]}}}}
                1< {{…"method":"tools/call","params":{{…"inputResponses":{{"k":{{"roots":[{{"uri":"file:///a"}}]}}}}…"name":"x"…
            B> {{"id":2,"result":{{"roots":[{{"uri":"file:///b"}}]}}}}
                1< {{…"method":"tools/call","params":{{…"inputResponses":{{"k":{{"roots":[{{"uri":"file:///b"}}]}}}}…"name":"y"…
            "#
        ),
    );
}

/// Its server hears of the cancellation, and asks all the same.
#[test]
fn cancelled_call_asks_nobody() {
    let wanted = wanted(QUESTION);
    greeted(
        "shared",
        r#"{"elicitation":{}}"#,
        &format!(
            r#"
            A> {{"id":"b","method":"tools/call","params":{{"name":"t"}}}}
                1< {{"id":2,"method":"tools/call",…}}
            A> {{"method":"notifications/cancelled","params":{{"requestId":"b"}}}}
                1< {{"method":"notifications/cancelled","params":{{"requestId":2}}}}
            1> {{"id":2,"result":{wanted}}}
            "#
        ),
    );
}
