//! Servers that run without a client: Switchboard makes the handshake, real clients join.

use crate::story::run;

/// A daemon with one server for everybody, whose lists are stored.
const DAEMON: &str = "given linger 30s; stores_lists; scope global; shared\n";

/// Started without a client, and greeted by us.
const KEPT: &str = r#"
    owner keeps
        start 1 at home
    1 spawns
        1< raw {"id":1,"jsonrpc":"2.0","method":"initialize","params":{…"clientInfo":{"name":"switchboard",…}
    1 greets with {"tools":{}}
        1< {"method":"notifications/initialized"}
    1 lists 2: read
"#;

#[track_caller]
fn kept(story: &str) {
    run(&format!("{DAEMON}{KEPT}{story}"));
}

#[test]
fn kept_until_stopped() {
    kept(
        r#"
        +3600s
        owner keeps
        owner stops
            - its owner stops it
            stop 1
        1 ends
        +1s
            finished
        "#,
    );
}

#[test]
fn crashed_process_is_replaced() {
    kept(
        r#"
        1 ends
            - restart after a pause
        +1s
            start 2 at home
        2 spawns
            2< raw {"id":3,"jsonrpc":"2.0","method":"initialize",…}
        "#,
    );
}

/// The handshake is that of the last kind of client, so the next client of that kind can join.
#[test]
fn client_joins_the_kept_process() {
    let story = r#"
        A comes; folder /p; server all
        A greets
            start 1 at home
        1 completes handshake 2; offers {"tools":{}}; answers A
        1 lists 3: read
        A leaves
        +30s
            - it was idle for too long
            stop 1
        1 ends
        owner keeps
            start 2 at home
        2 spawns
            2< raw {"id":4,"jsonrpc":"2.0","method":"initialize","params":{…"switchboard"…"protocolVersion":"v"…}
        2 greets with {"tools":{}}
            2< {"method":"notifications/initialized"}
        2 lists 5: read
        B joins 2; folder /q; offers {"tools":{}}; unconfirmed
        B> {"id":1,"method":"tools/call","params":{}} -> 2 as 7
        B leaves
            2< …
        +3600s
    "#;
    run(&format!("{DAEMON}{story}"));
}

/// Unasked messages are for the only client. Switchboard itself is no client.
#[test]
fn our_handshake_is_no_use() {
    kept(
        r#"
        owner keeps
        1> {"id":"q","method":"sampling/createMessage","params":{}}
            1< {"id":"q","error":{…}}
            - not started: each client gets its own instance, which starts when the client connects
        "#,
    );
}

#[test]
fn a_workspace_must_be_named() {
    run(r#"
        given linger 30s; stores_lists; scope root; shared
        owner keeps
            - not started: it runs once per workspace, and no workspace was given: …
        owner keeps /p
            start 1 at /p
        owner stops /p
            - its owner stops it
            stop 1
    "#);
}

#[test]
fn private_servers_wait_for_their_client() {
    run(r#"
        given linger 30s; stores_lists; scope client; shared
        owner keeps
            - not started: each client gets its own instance, which starts when the client connects
    "#);
}

#[test]
fn a_new_config_ends_it() {
    kept(
        r#"
        config changes
            - its settings have changed
            stop 1
        owner keeps
            start 2 at home
        "#,
    );
}
