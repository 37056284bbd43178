//! A new config: who notices, and what of it.

use crate::story::run;

/// Two clients of one instance.
const TWO: &str = r#"
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< …
        1 greets
            A< …
        A confirms
            1< {"method":"notifications/initialized"}
        B comes; folder /p
        B greets
            B< …
        B confirms
"#;

#[track_caller]
fn two(story: &str) {
    run(&format!("given linger 30s\n{TWO}{story}"));
}

/// The old instance finishes what it is at, and then goes; the new one serves whatever comes.
#[test]
fn a_changed_server_has_a_new_instance_for_new_requests() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< {"id":3,…}
        config changes
        A> {"id":2,"method":"tools/call","params":{}}
            start 2 at /p
        B> {"id":2,"method":"tools/call","params":{}}
        2 spawns
            2< {"id":6,"method":"initialize",…}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":4,"method":"tools/call",…}
            2< {"id":5,"method":"tools/call",…}
        1> {"id":3,"result":"old"}
            A< {"id":1,"result":"old"}
            - its settings have changed
            stop 1
        2> {"id":4,"result":"new"}
            A< {"id":2,"result":"new"}
        1 ends
        C comes; folder /p
        C greets
            C< {"id":0,"result":{"serverInfo":2}}
        "#);
}

/// What one says to the old instance about an old request still reaches it.
#[test]
fn a_request_at_the_old_instance_can_be_cancelled() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< {"id":3,…}
        config changes
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
            - its settings have changed
            stop 1
        "#);
}

#[test]
fn an_idle_instance_of_a_changed_server_goes_at_once() {
    two(r#"
        config changes
            - its settings have changed
            stop 1
        1 ends
        A> {"id":1,"method":"tools/list"}
            start 2 at /p
        "#);
}

#[test]
fn a_config_that_is_as_it_was_changes_nothing() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< {"id":3,…}
        config is as it was
        config adds one
        1> {"id":3,"result":"old"}
            A< {"id":1,"result":"old"}
        C comes; folder /p; server 1
            start 2 at /p
        "#);
}

#[test]
fn a_server_that_was_removed_says_so_and_may_come_back() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< {"id":3,…}
        config drops it
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"error":{…put it back…"the server `files` is no longer in the config"}}
        1> {"id":3,"result":"old"}
            A< {"id":1,"result":"old"}
            - it is no longer in the config
            stop 1
        1 ends
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"error":{…no longer in the config…}}
        config changes
        A> {"id":3,"method":"tools/list"}
            start 2 at /p
        2 spawns
            2< {"id":5,"method":"initialize",…}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":4,"method":"tools/list"}
        "#);
}

/// It dies of its own while it finishes: nothing is tried again for a server that is no longer there.
#[test]
fn a_removed_server_is_not_restarted() {
    two(r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":3,…}
        config drops it
        1 ends
            - retry: tools/list
            - restart after a pause
        +5s
            A< {"id":1,"error":{…no longer in the config…}}
        "#);
}

/// What a client wants to hear of, it hears from the new one.
#[test]
fn subscriptions_move_along() {
    two(r#"
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"x:1"}}
            1< {"id":3,…}
        1> {"id":3,"result":{}}
            A< {"id":1,"result":{}}
        config changes
            1< {"id":4,"method":"resources/unsubscribe","params":{"uri":"x:1"}}
            start 2 at /p
            - its settings have changed
            stop 1
        1 ends
        2 spawns
            2< {"id":5,"method":"initialize",…}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":6,"method":"resources/subscribe","params":{"uri":"x:1"}}
        2> {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
        "#);
}

/// A handshake is made to its end where it was begun, and what follows goes to the new instance.
#[test]
fn a_client_that_is_being_greeted_moves_afterwards() {
    run(r#"
        given linger 30s
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,…}
        config changes
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
            - its settings have changed
            stop 1
        A confirms
        A> {"id":1,"method":"tools/list"}
            start 2 at /p
        2 spawns
            2< {"id":3,"method":"initialize",…}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":2,"method":"tools/list"}
        "#);
}

/// Mended in the config, it is tried at once, and for those who wait already.
#[test]
fn what_waits_for_a_broken_server_goes_to_the_mended_one() {
    two(r#"
        1 ends
            - restart after a pause
        A> {"id":1,"method":"tools/call","params":{}}
        config changes
            start 2 at /p
        2 spawns
            2< {"id":4,"method":"initialize",…}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":3,"method":"tools/call",…}
        +60s
        "#);
}

/// The new settings may pass on a variable in which two clients differ.
#[test]
fn other_environments_are_other_instances() {
    two(r#"
        config changes; env A 1; env B 2
            - its settings have changed
            stop 1
        1 ends
        A> {"id":1,"method":"tools/list"}
            start 2 at /p with env 1
        B> {"id":1,"method":"tools/list"}
            start 3 at /p with env 2
        "#);
}

#[test]
fn room_and_linger_count_at_once() {
    two(r#"
        config is as it was; room 1; linger 5
        C comes; folder /q
        C greets
            - waits for room
            - another workspace needs its place
            stop 1
        1 ends
            start 2 at /q
        2 spawns
            2< {"id":3,"method":"initialize",…}
        2 greets
            C< …
        C leaves
        +6s
            - nobody has used it for a while
            stop 2
        "#);
}

/// Clients that have their lists from the old one are told to ask again.
#[test]
fn lists_are_asked_for_anew() {
    run(r#"
        given linger 30s
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,…}
        1> {"id":1,"result":{"capabilities":{"tools":{"listChanged":true}}}}
            A< …
        A confirms
            1< {"method":"notifications/initialized"}
        config changes
            A< {"method":"notifications/tools/list_changed"}
            - its settings have changed
            stop 1
        "#);
}
