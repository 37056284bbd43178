//! Which workspace a request belongs to, and what servers are told of workspaces.

use crate::story::run;

#[test]
fn a_place_decides_and_a_new_root_starts_one_process() {
    run(r#"
        given splits; needs_root
        A comes; folder /p
        A greets
            start 1 at /p
        1 spawns
            1< {"id":1,"method":"initialize",…}
        1 greets
            A< …
        A confirms
            1< {"method":"notifications/initialized"}
        A at /q/x> {"id":1,"method":"tools/call","params":{}}
            start 2 at /q
        A at /q/y> {"id":2,"method":"tools/call","params":{}}
        A> {"id":3,"method":"tools/call","params":{}}
            1< {"id":4,…}
        2 spawns
            2< {"id":5,"method":"initialize","params":{"protocolVersion":"v","capabilities":{}}}
        2 greets
            2< {"method":"notifications/initialized"}
            2< {"id":2,…}
            2< {"id":3,…}
        A> {"method":"notifications/cancelled","params":{"requestId":2}}
            2< {"method":"notifications/cancelled","params":{"requestId":3}}
        "#);
}

#[test]
fn the_clients_roots_are_asked_for_and_followed() {
    run(r#"
        given splits; needs_root
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
        A> {"id":1,"method":"tools/list"}
        A> {"id":1,"result":{"roots":[{"uri":"file:///q"},{"uri":"file:///r"}]}}
            look up /q /r
        found /q /real
            - nobody works there any more
            stop 1
            start 2 at /q
        2 spawns
            2< …
        2 greets
            2< …
            2< {"id":2,"method":"tools/list"}
        A at /real/x> {"id":2,"method":"tools/call","params":{}}
            start 3 at /real
        3 spawns
            3< …
        3 greets
            3< …
            3< …
        3> {"id":"q","method":"roots/list"}
            3< {"id":"q","result":{"roots":[{"uri":"file:///r"}]}}
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A> {"id":2,"result":{"roots":[{"uri":"file:///r"}]}}
            look up /r
        found /real
        A> {"id":3,"method":"tools/call","params":{}}
            3< …
        "#);
}

/// Nothing can be started before the client has named a root, and it names none before it is greeted.
#[test]
fn roots_that_come_late_are_waited_for() {
    run(r#"
        given splits; needs_root
        A comes
        A greets with {"roots":{}}
            A< {"id":0,"result":{"capabilities":…,"protocolVersion":"v","serverInfo":{"name":"files",…}}}
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"method":"tools/list"}
        A> {"id":1,"result":{"roots":[{"uri":"file:///q"}]}}
            look up /q
        found /q
            start 1 at /q
        1 spawns
            1< {"id":3,"method":"initialize",…}
        1 greets
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
        "#);
}

#[test]
fn a_client_that_never_names_them_is_told_what_to_do() {
    run(r#"
        given splits; needs_root
        A comes
        A greets with {"roots":{}}
            A< …
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"method":"tools/list"}
        +6s
            A< {"id":1,"error":{"code":-32004,…"kind":"routing_failed"…}}
        B comes
        B greets
            B< {"id":0,"error":{"code":-32004,…}}
        "#);
}

#[test]
fn without_need_of_a_root_there_is_a_fallback() {
    run(r#"
        given splits
        A comes
        A greets
            - no workspace is known
            start 1 at nowhere
        "#);
    run(r#"
        given splits; no_fallback
        A comes
        A greets
            A< {"id":0,"error":{"code":-32004,…}}
        "#);
}

/// Also where one instance would serve all of them.
#[test]
fn without_a_fallback_roots_that_come_late_are_waited_for() {
    run(r#"
        given no_fallback
        A comes
        A greets with {"roots":{}}
            A< {"id":0,"result":…}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"error":{"code":-32004,…}}
        A confirms
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":2,"method":"tools/list"}
        A> {"id":1,"result":{"roots":[{"uri":"file:///q"}]}}
            look up /q
        found /q
            start 1 at /q
        "#);
}

#[test]
fn a_pinned_client_stays_where_it_is() {
    run(r#"
        given splits; needs_root
        A comes; pinned /p; folder /q
        A greets with {"roots":{}}
            start 1 at /p
        1 spawns
            1< …
        1 greets
            A< …
        A confirms
            1< …
        A at /r/x> {"id":1,"method":"tools/call","params":{}}
            1< …
        1> {"id":"q","method":"roots/list"}
            1< {"id":"q","result":{"roots":[{"uri":"file:///p"}]}}
        "#);
}

/// A server whose launch does not depend on the root serves all of them, and is told of all of them.
#[test]
fn one_instance_for_all_roots_hears_of_them_all() {
    run(r#"
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets with {"roots":{"listChanged":true}}
            1< …
        1 greets
            A< …
        A confirms
            1< …
        1> {"id":"q","method":"roots/list"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":1}
        A> {"id":1,"result":{"roots":[{"uri":"file:///p","name":"é"},{"uri":"file:///q"}]}}
            look up /p /q
        found /p /q
            1< {"id":"q","result":{"roots":[{"uri":"file:///p","name":"é"},{"uri":"file:///q"}]}}
        1> {"id":"r","method":"roots/list"}
            1< {"id":"r","result":{"roots":[{"uri":"file:///p","name":"é"},{"uri":"file:///q"}]}}
        A> {"method":"notifications/roots/list_changed"}
            A< raw {"method":"roots/list","jsonrpc":"2.0","id":2}
        A> {"id":2,"result":{"roots":[{"uri":"file:///q"}]}}
            look up /q
        found /q
            1< {"method":"notifications/roots/list_changed"}
        1> {"id":"s","method":"roots/list"}
            1< {"id":"s","result":{"roots":[{"uri":"file:///q"}]}}
        "#);
}

#[test]
fn notifications_in_quick_succession_are_merged() {
    run(r#"
        given debounce notifications/tools/list_changed 300ms
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< …
        1 greets
            A< …
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
        1> {"method":"notifications/tools/list_changed"}
        1> {"method":"notifications/tools/list_changed"}
        1> {"method":"notifications/prompts/list_changed"}
            A< {"method":"notifications/prompts/list_changed"}
        +0.2s
        +0.2s
            A< {"method":"notifications/tools/list_changed"}
        +5s
        1> {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/tools/list_changed"}
        "#);
}
