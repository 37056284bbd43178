//! Late questions about ended calls, and clients without a session that are replaced during a pause.

use super::eras::play;
use super::eras_for_modern::{ASKED, OPEN, PAUSED, open, pause, tell};

/// The server asks again about an ended call, not about the next call.
#[test]
fn late_question_after_expiry_is_refused() {
    pause(
        r#"
        A> {"id":"d","method":"tools/call","params":{"name":"u",$E}}
        +10min
            1< {"id":"q","result":{"action":"cancel"}}
            1< {"method":"notifications/cancelled","params":{"reason":"its client did not continue it in time","requestId":3}}
        1> {"id":"r","method":"elicitation/create","params":{"message":"really?"}}
            1< {"id":"r","error":{…"kind":"routing_failed"…
        +4s
        +1s
            1< {"id":4,"method":"tools/call","params":{"name":"u"}}
        1> {"id":"s","method":"elicitation/create","params":{"message":"sure?"}}
            A< {"id":"d","result":{"resultType":"input_required",…}}
        "#,
    );
}

/// Two programs with one token over HTTP: one has closed its response, and the server asks about its call late.
#[test]
fn late_question_is_for_no_other_program() {
    let open = OPEN.replace("A starts 1", "A comes; session none\nstart 1 at nowhere\n1 spawns");
    tell(&format!(
        r#"{open}
        A> {{"id":"one","method":"tools/call","params":{{"name":"t",$E}}}}
            1< {{"id":3,"method":"tools/call","params":{{"name":"t"}}}}
        A> {{"method":"notifications/cancelled","params":{{"requestId":"one"}}}}
            1< {{"method":"notifications/cancelled","params":{{"requestId":3}}}}
        +5s
        A> {{"id":"two","method":"tools/call","params":{{"name":"u",$E}}}}
            1< {{"id":4,"method":"tools/call","params":{{"name":"u"}}}}
        1> {{"id":"q","method":"elicitation/create","params":{{"message":"password of program one?"}}}}
            - no longer shared by 1
            1< {{"id":"q","error":{{…"kind":"routing_failed"…
        1> {{"id":4,"result":{{"content":[]}}}}
            A< {{"id":"two","result":{{"resultType":"complete","content":[]}}}}
            - it may ask about a call that has ended
            stop 1
        A> {{"id":"three","method":"tools/call","params":{{"name":"v",$E}}}}
            start 2 at nowhere
        "#
    ));
}

/// Otherwise a client could hold up the server for ever.
#[test]
fn continuation_without_answers_gets_no_time() {
    pause(
        r#"
        +9min
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"7":{"action":"accept"}},"requestState":"$state1",$E}}
            A< {"id":"c","result":{"resultType":"input_required",…}}
        +59s
        A> {"id":"d","method":"tools/call","params":{"name":"t","requestState":"$state2",$E}}
            A< {"id":"d","result":{"resultType":"input_required",…}}
        +1s
            1< {"id":"q","result":{"action":"cancel"}}
            1< {"method":"notifications/cancelled","params":{"reason":"its client did not continue it in time","requestId":3}}
        "#,
    );
}

#[test]
fn each_answer_gets_time() {
    pause(
        r#"
        1> {"id":"r","method":"elicitation/create","params":{"message":"really?"}}
        +9min
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
            A< {"id":"c","result":{"resultType":"input_required",…}}
        +9min
        A> {"id":"d","method":"tools/call","params":{"name":"t","inputResponses":{"2":{"action":"accept"}},"requestState":"$state2",$E}}
            1< {"id":"r","result":{"action":"accept"}}
        "#,
    );
}

const CONTINUED: &str = r#"
    A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
        1< {"id":"q","result":{"action":"accept"}}
    A> {"id":"d","method":"tools/call","params":{"name":"u",$E}}
    A> {"method":"notifications/cancelled","params":{"requestId":"c"}}
        1< {"method":"notifications/cancelled","params":{"requestId":3}}
"#;

#[test]
fn late_question_after_cancel_is_refused() {
    pause(&format!(
        r#"{CONTINUED}
        1> {{"id":"r","method":"elicitation/create","params":{{"message":"really?"}}}}
            1< {{"id":"r","error":{{…"kind":"routing_failed"…
        +5s
            1< {{"id":4,"method":"tools/call","params":{{"name":"u"}}}}
        "#
    ));
}

#[test]
fn late_answer_lets_the_next_call_go() {
    pause(&format!(
        r#"{CONTINUED}
        1> {{"id":3,"result":{{"content":[]}}}}
            A< {{"id":"c","result":{{"resultType":"complete","content":[]}}}}
            1< {{"id":4,"method":"tools/call","params":{{"name":"u"}}}}
        1> {{"id":"r","method":"elicitation/create","params":{{"message":"sure?"}}}}
            A< {{"id":"d","result":{{"resultType":"input_required",…}}}}
        "#
    ));
    pause(
        r#"
        A> {"id":"d","method":"tools/call","params":{"name":"u",$E}}
        +10min
            1< {"id":"q","result":{"action":"cancel"}}
            1< {"method":"notifications/cancelled","params":{"reason":"its client did not continue it in time","requestId":3}}
        1> {"id":3,"result":{"content":[]}}
            - late answer dropped
            1< {"id":4,"method":"tools/call","params":{"name":"u"}}
        "#,
    );
}

#[test]
fn next_process_takes_a_call_at_once() {
    pause(&format!(
        r#"{CONTINUED}
        1 ends
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {{"id":5,"method":"initialize",…}}
        2> {{"id":5,"result":{{"capabilities":{{}}}}}}
            2< {{"method":"notifications/initialized"}}
            2< {{"id":4,"method":"tools/call","params":{{"name":"u"}}}}
        "#
    ));
}

/// A question and a cancellation may cross.
#[test]
fn question_may_cross_a_cancellation() {
    for end in [
        r#"
        A> {"method":"notifications/cancelled","params":{"requestId":"b"}}
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
        "#,
        r#"
        +20min
            A< {"id":"b","error":{…"kind":"backend_timeout"…
            1< {"method":"notifications/cancelled","params":{"reason":"timed out","requestId":3}}
            - probe
            1< {"id":4,"method":"ping"}
        1> {"id":4,"result":{}}
        "#,
    ] {
        open(&format!(
            r#"
            A> {{"id":"b","method":"tools/call","params":{{"name":"t",$E}}}}
                1< {{"id":3,"method":"tools/call","params":{{"name":"t"}}}}
            {end}
            A> {{"id":"d","method":"tools/call","params":{{"name":"u",$E}}}}
                1< {{…"method":"tools/call","params":{{"name":"u"}}}}
            1> {{"id":"q","method":"elicitation/create","params":{{"message":"sure?"}}}}
                1< {{"id":"q","error":{{…"kind":"routing_failed"…
            +5s
            1> {{"id":"q","method":"elicitation/create","params":{{"message":"sure?"}}}}
                A< {{"id":"d","result":{{"resultType":"input_required",…}}}}
            "#
        ));
    }
}

/// A client without a session whose call is paused. The gateway may replace such a client.
#[track_caller]
fn replaced(story: &str) {
    let before = format!("{OPEN}{PAUSED}")
        .replace("timeout 20min", "timeout 20min; linger 30min")
        .replace("A starts 1", "A comes; session none\nstart 1 at nowhere\n1 spawns");
    tell(&format!(
        r#"{before}
        B comes; session none
            start 2 at nowhere
        A leaves
        {story}
        1> {{"id":3,"result":{{"content":[]}}}}
            B< {{"id":"d","result":{{"resultType":"complete","content":[]}}}}
            - its client has left it
            stop 1
        "#
    ));
}

#[test]
fn replaced_client_is_asked_again() {
    replaced(
        r#"
        B> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
        1> {"id":"r","method":"elicitation/create","params":{"message":"really?"}}
            B< {"id":"c","result":{"resultType":"input_required","inputRequests":{"2":{"method":"elicitation/create","params":{"message":"really?"}}},"requestState":"…"}}
        B> {"id":"d","method":"tools/call","params":{"name":"t","inputResponses":{"2":{"action":"accept"}},"requestState":"$state2",$E}}
            1< {"id":"r","result":{"action":"accept"}}
        "#,
    );
}

#[test]
fn client_may_be_asked_before_it_is_replaced() {
    replaced(
        r#"
        1> {"id":"r","method":"elicitation/create","params":{"message":"really?"}}
        B> {"id":"d","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$E}}
            1< {"id":"q","result":{"action":"accept"}}
            B< {"id":"d","result":{"resultType":"input_required","inputRequests":{"2":{…}},"requestState":"…"}}
        B> {"id":"d","method":"tools/call","params":{"name":"t","inputResponses":{"2":{"action":"accept"}},"requestState":"$state2",$E}}
            1< {"id":"r","result":{"action":"accept"}}
        "#,
    );
}

/// If the call is not continued, nothing of the client remains.
#[test]
fn departed_client_is_forgotten_in_time() {
    let before = format!("{OPEN}{PAUSED}")
        .replace("timeout 20min", "timeout 20min; linger 30min")
        .replace("A starts 1", "A comes; session none\nstart 1 at nowhere\n1 spawns");
    tell(&format!(
        r#"{before}
        A leaves
        +10min
            1< {{"id":"q","result":{{"action":"cancel"}}}}
            1< {{"method":"notifications/cancelled","params":{{"reason":"its client did not continue it in time","requestId":3}}}}
            - its client has left it
            stop 1
        "#
    ));
}

/// A server that asks questions has a process for each client.
#[test]
fn call_of_another_client_does_not_wait() {
    pause(
        r#"
        B comes
            start 2 at nowhere
        2 spawns
        B> {"id":"x","method":"tools/call","params":{"name":"u",$E}}
            2< {"id":5,"method":"initialize",…}
        2> {"id":5,"result":{"capabilities":{}}}
            2< {"method":"notifications/initialized"}
            2< {"id":4,"method":"tools/call","params":{"name":"u"}}
        "#,
    );
}

/// `$ELICITS` in a story: the declaration of a client with elicitation only.
const ELICITS: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

/// A client without a session whose call is paused, and which declares other capabilities from then on.
#[track_caller]
fn declares_less(story: &str) {
    let before = format!("{OPEN}{PAUSED}")
        .replace("timeout 20min", "timeout 20min; linger 30min")
        .replace("A starts 1", "A comes; session none\nstart 1 at nowhere\n1 spawns");
    tell(&format!("{before}{story}").replace("$ELICITS", ELICITS));
}

/// The client gets no question without the capability in its continuation.
#[test]
fn continuation_refuses_undeclared_question() {
    declares_less(
        r#"
        1> {"id":"r","method":"sampling/createMessage","params":{"x":1}}
        1> {"id":"s","method":"elicitation/create","params":{"message":"really?"}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$ELICITS}}
            1< {"id":"q","result":{"action":"accept"}}
            1< {"id":"r","error":{"code":-32601,…
            A< {"id":"c","result":{"resultType":"input_required","inputRequests":{"3":{"method":"elicitation/create","params":{"message":"really?"}}},"requestState":"…"}}
        1> {"id":"t","method":"sampling/createMessage","params":{"x":2}}
            1< {"id":"t","error":{"code":-32601,…
        A> {"id":"d","method":"tools/call","params":{"name":"t","inputResponses":{"3":{"action":"accept"}},"requestState":"$state2",$ELICITS}}
            1< {"id":"s","result":{"action":"accept"}}
        1> {"id":"u","method":"sampling/createMessage","params":{"x":3}}
            1< {"id":"u","error":{"code":-32601,…
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"d","result":{"resultType":"complete","content":[]}}
        "#,
    );
}

#[test]
fn call_continues_after_undeclared_question() {
    declares_less(
        r#"
        1> {"id":"r","method":"sampling/createMessage","params":{"x":1}}
        A> {"id":"c","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$ELICITS}}
            1< {"id":"q","result":{"action":"accept"}}
            1< {"id":"r","error":{"code":-32601,…
        1> {"id":3,"result":{"content":[]}}
            A< {"id":"c","result":{"resultType":"complete","content":[]}}
        "#,
    );
}

/// The process has the capabilities of the client's latest declaration.
#[test]
fn questions_follow_the_calls_declaration() {
    tell(
        &r#"
        given era legacy
        A comes
            start 1 at nowhere
        A> {"id":"a","method":"tools/call","params":{"name":"t",$ELICITS}}
        A> {"id":"b","method":"tools/list","params":{$E}}
        1 spawns
            1< {"id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}},…}}
        1> {"id":3,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,…"tools/call"…
            1< {"id":2,…"tools/list"…
        1> {"id":"q","method":"sampling/createMessage","params":{"x":1}}
            1< {"id":"q","error":{"code":-32601,…
        1> {"id":"r","method":"elicitation/create","params":{"message":"sure?"}}
            A< {"id":"a","result":{"resultType":"input_required",…}}
        "#
        .replace("$ELICITS", ELICITS),
    );
}

/// Elicitation without a mode means forms, and sampling alone means without tools.
#[test]
fn undeclared_modes_are_refused() {
    const PLAIN: &str = r#"{"elicitation":{},"sampling":{}}"#;
    let modes = [
        ("elicitation/create", r#"{"mode":"url","url":"https://x.test/"}"#, "elicitation.url"),
        ("elicitation/create", r#"{"mode":"voice"}"#, "elicitation.voice"),
        ("sampling/createMessage", r#"{"messages":[],"tools":[]}"#, "sampling.tools"),
    ];
    for (method, params, capability) in modes {
        let story = format!(
            r#"{OPEN}
            A> {{"id":"b","method":"tools/call","params":{{"name":"t",$E}}}}
                1< {{"id":3,"method":"tools/call","params":{{"name":"t"}}}}
            1> {{"id":"q","method":"{method}","params":{params}}}
                1< {{"id":"q","error":{{"code":-32601,…the client does not declare `{capability}`…
            1> {{"id":"r","method":"elicitation/create","params":{{"mode":"form","message":"sure?"}}}}
                A< {{"id":"b","result":{{"resultType":"input_required",…
            "#
        );
        let declared = ASKED.replace(r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#, PLAIN);
        let story = story.replace(r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#, PLAIN);
        play(&story.replace("$E", &declared));
    }
}

/// The client gets neither the question nor the state with which it could continue the call.
#[test]
fn unread_question_ends_the_call() {
    let told = OPEN.replace("given era legacy;", "given era legacy; client_bytes 1000;");
    tell(&format!(
        r#"{told}
        A> {{"id":"b","method":"tools/call","params":{{"name":"t",$E}}}}
            1< {{"id":3,"method":"tools/call","params":{{"name":"t"}}}}
        A> {{"id":"l","method":"tools/list","params":{{$E}}}}
            1< {{"id":4,"method":"tools/list","params":{{}}}}
        A> {{"id":"m","method":"tools/call","params":{{"name":"u",$E}}}}
            1< {{"id":5,"method":"tools/call","params":{{"name":"u"}}}}
        1> {{"id":5,"result":{{}}}}
            A< {{"id":"m",…
        A stops reading
        1> {{"id":4,"result":{{"tools":[],"x":"{}"}}}}
            A< {{"id":"l",…
        1> {{"id":"q","method":"elicitation/create","params":{{"message":"sure?"}}}}
            A< {{"id":"b","error":{{…"kind":"client_too_slow"…
            1< {{"id":"q","result":{{"action":"cancel"}}}}
            1< {{"method":"notifications/cancelled","params":{{"reason":"its client does not read","requestId":3}}}}
        A reads
        A> {{"id":"d","method":"tools/call","params":{{"name":"t",$E}}}}
        1> {{"id":3,"result":{{}}}}
            - late answer dropped
            1< {{"id":6,"method":"tools/call","params":{{"name":"t"}}}}
        "#,
        "x".repeat(900)
    ));
}
