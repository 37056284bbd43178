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

/// Some clients write absent members as null.
#[test]
fn null_is_no_declaration() {
    legacy(
        "{}",
        r#"
        A> {"id":"b","method":"tools/list","params":{"_meta":null}}
            1< {"id":2,"method":"tools/list","params":{…"io.modelcontextprotocol/protocolVersion"…}}
        "#,
    );
}

const WANTED: &str = r#"{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}}}"#;

/// The body of a call in progress is stored, to be sent again, and counts like that of a call that waits.
#[test]
fn translated_calls_in_progress_count() {
    let large = "x".repeat(20_000);
    let call = |id: &str| {
        format!(
            r#"A> {{"id":"{id}","method":"tools/call","params":{{"name":"t","arguments":{{"x":"{large}"}}}}}}"#
        )
    };
    let (b, c) = (call("b"), call("c"));
    legacy(
        "{}",
        &format!(
            r#"
        given client_bytes 30000
        {b}
            1< {{"id":2,"method":"tools/call",…}}
        {c}
            A< {{"id":"c","error":{{…"kind":"overloaded"…
        "#
        ),
    );
}

/// Questions that come during a pause are stored until the client comes back.
#[test]
fn stored_questions_are_limited_by_bytes() {
    let large = "x".repeat(900);
    let ask = |at: u32| {
        format!(r#"1> {{"id":{at},"method":"elicitation/create","params":{{"message":"{large}"}}}}"#)
    };
    let (first, more) = (ask(1), (2..8).map(ask).collect::<Vec<_>>().join("\n"));
    let last = ask(9);
    declaring(
        r#"{"elicitation":{}}"#,
        &format!(
            r#"
        given client_bytes 3000
        {first}
            A< {{"id":"b","result":{{"resultType":"input_required",…
        {more}
        {last}
            1< {{"id":9,"error":{{…
        "#
        ),
    );
}

/// A call that was cancelled while its server did not read: nobody is asked about it.
#[test]
fn translator_hears_of_a_cancellation_although_the_server_does_not_read() {
    let large = "x".repeat(700);
    legacy(
        r#"{"elicitation":{}}"#,
        &format!(
            r#"
        given backend_bytes 1000
        A> {{"id":"b","method":"tools/call","params":{{"name":"t"}}}}
            1< {{"id":2,"method":"tools/call",…}}
        1 stops reading
        A> {{"id":"c","method":"tools/call","params":{{"name":"t","arguments":{{"x":"{large}"}}}}}}
            1< {{"id":3,"method":"tools/call",…}}
        A> {{"method":"notifications/cancelled","params":{{"requestId":"b"}}}}
            - notification dropped
        1 reads
        1> {{"id":2,"result":{WANTED}}}
        "#
        ),
    );
}
