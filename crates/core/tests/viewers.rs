//! Private lists of modern servers: no other identity ever sees them.

use super::eras::play;

/// Common start of the stories: a global server without state, which identities share if its lists are public.
const GIVEN: &str = r#"
    given era modern; scope global; idle_ttl 10min; linger 10min
"#;

/// The owner has asked for all tools; its process answers `server/discover` as `DISCOVERED`, and the list as `LISTED`.
fn owner(discovered: &str, listed: &str) -> String {
    let hints = |scope: &str| match scope {
        "" => String::new(),
        scope => format!(r#","ttlMs":90000,"cacheScope":"{scope}""#),
    };
    let (discovered, listed) = (hints(discovered), hints(listed));
    format!(
        r#"
        {GIVEN}
        A comes; folder /p; server all
        A> {{"id":"a","method":"tools/list","params":{{$M}}}}
            start 1 at home
        1 spawns
            1< {{"id":2,"method":"server/discover","params":{{$M}}}}
        1> {{"id":2,"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}}{discovered}}}}}
            1< {{"id":3,"method":"tools/list","params":{{$M}}}}
        1> {{"id":3,"result":{{"tools":[{{"name":"owners"}}]{listed}}}}}
            store 0
            A< {{"id":"a","result":{{…"files__owners"…
        "#
    )
}

/// Another identity requests all tools and gets those of the second process, under this id.
fn token_gets_its_own(minted: u32) -> String {
    let next = minted + 1;
    format!(
        r#"
        B comes; folder /p; server all; principal 7
        B> {{"id":"b","method":"tools/list","params":{{$M}}}}
            start 2 at home
        2 spawns
            2< {{"id":{minted},"method":"server/discover","params":{{$M}}}}
        2> {{"id":{minted},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}}}}}}
            2< {{"id":{next},"method":"tools/list","params":{{$M}}}}
        2> {{"id":{next},"result":{{"tools":[{{"name":"tokens"}}]}}}}
            store 0
            B< {{"id":"b","result":{{…"ttlMs":0,"cacheScope":"private"…[{{"name":"files__tokens"}}]}}}}
        B> {{"id":"c","method":"tools/call","params":{{"name":"files__owners",$M}}}}
            B< {{"id":"c","error":{{…
        B> {{"id":"d","method":"tools/call","params":{{"name":"files__tokens",$M}}}}
            2< {{"id":…,"method":"tools/call","params":{{"name":"tokens",$M}}}}
        "#
    )
}

#[test]
fn public_lists_are_shared() {
    let story = owner("public", "public");
    play(&format!(
        r#"
        {story}
        B comes; folder /p; server all; principal 7
        B> {{"id":"b","method":"tools/list","params":{{$M}}}}
            B< {{"id":"b","result":{{…"cacheScope":"public"…[{{"name":"files__owners"}}]}}}}
        "#
    ));
}

#[test]
fn private_lists_are_fetched_per_identity() {
    for (discovered, listed) in [("private", "private"), ("public", "private"), ("private", "public")] {
        play(&format!("{}{}", owner(discovered, listed), token_gets_its_own(6)));
    }
}

/// A list without `cacheScope` counts as private.
#[test]
fn lists_without_a_hint_are_private() {
    for (discovered, listed) in [("public", ""), ("", "public"), ("", "")] {
        play(&format!("{}{}", owner(discovered, listed), token_gets_its_own(6)));
    }
}

#[test]
fn owners_windows_are_one_identity() {
    let story = owner("private", "private");
    play(&format!(
        r#"
        {story}
        B comes; folder /q; server all
        B> {{"id":"b","method":"tools/list","params":{{$M}}}}
            B< {{"id":"b","result":{{…"cacheScope":"private"…[{{"name":"files__owners"}}]}}}}
        "#
    ));
}

/// A client that no longer waits gets lists fetched for other clients, but not for another identity.
#[test]
fn newest_lists_stay_with_their_identity() {
    let story = owner("private", "private");
    play(&format!(
        r#"
        {story}
        B comes; folder /p; server all; principal 7
        B> {{"id":"b","method":"tools/list","params":{{$S}}}}
            start 2 at home
        2 cannot spawn: no such file
            start 3 at home
            B< {{"id":"b","result":{{…"tools":[]}}}}
        C comes; folder /p; server all
        C> {{"id":"c","method":"tools/list","params":{{$S}}}}
            start 4 at home
        4 cannot spawn: no such file
            start 5 at home
            C< {{"id":"c","result":{{…"tools":[{{"name":"files__owners"}}]}}}}
        "#
    ));
}

/// Two tokens share a process whose next list is private. Neither gets the list, and the process is not used again.
#[test]
fn lists_that_turn_private_are_not_shown() {
    let story = owner("public", "public");
    play(&format!(
        r#"
        {story}
        B comes; folder /p; server all; principal 7
        B> {{"id":"b","method":"tools/call","params":{{"name":"files__owners",$M}}}}
            start 2 at home
        2 spawns
            2< {{"id":6,"method":"server/discover","params":{{$M}}}}
        2> {{"id":6,"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":1,"cacheScope":"public"}}}}
            2< {{"id":7,"method":"tools/list","params":{{$M}}}}
            2< {{"id":5,"method":"tools/call","params":{{"name":"owners",$M}}}}
        C comes; folder /p; server all; principal 8
        C> {{"id":"c","method":"tools/call","params":{{"name":"files__owners",$M}}}}
            2< {{"id":8,"method":"tools/call","params":{{"name":"owners",$M}}}}
        2> {{"id":7,"result":{{"tools":[{{"name":"secret"}}],"ttlMs":1,"cacheScope":"private"}}}}
            - no longer shared by 2
            start 3 at home
            start 4 at home
        B> {{"id":"d","method":"tools/list","params":{{$M}}}}
        3 spawns
            3< {{"id":10,"method":"server/discover","params":{{$M}}}}
        2> {{"id":5,"result":{{}}}} -> B as "b"
        2> {{"id":8,"result":{{}}}} -> C as "c"
            - its lists are private to each identity
            stop 2
        3> {{"id":10,"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":1,"cacheScope":"public"}}}}
            3< {{"id":11,"method":"tools/list","params":{{$M}}}}
        3> {{"id":11,"result":{{"tools":[{{"name":"mine"}}],"ttlMs":90000,"cacheScope":"private"}}}}
            store 0
            B< {{"id":"d","result":{{…"cacheScope":"private"…[{{"name":"files__mine"}}]}}}}
        D comes; folder /p; server all; principal 9
        D> {{"id":"e","method":"tools/list","params":{{$M}}}}
            start 5 at home
        A> {{"id":"f","method":"tools/list","params":{{$M}}}}
            A< {{"id":"f","result":{{…[{{"name":"files__owners"}}]}}}}
        "#
    ));
}

/// Clients of one server share a process only if their lists are public.
#[test]
fn clients_of_one_server_are_apart() {
    let open = |who: &str, process: u32, scope: &str| {
        let hints = format!(r#""ttlMs":90000,"cacheScope":"{scope}""#);
        let (discover, list) = (2 * process, 2 * process - 1);
        let starts = match process {
            // Started early, when the client connected.
            1 => String::new(),
            _ => format!("start {process} at home\n{process} spawns"),
        };
        format!(
            r#"
            {who}> {{"id":"x","method":"tools/list","params":{{$M}}}}
                {starts}
                {process}< {{"id":{discover},"method":"server/discover","params":{{$M}}}}
            {process}> {{"id":{discover},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},{hints}}}}}
                {process}< {{"id":{list},"method":"tools/list","params":{{$M}}}}
            {process}> {{"id":{list},"result":{{"tools":[],{hints}}}}} -> {who} as "x"
            "#
        )
    };
    for scope in ["public", "private"] {
        let (first, second, third) = (open("A", 1, scope), open("B", 2, scope), open("C", 3, scope));
        let third = match scope {
            // The first process belongs to its token alone, since the lists were unknown when it started.
            "public" => r#"C> {"id":"x","method":"tools/list","params":{$M}} -> 2 as 5"#,
            _ => &third,
        };
        play(&format!(
            r#"
            {GIVEN}
            A comes; folder /p; principal 6
                start 1 at home
            1 spawns
            {first}
            B comes; folder /p; principal 7
            {second}
            C comes; folder /p; principal 8
            {third}
            "#
        ));
    }
}
