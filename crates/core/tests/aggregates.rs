//! Clients of many servers: one handshake, one merged list, and each request routed to its server.

use super::subscriptions::with_resources;
use crate::story::run;

/// A cold start: both servers start, and are asked for their lists.
const OPEN: &str = r#"
    given servers more
    A greets all: 1 2; with {"roots":{}}
    1 spawns
        1< {"id":2,"method":"initialize",…}
    2 spawns
        2< {"id":3,"method":"initialize",…}
    1 greets with {"tools":{}}
        1< {"method":"notifications/initialized"}
        1< {"id":4,"method":"tools/list"}
    2 greets with {"tools":{},"prompts":{}}
        A< {"id":0,"result":{"capabilities":{"prompts":{"listChanged":true},"tools":{"listChanged":true}},…}}
        2< {"method":"notifications/initialized"}
        2< {"id":5,"method":"tools/list"}
        2< {"id":6,"method":"prompts/list"}
    A confirms
    A> {"id":1,"method":"tools/list"}
    1> {"id":4,"result":{"tools":[{"name":"read","x":0.70}]}}
        store 0
    2> {"id":5,"result":{"tools":[{"name":"read"}],"nextCursor":"n"}}
        2< {"id":8,"method":"tools/list","params":{"cursor":"n"}}
    2> {"id":6,"result":{"prompts":[]}}
    2> {"id":8,"result":{"tools":[{"name":"write"}]}}
        store 1
        A< {"id":1,"result":{"tools":[{"name":"files__read","x":0.70},{"name":"more__read"},{"name":"more__write"}]}}
"#;

#[track_caller]
pub(crate) fn open(story: &str) {
    run(&format!("{OPEN}{story}"));
}

#[test]
fn lists_are_fetched_whole_and_merged() {
    open("");
}

#[test]
fn a_call_reaches_its_server_by_name() {
    open(
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"more__read","arguments":{"n":1.50}}}
            2< {"id":10,"method":"tools/call","params":{"name":"read","arguments":{"n":1.50}}}
        A> {"id":"d","method":"tools/call","params":{"name":"files__read"}}
            1< {"id":11,"method":"tools/call","params":{"name":"read"}}
        1> {"id":11,"result":{"content":[]}} -> A as "d"
        2> {"id":10,"result":{"content":[]}} -> A as "c"
        "#,
    );
}

#[test]
fn an_unknown_name_is_answered_by_us() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__raed"}}
            A< {"id":2,"error":{"code":-32602,…"nearest":["more__read"…],…"message":"Unknown tool: more__raed"}}
        "#,
    );
}

#[test]
fn a_cancellation_reaches_the_server() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,…}
        A> {"method":"notifications/cancelled","params":{"requestId":2}}
            2< {"method":"notifications/cancelled","params":{"requestId":10}}
        "#,
    );
}

#[test]
fn questions_and_answers_find_their_peers() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,…}
        2> {"id":1,"method":"sampling/createMessage","params":{}} -> A as 1
        A> {"id":1,"result":{"role":"assistant"}} -> 2 as 1
        "#,
    );
}

#[test]
fn roots_are_asked_once_for_all_servers() {
    open(
        r#"
        1> {"id":"r","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        2> {"id":"s","method":"roots/list"}
        A> {"id":1,"result":{"roots":[{"uri":"file:///p","name":"P"}]}}
            look up /p
        found /p
            1< {"id":"r","result":{"roots":[{"uri":"file:///p","name":"P"}]}}
            2< {"id":"s","result":{"roots":[{"uri":"file:///p","name":"P"}]}}
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        "#,
    );
}

#[test]
fn a_seen_list_that_changes_is_announced() {
    open(
        r#"
        +1s
        2> {"method":"notifications/tools/list_changed"}
            2< {"id":10,"method":"tools/list"}
        2> {"id":10,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
        2> {"method":"notifications/tools/list_changed"}
        +1s
        2 lists 11: read write new; store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
        2> {"method":"notifications/prompts/list_changed"}
            2< {"id":12,"method":"prompts/list"}
        2> {"id":12,"result":{"prompts":[{"name":"p"}]}}
            store 1
        +1s
        "#,
    );
}

#[test]
fn a_second_window_is_answered_at_once() {
    open(
        r#"
        B comes; folder /p; server all
        B greets with {"roots":{}}
            B< {"id":0,"result":…}
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"result":{"tools":[{"name":"files__read","x":0.70},{"name":"more__read"},{"name":"more__write"}]}}
        B> {"id":5,"method":"tools/call","params":{"name":"files__read"}}
            1< {"id":12,"method":"tools/call","params":{"name":"read"}}
        A leaves
        1> {"id":12,"result":{}} -> B as 5
        "#,
    );
}

/// The handshake and the lists share a budget. A server that comes later is announced.
#[test]
fn a_late_server_costs_the_budget_only() {
    run(r#"
        given servers more
        A greets all: 1 2
        1 completes handshake 2; offers {"tools":{}}
            1< {"id":3,"method":"tools/list"}
        2 spawns
            2< {"id":4,"method":"initialize",…}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        +9s
        +1s
            record 1: slow, try 1
            A< {"id":0,"result":{"capabilities":{"completions":{},"logging":{},"prompts":…,"resources":…,"tools":…},"instructions":"`more` is unavailable; run `switchboard status`",…}}
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        2 greets with {"tools":{}}
            2< …
        2 lists 6: write; store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"result":{"tools":[{"name":"files__read"},{"name":"more__write"}]}}
    "#);
}

#[test]
fn a_failed_start_is_not_waited_for() {
    run(r#"
        given servers more
        A greets all: 1 2
        2 cannot spawn: no
        1 completes handshake 2; offers {"tools":{}}; answers A
            1< {"id":3,"method":"tools/list"}
        A confirms
        A> {"id":1,"method":"tools/list"}
            start 3 at /p
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        3 completes handshake 6; offers {"tools":{}}
        3 lists 7: late; store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
    "#);
}

#[test]
fn a_foreign_cursor_is_refused() {
    let first = r#"A< {"id":1,"result":{"tools":[{"name":"files__read","x":0.70},{"name":"more__read"},{"name":"more__write"}]}}"#;
    let pages = r#"A< {"id":1,"result":{"tools":[{"name":"files__read","x":0.70},{"name":"more__read"}],"nextCursor":"…"}}
    A> {"id":2,"method":"tools/list","params":{"cursor":"bm9uc2Vuc2U"}}
        A< {"id":2,"error":{"code":-32602,…"kind":"stale_cursor"…}}"#;
    run(&format!("given page_size 2\n{}", OPEN.replace(first, pages)));
}

#[test]
fn log_level_and_logger_names_are_mapped() {
    run(r#"
        given start_timeout 60s
        A greets all: 1
        1 completes handshake 2; offers {"logging":{}}; answers A
            store 0
        A confirms
        A> {"id":1,"method":"logging/setLevel","params":{"level":"warning"}} -> 1 as 4
            A< {"id":1,"result":{}}
        1> {"method":"notifications/message","params":{"level":"info","data":"x"}}
        1> {"method":"notifications/message","params":{"level":"error","data":"x"}}
            A< {"method":"notifications/message","params":{"logger":"files","level":"error","data":"x"}}
        1> {"method":"notifications/message","params":{"level":"error","logger":"db","data":"x"}}
            A< {"method":"notifications/message","params":{"level":"error","logger":"files/db","data":"x"}}
    "#);
}

#[test]
fn a_removed_server_leaves_the_list() {
    open(
        r#"
        config drops it; server 1
            - it is no longer in the config
            stop 2
        2 ends
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"result":{"tools":[{"name":"files__read","x":0.70}]}}
        "#,
    );
}

#[test]
fn a_changed_server_is_listed_and_announced() {
    open(
        r#"
        config changes; server 1
            start 3 at /p
            - its settings have changed
            stop 2
        2 ends
        +1s
        3 completes handshake 10; with {"roots":{}}; offers {"tools":{}}
        3 lists 11: other; store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
        "#,
    );
}

/// More servers than may run: each is started, greeted and asked in its turn.
#[test]
fn servers_take_turns_without_room() {
    run(r#"
        given servers more; pool.max_backends 1
        A greets all: 1
            - waits for room
        1 completes handshake 2; offers {"tools":{}}
        1 lists 3: read
            - to make room for another workspace
            stop 1
        1 ends
            start 2 at /p
        2 completes handshake 4; offers {"tools":{}}; answers A
            2< {"id":5,"method":"tools/list"}
        A confirms
        2> {"id":5,"result":{"tools":[{"name":"write"}]}}
            store 1
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"},{"name":"more__write"}]}}
    "#);
}

/// Requests that wait for servers are answered, and no server is started.
#[test]
fn a_drain_starts_nothing_for_lists() {
    run(r#"
        given servers more
        A greets all: 1 2
        A> {"id":1,"method":"tools/list"}
        drain
        +5s
            - switchboard is shutting down
            stop 1 within 5s
            - switchboard is shutting down
            stop 2 within 5s
            A< {"id":0,"error":…}
            A< {"id":1,"error":…}
    "#);
}

/// A crash before the first answer starts one process, not two: the waiting list and the crash both ask for one.
#[test]
fn a_crash_before_a_list_starts_one_process() {
    run(r#"
        A greets all: 1
        A> {"id":1,"method":"tools/list"}
        1 spawns
            1< {"id":3,"method":"initialize",…}
        1 ends
            A< {"id":0,"result":…}
            start 2 at /p
            A< {"id":1,"result":{"tools":[]}}
        2 spawns
            2< {"id":…,"method":"server/discover",…}
        +1s
    "#);
}

/// The process was ready before anybody needed its lists.
#[test]
fn a_running_process_is_asked_for_its_lists() {
    run(r#"
        given stored_capabilities {}
        A opens 1; offers {"tools":{}}
        B comes; folder /p; server all
        B greets
            B< {"id":0,"result":…}
        B confirms
        B> {"id":1,"method":"custom/thing"}
            1< {"id":3,"method":"tools/list"}
            1< {"id":4,"method":"custom/thing"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
    "#);
}

#[test]
fn a_second_handshake_keeps_open_requests() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,"method":"tools/call","params":{"name":"read"}}
        A greets with {"roots":{}}
            A< {"id":0,"result":…}
        2> {"id":10,"result":{"content":[]}} -> A as 2
        "#,
    );
}

#[test]
fn a_removed_server_finishes_its_requests() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,"method":"tools/call","params":{"name":"read"}}
        config drops it; server 1
        2> {"id":10,"result":{"content":[]}} -> A as 2
            - it is no longer in the config
            stop 2
        "#,
    );
}

#[test]
fn a_server_removed_in_handshake_is_hidden() {
    run(r#"
        given servers more
        A greets all: 1 2
        config drops it; server 1
            - it is no longer in the config
            stop 2
        2 ends
        1 completes handshake 2; offers {"tools":{}}; answers A
            1< {"id":3,"method":"tools/list"}
        A confirms
        A> {"id":1,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[]}}
            store 0
            A< {"id":1,"result":{"tools":[]}}
    "#);
}

/// A client that sends `tools/list` before its handshake is answered, and never `initialized`.
#[test]
fn an_early_list_needs_no_initialized() {
    run(r#"
        A greets all: 1
        A> {"id":1,"method":"tools/list"}
        1 completes handshake 3; offers {"tools":{}}; answers A
        1 lists 4: read
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
    "#);
}

#[test]
fn a_new_filter_changes_the_list_only() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"files__read"}}
            1< {"id":10,…}
        config denies read
        1> {"id":10,"result":1} -> A as 2
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":3,"method":"tools/list"}
            A< {"id":3,"result":{"tools":[{"name":"more__read"},{"name":"more__write"}]}}
        A> {"id":4,"method":"tools/call","params":{"name":"files__read"}}
            A< {"id":4,"error":…}
        "#,
    );
}

/// The list is requested under the old filter, and answered under the new one.
#[test]
fn a_new_filter_covers_a_list_in_flight() {
    open(
        r#"
        1> {"method":"notifications/tools/list_changed"}
        +1s
            1< {"id":10,"method":"tools/list"}
        config denies read
        1> {"id":10,"result":{"tools":[{"name":"read"},{"name":"new"}]}}
            store 0
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":3,"method":"tools/list"}
            A< {"id":3,"result":{"tools":[{"name":"files__new"},{"name":"more__read"},{"name":"more__write"}]}}
        "#,
    );
}

/// Without a start, its tools would be missing until a client calls one of them by chance.
#[test]
fn a_changed_server_starts_for_its_lists() {
    open(
        r#"
        config changes; server 1
            start 3 at /p
            - its settings have changed
            stop 2
        "#,
    );
}

#[test]
fn log_level_covers_undeclared_logging() {
    open(
        r#"
        A> {"id":2,"method":"logging/setLevel","params":{"level":"error"}}
            A< {"id":2,"result":{}}
        1> {"method":"notifications/message","params":{"level":"info","data":"x"}}
        "#,
    );
}

/// Stopped in the middle of its lists, the server would be started again for the next one.
#[test]
fn an_idle_server_is_listed_before_it_stops() {
    run(r#"
        given idle_ttl 1s
        A greets all: 1
        1 completes handshake 2; offers {"tools":{}}; answers A
            1< {"id":3,"method":"tools/list"}
        A confirms
        +5s
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        +2s
            - it was idle for too long
            stop 1
    "#);
}

/// The server may refuse to unsubscribe, or send updates before it does.
#[test]
fn unsubscribed_resource_keeps_alias_until_ack() {
    with_resources(
        r#"
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db://1"}}
            1< {"id":5,"method":"resources/subscribe","params":{"uri":"db://1"}}
        1> {"id":5,"result":{}} -> A as 1
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"proxy://template/files/db://1"}}
            1< {"id":6,"method":"resources/unsubscribe","params":{"uri":"db://1"}}
        1> {"method":"notifications/resources/updated","params":{"uri":"db://1"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy://template/files/db://1"}}
        "#,
    );
}
