//! Calls that a legacy server refuses until the user opens URLs (−32042). They are sent again once, if the client has
//! accepted all URLs. Modern clients never get this code, or other reserved ones.

use super::eras::play;
use super::eras_for_modern::{OPEN, PAUSED, open, tell};

/// A call that its server refused until two URLs are opened.
const REFUSED: &str = r#"
    A> {"id":"b","method":"tools/call","params":{"name":"t",$E}}
        1< {"id":3,"method":"tools/call","params":{"name":"t"}}
    1> {"id":3,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.test/"},{"mode":"url","elicitationId":"f","url":"https://y.test/"}]}}}
        A< {"id":"b","result":{"resultType":"input_required","inputRequests":{"url0":{…},"url1":{…}},"requestState":"…"}}
"#;

const ACCEPTED: &str = r#"{"url0":{"action":"accept"},"url1":{"action":"accept"}}"#;

fn again(id: &str, responses: &str) -> String {
    format!(
        r#"A> {{"id":"{id}","method":"tools/call","params":{{"name":"t","inputResponses":{responses},"requestState":"$state1",$E}}}}"#
    )
}

/// A modern client with these capabilities gets the second error for the first one of its legacy server.
#[track_caller]
fn refuse(method: &str, declared: &str, (error, expect): (&str, &str)) {
    let meta = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{declared}}}"#
    );
    play(&format!(
        r#"
        given era legacy
        A starts 1
        A> {{"id":"b","method":"{method}","params":{{"name":"t",{meta}}}}}
            1< {{"id":2,"method":"initialize",…}}
        1> {{"id":2,"result":{{"capabilities":{{}}}}}}
            1< {{"method":"notifications/initialized"}}
            1< {{"id":1,"method":"{method}","params":{{"name":"t"}}}}
        1> {{"id":1,"error":{error}}}
            A< {{"id":"b","error":{expect}}}
        "#
    ));
}

const URL: &str = r#"{"mode":"url","elicitationId":"e","url":"https://x.test/"}"#;

#[test]
fn missing_url_support_is_reported() {
    let lacking = r#""requiredCapabilities":{"elicitation":{"url":{}}}"#;
    let known = format!(r#"{{"code":-32042,"message":"m","data":{{"elicitations":[{URL}],"n":1.50}}}}"#);
    let told =
        format!(r#"{{"code":-32021,"message":"m","data":{{{lacking},"elicitations":[{URL}],"n":1.50}}}}"#);
    let bare = format!(r#"{{"code":-32021,"message":"m","data":{{{lacking}}}}}"#);
    for declared in
        ["{}", r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#, r#"{"elicitation":{"url":true}}"#]
    {
        refuse("tools/call", declared, (&known, &told));
        refuse("prompts/get", declared, (r#"{"code":-32042,"message":"m"}"#, &bare));
    }
    let own = r#"{"message":"m","code":-32042.0,"data":{"requiredCapabilities":{}},"more":1.0}"#;
    let expect = format!(r#"{{"code":-32021,"message":"m","more":1.0,"data":{{{lacking}}}}}"#);
    refuse("tools/call", "{}", (own, &expect));
}

/// Without a usable URL, and for methods without `input_required`, it is an ordinary error.
#[test]
fn unusable_url_error_gets_another_code() {
    for (method, data) in [
        ("tools/call", r#"{"elicitations":[]}"#.to_owned()),
        ("tools/call", r#"{"elicitations":7}"#.to_owned()),
        ("tools/call", r#"{"elicitations":[7]}"#.to_owned()),
        ("resources/read", r#"{"elicitations":{}}"#.to_owned()),
        ("tools/call", "null".to_owned()),
        ("completion/complete", format!(r#"{{"elicitations":[{URL}]}}"#)),
        ("tools/list", format!(r#"{{"elicitations":[{URL}]}}"#)),
    ] {
        let error = |code: i32| format!(r#"{{"code":{code},"message":"m","data":{data}}}"#);
        refuse(method, r#"{"elicitation":{"url":{}}}"#, (&error(-32042), &error(-32603)));
    }
}

/// Reserved codes have another meaning in the modern era than in the server's error.
#[test]
fn reserved_codes_are_not_passed_on() {
    for (code, expect) in [
        ("-32020", "-32603"),
        ("-32021", "-32603"),
        ("-32022", "-32603"),
        ("-32099", "-32603"),
        ("-32042.0", "-32603"),
        ("-3.2002e4", "-32602"),
        ("-32019", "-32019"),
        ("-32100", "-32100"),
        ("-32000", "-32000"),
        ("1", "1"),
        ("\"x\"", "\"x\""),
    ] {
        open(&format!(
            r#"
            A> {{"id":"b","method":"tools/call","params":{{"name":"t",$E}}}}
                1< {{"id":3,"method":"tools/call","params":{{"name":"t"}}}}
            1> {{"id":3,"error":{{"code":{code},"message":"no","data":[1.0]}}}}
                A< {{"id":"b","error":{{"code":{expect},"message":"no","data":[1.0]}}}}
            "#
        ));
    }
}

#[test]
fn call_is_not_repeated_unless_accepted() {
    for responses in [
        r#"{"url0":{"action":"decline"},"url1":{"action":"accept"}}"#,
        r#"{"url0":{"action":"accept"},"url1":{"action":"cancel"}}"#,
        r#"{"url0":{"action":"accept"}}"#,
        r#"{"url0":{"action":"accept"},"url1":{"action":7}}"#,
        r#"{"url0":{"action":"accept"},"url1":"accept"}"#,
        "{}",
        "7",
    ] {
        println!("{responses}");
        let (declined, accepted) = (again("c", responses), again("d", ACCEPTED));
        open(&format!(
            r#"{REFUSED}
            {declined}
                A< {{"id":"c","error":{{"code":-32603,…"kind":"input_declined",…"server":"files"…
            {accepted}
                A< {{"id":"d","error":{{"code":-32602,…"kind":"input_expired"…
            "#
        ));
    }
}

#[test]
fn url_state_is_valid_once() {
    let (one, other) = (again("c", ACCEPTED), again("d", ACCEPTED));
    open(&format!(
        r#"{REFUSED}
        {one}
            1< {{"id":4,"method":"tools/call","params":{{"name":"t"}}}}
        {other}
            A< {{"id":"d","error":{{"code":-32602,…"kind":"input_expired"…
        1> {{"id":4,"result":{{"content":[]}}}}
            A< {{"id":"c","result":{{"resultType":"complete","content":[]}}}}
        "#
    ));
}

#[test]
fn url_state_expires() {
    let again = again("c", ACCEPTED);
    open(&format!(
        r#"{REFUSED}
        +10min
        {again}
            A< {{"id":"c","error":{{"code":-32602,…"kind":"input_expired"…
        "#
    ));
}

/// The oldest states are dropped.
#[test]
fn url_states_are_bounded() {
    let refused = |at: u32| {
        let minted = at + 3;
        format!(
            r#"
            A> {{"id":{at},"method":"tools/call","params":{{"name":"t",$E}}}}
                1< {{"id":{minted},"method":"tools/call","params":{{"name":"t"}}}}
            1> {{"id":{minted},"error":{{"code":-32042,"message":"m","data":{{"elicitations":[{{"url":"x:y"}}]}}}}}}
                A< {{"id":{at},"result":{{"resultType":"input_required",…}}}}
            "#
        )
    };
    let all: String = (0..17).map(refused).collect();
    let again = |id: &str, state: u32| {
        format!(
            r#"A> {{"id":"{id}","method":"tools/call","params":{{"name":"t","inputResponses":{{"url0":{{"action":"accept"}}}},"requestState":"$state{state}",$E}}}}"#
        )
    };
    let (first, second) = (again("c", 1), again("d", 2));
    open(&format!(
        r#"{all}
        {first}
            A< {{"id":"c","error":{{"code":-32602,…"kind":"input_expired"…
        {second}
            1< {{"id":20,"method":"tools/call","params":{{"name":"t"}}}}
        "#
    ));
}

/// Another run may have a call with the same id.
#[test]
fn state_of_an_earlier_run_is_refused() {
    for (refused, responses, goes_on) in [
        (REFUSED, ACCEPTED, r#"1< {"id":4,"method":"tools/call","params":{"name":"t"}}"#),
        (PAUSED, r#"{"1":{"action":"accept"}}"#, r#"1< {"id":"q","result":{"action":"accept"}}"#),
    ] {
        let old = again("c", responses);
        let new = again("d", responses).replace("$state1", "$state2");
        open(&format!(
            r#"{refused}
            switchboard restarts
            {OPEN}{refused}
            {old}
                A< {{"id":"c","error":{{"code":-32602,…"kind":"input_expired"…
            {new}
                {goes_on}
            "#
        ));
    }
}

/// A state is valid only for its own identity, server, name and arguments.
#[test]
fn state_continues_its_own_call_only() {
    let expired = r#""error":{"code":-32602,…"kind":"input_expired"…"#;
    let states = [
        (REFUSED, ACCEPTED, ""),
        // A server that asks has a process for each client.
        (PAUSED, r#"{"1":{"action":"accept"}}"#, "start 2 at nowhere"),
    ];
    for (refused, responses, start) in states {
        let continued = |params: &str| {
            format!(
                r#"{{"id":"c","method":"tools/call","params":{{{params},"inputResponses":{responses},"requestState":"$state1",$E}}}}"#
            )
        };
        for (who, params) in
            [("B", r#""name":"t""#), ("A", r#""name":"u""#), ("A", r#""name":"t","arguments":{"x":1}"#)]
        {
            let continued = continued(params);
            open(&format!(
                r#"
                {refused}
                B comes; principal 2
                    {start}
                {who}> {continued}
                    {who}< {{"id":"c",{expired}
                "#
            ));
        }
        let continued = continued(r#""name":"t""#);
        let given = OPEN.replace("timeout 20min", "timeout 20min; servers more; server 1; era legacy");
        tell(&format!(
            r#"{given}{refused}
            B comes; server 1
                start 2 at nowhere
            B> {continued}
                B< {{"id":"c",{expired}
            "#
        ));
    }
}
