//! Tool pinning: a changed tool is reported, or held back from every client until its owner approves it.

use crate::story::run;

const HINT: &str = "`switchboard approve tools files` shows what has changed, and approves it";

/// A client of the one server, whose tools are compared, after the handshake.
#[track_caller]
fn alone(given: &str, story: &str) {
    let before = r#"
        GIVEN
        A opens 1; offers {"tools":{}}; unconfirmed
    "#;
    run(&(before.replace("GIVEN", given) + &story.replace("HINT", HINT)));
}

/// The same, with held tools: they are fetched as soon as possible.
#[track_caller]
fn holding(given: &str, story: &str) {
    let before = r#"
        A confirms
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
    "#;
    alone(&format!("given {given}pinning hold"), &(before.to_owned() + story));
}

/// A client of both servers, of which the first has listed the tools `read` and `write`.
#[track_caller]
fn merged(pinning: &str, story: &str) {
    let before = r#"
        given pinning PINNING; servers more; server 1; unlisted
        A greets all: 1
        1 completes handshake 2; offers {"tools":{}}; answers A
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
            pins 0: first read, first write
            store 0
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"},{"name":"files__write"}]}}
    "#;
    run(&(before.replace("PINNING", pinning) + &story.replace("HINT", HINT)));
}

#[test]
fn first_sight_is_approved() {
    alone(
        "given pinning warn",
        r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
            pins 0: first read, first write
            A< {"id":1,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
        A> {"id":2,"method":"tools/list"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"write"},{"name":"more"},{"name":"read"}]}}
            pins 0: first more
            A< {"id":2,"result":{"tools":[{"name":"write"},{"name":"more"},{"name":"read"}]}}
        "#,
    );
}

#[test]
fn change_is_reported_once() {
    alone(
        "given approved read; pinning warn",
        r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read","description":"x"}]}}
            pins 0: changed read
            - changed: read
            A< {"id":1,"result":{"tools":[{"name":"read","description":"x"}]}}
        A> {"id":2,"method":"tools/list"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"description" : "x", "name":"read"}]}}
            A< {"id":2,"result":{"tools":[{"description" : "x", "name":"read"}]}}
        A> {"id":3,"method":"tools/call","params":{"name":"read"}}
            1< {"id":4,"method":"tools/call","params":{"name":"read"}}
        A> {"id":4,"method":"tools/list"}
            1< {"id":5,"method":"tools/list"}
        1> {"id":5,"result":{"tools":[{"name":"read"}]}}
            pins 0: restored read
            - as approved again: read
            A< {"id":4,"result":{"tools":[{"name":"read"}]}}
        "#,
    );
}

/// Nothing is compared, and nothing stored.
#[test]
fn pinning_can_be_off() {
    alone(
        "given approved read",
        r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read","description":"x"}]}}
            A< {"id":1,"result":{"tools":[{"name":"read","description":"x"}]}}
        "#,
    );
}

#[test]
fn page_loses_a_changed_tool() {
    holding(
        "approved read write; ",
        r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read","description":"x"},{"name":"write"}]}}
            pins 0: changed read
            - held: read
            A< {"method":"notifications/tools/list_changed"}
            A< {"id":1,"result":{"tools":[{"name":"write"}]}}
        1> {"id":2,"result":{"tools":[{"name":"read","description":"x"},{"name":"write"}]}}
            store 0
        A> {"id":2,"method":"tools/call","params":{"name":"read"}}
            A< {"id":2,"error":{"code":-32603,"data":{"hint":"HINT","kind":"forbidden","retryable":false,"server":"files"},"message":"the tool `read` is held back: its definition differs from the approved one"}}
        A> {"id":3,"method":"tools/call","params":{"name":"rea"}}
            1< {"id":4,"method":"tools/call","params":{"name":"rea"}}
        A> {"id":4,"method":"tools/call","params":{"name":"write"}}
            1< {"id":5,"method":"tools/call","params":{"name":"write"}}
        owner approves read
            - approved: read
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":5,"method":"tools/call","params":{"name":"read"}}
            1< {"id":6,"method":"tools/call","params":{"name":"read"}}
        "#,
    );
}

/// Of several lists, or of several names of a tool, a client may take any.
#[test]
fn disguised_changes_are_held() {
    holding(
        "approved read write; ",
        r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read","description":"x"}],"tools":[{"name":"write"}]}}
            pins 0: changed read
            - held: read
            A< {"method":"notifications/tools/list_changed"}
            A< {"id":1,"result":{"tools":[],"tools":[{"name":"write"}]}}
        A> {"id":2,"method":"tools/list"}
            1< {"id":4,"method":"tools/list"}
        1> {"id":4,"result":{"tools":[{"name":"new","name":"\u0077rite"}, {"title":"nameless"}]}}
            pins 0: first new, changed write
            - held: write
            A< {"method":"notifications/tools/list_changed"}
            A< {"id":2,"result":{"tools":[]}}
        A> {"id":3,"method":"tools/list"}
            1< {"id":5,"method":"tools/list"}
        1> {"id":5,"result":{"Tools":[{"name":"read"}]}}
            A< {"id":3,"error":{…"bad_answer"…}}
        A> {"id":4,"method":"tools/inspect","params":{"name":"read"}}
            A< {"id":4,"error":{…"hint":"HINT","kind":"method_not_found"…}}
        "#,
    );
}

/// An item without a name cannot be approved, so it is not shown, even if nothing else is held.
#[test]
fn nameless_items_are_held() {
    holding(
        "approved read; ",
        r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"},{"Name":"write"}]}}
            A< {"method":"notifications/tools/list_changed"}
            A< {"id":1,"result":{"tools":[{"name":"read"}]}}
        "#,
    );
}

#[test]
fn calls_wait_for_the_check() {
    holding(
        "approved read write; ",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        A> {"id":2,"method":"tools/call","params":{"name":"write"}}
        A> {"id":3,"method":"custom/call"}
        1> {"id":2,"result":{"tools":[{"name":"read","description":"x"},{"name":"write"}]}}
            pins 0: changed read
            - held: read
            A< {"id":1,"error":{…"hint":"HINT","kind":"forbidden"…}}
            A< {"method":"notifications/tools/list_changed"}
            store 0
            1< {"id":4,"method":"tools/call","params":{"name":"write"}}
            1< {"id":5,"method":"custom/call"}
        "#,
    );
}

/// Also those to the next process, and after the process has announced other tools.
#[test]
fn every_process_is_checked() {
    holding(
        "approved read; ",
        r#"
        1> {"id":2,"result":{"tools":[{"name":"read"}]}}
            store 0
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            1< {"id":3,"method":"tools/call","params":{"name":"read"}}
        1> {"id":3,"result":{}}
            A< {"id":1,"result":{}}
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/call","params":{"name":"read"}}
        +0.25s
            1< {"id":5,"method":"tools/list"}
        1> {"id":5,"result":{"tools":[{"name":"read"}]}}
            1< {"id":4,"method":"tools/call","params":{"name":"read"}}
        1> {"id":4,"result":{}}
            A< {"id":2,"result":{}}
        1 ends
            - restart after a pause
        +1s
            start 2 at /p
        2 spawns
            2< {"id":6,"method":"initialize",…}
        2 greets with {"tools":{}}
            2< {"method":"notifications/initialized"}
            2< {"id":7,"method":"tools/list"}
        A> {"id":3,"method":"tools/call","params":{"name":"read"}}
        2> {"id":7,"result":{"tools":[{"name":"read","description":"x"}]}}
            pins 0: changed read
            - held: read
            A< {"id":3,"error":{…"forbidden"…}}
            A< {"method":"notifications/tools/list_changed"}
            store 0
        "#,
    );
}

/// A server that announces a change with each answer does not keep calls waiting for ever.
#[test]
fn announcements_do_not_starve_calls() {
    holding(
        "approved read; ",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
        1> {"id":2,"result":{"tools":[{"name":"read"}]}}
            store 0
            1< {"id":3,"method":"tools/call","params":{"name":"read"}}
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
        +0.25s
            1< {"id":4,"method":"tools/list"}
        "#,
    );
}

#[test]
fn unlisted_tools_are_not_called() {
    holding(
        "approved read; ",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        A> {"id":2,"method":"resources/read","params":{"uri":"a:1"}}
        1> {"id":2,"error":{"code":-1,"message":"not now"}}
            A< {"id":1,"error":{"code":-32002,"data":{…"kind":"backend_unavailable","retryable":true…},"message":"the server `files` did not list its tools, so they could not be checked"}}
            1< {"id":4,"method":"resources/read","params":{"uri":"a:1"}}
        A> {"id":3,"method":"tools/call","params":{"name":"read"}}
            1< {"id":6,"method":"tools/list"}
        1> {"id":6,"result":{"tools":[{"name":"read"}]}}
            store 0
            1< {"id":5,"method":"tools/call","params":{"name":"read"}}
        "#,
    );
}

/// A server without tools has nothing to compare.
#[test]
fn server_without_tools_is_not_waited_for() {
    run(r#"
        given pinning hold
        A opens 1; unconfirmed
        A confirms
            1< {"method":"notifications/initialized"}
            store 0
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            1< {"id":2,"method":"tools/call","params":{"name":"read"}}
    "#);
    holding(
        "",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        1> {"id":2,"error":{"code":-32601,"message":"none"}}
            store 0
            1< {"id":3,"method":"tools/call","params":{"name":"read"}}
        "#,
    );
}

#[test]
fn merged_lists_lose_a_changed_tool() {
    merged(
        "hold",
        r#"
        1> {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/call","params":{"name":"files__read"}}
        A> {"id":3,"method":"tools/call","params":{"name":"files__write"}}
        +0.25s
            1< {"id":7,"method":"tools/list"}
        1> {"id":7,"result":{"tools":[{"name":"read","description":"x"},{"name":"write"}]}}
            pins 0: changed read
            - held: read
            A< {"id":2,"error":{…"hint":"HINT","kind":"forbidden"…"the tool `files__read` is held back…}}
            store 0
            1< {"id":6,"method":"tools/call","params":{"name":"write"}}
        +0.1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":4,"method":"tools/list"}
            A< {"id":4,"result":{"tools":[{"name":"files__write"}]}}
        A> {"id":5,"method":"tools/call","params":{"name":"files__read"}}
            A< {"id":5,"error":{…"hint":"HINT","kind":"forbidden"…}}
        A> {"id":6,"method":"tools/call","params":{"name":"files__reed"}}
            A< {"id":6,"error":{…"kind":"unknown_name","nearest":[]…}}
        owner approves read
            - approved: read
        +0.1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":7,"method":"tools/list"}
            A< {"id":7,"result":{"tools":[{"name":"files__read","description":"x"},{"name":"files__write"}]}}
        A> {"id":8,"method":"tools/call","params":{"name":"files__read"}}
            1< {"id":10,"method":"tools/call","params":{"name":"read"}}
        "#,
    );
}

#[test]
fn merged_lists_keep_a_reported_tool() {
    merged(
        "warn",
        r#"
        1> {"method":"notifications/tools/list_changed"}
        +0.25s
            1< {"id":5,"method":"tools/list"}
        1> {"id":5,"result":{"tools":[{"name":"read","description":"x"},{"name":"write"}]}}
            pins 0: changed read
            - changed: read
            store 0
        +0.1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"result":{"tools":[{"name":"files__read","description":"x"},{"name":"files__write"}]}}
        "#,
    );
}

/// A page that began before the change must not show the rest of the old view.
#[test]
fn pages_end_when_a_tool_is_held() {
    run(&r#"
        given page_size 1; pinning hold; servers more; server 1; unlisted
        A greets all: 1
        1 completes handshake 2; offers {"tools":{}}; answers A
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
            pins 0: first read, first write
            store 0
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"}],"nextCursor":"CURSOR"}}
        1> {"method":"notifications/tools/list_changed"}
        +0.25s
            1< {"id":5,"method":"tools/list"}
        1> {"id":5,"result":{"tools":[{"name":"read"},{"name":"write","description":"x"}]}}
            pins 0: changed write
            - held: write
            store 0
        A> {"id":2,"method":"tools/list","params":{"cursor":"CURSOR"}}
            A< {"id":2,"error":{…"stale_cursor"…}}
    "#
    .replace("CURSOR", &cursor()));
}

/// The cursor to the second item of the second view; the first was for the handshake.
fn cursor() -> String {
    use switchboard_core::catalogue::View;
    View::new(Vec::new(), 2).cursor(1)
}

/// A held tool stays hidden in the stored lists of the next run, and lists that nothing vouches for are not used.
#[test]
fn stored_lists_hide_held_tools() {
    run(&r#"
        given approved !read write; pinning hold; stored read write
        A comes; folder /p
            start 1 at /p
        A greets
            A< {"id":0,"result":{"serverInfo":"stored","capabilities":{"tools":{}}}}
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"write"}]}}
        A> {"id":2,"method":"tools/call","params":{"name":"read"}}
            A< {"id":2,"error":{…"hint":"HINT","kind":"forbidden"…}}
        1 completes handshake 3; offers {"tools":{}}
            1< {"id":4,"method":"tools/list"}
        1> {"id":4,"result":{"tools":[{"name":"read","description":"other"},{"name":"write"}]}}
            store 0
            A< {"method":"notifications/tools/list_changed"}
    "#
    .replace("HINT", HINT));
}

#[test]
fn lost_pins_hold_everything() {
    holding(
        "pins_lost; ",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            A< {"id":1,"error":{…"hint":"HINT","kind":"forbidden"…}}
        1> {"id":2,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
            pins 0: changed read, changed write
            - held: read write
            store 0
        A> {"id":2,"method":"tools/list"}
            1< {"id":3,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
            A< {"id":2,"result":{"tools":[]}}
        owner approves read
            - approved: read
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":3,"method":"tools/call","params":{"name":"read"}}
            1< {"id":4,"method":"tools/call","params":{"name":"read"}}
        "#,
    );
}

#[test]
fn forgetting_approves_anew() {
    holding(
        "approved !read; ",
        r#"
        1> {"id":2,"result":{"tools":[{"name":"read","description":"other"}]}}
            store 0
        owner forgets
            pins 0: forgotten
            A< {"method":"notifications/tools/list_changed"}
            1< {"id":3,"method":"tools/list"}
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        1> {"id":3,"result":{"tools":[{"name":"read","description":"other"}]}}
            pins 0: first read
            store 0
            1< {"id":4,"method":"tools/call","params":{"name":"read"}}
        "#,
    );
}

/// A client with other capabilities may see other definitions; but it does not approve what others must not see.
#[test]
fn capabilities_approve_their_own() {
    run(&r#"
        given exact; approved read; pinning hold
        B opens 1; with {"sampling":{}}; offers {"tools":{}}; unconfirmed
        B confirms
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read","description":"with sampling"}]}}
            pins 0: first read
            - another definition: read
            store 0
        A opens 2; offers {"tools":{}}; unconfirmed; id 3; on greeting
        A confirms
            2< {"method":"notifications/initialized"}
            2< {"id":4,"method":"tools/list"}
        2> {"id":4,"result":{"tools":[{"name":"read","description":"x"}]}}
            pins 0: changed read
            - held: read
            A< {"method":"notifications/tools/list_changed"}
            B< {"method":"notifications/tools/list_changed"}
            store 0
        B> {"id":1,"method":"tools/call","params":{"name":"read"}}
            B< {"id":1,"error":{…"forbidden"…}}
    "#
    .replace("HINT", HINT));
}

/// While another process still shows the change, an approved definition elsewhere does not end it.
#[test]
fn change_lasts_while_a_process_shows_it() {
    run(r#"
        given exact; approved read; pinning hold
        A opens 1; offers {"tools":{}}; unconfirmed
        A confirms
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"read","description":"x"}]}}
            pins 0: changed read
            - held: read
            A< {"method":"notifications/tools/list_changed"}
            store 0
        B opens 2; with {"sampling":{}}; offers {"tools":{}}; unconfirmed; id 3; on greeting
        B confirms
            2< {"method":"notifications/initialized"}
            2< {"id":4,"method":"tools/list"}
        2> {"id":4,"result":{"tools":[{"name":"read"}]}}
            pins 0: seen read
            store 0
        B> {"id":1,"method":"tools/call","params":{"name":"read"}}
            B< {"id":1,"error":{…"forbidden"…}}
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
        +0.25s
            1< {"id":5,"method":"tools/list"}
        1> {"id":5,"result":{"tools":[{"name":"read"}]}}
            store 0
            pins 0: restored read
            - as approved again: read
            A< {"method":"notifications/tools/list_changed"}
            B< {"method":"notifications/tools/list_changed"}
    "#);
}

/// A reload of the filters shows no held tool, and a client whose rights exclude it does not hear of it.
#[test]
fn other_rules_and_held_tools_add_up() {
    holding(
        "approved !read; ",
        r#"
        1> {"id":2,"result":{"tools":[{"name":"read","description":"other"},{"name":"write"}]}}
            pins 0: first write
            store 0
        B joins 1; offers {"tools":{}}; rights tools write
        B> {"id":1,"method":"tools/call","params":{"name":"read"}}
            B< {"id":1,"error":{…"the tool `read` is not available to `ci`"}}
        B> {"id":2,"method":"tools/call","params":{"name":"write"}}
            1< {"id":4,"method":"tools/call","params":{"name":"write"}}
        config denies read
            A< {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/resources/list_changed"}
            B< {"method":"notifications/tools/list_changed"}
            B< {"method":"notifications/resources/list_changed"}
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            A< {"id":1,"error":{…"unknown_name"…}}
        "#,
    );
}

/// Their pins went with the earlier config, so nothing could be compared.
#[test]
fn lists_of_an_earlier_config_are_not_shown() {
    holding(
        "approved read; ",
        r#"
        1> {"id":2,"result":{"tools":[{"name":"read"}]}}
            store 0
        A> {"id":1,"method":"tools/list"}
            1< {"id":3,"method":"tools/list"}
        config changes
        1> {"id":3,"result":{"tools":[{"name":"read","description":"x"}]}}
            A< {"id":1,"error":{…"retryable":true…}}
            - its settings have changed
            stop 1
        "#,
    );
}

/// A call that waits for the comparison goes on to the process of the new config, and waits there.
#[test]
fn waiting_calls_move_to_the_next_config() {
    holding(
        "approved read; ",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        config changes
            start 2 at /p
            - its settings have changed
            stop 1
        2 spawns
            2< {"id":4,"method":"initialize",…}
        2 greets with {"tools":{}}
            2< {"method":"notifications/initialized"}
            2< {"id":5,"method":"tools/list"}
        2> {"id":5,"result":{"tools":[{"name":"read","description":"x"}]}}
            pins 0: changed read
            - held: read
            A< {"id":1,"error":{…"forbidden"…}}
            A< {"method":"notifications/tools/list_changed"}
            store 0
        "#,
    );
}
