//! Clients that change their era, and subscriptions whose process goes away.

use super::eras::play;

/// A modern client with a subscription at a modern process.
const LISTENS: &str = r#"
    given era modern
    A starts 1
    A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}}
        1< {"id":2,"method":"server/discover","params":{$M}}
    1> {"id":2,"result":$D}
        1< {"id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}}
"#;

#[test]
fn handshake_refuses_modern_requests() {
    play(
        r#"
        A starts 1
        A> {"id":"a","method":"tools/list","params":{$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        A> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
            A< {"id":"a","error":{"code":-32022,…
            start 2 at nowhere
        "#,
    );
}

#[test]
fn plain_client_may_turn_modern() {
    play(
        r#"
        given era modern
        A starts 1
        A> {"id":"a","method":"tools/list"}
            1< {"id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05",…}}
        1> {"id":2,"result":{"capabilities":{}}}
            1< {"method":"notifications/initialized"}
            1< {"id":1,"method":"tools/list"}
        1> {"id":1,"result":{"tools":[]}} -> A as "a"
        A> {"id":"b","method":"tools/list","params":{$M}}
            start 2 at nowhere
        "#,
    );
}

#[test]
fn legacy_setting_refuses_modern_requests() {
    play(
        r#"
        given client_era legacy
        A starts 1
        A> {"id":"a","method":"tools/list","params":{$M}}
            A< {"id":"a","error":{"code":-32022,…
        A> {"id":"b","method":"server/discover","params":{$M}}
            A< {"id":"b","error":{"code":-32601,…
        "#,
    );
}

#[test]
fn shutdown_says_nothing_about_eras() {
    play(
        r#"
        A starts 1
        drain
            - switchboard is shutting down
            stop 1 within 5s
        A> {"id":"a","method":"server/discover","params":{$M}}
            A< {"id":"a","error":{"code":-32603,…"kind":"shutting_down"…
        "#,
    );
}

#[test]
fn change_waits_for_the_acknowledgement() {
    play(
        r#"
        given era modern; profile work everything
        A comes; profile work
            start 1 at nowhere
        1 spawns
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}}
        config is as it was; profile work tools read
        1> {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:1}}}
            A< {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{$sub:"s"}}}
        config is as it was; profile work tools write
            A< {"method":"notifications/tools/list_changed","params":{"_meta":{$sub:"s"}}}
        "#,
    );
}

#[test]
fn new_settings_end_subscriptions() {
    play(&format!(
        r#"
        {LISTENS}
        config changes
            1< {{"method":"notifications/cancelled","params":{{"reason":"the subscription has ended","requestId":1}}}}
            A< {{"id":"s","result":{{"resultType":"complete","_meta":{{$sub:"s"}}}}}}
            - its settings have changed
            stop 1
        "#
    ));
}

#[test]
fn stored_lists_are_not_for_modern_clients() {
    play(
        r#"
        given era modern; shared; stored read
        A starts 1
        A> {"id":"a","method":"tools/list","params":{$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        "#,
    );
}
