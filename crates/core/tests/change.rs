//! Reload of the config: which processes, requests and lists it affects.

use crate::story::run;

/// Two clients of one process, under a daemon.
#[track_caller]
fn two(story: &str) {
    run(&format!("given linger 30s\nA opens 1\nB joins 1\n{story}"));
}

/// The old process finishes its requests and stops; the new one serves the rest.
#[test]
fn new_requests_go_to_the_changed_server() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        config changes
        A> {"id":2,"method":"tools/call","params":{}}
            start 2 at /p
        B> {"id":2,"method":"tools/call","params":{}}
        2 completes handshake 6
            2< {"id":4,"method":"tools/call",…}
            2< {"id":5,"method":"tools/call",…}
        1> {"id":3,"result":"old"} -> A as 1
            - its settings have changed
            stop 1
        2> {"id":4,"result":"new"} -> A as 2
        1 ends
        C joins 2; unconfirmed
    "#);
}

/// Messages about an old request still reach the old process.
#[test]
fn old_requests_can_be_cancelled() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        config changes
        A> {"method":"notifications/cancelled","params":{"requestId":1}}
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
            - its settings have changed
            stop 1
    "#);
}

#[test]
fn a_change_stops_an_idle_process_at_once() {
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
fn an_equal_config_changes_nothing() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        config is as it was
        config adds one
        1> {"id":3,"result":"old"} -> A as 1
        C comes; folder /p; server 1
            start 2 at /p
    "#);
}

#[test]
fn a_removed_server_is_named_and_may_return() {
    two(r#"
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 3
        config drops it
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"error":{…put it back…"the server `files` is no longer in the config"}}
        1> {"id":3,"result":"old"} -> A as 1
            - it is no longer in the config
            stop 1
        1 ends
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"error":{…no longer in the config…}}
        config changes
        A> {"id":3,"method":"tools/list"}
            start 2 at /p
        2 completes handshake 5
            2< {"id":4,"method":"tools/list"}
    "#);
}

/// A handshake that waits for room does not move: the change leaves it at its backend, and the removal ends it.
#[test]
fn a_changed_then_removed_server_is_not_started() {
    run(r#"
        given linger 30s; max_backends 1
        A opens 1; folder /a
        A> {"id":1,"method":"tools/call","params":{}} -> 1 as 2
        B comes; folder /b
        B greets
            - waits for room
        config changes
        config drops it
            B< {"id":0,"error":{…no longer in the config…}}
        1> {"id":2,"result":1} -> A as 1
            - its settings have changed
            stop 1
        1 ends
    "#);
}

/// A crash while the last requests finish: a removed server is not restarted.
#[test]
fn a_removed_server_is_not_restarted() {
    two(r#"
        A> {"id":1,"method":"tools/list"} -> 1 as 3
        config drops it
        1 ends
            - retry: tools/list
            - restart after a pause
        +5s
            A< {"id":1,"error":{…no longer in the config…}}
    "#);
}

/// The new process is told the subscriptions, and its updates reach the client.
#[test]
fn subscriptions_move_to_the_new_process() {
    two(r#"
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"x:1"}} -> 1 as 3
        1> {"id":3,"result":{}} -> A as 1
        config changes
            1< {"id":4,"method":"resources/unsubscribe","params":{"uri":"x:1"}}
            start 2 at /p
            - its settings have changed
            stop 1
        1 ends
        2 completes handshake 5
            2< {"id":6,"method":"resources/subscribe","params":{"uri":"x:1"}}
        2> {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x:1"}}
    "#);
}

/// A handshake ends where it began; later requests go to the new process.
#[test]
fn a_client_moves_after_its_handshake() {
    run(r#"
        given linger 30s
        A opens 1; unanswered
        config changes
        1 greets
            A< {"id":0,"result":{"serverInfo":1}}
            - its settings have changed
            stop 1
        A confirms
        A> {"id":1,"method":"tools/list"}
            start 2 at /p
        2 completes handshake 3
            2< {"id":2,"method":"tools/list"}
    "#);
}

/// A mended server is tried at once, also for requests that wait.
#[test]
fn waiting_requests_go_to_the_mended_server() {
    two(r#"
        1 ends
            - restart after a pause
        A> {"id":1,"method":"tools/call","params":{}}
        config changes
            start 2 at /p
        2 completes handshake 4
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
fn new_limits_hold_at_once() {
    two(r#"
        config is as it was; room 1; linger 5
        C comes; folder /q
        C greets
            - waits for room
            - to make room for another workspace
            stop 1
        1 ends
            start 2 at /q
        2 spawns
            2< {"id":3,"method":"initialize",…}
        2 greets
            C< …
        C leaves
        +6s
            - it was idle for too long
            stop 2
    "#);
}

/// Clients that got their lists from the old process are told to fetch them again.
#[test]
fn a_change_announces_the_lists() {
    run(r#"
        given linger 30s
        A opens 1; unanswered
        1> {"id":1,"result":{"capabilities":{"tools":{"listChanged":true}}}} -> A
        A confirms
            1< {"method":"notifications/initialized"}
        config changes
            A< {"method":"notifications/tools/list_changed"}
            - its settings have changed
            stop 1
    "#);
}

/// Only a filter on prompts or resources may refuse a completion that names none.
#[test]
fn tool_filters_spare_nameless_completions() {
    two(r#"
        1 ends
            - restart after a pause
        A> {"id":1,"method":"completion/complete","params":{}}
        config changes and denies read
            start 2 at /p
        2 completes handshake 4
            2< {"id":3,"method":"completion/complete","params":{}}
        2> {"id":3,"result":{}} -> A as 1
    "#);
}
