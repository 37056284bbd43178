//! Clients that change their era, verdicts that end, and subscriptions whose process goes away.

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

/// The server has answered a handshake, so the verdict is certain.
const LEGACY: &str = r#"
    given idle_ttl 20000min
    A starts 1
    A> {"id":"a","method":"server/discover","params":{$M}}
        1< {"id":2,"method":"server/discover","params":{$M}}
    1> {"id":2,"error":{"code":-32601,"message":"no"}}
        - it does not speak the modern era
        stop 1 now
    1 ends: killed
        start 2 at nowhere
    2 spawns
        2< {"id":3,"method":"initialize",…}
    2> {"id":3,"result":{"capabilities":{}}}
        record 0: legacy
        2< {"method":"notifications/initialized"}
        A< {"id":"a","result":{…}}
"#;

#[test]
fn verdict_lasts_seven_days() {
    play(&format!(
        r#"
        {LEGACY}
        +10079min
        B comes
        B> {{"id":"b","method":"tools/list","params":{{$M}}}}
            2< {{"id":4,"method":"tools/list","params":{{}}}}
        2> {{"id":4,"result":{{"tools":[]}}}}
            B< {{"id":"b","result":{{…}}}}
        +2min
        C comes
        C> {{"id":"c","method":"tools/list","params":{{$M}}}}
            start 3 at nowhere
        3 spawns
            3< {{"id":6,"method":"server/discover","params":{{$M}}}}
        "#
    ));
}

/// While the verdict holds, a process that does not answer is a slow one; afterwards it may be a legacy one.
#[test]
fn modern_verdict_lasts_seven_days() {
    let next = |number: u32, id: u32| {
        format!(
            r#"
            {} ends: exit code 1
                - restart after a pause
            +1s
                start {number} at nowhere
            {number} spawns
                {number}< {{"id":{id},"method":"server/discover","params":{{$M}}}}
            +5s
            "#,
            number - 1
        )
    };
    let (second, third) = (next(2, 3), next(3, 4));
    play(&format!(
        r#"
        given idle_ttl 20000min; start_timeout 60s
        A starts 1
        A> {{"id":"a","method":"tools/list","params":{{$M}}}}
            1< {{"id":2,"method":"server/discover","params":{{$M}}}}
        1> {{"id":2,"result":$D}}
            record 0: modern
            1< {{"id":1,"method":"tools/list","params":{{$M}}}}
        1> {{"id":1,"result":{{"tools":[]}}}} -> A as "a"
        +10079min
        {second}
        2> {{"id":3,"result":$D}}
        +1min
        {third}
            3< {{"id":5,"method":"initialize",…}}
        "#
    ));
}
