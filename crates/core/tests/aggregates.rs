//! Clients of many servers: one handshake, one list, and each request to the one whose it is.

use crate::story::run;

/// A cold start: both are started, and asked what they offer.
const OPEN: &str = r#"
    given servers more
    A comes; folder /p; server all
    A greets with {"roots":{}}
        start 1 at /p
        start 2 at /p
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
fn lists_are_fetched_to_their_end_and_shown_as_one() {
    open("");
}

#[test]
fn a_call_goes_to_the_server_whose_it_is_under_its_own_name() {
    open(
        r#"
        A> {"id":"c","method":"tools/call","params":{"name":"more__read","arguments":{"n":1.50}}}
            2< {"id":10,"method":"tools/call","params":{"name":"read","arguments":{"n":1.50}}}
        A> {"id":"d","method":"tools/call","params":{"name":"files__read"}}
            1< {"id":11,"method":"tools/call","params":{"name":"read"}}
        1> {"id":11,"result":{"content":[]}}
            A< {"id":"d","result":{"content":[]}}
        2> {"id":10,"result":{"content":[]}}
            A< {"id":"c","result":{"content":[]}}
        "#,
    );
}

#[test]
fn a_name_that_nobody_has_is_answered_by_us() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__raed"}}
            A< {"id":2,"error":{"code":-32602,…"nearest":["more__read"…],…"message":"Unknown tool: more__raed"}}
        "#,
    );
}

#[test]
fn who_takes_a_request_back_takes_it_back_at_its_server() {
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
fn a_servers_question_finds_its_client_and_the_answer_its_server() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,…}
        2> {"id":1,"method":"sampling/createMessage","params":{}}
            A< {"id":1,"method":"sampling/createMessage","params":{}}
        A> {"id":1,"result":{"role":"assistant"}}
            2< {"id":1,"result":{"role":"assistant"}}
        "#,
    );
}

#[test]
fn the_client_is_asked_for_its_roots_once_for_all_servers() {
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
fn a_changed_list_is_fetched_again_and_told_if_it_was_seen() {
    open(
        r#"
        +1s
        2> {"method":"notifications/tools/list_changed"}
            2< {"id":10,"method":"tools/list"}
        2> {"id":10,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
        2> {"method":"notifications/tools/list_changed"}
        +1s
            2< {"id":11,"method":"tools/list"}
        2> {"id":11,"result":{"tools":[{"name":"read"},{"name":"write"},{"name":"new"}]}}
            store 1
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
fn a_second_window_starts_nothing_and_is_answered_at_once() {
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
        1> {"id":12,"result":{}}
            B< {"id":5,"result":{}}
        "#,
    );
}

/// The client has one budget for its handshake and its lists, and is told when the server comes after all.
#[test]
fn a_late_server_costs_the_budget_and_no_more() {
    run(r#"
        given servers more
        A comes; folder /p; server all
        A greets
            start 1 at /p
            start 2 at /p
        1 spawns
            1< …
        1 greets with {"tools":{}}
            1< …
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
            2< {"id":6,"method":"tools/list"}
        2> {"id":6,"result":{"tools":[{"name":"write"}]}}
            store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"result":{"tools":[{"name":"files__read"},{"name":"more__write"}]}}
        "#);
}

#[test]
fn one_that_cannot_be_started_is_not_waited_for() {
    run(r#"
        given servers more
        A comes; folder /p; server all
        A greets
            start 1 at /p
            start 2 at /p
        2 cannot spawn: no
        1 spawns
            1< …
        1 greets with {"tools":{}}
            A< {"id":0,"result":…}
            1< …
            1< {"id":3,"method":"tools/list"}
        A confirms
        A> {"id":1,"method":"tools/list"}
            start 3 at /p
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        3 spawns
            3< …
        3 greets with {"tools":{}}
            3< {"method":"notifications/initialized"}
            3< {"id":7,"method":"tools/list"}
        3> {"id":7,"result":{"tools":[{"name":"late"}]}}
            store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
        "#);
}

#[test]
fn pages_go_on_in_what_their_first_one_was_of() {
    run(&format!("given page_size 2\n{}", OPEN.replace(
            r#"A< {"id":1,"result":{"tools":[{"name":"files__read","x":0.70},{"name":"more__read"},{"name":"more__write"}]}}"#,
            r#"A< {"id":1,"result":{"tools":[{"name":"files__read","x":0.70},{"name":"more__read"}],"nextCursor":"…"}}
        A> {"id":2,"method":"tools/list","params":{"cursor":"bm9uc2Vuc2U"}}
            A< {"id":2,"error":{"code":-32602,…"kind":"stale_cursor"…}}"#,
        )));
}

#[test]
fn a_level_goes_to_all_that_log_and_their_names_come_with_what_they_say() {
    run(r#"
        given start_timeout 60s
        A comes; folder /p; server all
        A greets
            start 1 at /p
        1 spawns
            1< …
        1 greets with {"logging":{}}
            A< …
            1< …
            store 0
        A confirms
        A> {"id":1,"method":"logging/setLevel","params":{"level":"warning"}}
            1< {"id":4,"method":"logging/setLevel","params":{"level":"warning"}}
            A< {"id":1,"result":{}}
        1> {"method":"notifications/message","params":{"level":"info","data":"x"}}
        1> {"method":"notifications/message","params":{"level":"error","data":"x"}}
            A< {"method":"notifications/message","params":{"logger":"files","level":"error","data":"x"}}
        1> {"method":"notifications/message","params":{"level":"error","logger":"db","data":"x"}}
            A< {"method":"notifications/message","params":{"level":"error","logger":"files/db","data":"x"}}
        "#);
}

#[test]
fn servers_come_and_go_with_the_config() {
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
fn a_server_that_is_another_now_is_asked_anew_and_told_of_once() {
    open(
        r#"
        config changes; server 1
            start 3 at /p
            - its settings have changed
            stop 2
        2 ends
        +1s
        3 spawns
            3< …
        3 greets with {"tools":{}}
            3< {"method":"notifications/initialized"}
            3< {"id":11,"method":"tools/list"}
        3> {"id":11,"result":{"tools":[{"name":"other"}]}}
            store 1
        +1s
            A< {"method":"notifications/tools/list_changed"}
        "#,
    );
}

/// More servers than may run: each is started, greeted and asked in its turn.
#[test]
fn more_servers_than_there_is_room_for_are_asked_one_after_the_other() {
    run(r#"
        given servers more; pool.max_backends 1
        A comes; folder /p; server all
        A greets
            start 1 at /p
            - waits for room
        1 spawns
            1< …
        1 greets with {"tools":{}}
            1< {"method":"notifications/initialized"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
            - another workspace needs its place
            stop 1
        1 ends
            start 2 at /p
        2 spawns
            2< …
        2 greets with {"tools":{}}
            A< {"id":0,"result":…}
            2< {"method":"notifications/initialized"}
            2< {"id":5,"method":"tools/list"}
        A confirms
        2> {"id":5,"result":{"tools":[{"name":"write"}]}}
            store 1
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"},{"name":"more__write"}]}}
        "#);
}

/// What waits for servers is answered, and nothing is started any more.
#[test]
fn in_the_end_nothing_is_started_for_a_list_that_waits() {
    run(r#"
        given servers more
        A comes; folder /p; server all
        A greets
            start 1 at /p
            start 2 at /p
        A> {"id":1,"method":"tools/list"}
        drain
        +5s
            - switchboard ends
            stop 1 within 5s
            - switchboard ends
            stop 2 within 5s
            A< {"id":0,"error":…}
            A< {"id":1,"error":…}
        "#);
}

/// A process that crashes before it ever worked is not started twice: once for the list that waits, and once because it
/// crashed.
#[test]
fn a_crash_that_a_list_waits_for_starts_one_process() {
    run(r#"
        A comes; folder /p; server all
        A greets
            start 1 at /p
        A> {"id":1,"method":"tools/list"}
        1 spawns
            1< {"id":3,"method":"initialize",…}
        1 ends
            A< {"id":0,"result":…}
            start 2 at /p
            A< {"id":1,"result":{"tools":[]}}
        2 spawns
            2< {"id":5,"method":"initialize",…}
        +1s
        "#);
}

/// It was ready when nobody wanted to know what it offers.
#[test]
fn a_process_that_a_call_finds_running_is_asked_what_it_offers() {
    run(r#"
        given stored_capabilities {}
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,…}
        1 greets with {"tools":{}}
            A< …
        A confirms
            1< {"method":"notifications/initialized"}
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
fn a_handshake_anew_leaves_nothing_unanswered() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,"method":"tools/call","params":{"name":"read"}}
        A greets with {"roots":{}}
            A< {"id":0,"result":…}
        2> {"id":10,"result":{"content":[]}}
            A< {"id":2,"result":{"content":[]}}
        "#,
    );
}

#[test]
fn a_server_that_goes_with_the_config_finishes_what_it_is_at() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            2< {"id":10,"method":"tools/call","params":{"name":"read"}}
        config drops it; server 1
        2> {"id":10,"result":{"content":[]}}
            A< {"id":2,"result":{"content":[]}}
            - it is no longer in the config
            stop 2
        "#,
    );
}

#[test]
fn a_server_that_goes_while_a_client_is_greeted_is_not_shown() {
    run(r#"
        given servers more
        A comes; folder /p; server all
        A greets
            start 1 at /p
            start 2 at /p
        config drops it; server 1
            - it is no longer in the config
            stop 2
        2 ends
        1 spawns
            1< …
        1 greets with {"tools":{}}
            A< {"id":0,"result":…}
            1< …
            1< {"id":3,"method":"tools/list"}
        A confirms
        A> {"id":1,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[]}}
            store 0
            A< {"id":1,"result":{"tools":[]}}
        "#);
}

/// It did not wait for the answer to its handshake, and never says that it is ready.
#[test]
fn a_list_that_waited_for_the_handshake_does_not_wait_for_initialized() {
    run(r#"
        A comes; folder /p; server all
        A greets
            start 1 at /p
        A> {"id":1,"method":"tools/list"}
        1 spawns
            1< …
        1 greets with {"tools":{}}
            A< {"id":0,"result":…}
            1< {"method":"notifications/initialized"}
            1< {"id":4,"method":"tools/list"}
        1> {"id":4,"result":{"tools":[{"name":"read"}]}}
            store 0
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        "#);
}

#[test]
fn a_filter_changes_what_is_shown_and_nothing_else() {
    open(
        r#"
        A> {"id":2,"method":"tools/call","params":{"name":"files__read"}}
            1< {"id":10,…}
        config denies read
        1> {"id":10,"result":1}
            A< {"id":2,"result":1}
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":3,"method":"tools/list"}
            A< {"id":3,"result":{"tools":[{"name":"more__read"},{"name":"more__write"}]}}
        A> {"id":4,"method":"tools/call","params":{"name":"files__read"}}
            A< {"id":4,"error":…}
        "#,
    );
}

/// It was asked under the old filter, and answers under the new one.
#[test]
fn a_filter_counts_for_what_is_on_its_way() {
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

/// Its tools would be gone until somebody calls one of them blindly.
#[test]
fn a_server_that_is_another_now_is_asked_what_it_offers() {
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
fn a_level_holds_for_servers_that_log_without_having_said_so() {
    open(
        r#"
        A> {"id":2,"method":"logging/setLevel","params":{"level":"error"}}
            A< {"id":2,"result":{}}
        1> {"method":"notifications/message","params":{"level":"info","data":"x"}}
        "#,
    );
}

/// Stopped as idle while it was being asked, it is started again for the next list.
#[test]
fn a_server_is_not_stopped_before_it_has_said_what_it_offers() {
    run(r#"
        given idle_ttl 1s
        A comes; folder /p; server all
        A greets
            start 1 at /p
        1 spawns
            1< …
        1 greets with {"tools":{}}
            A< {"id":0,"result":…}
            1< …
            1< {"id":3,"method":"tools/list"}
        A confirms
        +5s
        1> {"id":3,"result":{"tools":[{"name":"read"}]}}
            store 0
        +2s
            - nobody has used it for a while
            stop 1
        "#);
}

/// Its server may refuse to forget it, or have more to say before it does.
#[test]
fn what_a_client_listens_to_no_longer_keeps_its_name_until_the_server_agrees() {
    run(r#"
        A comes; folder /p; server all
        A greets
            start 1 at /p
        1 spawns
            1< …
        1 greets with {"resources":{"subscribe":true}}
            A< …
            1< …
            1< {"id":3,"method":"resources/list"}
            1< {"id":4,"method":"resources/templates/list"}
        A confirms
        1> {"id":3,"result":{"resources":[]}}
        1> {"id":4,"result":{"resourceTemplates":[]}}
            store 0
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db://1"}}
            1< {"id":5,"method":"resources/subscribe","params":{"uri":"db://1"}}
        1> {"id":5,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"proxy://template/files/db://1"}}
            1< {"id":6,"method":"resources/unsubscribe","params":{"uri":"db://1"}}
        1> {"method":"notifications/resources/updated","params":{"uri":"db://1"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy://template/files/db://1"}}
        "#);
}
