//! Two legacy clients that share one process of a modern server.

use crate::eras::play;

/// First id of a translator's own requests.
const FIRST_OWN_ID: u64 = 1 << 52;

/// Two clients whose server of unknown era refuses `initialize` and has the capabilities `$C`. `$1` is the translator's
/// next request, `$2` the one after it, and so on.
const GREETED: &str = r#"
    A starts 1
    A> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}} -> 1 as 1
    1> {"id":1,"error":{"code":-32601,"message":"no"}}
        1< {"id":$0,"method":"server/discover","params":{$M}}
    1> {"id":$0,"result":{"supportedVersions":["2026-07-28"],"capabilities":$C}}
        record 0: modern only
        A< {"id":"i","result":{"protocolVersion":"2025-06-18","capabilities":$W,"serverInfo":{"name":"unknown","version":"0"}}}
    A> {"method":"notifications/initialized"}
    B comes
    B> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
        B< {"id":"i","result":{"protocolVersion":"2025-06-18","capabilities":$W,"serverInfo":{"name":"unknown","version":"0"}}}
    B> {"method":"notifications/initialized"}
"#;

#[track_caller]
fn greeted(capabilities: &str, welcome: &str, story: &str) {
    let mut story = format!("{GREETED}{story}").replace("$C", capabilities).replace("$W", welcome);
    for number in 0..20 {
        // The ids continue from that of `initialize`.
        story = story.replace(&format!("${number},"), &format!("{},", FIRST_OWN_ID + 2 + number));
        story = story.replace(&format!("${number}}}"), &format!("{}}}", FIRST_OWN_ID + 2 + number));
    }
    play(&story);
}

#[test]
fn each_subscriber_hears_its_own_updates() {
    const RESOURCES: &str = r#"{"resources":{"subscribe":true}}"#;
    greeted(
        RESOURCES,
        RESOURCES,
        r#"
        A> {"id":"a","method":"resources/subscribe","params":{"uri":"x://a"}}
            1< {"id":$1,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["x://a"]}}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:$1}}}
            A< {"id":"a","result":{}}
        B> {"id":"b","method":"resources/subscribe","params":{"uri":"x://b"}}
            1< {"id":$2,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["x://a","x://b"]}}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:$2}}}
            1< {"method":"notifications/cancelled","params":{"requestId":$1}}
            B< {"id":"b","result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x://a","_meta":{$sub:$2}}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x://a"}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x://b","_meta":{$sub:$2}}}
            B< {"method":"notifications/resources/updated","params":{"uri":"x://b"}}
        A> {"id":"c","method":"resources/unsubscribe","params":{"uri":"x://a"}}
            1< {"id":$3,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["x://b"]}}}
            A< {"id":"c","result":{}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:$3}}}
            1< {"method":"notifications/cancelled","params":{"requestId":$2}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x://b","_meta":{$sub:$3}}}
            B< {"method":"notifications/resources/updated","params":{"uri":"x://b"}}
        "#,
    );
}

/// The server may refuse a subscription and accept it later.
#[test]
fn refusal_stays_with_its_client() {
    const RESOURCES: &str = r#"{"resources":{"subscribe":true}}"#;
    greeted(
        RESOURCES,
        RESOURCES,
        r#"
        A> {"id":"a","method":"resources/subscribe","params":{"uri":"x://a"}}
            1< {"id":$1,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["x://a"]}}}
        B> {"id":"b","method":"resources/subscribe","params":{"uri":"x://a"}}
        1> {"id":$1,"error":{"code":-32603,"message":"not now"}}
            1< {"id":$2,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["x://a"]}}}
            A< {"id":"a","error":{"code":-32603,"message":"not now"}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:$2}}}
            B< {"id":"b","result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x://a","_meta":{$sub:$2}}}
            B< {"method":"notifications/resources/updated","params":{"uri":"x://a"}}
        "#,
    );
}

/// Progress of the task is no progress of the other call.
#[test]
fn polled_task_does_not_extend_other_calls() {
    let mut story = r#"
        A> {"id":"a","method":"tools/call","params":{"name":"silent"}}
            1< {"id":3,"method":"tools/call","params":{$T,"name":"silent"}}
        +30s
        B> {"id":"b","method":"tools/call","params":{"name":"slow"}}
            1< {"id":4,"method":"tools/call","params":{$T,"name":"slow"}}
        1> {"id":4,"result":{"resultType":"task","taskId":"t","status":"working","pollIntervalMs":60000}}
    "#
    .to_owned();
    let poll = |number: u32| {
        format!(
            r#"
            1< {{"id":${number},"method":"tasks/get","params":{{$T,"taskId":"t"}}}}
        1> {{"id":${number},"result":{{"taskId":"t","status":"working","pollIntervalMs":60000}}}}
            "#
        )
    };
    for number in 1..=9 {
        story += &format!("+1min{}", poll(number));
    }
    story += r#"
        +30s
            A< {"id":"a","error":{"code":-32003…
            1< {"method":"notifications/cancelled","params":{"reason":"timed out","requestId":3}}
            - probe
            1< {"id":5,"method":"server/discover","params":{$T}}
        1> {"id":5,"result":{"supportedVersions":["2026-07-28"],"capabilities":$C}}
    "#;
    story += &format!("+30s{}+1min{}", poll(10), poll(11));
    story += r#"
        +1min
            1< {"id":$12,"method":"tasks/get","params":{$T,"taskId":"t"}}
        1> {"id":$12,"result":{"taskId":"t","status":"completed","result":{"content":[]}}}
            B< {"id":"b","result":{"content":[]}}
    "#;
    const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let declared = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{TASKS}}}"#
    );
    let capabilities = r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    greeted(capabilities, r#"{"tools":{}}"#, &story.replace("$T", &declared));
}
