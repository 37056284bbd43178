//! Our own subscription at a modern server, for clients of several servers. A server, or a proxy in front of it, may end it
//! at any time. Changes until it is reopened must not be lost.

use super::eras::play;

/// A client of all servers. Its subscription is open and acknowledged, and so is ours at the server (3).
const LISTENS: &str = r#"
    given era modern; idle_ttl 1000min; linger 1000min
    A comes; folder /p; server all
    A> {"id":"a","method":"tools/list","params":{$M}}
        start 1 at /p
    1 spawns
        1< {"id":2,"method":"server/discover","params":{$M}}
    1> {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}
        1< {"id":3,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
        1< {"id":4,"method":"tools/list","params":{$M}}
    1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:3}}}
    1> {"id":4,"result":{"tools":[{"name":"x"}],"ttlMs":6000}}
        store 0
        A< {"id":"a","result":{…"files__x"…
    A> {"id":"u","method":"tools/call","params":{"name":"files__x",$M}}
        1< {"id":6,"method":"tools/call","params":{"name":"x",$M}}
    1> {"id":6,"result":{"content":[]}} -> A as "u"
    A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}}
        A< {"method":"notifications/subscriptions/acknowledged",…
"#;

/// Our next subscription.
fn listen(id: u32) -> String {
    format!(
        r#"1< {{"id":{id},"method":"subscriptions/listen","params":{{$M,"notifications":{{"toolsListChanged":true}}}}}}"#
    )
}

fn acknowledged(id: u32) -> String {
    format!(
        r#"1> {{"method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{}},"_meta":{{$sub:{id}}}}}}}"#
    )
}

/// A failure other than an unknown method.
fn fails(id: u32) -> String {
    format!(r#"1> {{"id":{id},"error":{{"code":-32603,"message":"no"}}}}"#)
}

#[track_caller]
fn after(end: &str, story: &str) {
    play(&format!("{LISTENS}\n{end}\n{story}"));
}

/// The ways in which a server ends a subscription. The gateway turns a closed stream into a result, and a broken connection
/// into an error.
const ENDS: [&str; 3] = [
    r#"1> {"id":3,"result":{"resultType":"complete","_meta":{$sub:3}}}"#,
    r#"1> {"id":3,"error":{"code":-32603,"message":"the connection broke"}}"#,
    r#"1> {"method":"notifications/cancelled","params":{"requestId":3}}"#,
];

#[test]
fn ended_listen_is_opened_again() {
    let story = format!(
        r#"
        +0.9s
        +0.1s
            {}
        +10s
        {}
            1< {{"id":9,"method":"tools/list","params":{{$M}}}}
        1> {{"id":9,"result":{{"tools":[{{"name":"y"}}]}}}}
            store 0
        +1s
            A< {{"method":"notifications/tools/list_changed","params":{{"_meta":{{$sub:"s"}}}}}}
        A> {{"id":"b","method":"tools/list","params":{{$M}}}}
            A< {{"id":"b","result":{{…"files__y"…
        "#,
        listen(8),
        acknowledged(8),
    );
    ENDS.iter().for_each(|end| after(end, &story));
}

#[test]
fn equal_lists_after_a_gap_are_silent() {
    let story = format!(
        r#"
        +1s
            {}
        {}
            1< {{"id":9,"method":"tools/list","params":{{$M}}}}
        1> {{"id":9,"result":{{"tools":[{{"name":"x"}}],"ttlMs":6000}}}}
        "#,
        listen(8),
        acknowledged(8),
    );
    after(ENDS[0], &story);
}

#[test]
fn reopen_delay_doubles() {
    let mut story = String::new();
    for (ends, pause) in [1, 2, 4, 8, 16, 32, 64, 64].into_iter().enumerate() {
        let id = 8 + ends as u32;
        story += &format!("+{}.9s\n+0.1s\n{}\n{}\n", pause - 1, listen(id), fails(id));
    }
    after(ENDS[1], &story);
}

/// A proxy that ends every stream after a while does not cause a long delay.
#[test]
fn stable_listen_resets_a_long_delay() {
    let mut story = String::new();
    for (ends, pause) in [1, 2, 4, 8, 16, 32].into_iter().enumerate() {
        let id = 8 + ends as u32;
        story += &format!("+{pause}s\n{}\n{}\n", listen(id), fails(id));
    }
    let told = r#"1> {"id":15,"result":{"tools":[{"name":"x"}],"ttlMs":6000}}"#;
    story += &format!("+64s\n{}\n{}\n1< {{\"id\":15,…\n{told}\n", listen(14), acknowledged(14));
    story += &format!("+10s\n{}\n+1s\n{}", fails(14), listen(16));
    after(ENDS[1], &story);
}

#[test]
fn stable_listen_resets_the_delay() {
    let round = |id: u32, tools: u32| {
        let told = r#""tools":[{"name":"x"}],"ttlMs":6000"#;
        format!(
            "{}\n{}\n1< {{\"id\":{tools},…\n1> {{\"id\":{tools},\"result\":{{{told}}}}}\n",
            listen(id),
            acknowledged(id)
        )
    };
    let failed = format!("+1s\n{}\n{}\n+2s\n", listen(8), fails(8));
    let stood = format!("+4s\n{}\n+1s\n{}", fails(9), listen(11));
    after(ENDS[1], &format!("{failed}{}{stood}", round(9, 10)));
    // A subscription that ends right after its acknowledgement is reopened with a growing delay.
    let fell = format!("{}\n+3.9s\n+0.1s\n{}", fails(9), listen(11));
    after(ENDS[1], &format!("{failed}{}{fell}", round(9, 10)));
}

/// The lists then expire by their `ttlMs`.
#[test]
fn server_without_listen_is_not_asked_again() {
    after(
        r#"1> {"id":3,"error":{"code":-32601,"message":"Method not found"}}"#,
        r#"
        +100s
        A> {"id":"b","method":"tools/list","params":{$M}}
            1< {"id":8,"method":"tools/list","params":{$M}}
            A< {"id":"b","result":{"resultType":"complete","ttlMs":0,…
        1> {"id":8,"result":{"tools":[{"name":"x"}],"ttlMs":6000}}
        +100s
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at /p
        2 spawns
            2< {"id":10,"method":"server/discover","params":{$M}}
        2> {"id":10,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}
            2< {"id":11,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
            2< {"id":12,"method":"tools/list","params":{$M}}
        "#,
    );
}

#[test]
fn next_process_listens_without_a_pause() {
    after(
        ENDS[0],
        r#"
        1 ends: exit code 1
            - restart after a pause
        +1s
            start 2 at /p
        2 spawns
            2< {"id":8,"method":"server/discover","params":{$M}}
        2> {"id":8,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}
            2< {"id":9,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
            2< {"id":10,"method":"tools/list","params":{$M}}
        2> {"id":10,"result":{"tools":[{"name":"x"}],"ttlMs":6000}}
        +20s
        "#,
    );
}

#[test]
fn last_client_closes_the_listen() {
    after(
        ENDS[0],
        r#"
        A leaves
        +100s
        "#,
    );
}

/// The next client gets lists that changed while there was no subscription.
#[test]
fn lists_are_fetched_for_the_next_client() {
    let story = format!(
        r#"
        B comes; folder /p; server all
        B> {{"id":"b","method":"tools/call","params":{{"name":"files__x",$M}}}}
            {}
            1< {{"id":9,"method":"tools/call",…
        {}
        +1s
            1< {{"id":10,"method":"tools/list","params":{{$M}}}}
        "#,
        listen(8),
        acknowledged(8),
    );
    let left = r#"
        A leaves
            1< {"method":"notifications/cancelled","params":{"reason":"nobody listens any more","requestId":3}}
    "#;
    after(left, &story);
}

/// The delay protects servers that refuse. A new client does not wait for its end.
#[test]
fn next_client_does_not_wait_for_a_listen() {
    let story = format!(
        r#"
        B comes; folder /p; server all
        B> {{"id":"b","method":"tools/call","params":{{"name":"files__x",$M}}}}
            {}
            1< {{"id":9,"method":"tools/call",…
        {}
        +1s
            1< {{"id":10,"method":"tools/list","params":{{$M}}}}
        +20s
        "#,
        listen(8),
        acknowledged(8),
    );
    after(ENDS[0], &story);
}

/// The new subscription includes the clients' resources and tasks.
#[test]
fn resources_are_listened_to_again() {
    play(
        r#"
        given era modern; idle_ttl 1000min; linger 1000min
        A comes; folder /p; server all
        A> {"id":"a","method":"resources/list","params":{$M}}
            start 1 at /p
        1 spawns
            1< {"id":2,…
        1> {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}}
            1< {"id":3,"method":"resources/list",…
            1< {"id":4,"method":"resources/templates/list",…
        1> {"id":3,"result":{"resources":[{"uri":"x:a"}]}}
        1> {"id":4,"result":{"resourceTemplates":[]}}
            store 0
            A< {"id":"a",…
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["x:a"]},$M}}
            1< {"id":6,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["x:a"]}}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["x:a"]},"_meta":{$sub:6}}}
            A< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:"s"},"notifications":{"resourceSubscriptions":["x:a"]}}}
        1> {"id":6,"result":{"resultType":"complete"}}
        +1s
            1< {"id":8,"method":"subscriptions/listen","params":{$M,"notifications":{"resourceSubscriptions":["x:a"]}}}
        1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["x:a"]},"_meta":{$sub:8}}}
            1< {"id":9,"method":"resources/list",…
            1< {"id":10,"method":"resources/templates/list",…
        1> {"method":"notifications/resources/updated","params":{"uri":"x:a","_meta":{$sub:8}}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x:a","_meta":{$sub:"s"}}}
        "#,
    );
}

/// A client of all servers that subscribes to a resource; our own subscription (8) is acknowledged. The client then
/// subscribes to another one: our next subscription is 10.
const WIDENED: &str = r#"
    A comes; folder /p; server all
    A> {"id":"a","method":"resources/list","params":{$M}}
        start 1 at /p
    1 spawns
        1< {"id":2,…
    1> {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{}}}}
        1< {"id":3,"method":"subscriptions/listen",…
        1< {"id":4,"method":"tools/list",…
        1< {"id":5,"method":"resources/list",…
        1< {"id":6,"method":"resources/templates/list",…
    1> {"id":4,"result":{"tools":[]}}
    1> {"id":5,"result":{"resources":[{"uri":"x:a"},{"uri":"x:b"}]}}
    1> {"id":6,"result":{"resourceTemplates":[]}}
        store 0
        A< {"id":"a",…
    1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:3}}}
    A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["x:a"]},$M}}
        1< {"id":8,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a"]}}}
    1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["x:a"]},"_meta":{$sub:8}}}
        $closed3
        A< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:"s"},"notifications":{"resourceSubscriptions":["x:a"]}}}
    A> {"id":"t","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["x:b"]},$M}}
        1< {"id":10,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:a","x:b"]}}}
"#;

/// The server accepts both resources on our next subscription (10).
const AGREED: &str = r#"1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["x:a","x:b"]},"_meta":{$sub:10}}}"#;

/// The client's second subscription is acknowledged with these resources.
fn opened(resources: &str) -> String {
    format!(
        r#"A< {{"method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{$sub:"t"}},"notifications":{{{resources}}}}}}}"#
    )
}

/// The acknowledgement of the client's second subscription.
const OPENED: &str = r#""resourceSubscriptions":["x:b"]"#;

const UNHEARD: &str = "- no listener for notifications/resources/updated";

/// Switchboard closes a replaced subscription.
fn closed(id: u32) -> String {
    format!(
        r#"1< {{"method":"notifications/cancelled","params":{{"reason":"replaced by another subscription","requestId":{id}}}}}"#
    )
}

fn updated(uri: &str, id: u32) -> String {
    format!(
        r#"1> {{"method":"notifications/resources/updated","params":{{"uri":"{uri}","_meta":{{$sub:{id}}}}}}}"#
    )
}

/// The client gets an update on its own subscription.
fn heard(uri: &str, on: &str) -> String {
    format!(
        r#"A< {{"method":"notifications/resources/updated","params":{{"uri":"{uri}","_meta":{{$sub:"{on}"}}}}}}"#
    )
}

#[track_caller]
fn widened(settings: &str, closed_before: &str, lines: &[String]) {
    let story = WIDENED.replace("$closed3", closed_before);
    play(&format!(
        "given era modern; idle_ttl 1000min; linger 1000min{settings}\n{story}\n{}",
        lines.join("\n")
    ));
}

/// Updates on the old subscription count until the server has acknowledged the new one. Afterwards they count once.
#[test]
fn old_listen_counts_until_the_next_is_open() {
    widened(
        "",
        &closed(3),
        &[
            updated("x:a", 8),
            heard("x:a", "s"),
            AGREED.to_owned(),
            closed(8),
            opened(OPENED),
            updated("x:a", 8),
            UNHEARD.to_owned(),
            updated("x:a", 10),
            heard("x:a", "s"),
            updated("x:b", 10),
            heard("x:b", "t"),
        ],
    );
}

/// Subscriptions to a remote server have separate streams, whose messages may overtake each other.
#[test]
fn streams_may_overtake_each_other() {
    let list_changed =
        r#"1> {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:8}}}"#.to_owned();
    let fetched = r#"1< {"id":12,"method":"tools/list",…"#.to_owned();
    widened(
        "; remote",
        "",
        &[
            "+1s".to_owned(),
            closed(3),
            AGREED.to_owned(),
            opened(OPENED),
            updated("x:a", 8),
            heard("x:a", "s"),
            updated("x:b", 10),
            heard("x:b", "t"),
            updated("x:b", 8),
            list_changed,
            fetched,
            "+0.9s".to_owned(),
            "+0.1s".to_owned(),
            closed(8),
            updated("x:a", 8),
            UNHEARD.to_owned(),
        ],
    );
}

/// The old subscription stays open if the server refuses the next one.
#[test]
fn refused_listen_keeps_the_old_one() {
    let story = [fails(10), opened(""), updated("x:a", 8), heard("x:a", "s"), "+1s".to_owned()];
    widened("", &closed(3), &story);
}

/// Any message on a subscription shows that it is open.
#[test]
fn first_message_counts_as_acknowledgement() {
    widened("", &closed(3), &[updated("x:b", 10), closed(8), opened(OPENED), heard("x:b", "t")]);
}

/// A window relays messages to a daemon, which knows a subscription by the window's id for it.
#[test]
fn relayed_notices_have_the_clients_id() {
    let news = |method: &str, id: &str| {
        format!(r#"{{"method":"notifications/{method}","params":{{"_meta":{{$sub:{id}}}}}}}"#)
    };
    let (acknowledged, changed) = ("subscriptions/acknowledged", "tools/list_changed");
    play(&format!(
        r#"
        given relays
        A starts 1
        A> {{"id":"s","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},$M}}}} -> 1 as 1
        1> {}
            A< {}
        A> {{"id":"t","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},$M}}}} -> 1 as 2
        1> {}
            A< {}
        1> {}
            A< {}
        A> {{"method":"notifications/cancelled","params":{{"requestId":"s"}}}}
            1< {{"method":"notifications/cancelled","params":{{"requestId":1}}}}
        1> {}
        "#,
        news(acknowledged, "1"),
        news(acknowledged, r#""s""#),
        news(acknowledged, "2"),
        news(acknowledged, r#""t""#),
        news(changed, "1"),
        news(changed, r#""s""#),
        news(changed, "1"),
    ));
}
