//! Tokens in messages: removed wherever they occur, and checked where they count.

use crate::story::run;

/// A token of a client that needs none, and whose front ignores it, is removed all the same.
#[test]
fn token_never_reaches_a_server() {
    run(r#"
        A opens 1
        A> {"id":1,"method":"tools/call","params":{"name":"x","proxy":{"authToken":"swb_red"}}}
            1< {"id":2,"method":"tools/call","params":{"name":"x"}}
        A> {"id":2,"method":"tools/call","params":{"_meta":{"progressToken":9,"switchboard/authToken":"no"},"name":"x"}}
            1< {"id":3,"method":"tools/call","params":{"_meta":{"progressToken":3},"name":"x"}}
        A> {"method":"notifications/other","params":{"a":1,"proxy":{"authToken":"swb_red"}}}
            1< {"method":"notifications/other","params":{"a":1}}
    "#);
}

#[test]
fn batch_members_lose_their_tokens() {
    run(r#"
        A opens 1
        A> raw [{"jsonrpc":"2.0","id":1,"method":"x","params":{"proxy":{"authToken":"swb_red"}}},{"id":2,"method":"y"}]
            1< {"id":2,"method":"x","params":{}}
            1< {"id":3,"method":"y"}
    "#);
}

#[test]
fn nothing_is_served_before_a_token() {
    run(r#"
        given linger 30s
        A comes; folder /p; proof required
        A> {"id":1,"method":"ping"}
            A< {"id":1,"result":{}}
        A greets
            A< …"kind":"unauthorized"…
        A> {"id":2,"method":"tools/call","params":{"name":"x"}}
            A< …"message":"missing token"…
        A> {"method":"notifications/initialized"}
        A> {"id":3,"method":"initialize","params":{"proxy":{"authToken":"swb_nobody"}}}
            A< …"message":"wrong token: unknown, revoked or expired"…
        A> {"id":4,"method":"initialize","params":{"proxy":{"authToken":["swb_red"]}}}
            A< …"unauthorized"…
        A> raw [{"jsonrpc":"2.0","id":5,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/x"}]
            A< raw [{"jsonrpc":"2.0","id":5,"error":…]
        A> {"id":6,"method":"initialize","params":{"protocolVersion":"v","capabilities":{},"proxy":{"authToken":"swb_red"}}}
            start 1 at /p
        1 spawns
            1< {"id":2,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}
    "#);
}

/// A client that skips the handshake shows its token with each request.
#[test]
fn first_valid_token_decides() {
    run(r#"
        given linger 30s
        A comes; folder /p; proof required
        A> {"id":1,"method":"x","params":{"_meta":{"switchboard/authToken":"swb_red"}}}
            start 1 at /p
        A> {"id":2,"method":"x","params":{"_meta":{"switchboard/authToken":"swb_red"}}}
        A> {"id":3,"method":"x","params":{"_meta":{"switchboard/authToken":"swb_blue"}}}
            A< …"kind":"unauthorized"…
        A> {"id":4,"method":"x","params":{"_meta":{"switchboard/authToken":"swb_nobody"}}}
            A< …"kind":"unauthorized"…
        A> {"id":5,"method":"x","params":{"_meta":{"switchboard/authToken":"swb_red"},"proxy":{"authToken":"swb_blue"}}}
            A< …"kind":"unauthorized"…
    "#);
}

/// The process that was started in advance belongs to the owner, and is not used.
#[test]
fn optional_token_gives_another_identity() {
    run(r#"
        given linger 30s
        A comes; folder /p; proof optional
            start 1 at /p
        A> {"id":2,"method":"initialize","params":{"protocolVersion":"v","capabilities":{},"proxy":{"authToken":"swb_red"}}}
            start 2 at /p
            - its client has left it
            stop 1
        B comes; folder /p; proof swb_red
        B greets
        C comes; folder /p; proof swb_blue
        C greets
            start 3 at /p
    "#);
}

#[test]
fn token_after_the_first_request_is_late() {
    run(r#"
        given linger 30s
        A comes; folder /p; proof optional
            start 1 at /p
        A greets
        A> {"id":1,"method":"tools/call","params":{"proxy":{"authToken":"swb_red"}}}
            A< …"kind":"unauthorized"…
        A> {"id":2,"method":"tools/call","params":{"proxy":{"authToken":"swb_nobody"}}}
            A< …"kind":"unauthorized"…
        A> {"id":3,"method":"ping","params":{"proxy":{"authToken":"swb_owner"}}}
        1 spawns
            1< {"id":1,"method":"initialize",…}
            1< {"id":2,"method":"ping","params":{}}
    "#);
}

/// A client that shows a wrong token does not become the owner by leaving it out: a revoked token would give more rights
/// than a valid one.
#[test]
fn wrong_optional_token_makes_one_needed() {
    run(r#"
        given linger 30s
        A comes; folder /p; proof optional
            start 1 at /p
        A> {"id":1,"method":"initialize","params":{"proxy":{"authToken":"swb_nobody"}}}
            A< …"wrong token: unknown, revoked or expired"…
        A greets
            A< …"missing token"…
        A> {"id":2,"method":"tools/call","params":{}}
            A< …"missing token"…
        A> {"id":3,"method":"ping"}
            A< {"id":3,"result":{}}
        A> {"id":4,"method":"initialize","params":{"protocolVersion":"v","capabilities":{},"proxy":{"authToken":"swb_red"}}}
            start 2 at /p
            - its client has left it
            stop 1
    "#);
}

#[test]
fn wrong_token_of_a_connection_serves_nothing() {
    run(r#"
        given linger 30s
        A comes; folder /p; proof swb_nobody
        A greets
            A< …"message":"wrong token: unknown, revoked or expired"…
        A> {"id":1,"method":"initialize","params":{"proxy":{"authToken":"swb_red"}}}
            A< …"unauthorized"…
        A> {"id":2,"method":"ping"}
            A< {"id":2,"result":{}}
    "#);
}

/// Open requests get an error, the connection ends, and no late answer follows.
#[test]
fn revocation_ends_connections() {
    run(r#"
        given linger 30s
        A comes; folder /p; proof swb_red
            start 1 at /p
        A greets
        B comes; folder /p; proof swb_blue
        B greets
            start 2 at /p
        1 spawns
            1< {"id":1,"method":"initialize",…}
        1 greets
            A< {"id":0,…}
        A> {"id":7,"method":"tools/call","params":{"name":"x"}}
            1< {"id":3,…}
        revoke red
            A< {"id":7,…"the token `red` was revoked, has expired, or has other rights now"…}
            disconnect A
            1< {"method":"notifications/cancelled"…
        1> {"id":3,"result":"late"}
        A> {"id":8,"method":"tools/call","params":{"name":"x"}}
        C comes; folder /p; proof swb_red
        C greets
            C< …"unauthorized"…
    "#);
}

/// The owner's windows that need no token stay when the owner's token changes.
#[test]
fn owner_token_is_not_the_owner() {
    run(r#"
        given linger 30s; shared
        A opens 1
        B comes; folder /p; proof swb_owner
        B greets
            B< {"id":0,…}
        revoke owner
            disconnect B
        A> {"id":7,"method":"tools/call","params":{"name":"x"}}
            1< {"id":3,…}
    "#);
}

#[test]
fn client_of_all_servers_sees_its_own() {
    run(r#"
        given linger 30s; servers more
        A comes; folder /p; server all; proof swb_narrow
        A greets
            start 1 at /p
        B comes; folder /p; server all; proof required
        B> {"id":1,"method":"initialize","params":{"protocolVersion":"v","capabilities":{},"proxy":{"authToken":"swb_blue"}}}
            start 2 at /p
            start 3 at /p
        revoke blue
            B< {"id":1,…"unauthorized"…
            disconnect B
    "#);
}

/// The daemon behind a relay decides, so the token must reach it.
#[test]
fn relay_passes_tokens_on() {
    run(r#"
        given relays
        A opens 1
        A> {"id":1,"method":"x","params":{"proxy":{"authToken":"swb_red"}}}
            1< {"id":2,"method":"x","params":{"proxy":{"authToken":"swb_red"}}}
    "#);
}
