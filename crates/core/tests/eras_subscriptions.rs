//! Subscriptions of modern clients that Switchboard keeps: at legacy servers, and at several servers. Only resources that
//! their servers accepted are acknowledged.

use super::eras::play;
use super::eras_for_modern::{OPEN, tell};

/// A modern client of a legacy server that announces changes of its tools and resources.
fn subscribing() -> String {
    let capabilities = r#""tools":{"listChanged":true}"#;
    let with = format!(r#""resources":{{"subscribe":true}},{capabilities}"#);
    OPEN.replacen(capabilities, &with, 1).replace(
        r#""capabilities":{"logging":{},"tools":{"listChanged":true}},"ttlMs""#,
        r#""capabilities":{"logging":{},"resources":{"subscribe":true},"tools":{"listChanged":true}},"ttlMs""#,
    )
}

#[track_caller]
fn subscribe(story: &str) {
    tell(&format!("{}{story}", subscribing()));
}

/// The client's subscription to these resources.
fn listens(id: &str, uris: &str) -> String {
    format!(
        r#"A> {{"id":"{id}","method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":[{uris}]}},$E}}}}"#
    )
}

fn acknowledged(id: &str, filter: &str) -> String {
    format!(
        r#"A< {{"method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{$sub:"{id}"}},"notifications":{{{filter}}}}}}}"#
    )
}

#[test]
fn subscription_is_kept_for_the_client() {
    subscribe(
        r#"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x:y"]},$E}}
            1< {"id":3,"method":"resources/subscribe","params":{"uri":"x:y"}}
        1> {"method":"notifications/tools/list_changed"}
        1> {"id":3,"result":{}}
            A< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:"s"},"notifications":{"resourceSubscriptions":["x:y"],"toolsListChanged":true}}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x:y"}}
            A< {"method":"notifications/resources/updated","params":{"_meta":{$sub:"s"},"uri":"x:y"}}
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:"s"}}}
        1> {"method":"notifications/prompts/list_changed"}
        A> {"method":"notifications/cancelled","params":{"requestId":"s"}}
            1< {"id":5,"method":"resources/unsubscribe","params":{"uri":"x:y"}}
        1> {"method":"notifications/tools/list_changed"}
        "#,
    );
}

/// The server has not declared resource subscriptions.
#[test]
fn undeclared_subscription_is_not_promised() {
    tell(&format!(
        r#"{OPEN}
        A> {{"id":"s","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["x:y"]}},$E}}}}
            {}
        "#,
        acknowledged("s", r#""toolsListChanged":true"#)
    ));
}

#[test]
fn refused_resource_is_not_promised() {
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
            1< {{"id":4,"method":"resources/subscribe","params":{{"uri":"x:z"}}}}
        1> {{"id":4,"result":{{}}}}
        1> {{"method":"notifications/resources/updated","params":{{"uri":"x:z"}}}}
        1> {{"id":3,"error":{{"code":-32602,"message":"no"}}}}
            {}
        1> {{"method":"notifications/resources/updated","params":{{"uri":"x:y"}}}}
        1> {{"method":"notifications/resources/updated","params":{{"uri":"x:z"}}}}
            A< {{"method":"notifications/resources/updated","params":{{"_meta":{{$sub:"s"}},"uri":"x:z"}}}}
        A> {{"method":"notifications/cancelled","params":{{"requestId":"s"}}}}
            1< {{"id":6,"method":"resources/unsubscribe","params":{{"uri":"x:z"}}}}
        "#,
        listens("s", r#""x:y","x:z""#),
        acknowledged("s", r#""resourceSubscriptions":["x:z"]"#)
    ));
}

/// The server may have accepted the subscription nevertheless.
#[test]
fn silent_server_promises_nothing() {
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        +29.9s
        +0.1s
            1< {{"id":5,"method":"resources/unsubscribe","params":{{"uri":"x:y"}}}}
            {}
        1> {{"id":3,"result":{{}}}}
            - late answer dropped
        1> {{"method":"notifications/resources/updated","params":{{"uri":"x:y"}}}}
        "#,
        listens("s", r#""x:y""#),
        acknowledged("s", "")
    ));
}

/// A second subscription to the same resource waits for the same answer; later ones do not wait.
#[test]
fn server_is_asked_once() {
    let all = r#""resourceSubscriptions":["x:y"]"#;
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        {}
        1> {{"id":3,"result":{{}}}}
            {}
            {}
        {}
            {}
        "#,
        listens("s", r#""x:y""#),
        listens("t", r#""x:y""#),
        acknowledged("s", all),
        acknowledged("t", all),
        listens("u", r#""x:y""#),
        acknowledged("u", all),
    ));
}

/// A server may accept a resource that it refused before. This counts only for the later subscription.
#[test]
fn acceptance_is_for_the_later_listen_only() {
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        1> {{"id":3,"error":{{"code":-32602,"message":"not yet"}}}}
            {}
        {}
            1< {{"id":5,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        1> {{"id":5,"result":{{}}}}
            {}
        1> {{"method":"notifications/resources/updated","params":{{"uri":"x:y"}}}}
            A< {{"method":"notifications/resources/updated","params":{{"_meta":{{$sub:"t"}},"uri":"x:y"}}}}
        "#,
        listens("s", r#""x:y""#),
        acknowledged("s", ""),
        listens("t", r#""x:y""#),
        acknowledged("t", r#""resourceSubscriptions":["x:y"]"#),
    ));
}

#[test]
fn cancelled_listen_is_not_acknowledged() {
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        A> {{"method":"notifications/cancelled","params":{{"requestId":"s"}}}}
            1< {{"id":5,"method":"resources/unsubscribe","params":{{"uri":"x:y"}}}}
        1> {{"id":3,"result":{{}}}}
        1> {{"method":"notifications/resources/updated","params":{{"uri":"x:y"}}}}
        "#,
        listens("s", r#""x:y""#),
    ));
}

/// Two subscriptions to the same resource, of which the first is cancelled.
#[test]
fn cancelled_listen_leaves_the_later_one() {
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        +10s
        {}
        A> {{"method":"notifications/cancelled","params":{{"requestId":"s"}}}}
        1> {{"id":3,"result":{{}}}}
            {}
        "#,
        listens("s", r#""x:y""#),
        listens("t", r#""x:y""#),
        acknowledged("t", r#""resourceSubscriptions":["x:y"]"#)
    ));
}

/// The answer to a cancelled subscription does not count for the next one.
#[test]
fn late_answer_is_not_for_the_next_listen() {
    for late in [r#""result":{}"#, r#""error":{"code":-32602,"message":"no"}"#] {
        subscribe(&format!(
            r#"
            {}
                1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
            A> {{"method":"notifications/cancelled","params":{{"requestId":"s"}}}}
                1< {{"id":5,"method":"resources/unsubscribe","params":{{"uri":"x:y"}}}}
            {}
                1< {{"id":6,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
            1> {{"id":3,{late}}}
            1> {{"id":6,"error":{{"code":-32602,"message":"no"}}}}
                {}
            "#,
            listens("s", r#""x:y""#),
            listens("t", r#""x:y""#),
            acknowledged("t", "")
        ));
    }
}

/// The next process gets the subscription instead.
#[test]
fn crash_does_not_answer_a_subscription() {
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        1 ends
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {{"id":5,"method":"initialize",…}}
        2> {{"id":5,"result":{{"capabilities":{{"resources":{{"subscribe":true}}}}}}}}
            2< {{"method":"notifications/initialized"}}
            2< {{"id":6,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        2> {{"id":6,"result":{{}}}}
            {}
        "#,
        listens("s", r#""x:y""#),
        acknowledged("s", r#""resourceSubscriptions":["x:y"]"#)
    ));
}

/// The next process may be another version of the server.
#[test]
fn next_process_may_lack_subscriptions() {
    subscribe(&format!(
        r#"
        {}
            1< {{"id":3,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
        1 ends
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {{"id":5,"method":"initialize",…}}
        2> {{"id":5,"result":{{"capabilities":{{}}}}}}
            2< {{"method":"notifications/initialized"}}
            {}
        "#,
        listens("s", r#""x:y""#),
        acknowledged("s", "")
    ));
}

/// The handshake shows which changes the server announces.
#[test]
fn first_request_may_be_a_subscription() {
    tell(&format!(
        r#"
        given era legacy
        A starts 1
        A> {{"id":"s","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x:y"]}},$E}}}}
            1< {{"id":2,"method":"initialize",…}}
        1> {{"id":2,"result":{{"capabilities":{{"prompts":{{"listChanged":true}}}}}}}}
            1< {{"method":"notifications/initialized"}}
            {}
        "#,
        acknowledged("s", r#""promptsListChanged":true"#)
    ));
    tell(
        r#"
        given era legacy
        A starts 1
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$E}}
            1< {"id":2,"method":"initialize",…}
        1 ends: exit code 1
            A< {"id":"s","error":{"code":-32603,…"kind":"backend_spawn_failed"…
        "#,
    );
}

/// A client of two servers, one of them modern.
const BOTH: &str = r#"
    given servers more; era legacy; server 1; era modern
    A comes; folder /p; server all
    A> {"id":"a","method":"resources/list","params":{$M}}
        start 1 at /p
        start 2 at /p
    1 spawns
        1< {"id":2,"method":"initialize",…}
    2 spawns
        2< {"id":3,"method":"server/discover",…}
    1> {"id":2,"result":{"capabilities":{"resources":{"subscribe":true}}}}
        1< {"method":"notifications/initialized"}
        1< {"id":4,"method":"resources/list"}
        1< {"id":5,"method":"resources/templates/list"}
    2> {"id":3,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}}
        2< {"id":6,"method":"resources/list",…
        2< {"id":7,"method":"resources/templates/list",…
    1> {"id":4,"result":{"resources":[{"uri":"x:a"},{"uri":"x:b"}]}}
    1> {"id":5,"result":{"resourceTemplates":[]}}
        store 0
    2> {"id":6,"result":{"resources":[{"uri":"y:a"},{"uri":"y:b"}]}}
    2> {"id":7,"result":{"resourceTemplates":[]}}
        store 1
        A< {"id":"a",…
    A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a","x:b","y:a","y:b","z:a"]},$M}}
        1< {"id":9,"method":"resources/subscribe","params":{"uri":"x:a"}}
        1< {"id":10,"method":"resources/subscribe","params":{"uri":"x:b"}}
        2< {"id":11,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["y:a","y:b"]}}}
"#;

#[track_caller]
fn both(story: &str) {
    play(&format!("{BOTH}{story}"));
}

#[test]
fn each_server_accepts_its_own_resources() {
    both(&format!(
        r#"
        1> {{"id":9,"result":{{}}}}
        2> {{"method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"resourceSubscriptions":["y:b"]}},"_meta":{{$sub:11}}}}}}
        2> {{"method":"notifications/resources/updated","params":{{"uri":"y:b","_meta":{{$sub:11}}}}}}
        1> {{"id":10,"error":{{"code":-32602,"message":"no"}}}}
            {}
        2> {{"method":"notifications/resources/updated","params":{{"uri":"y:a","_meta":{{$sub:11}}}}}}
        2> {{"method":"notifications/resources/updated","params":{{"uri":"y:b","_meta":{{$sub:11}}}}}}
            A< {{"method":"notifications/resources/updated","params":{{"uri":"y:b","_meta":{{$sub:"s"}}}}}}
        "#,
        acknowledged("s", r#""resourceSubscriptions":["x:a","y:b"],"toolsListChanged":true"#)
    ));
}

/// A modern server may refuse the whole subscription, or not support subscriptions.
#[test]
fn refused_listen_promises_nothing() {
    for (code, again) in [("-32602", "+1s"), ("-32601", "+20s")] {
        both(&format!(
            r#"
            1> {{"id":9,"result":{{}}}}
            1> {{"id":10,"result":{{}}}}
            2> {{"id":11,"error":{{"code":{code},"message":"no"}}}}
                {}
            {again}
            "#,
            acknowledged("s", r#""resourceSubscriptions":["x:a","x:b"],"toolsListChanged":true"#)
        ));
    }
}

/// A server whose process ended, and which cannot be restarted, does not answer.
#[test]
fn failed_start_promises_nothing() {
    both(&format!(
        r#"
        1> {{"id":9,"result":{{}}}}
        1> {{"id":10,"result":{{}}}}
        2 ends
            - restart after a pause
        +1s
            start 3 at /p
        3 cannot spawn: no such file
            {}
        "#,
        acknowledged("s", r#""resourceSubscriptions":["x:a","x:b"],"toolsListChanged":true"#)
    ));
}
