//! Roots of modern clients at legacy servers. A client is asked during its only call, and its answer reaches only a process
//! that no other client uses. Every other process gets the folder of its workspace.

use super::eras::play;

/// `$R` in a story: the declaration of a client with roots.
const ASKED: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{}}}"#;

/// `$call` in a story: the parameters of the call.
#[track_caller]
pub(crate) fn tell(story: &str) {
    let story = story.replace("$call", r#""method":"tools/call","params":{"name":"t","#);
    play(&story.replace("$ask", r#""roots/list","params":{}"#).replace("$R", ASKED));
}

/// A modern client of a legacy server in the folder /w, with an open call.
pub(crate) const OPEN: &str = r#"
    given era legacy; timeout 20min
    A starts 1; folder /w
    A> {"id":"a",$call$R}}
        1< {"id":2,"method":"initialize",…}
    1> {"id":2,"result":{"capabilities":{}}}
        1< {"method":"notifications/initialized"}
        1< {"id":1,"method":"tools/call","params":{"name":"t"}}
"#;

#[track_caller]
pub(crate) fn open(story: &str) {
    tell(&format!("{OPEN}{story}"));
}

/// The same, after the server has asked for roots.
pub(crate) const PAUSED: &str = r#"
    1> {"id":"r","method":"roots/list"}
        A< {"id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":$ask}},"requestState":"…"}}
"#;

#[track_caller]
pub(crate) fn pause(story: &str) {
    open(&format!("{PAUSED}{story}"));
}

/// The client continues its call with these roots.
pub(crate) fn shows(result: &str) -> String {
    format!(r#"A> {{"id":"b",$call"inputResponses":{{"1":{result}}},"requestState":"$state1",$R}}}}"#)
}

pub(crate) const TWO: &str = r#"{"roots":[{"uri":"file:///x","name":"n"},{"uri":"file:///y"}]}"#;

#[test]
fn answer_reaches_the_server_and_is_kept() {
    pause(&format!(
        r#"
        {}
            1< {{"id":"r","result":{TWO}}}
        1> {{"id":"r2","method":"roots/list"}}
            1< {{"id":"r2","result":{TWO}}}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"b","result":{{"resultType":"complete","content":[]}}}}
        1> {{"id":"r3","method":"roots/list"}}
            1< {{"id":"r3","result":{TWO}}}
        A> {{"id":"c",$call$R}}}}
            1< {{"id":3,"method":"tools/call","params":{{"name":"t"}}}}
        A> {{"id":"d",$call$R}}}}
            1< {{"id":4,"method":"tools/call","params":{{"name":"t"}}}}
        1> {{"id":"r4","method":"roots/list"}}
            1< {{"id":"r4","result":{TWO}}}
        "#,
        shows(TWO)
    ));
}

/// Reads and prompts can be paused, too.
#[test]
fn read_is_paused_for_roots() {
    open(
        r#"
        1> {"id":1,"result":{"content":[]}}
            A< {"id":"a",…
        A> {"id":"b","method":"resources/read","params":{"uri":"x:y",$R}}
            1< {"id":3,…}
        1> {"id":"r","method":"roots/list","params":{"_meta":{"progressToken":1}}}
            A< {"id":"b","result":{"resultType":"input_required","inputRequests":{"1":{"method":$ask}},…}}
        A> {"id":"c","method":"resources/read","params":{"uri":"x:y","inputResponses":{"1":{"roots":[]}},"requestState":"$state1",$R}}
            1< {"id":"r","result":{"roots":[]}}
        "#,
    );
}

/// All windows of the workspace keep the folder as the answer.
#[test]
fn roots_equal_to_folder_change_nothing() {
    for spelling in [r#"{"uri":"file:///w"}"#, r#"{"uri":"file:///w/","name":"W"}"#, r#"{"uri":"FILE:/%77"}"#]
    {
        pause(&format!(
            r#"
            {}
                1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
            1> {{"id":1,"result":{{"content":[]}}}}
                A< {{"id":"b",…
            A> {{"id":"c",$call$R}}}}
                1< {{"id":3,…}}
            1> {{"id":"r2","method":"roots/list"}}
                1< {{"id":"r2","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
            B comes; folder /w
            B> {{"id":"a",$call$R}}}}
                1< {{"id":4,…}}
            1> {{"id":"r3","method":"roots/list"}}
                1< {{"id":"r3","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
            "#,
            shows(&format!(r#"{{"roots":[{spelling}]}}"#))
        ));
    }
}

#[test]
fn question_needs_exactly_one_call() {
    let folder = |id: &str| {
        format!(
            r#"
            1> {{"id":"{id}","method":"roots/list"}}
                1< {{"id":"{id}","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
            "#
        )
    };
    let story = r#"
        A> {"id":"b",$call$R}}
            1< {"id":3,…}
        TWO
        1> {"id":1,"result":{"content":[]}}
            A< {"id":"a",…
        A> {"method":"notifications/cancelled","params":{"requestId":"b"}}
            1< {"method":"notifications/cancelled",…
        NONE
        A> {"id":"l","method":"tools/list","params":{$R}}
            1< {"id":4,…}
        LIST
    "#;
    open(
        &story
            .replace("TWO", &folder("two"))
            .replace("NONE", &folder("none"))
            .replace("LIST", &folder("list")),
    );
}

/// A call that is paused for another question counts as open.
#[test]
fn paused_call_counts_as_a_call() {
    open(
        r#"
        1> {"id":"q","method":"elicitation/create","params":{}}
            A< {"id":"a","result":{"resultType":"input_required","inputRequests":{"1":…},…}}
        1> {"id":"r","method":"roots/list"}
        A> {"id":"b",$call"inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$R}}
            1< {"id":"q","result":{"action":"accept"}}
            A< {"id":"b","result":{"resultType":"input_required","inputRequests":{"2":{"method":$ask}},…}}
        A> {"id":"c",$call"inputResponses":{"2":{"roots":[]}},"requestState":"$state2",$R}}
            1< {"id":"r","result":{"roots":[]}}
        "#,
    );
    pause(
        r#"
        A> {"id":"b",$call$R}}
            1< {"id":3,…}
        1> {"id":"r2","method":"roots/list"}
            1< {"id":"r2","result":{"roots":[{"uri":"file:///w"}]}}
        "#,
    );
}

#[test]
fn malformed_roots_mean_the_folder() {
    let long = format!(r#"{{"roots":[{{"uri":"file:///x","name":"{}"}}]}}"#, "n".repeat(300_000));
    for useless in [
        "{}",
        "null",
        "[]",
        r#"{"roots":7}"#,
        r#"{"roots":{}}"#,
        r#"{"roots":[7]}"#,
        r#"{"roots":[{}]}"#,
        r#"{"roots":[{"uri":"file:///x"},{"uri":1}]}"#,
        r#"{"error":{"code":-32601,"message":"no"}}"#,
        r#"{"roots":[{"uri":"file:///x"}],"roots":[]}"#,
        &long,
    ] {
        // The client is asked again during the next call.
        pause(&format!(
            r#"
            {}
                1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
            1> {{"id":1,"result":{{"content":[]}}}}
                A< {{"id":"b",…
            A> {{"id":"c",$call$R}}}}
                1< {{"id":3,…}}
            1> {{"id":"r2","method":"roots/list"}}
                A< {{"id":"c","result":{{"resultType":"input_required","inputRequests":{{"2":{{"method":$ask}}}},…}}}}
            "#,
            shows(useless)
        ));
    }
}

#[test]
fn surplus_roots_are_ignored() {
    let roots = |count: usize| {
        let all: Vec<String> = (0..count).map(|at| format!(r#"{{"uri":"file:///{at}"}}"#)).collect();
        format!(r#"{{"roots":[{}]}}"#, all.join(","))
    };
    pause(&format!("{}\n1< {{\"id\":\"r\",\"result\":{}}}", shows(&roots(300)), roots(256)));
}

#[test]
fn unanswered_question_gets_an_error() {
    pause(
        r#"
        +10min
            1< {"id":"r","error":{…"kind":"client_timeout"…
            1< {"method":"notifications/cancelled","params":{"reason":"its client did not continue it in time","requestId":1}}
        A> {"id":"b",$call"inputResponses":{"1":{"roots":[{"uri":"file:///x"}]}},"requestState":"$state1",$R}}
            A< {"id":"b","error":{"code":-32602,…"kind":"input_expired"…
        1> {"id":"r2","method":"roots/list"}
            1< {"id":"r2","result":{"roots":[{"uri":"file:///w"}]}}
        "#,
    );
}

/// With an invalid state, the roots are ignored.
#[test]
fn forged_state_shows_no_roots() {
    for call in [r#""name":"t","requestState":"AAAA","#, r#""name":"u","requestState":"$state1","#] {
        pause(&format!(
            r#"
            A> {{"id":"b","method":"tools/call","params":{{{call}"inputResponses":{{"1":{TWO}}},$R}}}}
                A< {{"id":"b","error":{{"code":-32602,…"kind":"input_expired"…
            {}
                1< {{"id":"r","result":{{"roots":[]}}}}
            "#,
            shows(r#"{"roots":[]}"#)
        ));
    }
}

/// Roots without a question are ignored.
#[test]
fn unasked_roots_are_ignored() {
    open(&format!(
        r#"
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"a",…
        A> {{"id":"b",$call"inputResponses":{{"1":{TWO}}},$R}}}}
            1< {{"id":3,…}}
        A> {{"id":"c",$call$R}}}}
            1< {{"id":4,…}}
        1> {{"id":"r","method":"roots/list"}}
            1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        "#
    ));
}

/// Only the continuation of the call is an answer.
#[test]
fn plain_response_is_no_answer() {
    pause(&format!(
        r#"
        A> {{"id":1,"result":{{"roots":[{{"uri":"file:///z"}}]}}}}
        {}
            1< {{"id":"r","result":{TWO}}}
        "#,
        shows(TWO)
    ));
}

#[test]
fn server_may_withdraw_its_question() {
    pause(&format!(
        r#"
        1> {{"method":"notifications/cancelled","params":{{"requestId":"r"}}}}
        {}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"b","result":{{"resultType":"complete","content":[]}}}}
        "#,
        shows(TWO)
    ));
}

/// One answer serves both questions.
#[test]
fn known_roots_need_no_second_round() {
    pause(&format!(
        r#"
        1> {{"id":"r2","method":"roots/list"}}
        {}
            1< {{"id":"r","result":{TWO}}}
            1< {{"id":"r2","result":{TWO}}}
        "#,
        shows(TWO)
    ));
}

#[test]
fn answer_during_the_pause_is_kept() {
    pause(&format!(
        r#"
        1> {{"id":1,"result":{{"content":[]}}}}
        {}
            1< {{"id":"r","result":{TWO}}}
            A< {{"id":"b","result":{{"resultType":"complete","content":[]}}}}
        "#,
        shows(TWO)
    ));
}

/// A root from the config or the request needs no question.
#[test]
fn pinned_and_split_roots_are_fixed() {
    let begun = "start 1 at /w\n1 spawns\n";
    for (given, comes, early, late) in [
        ("", "; pinned /w", begun, ""),
        ("", "; folder /w; elsewhere yes", begun, ""),
        ("; splits", "; folder /w", "", begun),
    ] {
        tell(&format!(
            r#"
            given era legacy{given}
            A comes{comes}
            {early}
            A> {{"id":"a",$call$R}}}}
            {late}
                1< {{"id":2,…}}
            1> {{"id":2,"result":{{"capabilities":{{}}}}}}
                1< {{"method":"notifications/initialized"}}
                1< {{"id":1,…}}
            1> {{"id":"r","method":"roots/list"}}
                1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
            "#
        ));
    }
}

#[test]
fn denied_roots_do_not_pause() {
    tell(&format!(
        "{}{}",
        OPEN.replace("given era legacy;", "given era legacy; denies roots;"),
        r#"
        1> {"id":"r","method":"roots/list"}
            - denied to owner: roots/list
            1< {"id":"r","error":{"code":-32601,…
        "#
    ));
}

#[test]
fn next_process_is_told_at_once() {
    pause(&format!(
        r#"
        {}
            1< {{"id":"r","result":{TWO}}}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"b",…
        1 ends: signal 9
            - restart after a pause
        +1s
            start 2 at /w
        2 spawns
            2< {{"id":3,"method":"initialize",…
        2> {{"id":3,"result":{{"capabilities":{{}}}}}}
            2< {{"method":"notifications/initialized"}}
        2> {{"id":"r","method":"roots/list"}}
            2< {{"id":"r","result":{TWO}}}
        "#,
        shows(TWO)
    ));
}

#[test]
fn disconnect_refuses_the_question() {
    tell(&format!(
        r#"{OPEN}{PAUSED}
        B comes; folder /w
        B> {{"id":"l","method":"tools/list","params":{{$R}}}}
            start 2 at /w
        A leaves
            1< {{"id":"r","error":{{…"kind":"client_timeout"…
            1< {{"method":"notifications/cancelled",…
        "#
    ));
}

/// A server that seemed to ignore the folder ends after its call. The next process runs in the folder and gets the roots.
#[test]
fn misplaced_server_ends_after_its_answer() {
    tell(&format!(
        r#"
        given scope global; known_package x; era legacy
        A comes; folder /w
            start 1 at home
        1 spawns
        A> {{"id":"a",$call$R}}}}
            1< {{"id":2,…}}
        1> {{"id":2,"result":{{"capabilities":{{}}}}}}
            1< {{"method":"notifications/initialized"}}
            1< {{"id":1,…}}
        {PAUSED}
            - no longer shared by 1
        {}
            1< {{"id":"r","result":{TWO}}}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"b","result":{{"resultType":"complete","content":[]}}}}
            - it asks for its clients' roots
            stop 1
        1 ends: killed
        A> {{"id":"c",$call$R}}}}
            start 2 at /w
        2 spawns
            2< {{"id":4,…}}
        2> {{"id":4,"result":{{"capabilities":{{}}}}}}
            2< {{"method":"notifications/initialized"}}
            2< {{"id":3,…}}
        2> {{"id":"r","method":"roots/list"}}
            2< {{"id":"r","result":{TWO}}}
        "#,
        shows(TWO)
    ));
}

/// The answer belongs to the client that gave it.
#[test]
fn departed_client_takes_its_roots_along() {
    tell(&format!(
        r#"{}{PAUSED}
        {}
            1< {{"id":"r","result":{TWO}}}
        A leaves
            1< {{"method":"notifications/cancelled",…
        B comes; folder /w
        B> {{"id":"a",$call$R}}}}
            start 2 at /w
        "#,
        OPEN.replace("given era legacy;", "given linger 60s; era legacy;"),
        shows(TWO)
    ));
}

/// A server no longer gets the roots of a client that has stopped declaring them.
#[test]
fn undeclared_roots_are_not_sent_again() {
    pause(&format!(
        r#"
        {}
            1< {{"id":"r","result":{TWO}}}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"b",…
        A> {{"id":"c","method":"tools/call","params":{{"name":"t",$M}}}}
            1< {{"id":3,…}}
        1> {{"id":"r2","method":"roots/list"}}
            1< {{"id":"r2","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        "#,
        shows(TWO)
    ));
}

/// Requests without a session may come from several programs, so roots count only for their call.
#[test]
fn sessionless_answer_counts_for_its_call() {
    tell(&format!(
        r#"{}{PAUSED}
        {}
            1< {{"id":"r","result":{TWO}}}
        1> {{"id":"r2","method":"roots/list"}}
            1< {{"id":"r2","result":{TWO}}}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"b",…
        A> {{"id":"c",$call$R}}}}
            1< {{"id":3,…}}
        1> {{"id":"r3","method":"roots/list"}}
            A< {{"id":"c","result":{{"resultType":"input_required","inputRequests":{{"2":{{"method":$ask}}}},…}}}}
        A> {{"id":"d",$call"inputResponses":{{"2":{{"roots":[{{"uri":"file:///z"}}]}}}},"requestState":"$state2",$R}}}}
            1< {{"id":"r3","result":{{"roots":[{{"uri":"file:///z"}}]}}}}
        1> {{"id":3,"result":{{"content":[]}}}}
            A< {{"id":"d",…
        1> {{"id":"r4","method":"roots/list"}}
            1< {{"id":"r4","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        "#,
        OPEN.replace("A starts 1; folder /w", "A comes; folder /w; session none\nstart 1 at /w\n1 spawns"),
        shows(TWO)
    ));
}

/// Calls that failed with their process do not count towards the limit on paused calls.
#[test]
fn crashed_calls_free_their_pauses() {
    let calls: String = (3..18)
        .map(|id| {
            format!(
                r#"
                A> {{"id":{id},$call$R}}}}
                    1< {{"id":{id},"method":"tools/call","params":{{"name":"t"}}}}
                "#
            )
        })
        .collect();
    let questions: String = (0..16)
        .map(|at| {
            format!(
                r#"
                1> {{"id":"q{at}","method":"elicitation/create","params":{{}}}}
                    A< {{…"resultType":"input_required",…}}
                "#
            )
        })
        .collect();
    open(&format!(
        r#"{calls}{questions}
        1 ends
            - restart after a pause
        +1s
            start 2 at /w
        2 spawns
            2< {{"id":18,"method":"initialize",…}}
        2> {{"id":18,"result":{{"capabilities":{{}}}}}}
            2< {{"method":"notifications/initialized"}}
        A> {{"id":"c",$call$R}}}}
            2< {{"id":19,"method":"tools/call","params":{{"name":"t"}}}}
        2> {{"id":"r","method":"roots/list"}}
            A< {{"id":"c","result":{{"resultType":"input_required","inputRequests":{{"17":{{"method":$ask}}}},"requestState":"…"}}}}
        "#
    ));
}
