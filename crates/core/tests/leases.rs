//! Clients come and go, and what nobody holds any more goes too: the daemon's life.

use crate::story::run;

/// One client, greeted.
const ONE: &str = r#"
    given linger 30s; idle_ttl 600s
    A comes; folder /p
        start 1 at /p
    1 spawns
    A greets
        1< …
    1 greets
        A< …
    A confirms
        1< …
"#;

#[track_caller]
fn tell(story: &str) {
    run(&format!("{ONE}{story}"));
}

#[test]
fn when_the_last_client_has_gone_the_backend_goes_and_then_we_do() {
    tell(
        r#"
        A leaves
        +29s
        +1s
            - nobody has used it for a while
            stop 1
        +100s
        1 ends
        +1s
            finished
        "#,
    );
}

#[test]
fn whoever_comes_in_time_finds_it_as_it_was() {
    tell(
        r#"
        A leaves
        +29s
        B comes; folder /p
        B greets
            B< {"id":0,"result":{"serverInfo":1}}
        +100s
        B> {"id":1,"method":"tools/list"}
            1< …
        "#,
    );
}

#[test]
fn without_a_linger_it_goes_at_once() {
    tell(
        r#"
        given linger 0s
        A leaves
        +0s
            - nobody has used it for a while
            stop 1
        "#,
    );
}

/// Nobody came: whoever started us has changed his mind.
#[test]
fn a_daemon_that_nobody_needs_goes() {
    run(r#"
        given linger 30s; idle_ttl 600s
        +0s
        A comes; folder /p
            start 1 at /p
        A leaves
            - its client has left it
            stop 1
        1 ends
        +2s
            finished
        "#);
}

/// What a client had open is taken back, and the server hears of its subscriptions.
#[test]
fn a_client_that_goes_takes_its_affairs_along() {
    tell(
        r#"
        B comes; folder /p
        B greets
            B< …
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"x:/1"}}
            1< {"id":3,…}
        1> {"id":3,"result":{}}
            B< …
        B> {"id":2,"method":"tools/call","params":{}}
            1< {"id":4,…}
        B leaves
            1< {"method":"notifications/cancelled","params":{"reason":"the client is gone","requestId":4}}
            1< …"resources/unsubscribe"…
        1> {"id":4,"result":"too late"}
        A> {"id":1,"method":"tools/list"}
            1< …
        "#,
    );
}

/// Behind an attachment stands another Switchboard: its questions are for the client, as they are.
#[test]
fn what_another_switchboard_asks_is_passed_on() {
    run(r#"
        given relays
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets with {"roots":{}}
            1< …
        1 greets
            A< …
        1> {"id":700,"method":"roots/list"}
            A< {"id":1,"method":"roots/list"}
        A> {"id":1,"result":{"roots":[]}}
            1< {"id":700,"result":{"roots":[]}}
        A> {"id":1,"method":"tools/call","params":{}}
            1< …
        1 ends
            A< {"id":1,"error":{"code":-32002,…"message":"the Switchboard daemon died while it worked on this: exit code 0"}}
        "#);
}
