//! Limits in bytes on what is stored for calls between the eras: calls that may have to be sent again, and paused ones with
//! their questions and answers.

use super::eras::play;
use super::eras_for_modern::{OPEN, PAUSED, tell};

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

/// A paused call of a modern client with so many bytes.
#[track_caller]
fn paused(client_bytes: u32, story: &str) {
    tell(&format!("given client_bytes {client_bytes}\n{OPEN}{PAUSED}{story}"));
}

/// A question of a legacy server.
fn ask(id: &str, bytes: usize) -> String {
    let message = "x".repeat(bytes);
    format!(r#"1> {{"id":"{id}","method":"elicitation/create","params":{{"message":"{message}"}}}}"#)
}

/// Questions that come during a pause are stored until the client comes back.
#[test]
fn stored_questions_are_limited_by_bytes() {
    let (r, s, t, u) = (ask("r", 900), ask("s", 900), ask("t", 900), ask("u", 9));
    paused(
        3000,
        &format!(
            r#"
        {r}
        {s}
        {t}
            1< {{"id":"t","error":{{…"kind":"overloaded"…
        {u}
        A> {{"id":"c","method":"tools/call","params":{{"name":"t","inputResponses":{{"1":{{"action":"accept"}}}},"requestState":"$state1",$E}}}}
            1< {{"id":"q","result":{{"action":"accept"}}}}
            A< {{"id":"c","result":{{"resultType":"input_required","inputRequests":{{"2":{{…}},"3":{{…}},"4":{{…}}}},"requestState":"…"}}}}
        A> {{"id":"d","method":"tools/call","params":{{"name":"t","inputResponses":{{"2":{{}},"3":{{}},"4":{{}}}},"requestState":"$state2",$E}}}}
            1< {{"id":"r","result":{{}}}}
            1< {{"id":"s","result":{{}}}}
            1< {{"id":"u","result":{{}}}}
        {t}
            A< {{"id":"d","result":{{"resultType":"input_required",…
        "#
        ),
    );
}

/// The ids of servers count like their words.
#[test]
fn stored_ids_are_limited_by_bytes() {
    let (r, s) = (ask(&"r".repeat(1500), 9), ask(&"s".repeat(1500), 9));
    paused(3000, &format!("{r}\n{s}\n1< {{\"id\":\"ss…\"kind\":\"overloaded\"…"));
}

/// The client continues the call, and hears that it has ended.
#[test]
fn stored_answers_are_limited_by_bytes() {
    let large = "x".repeat(3000);
    for (answer, told) in [
        (r#""result":{"content":[]}"#.to_owned(), r#""result":{"resultType":"complete","content":[]}}"#),
        (
            format!(r#""result":{{"content":["{large}"]}}"#),
            r#""error":{"code":-32603,…"kind":"client_too_slow"…"retryable":false…"#,
        ),
        (
            format!(r#""error":{{"code":1,"message":"{large}"}}"#),
            r#""error":{"code":-32603,…"kind":"client_too_slow"…"retryable":false…"#,
        ),
    ] {
        paused(
            3000,
            &format!(
                r#"
            1> {{"id":3,{answer}}}
            A> {{"id":"c","method":"tools/call","params":{{"name":"t","requestState":"$state1",$E}}}}
                1< {{"id":"q","result":{{"action":"cancel"}}}}
                A< {{"id":"c",{told}
            "#
            ),
        );
    }
}

/// All clients of a principal share the room, since a server may have a process for each.
#[test]
fn paused_calls_are_limited_by_bytes() {
    let large = "x".repeat(2600);
    paused(
        3000,
        &format!(
            r#"
        B comes
            start 2 at nowhere
        2 spawns
        B> {{"id":"x","method":"tools/call","params":{{"name":"{large}",$E}}}}
            2< {{"id":5,"method":"initialize",…}}
        2> {{"id":5,"result":{{"capabilities":{{}}}}}}
            2< {{"method":"notifications/initialized"}}
            2< {{"id":4,"method":"tools/call",…
        2> {{"id":"q","method":"elicitation/create","params":{{"message":"sure?"}}}}
            2< {{"id":"q","error":{{…"kind":"overloaded"…
        A> {{"id":"c","method":"tools/call","params":{{"name":"t","inputResponses":{{"1":{{}}}},"requestState":"$state1",$E}}}}
            1< {{"id":"q","result":{{}}}}
        2> {{"id":"r","method":"elicitation/create","params":{{"message":"sure?"}}}}
            B< {{"id":"x","result":{{"resultType":"input_required",…
        "#
        ),
    );
}

/// Nobody waits for its answer at present, but it is stored.
#[test]
fn paused_call_counts_for_its_client() {
    let large = "x".repeat(20_000);
    tell(&format!(
        r#"given client_bytes 50000
        {OPEN}
        A> {{"id":"b","method":"tools/call","params":{{"name":"{large}",$E}}}}
            1< {{"id":3,"method":"tools/call",…
        1> {{"id":"q","method":"elicitation/create","params":{{"message":"sure?"}}}}
            A< {{"id":"b","result":{{"resultType":"input_required",…
        A> {{"id":"c","method":"prompts/list","params":{{"cursor":"{large}{large}",$E}}}}
            A< {{"id":"c","error":{{…"kind":"overloaded"…
        "#
    ));
}
