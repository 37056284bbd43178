//! Limits in bytes on what is stored for calls between the eras: calls that may have to be sent again.

use super::eras::play;

/// A legacy client of a modern server, with so many bytes.
#[track_caller]
fn legacy(client_bytes: u32, story: &str) {
    play(&format!(
        r#"
        given era modern; client_bytes {client_bytes}
        A starts 1
        A> {{"id":"i","method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"elicitation":{{}}}}}}}}
            1< {{"id":1,"method":"server/discover",…}}
        1> {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private"}}}}
            A< {{"id":"i","result":…}}
        A> {{"method":"notifications/initialized"}}
        {story}"#
    ));
}

/// A call of a legacy client with so many bytes more.
fn call(id: &str, bytes: usize) -> String {
    let more = "x".repeat(bytes);
    format!(
        r#"A> {{"id":"{id}","method":"tools/call","params":{{"name":"t","arguments":{{"x":"{more}"}}}}}}"#
    )
}

/// The body of a call in progress is stored, to be sent again, and counts like that of a call that waits.
#[test]
fn translated_calls_in_progress_count() {
    let (b, c, d) = (call("b", 20_000), call("c", 20_000), call("d", 20_000));
    legacy(
        30_000,
        &format!(
            r#"
        {b}
            1< {{"id":2,"method":"tools/call",…
        {c}
            A< {{"id":"c","error":{{…"kind":"overloaded"…
        1> {{"id":2,"result":{{"resultType":"complete","content":[]}}}}
            A< {{"id":"b","result":{{"content":[]}}}}
        {d}
            1< {{"id":3,"method":"tools/call",…
        "#
        ),
    );
}

/// It is not sent again. Its late answer needs no more than its method.
#[test]
fn cancelled_translated_calls_count_no_more() {
    let (b, c) = (call("b", 20_000), call("c", 20_000));
    legacy(
        30_000,
        &format!(
            r#"
        {b}
            1< {{"id":2,"method":"tools/call",…
        A> {{"method":"notifications/cancelled","params":{{"requestId":"b"}}}}
            1< {{"method":"notifications/cancelled","params":{{"requestId":2}}}}
        {c}
            1< {{"id":3,"method":"tools/call",…
        1> {{"id":2,"result":{{"resultType":"complete","content":[]}}}}
            A< {{"id":"b","result":{{"content":[]}}}}
        "#
        ),
    );
}

/// They are stored until all questions of a round have an answer.
#[test]
fn answers_of_a_translated_call_count() {
    let (answer, c) = ("x".repeat(20_000), call("c", 20_000));
    let ask = r#"{"method":"elicitation/create","params":{"message":"?"}}"#;
    legacy(
        30_000,
        &format!(
            r#"
        A> {{"id":"b","method":"tools/call","params":{{"name":"t"}}}}
            1< {{"id":2,"method":"tools/call",…
        1> {{"id":2,"result":{{"resultType":"input_required","inputRequests":{{"k":{ask},"l":{ask}}}}}}}
            A< {{"id":1,"method":"elicitation/create",…
            A< {{"id":2,"method":"elicitation/create",…
        A> {{"id":1,"result":{{"action":"accept","content":{{"x":"{answer}"}}}}}}
        {c}
            A< {{"id":"c","error":{{…"kind":"overloaded"…
        "#
        ),
    );
}
