//! Log messages of modern servers over stdio. They name no request, so they must not reach the client of another request.
//! That includes requests that ended without an answer, on which the server may still be working.

use crate::eras::{LOGGED, play};

/// Two clients of one process, each with an open request (1 of A, 3 of B) that wants log messages.
const BOTH: &str = r#"
    given era modern; linger 10min; timeout 60s
    A comes; folder /p
        start 1 at /p
    1 spawns
    A> {"id":1,"method":"tools/call","params":{"name":"x",$L}}
        1< {"id":2,"method":"server/discover",…}
    1> {"id":2,"result":$D}
        1< {"id":1,"method":"tools/call","params":{"name":"x",$L}}
    B comes; folder /p
    B> {"id":1,"method":"tools/call","params":{"name":"y",$L}} -> 1 as 3
"#;

/// No client gets the log message.
const UNHEARD: &str = r#"
    1> {"method":"notifications/message","params":{"level":"info","data":1}}
        - no listener for notifications/message
"#;

/// The client `$C` gets the log message.
const HEARD: &str = r#"
    1> {"method":"notifications/message","params":{"level":"info","data":1}}
        $C< {"method":"notifications/message","params":{"level":"info","data":1}}
"#;

#[track_caller]
fn both(story: &str) {
    play(&format!("{BOTH}{story}").replace("$L", LOGGED));
}

fn heard_by(client: &str) -> String {
    HEARD.replace("$C", client)
}

/// The server may ignore the cancellation.
#[test]
fn cancelled_call_keeps_its_log() {
    let cancelled = r#"
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":1}}
    "#;
    let answered = r#"1> {"id":1,"result":{}} -> A as 1"#;
    both(&format!("{cancelled}{UNHEARD}{answered}{}", heard_by("B")));
}

/// The answer may arrive after the request was removed.
#[test]
fn call_out_of_time_keeps_its_log() {
    let ended = r#"
        +60s
            A< {"id":1,"error":{…"kind":"backend_timeout"…
            1< {"method":"notifications/cancelled","params":{…"requestId":1}}
            - probe
            1< {"id":4,…
            B< {"id":1,"error":{…"kind":"backend_timeout"…
            1< {"method":"notifications/cancelled","params":{…"requestId":3}}
        1> {"id":4,"result":{}}
        B> {"id":2,"method":"tools/call","params":{"name":"y",$L}} -> 1 as 5
    "#;
    let answered = r#"
        1> {"id":1,"result":{}}
            - late answer dropped
    "#;
    both(&format!("{ended}{UNHEARD}{answered}{}", heard_by("B")));
}

#[test]
fn departed_client_keeps_its_log() {
    let left = r#"
        A leaves
            1< {"method":"notifications/cancelled","params":{…"requestId":1}}
    "#;
    let next = r#"
        B leaves
            1< {"method":"notifications/cancelled","params":{…"requestId":3}}
        C comes; folder /p
        C> {"id":1,"method":"tools/call","params":{"name":"z",$L}} -> 1 as 4
    "#;
    both(&format!("{left}{UNHEARD}{next}{UNHEARD}"));
}

/// A client's own cancelled requests do not block its log messages.
#[test]
fn own_ended_calls_change_nothing() {
    let story = r#"
        1> {"id":3,"result":{}} -> B as 1
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":1}}
        A> {"id":2,"method":"tools/call","params":{"name":"x",$L}} -> 1 as 4
    "#;
    both(&format!("{story}{}", heard_by("A")));
}

/// No process has received the call.
#[test]
fn unsent_calls_change_nothing() {
    let story = r#"
        given era modern; linger 10min
        A comes; folder /p
            start 1 at /p
        B comes; folder /p
        1 spawns
        A> {"id":1,"method":"tools/call","params":{"name":"x",$L}}
            1< {"id":2,"method":"server/discover",…}
        B> {"id":1,"method":"tools/call","params":{"name":"y",$L}}
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
        1> {"id":2,"result":$D}
            1< {"id":3,"method":"tools/call","params":{"name":"y",$L}}
    "#;
    play(&format!("{story}{}", heard_by("B")).replace("$L", LOGGED));
}

/// A new process has not started any of these calls.
#[test]
fn ended_calls_end_with_their_process() {
    let story = r#"
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":1}}
        1 ends: exit code 1
            B< {"id":1,"error":{…
            - restart after a pause
        +1s
            start 2 at /p
        2 spawns
            2< {"id":4,"method":"server/discover",…
        2> {"id":4,"result":$D}
        B> {"id":2,"method":"tools/call","params":{"name":"y",$L}} -> 2 as 5
        2> {"method":"notifications/message","params":{"level":"info","data":1}}
            B< {"method":"notifications/message","params":{"level":"info","data":1}}
    "#;
    both(story);
}

/// Requests without a session may come from several programs.
#[test]
fn sessionless_ended_calls_block_all_logs() {
    let story = r#"
        given era modern
        A comes; front http; session none
            start 1 at nowhere
        1 spawns
        A> {"id":1,"method":"tools/call","params":{"name":"x",$L}}
            1< {"id":2,"method":"server/discover",…}
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"tools/call","params":{"name":"x",$L}}
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":1}}
        A> {"id":2,"method":"tools/call","params":{"name":"y",$L}} -> 1 as 3
    "#;
    let answered = r#"1> {"id":1,"result":{}} -> A as 1"#;
    play(&format!("{story}{UNHEARD}{answered}{}", heard_by("A")).replace("$L", LOGGED));
}

/// A remote server sends log messages in the response to their request.
#[test]
fn log_in_a_response_is_certain() {
    let story = r#"
        given remote; era modern
        A comes; front http; session none
            start 1 at nowhere
        1 spawns
        A> {"id":1,"method":"tools/call","params":{"name":"x",$L}}
            1< {"id":2,"method":"server/discover",…}
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"tools/call","params":{"name":"x",$L}}
        A> {"id":2,"method":"tools/call","params":{"name":"y",$L}} -> 1 as 3
        1> (about 1) {"method":"notifications/message","params":{"level":"info","data":1}}
            A< {"method":"notifications/message","params":{"level":"info","data":1}}
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":1}}
        1> (about 3) {"method":"notifications/message","params":{"level":"info","data":2}}
            A< {"method":"notifications/message","params":{"level":"info","data":2}}
        1> (about 1) {"method":"notifications/message","params":{"level":"info","data":3}}
            - no listener for notifications/message
    "#;
    play(&story.replace("$L", LOGGED));
}
