//! Log messages of a legacy server for modern clients. They name no request, so they reach a request only while the server
//! works on no other.

use super::eras_for_modern::{OPEN, PAUSED, open, tell};

/// `$L` in a story: the declaration of a request that wants log messages.
const LOGGED: &str = r#""_meta":{"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}}}"#;

fn logged(story: &str) -> String {
    story.replace("$L", LOGGED)
}

/// A call that wants log messages.
const CALLED: &str = r#"
    A> {"id":"b","method":"tools/call","params":{"name":"t",$L}}
        1< {"id":4,"method":"logging/setLevel","params":{"level":"info"}}
        1< {"id":3,"method":"tools/call","params":{"name":"t"}}
    1> {"id":4,"result":{}}
"#;

#[track_caller]
fn called(story: &str) {
    open(&logged(&format!("{CALLED}{story}")));
}

fn says(data: u32) -> String {
    format!(r#"1> {{"method":"notifications/message","params":{{"level":"info","data":{data}}}}}"#)
}

fn hears(who: &str, data: u32) -> String {
    format!(r#"{who}< {{"method":"notifications/message","params":{{"level":"info","data":{data}}}}}"#)
}

const UNHEARD: &str = "- no listener for notifications/message";

#[test]
fn log_messages_belong_to_the_only_request() {
    let error = LOGGED.replace("\"info\"", "\"error\"");
    open(&logged(&format!(
        r#"
        {}
        {CALLED}
        1> {{"method":"notifications/message","params":{{"level":"debug","data":1}}}}
        {}
            {}
        A> {{"id":"c","method":"tools/call","params":{{"name":"t",{error}}}}}
            1< {{"id":5,"method":"tools/call","params":{{"name":"t"}}}}
        1> {{"method":"notifications/message","params":{{"level":"error","data":3}}}}
            {UNHEARD}
        "#,
        says(0),
        says(2),
        hears("A", 2),
    )));
}

/// Two windows share the process.
#[test]
fn log_stays_in_its_window() {
    called(
        &format!(
            r#"
        B comes
        B> {{"id":"b","method":"tools/call","params":{{"name":"u",$L}}}} -> 1
        {}
            {UNHEARD}
        1> {{"id":5,"result":{{"content":[]}}}}
            B< {{"id":"b",…
        {}
            {}
        "#,
            says(1),
            says(2),
            hears("A", 2),
        )
        .replace("$L}} -> 1", "$L}}\n1< {\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"u\"}}"),
    );
}

/// The other call has no `logLevel`.
#[test]
fn request_without_log_level_blocks_the_log() {
    for request in
        [r#""method":"tools/call","params":{"name":"u",$E}"#, r#""method":"tools/list","params":{$E}"#]
    {
        called(&format!(
            r#"
            B comes
            B> {{"id":"b",{request}}}
                1< {{"id":5,…
            {}
                {UNHEARD}
            "#,
            says(1),
        ));
    }
}

/// A legacy window gets all log messages of the process, a modern one those of its own requests.
#[test]
fn legacy_window_blocks_the_log() {
    let capabilities = r#""capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}}"#;
    called(&format!(
        r#"
        B comes
        B> {{"id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25",{capabilities}}}}}
            B< {{"id":0,"result":…
        B confirms
        B> {{"id":1,"method":"logging/setLevel","params":{{"level":"info"}}}}
            1< {{"id":6,…
        1> {{"id":6,"result":{{}}}}
            B< {{"id":1,"result":{{}}}}
        B> {{"id":2,"method":"tools/call","params":{{"name":"u"}}}}
            1< {{"id":7,…
        {}
            {UNHEARD}
            {}
        1> {{"id":7,"result":{{}}}}
            B< {{"id":2,"result":{{}}}}
        {}
            {}
            {}
        "#,
        says(1),
        hears("B", 1),
        says(2),
        hears("A", 2),
        hears("B", 2),
    ));
}

/// The server may still work on the paused call.
#[test]
fn paused_call_blocks_the_log() {
    tell(&logged(&format!(
        r#"{OPEN}{PAUSED}
        A> {{"id":"l","method":"tools/list","params":{{$L}}}}
            1< {{"id":5,"method":"logging/setLevel","params":{{"level":"info"}}}}
            1< {{"id":4,"method":"tools/list","params":{{}}}}
        1> {{"id":5,"result":{{}}}}
        {}
            {UNHEARD}
        "#,
        says(1),
    )));
}

/// A server may continue a cancelled call for a while, and need not answer it.
#[test]
fn cancelled_call_blocks_the_log() {
    let cancelled = r#"
        A> {"id":"c","method":"tools/call","params":{"name":"u",$E}}
            1< {"id":5,…
        A> {"method":"notifications/cancelled","params":{"requestId":"c"}}
            1< {"method":"notifications/cancelled","params":{"requestId":5}}
    "#;
    for end in ["+5s", r#"1> {"id":5,"result":{}} -> A as "c""#] {
        called(&format!(
            r#"
            {cancelled}
            {}
                {UNHEARD}
            {}
            {}
                {}
            "#,
            says(1),
            end.replace(r#" -> A as "c""#, "\nA< {\"id\":\"c\",…"),
            says(2),
            hears("A", 2),
        ));
    }
}

/// Switchboard requests lists for all clients, so log messages about lists are not private. Some servers answer a list
/// after they have logged about a later call.
#[test]
fn own_list_requests_do_not_block_the_log() {
    called(&format!(
        r#"
        B comes; server all
        B> {{"id":"l","method":"tools/list","params":{{$E}}}}
            1< {{"id":5,"method":"tools/list"}}
        {}
            {}
        1> {{"id":5,"result":{{"tools":[]}}}}
            store 0
            B< {{"id":"l",…
        {}
            {}
        "#,
        says(1),
        hears("A", 1),
        says(2),
        hears("A", 2),
    ));
}
