//! Answers from stored lists: to clients of one server while it starts, and to kinds of clients that have none yet.

use crate::story::run;

const ANSWERED: &str = r#"
    given stored read
    A comes; folder /p
        start 1 at /p
    A greets
        A< {"id":0,"result":{"serverInfo":"stored","capabilities":{"tools":{}}}}
    A confirms
    A> {"id":1,"method":"tools/list"}
        A< {"id":1,"result":{"tools":[{"name":"read"}]}}
    1 completes handshake 3; offers {"tools":{}}
        1< {"id":4,"method":"tools/list"}
"#;

#[track_caller]
fn answered(story: &str) {
    run(&format!("{ANSWERED}{story}"));
}

#[test]
fn one_server_is_answered_from_the_store() {
    answered(
        r#"
        1> {"id":4,"result":{"tools":[{"name":"read"}]}}
            store 0
        A> {"id":2,"method":"tools/list"} -> 1 as 5
        "#,
    );
}

#[test]
fn a_wrong_stored_list_is_corrected() {
    answered(
        r#"
        1> {"id":4,"result":{"tools":[{"name":"write"}]}}
            store 0
            A< {"method":"notifications/tools/list_changed"}
        "#,
    );
}

/// A client that was greeted from the store gets its ping answered at once.
#[test]
fn a_ping_does_not_wait_for_the_server() {
    run(r#"
        given stored read
        A comes; folder /p
            start 1 at /p
        A greets
            A< {"id":0,"result":{"serverInfo":"stored",…}}
        A> {"id":1,"method":"ping"}
            A< {"id":1,"result":{}}
    "#);
}

/// A call waits for the server, whatever is stored.
#[test]
fn calls_wait_for_the_server() {
    run(r#"
        given stored read
        A comes; folder /p
            start 1 at /p
        A greets
            A< {"id":0,"result":{"serverInfo":"stored",…}}
        A confirms
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
        A> {"id":2,"method":"prompts/list"}
        1 completes handshake 4; offers {"tools":{}}
            1< {"id":2,"method":"tools/call","params":{"name":"read"}}
            1< {"id":3,"method":"prompts/list"}
    "#);
}

/// The server's lists may depend on the root that its launch names.
#[test]
fn stored_lists_belong_to_their_root() {
    run(r#"
        given stored read at /p; splits; launch_uses_root
        A comes; folder /p; server all
        A greets
            A< {"id":0,"result":…}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
    "#);
    run(r#"
        given stored read at /p; splits; launch_uses_root
        A greets all: 1; folder /q
        1 completes handshake 2; offers {"tools":{}}; answers A
            1< {"id":3,"method":"tools/list"}
        A> {"id":1,"method":"tools/list"}
        1> {"id":3,"result":{"tools":[{"name":"write"}]}}
            store 0
            A< {"id":1,"result":{"tools":[{"name":"files__write"}]}}
    "#);
}

/// A kind of client without lists of its own waits its time, and gets the newest of another kind.
#[test]
fn another_kind_of_client_lends_its_lists() {
    run(r#"
        given stored read for new; stored old for old; linger 3600s
        A greets all: 1
        1 spawns
            1< …
        +10s
            record 0: slow, try 1
            A< {"id":0,"result":{"capabilities":{"tools":{"listChanged":true}},…}}
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        1 greets with {"tools":{}}
            1< …
        1 lists 4: write
        +1s
            A< {"method":"notifications/tools/list_changed"}
    "#);
}
