//! What several clients of one server do to each other: nothing. Found by the simulator of the pool.

use crate::story::run;

/// Two clients of one process, both greeted.
const BOTH: &str = r#"
    A comes; folder /p
        start 1 at /p
    1 spawns
    A greets
        1< …
    1 greets
        A< …
    B comes; folder /p
    B greets
        B< …
"#;

#[track_caller]
fn both(story: &str) {
    run(&format!("given shared\n{BOTH}{story}"));
}

/// Whoever says it first says it for both.
#[test]
fn a_server_hears_once_that_its_clients_are_ready() {
    both(
        r#"
        B confirms
            1< {"method":"notifications/initialized"}
        A confirms
        "#,
    );
}

#[test]
fn the_level_of_one_does_not_silence_the_other() {
    both(
        r#"
        A confirms
            1< …
        B confirms
        A> {"id":1,"method":"logging/setLevel","params":{"level":"debug"}}
            1< …
        1> {"id":3,"result":{}}
            A< …
        B> {"id":1,"method":"logging/setLevel","params":{"level":"error"}}
            1< {"id":4,"method":"logging/setLevel","params":{"level":"error"}}
        1> {"id":4,"result":{}}
            1< {"id":5,"method":"logging/setLevel","params":{"level":"debug"}}
            B< …
        "#,
    );
}

/// The server would do both in their order, and forget the one who came last.
#[test]
fn nobody_is_unsubscribed_by_another_while_he_subscribes() {
    both(
        r#"
        A confirms
            1< …
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"u"}}
            1< …
        1> {"id":3,"result":{}}
            A< …
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"u"}}
            1< …
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"u"}}
            A< {"id":2,"result":{}}
        1> {"id":4,"result":{}}
            B< …
        1> {"method":"notifications/resources/updated","params":{"uri":"u"}}
            B< …
        "#,
    );
}

/// Else the server goes on telling whoever is left.
#[test]
fn the_subscriptions_of_a_client_go_with_it() {
    both(
        r#"
        A confirms
            1< …
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"u"}}
            1< …
        1> {"id":3,"result":{}}
            A< …
        A leaves
            1< {"id":4,"method":"resources/unsubscribe","params":{"uri":"u"}}
        "#,
    );
}

/// The answer to an earlier question must not stand for the answer to the last.
#[test]
fn only_the_last_look_at_the_roots_counts() {
    run(r#"
        given shared; splits
        A comes; folder /p
        A greets with {"roots":{}}
            start 1 at /p
        1 spawns
            1< …
        1 greets
            A< …
        A confirms
            1< …
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"result":{"roots":[{"uri":"file:///p"}]}}
            look up /p
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        found /p
        A> {"id":2,"result":{"roots":[{"uri":"file:///p"},{"uri":"file:///q"}]}}
            look up /p /q
        found /p /q
        A at /q/x> {"id":5,"method":"tools/call","params":{}}
            start 2 at /q
        "#);
}

/// What it was asked before, it still answers.
#[test]
fn a_workspace_that_is_left_finishes_its_work() {
    run(r#"
        given shared; splits
        A comes; folder /p
        A greets with {"roots":{}}
            start 1 at /p
        1 spawns
            1< …
        1 greets
            A< …
        A confirms
            1< …
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"result":{"roots":[{"uri":"file:///p"}]}}
            look up /p
        found /p
        A> {"id":5,"method":"tools/call","params":{}}
            1< {"id":2,…}
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A> {"id":2,"result":{"roots":[{"uri":"file:///q"}]}}
            look up /q
        found /q
        1> {"id":2,"result":1}
            A< {"id":5,"result":1}
            - nobody works there any more
            stop 1
        "#);
}
