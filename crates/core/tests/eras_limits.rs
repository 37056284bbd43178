//! Limits of the modern era: sets of capabilities for one identity, and known tasks of a remote server.

use super::eras::{META, play};

/// A process that identities share counts only for the identities that use it.
#[test]
fn sets_of_other_identities_do_not_count() {
    let set = |number: u32| META.replace(":{}}", &format!(r#":{{"experimental":{{"n{number}":{{}}}}}}}}"#));
    let public =
        r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":9,"cacheScope":"public"}"#;
    // The first process is not shared: the lists are not yet known to be public.
    let mut story = format!(
        r#"
        given era modern; exact; scope global; max_backends 40; pool.max_backends 40; linger 10min
        A comes; principal 1
            start 1 at home
        1 spawns
        A> {{"id":"l","method":"tools/list","params":{{$M}}}}
            1< {{"id":2,"method":"server/discover",…
        1> {{"id":2,"result":{public}}}
            1< {{"id":1,"method":"tools/list",…
        1> {{"id":1,"result":{{"tools":[{{"name":"x"}}],"ttlMs":9,"cacheScope":"public"}}}}
            A< {{"id":"l",…
        "#
    );
    for number in 1..=8_u32 {
        let (client, process, id) = (char::from(b'A' + number as u8), number + 1, 1 + 2 * number);
        story += &format!(
            r#"
            {client} comes; principal 1
            {client}> {{"id":"c","method":"tools/call","params":{{"name":"x",{}}}}}
                start {process} at home
            {process} spawns
                {process}< {{"id":{},"method":"server/discover",…
            {process}> {{"id":{},"result":{public}}}
                {process}< {{"id":{id},"method":"tools/call",…
            "#,
            set(number),
            id + 1,
            id + 1,
        );
    }
    let (ninth, second) = (set(9), set(2));
    story += &format!(
        r#"
        J comes; principal 1
        J> {{"id":"a","method":"tools/call","params":{{"name":"x",{ninth}}}}}
            J< {{"id":"a","error":{{…"kind":"overloaded"…
        K comes; principal 7
        K> {{"id":"a","method":"tools/call","params":{{"name":"x",{second}}}}} -> 3 as 19
        K> {{"id":"b","method":"tools/call","params":{{"name":"x",{ninth}}}}}
            start 10 at home
        "#
    );
    play(&story);
}

/// A client of a remote server that has started a task.
const REMOTE: &str = r#"
    given remote; era modern; linger 1min
    A comes; principal 1; front http
        start 1 at nowhere
    1 spawns
    A> {"id":"a","method":"tools/call","params":{"name":"x",$M}}
        1< {"id":2,"method":"server/discover","params":{$M}}
    1> {"id":2,"result":$D}
        1< {"id":1,"method":"tools/call","params":{"name":"x",$M}}
    1> {"id":1,"result":{"resultType":"task","taskId":"t0","status":"working"}} -> A as "a"
    A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}} -> 1 as 3
"#;

/// The table of a server's tasks holds 1,024. Ended tasks are dropped first.
#[test]
fn ended_remote_tasks_make_room() {
    let (mut story, mut id) = (REMOTE.to_owned(), 4);
    for task in 0..=1024 {
        // The client polls the task, or gets a notification.
        story += &match task % 2 {
            0 => {
                let result =
                    format!(r#"{{"resultType":"complete","taskId":"t{task}","status":"completed"}}"#);
                id += 1;
                format!(
                    r#"
                    A> {{"id":"g","method":"tasks/get","params":{{"taskId":"t{task}",$M}}}} -> 1 as {}
                    1> {{"id":{},"result":{result}}} -> A as "g"
                    "#,
                    id - 1,
                    id - 1,
                )
            }
            _ => format!(
                r#"
                1> {{"method":"notifications/tasks","params":{{"taskId":"t{task}","status":"completed","_meta":{{$sub:3}}}}}}
                    A< {{"method":"notifications/tasks",…
                "#
            ),
        };
        if task < 1024 {
            let result = format!(r#"{{"resultType":"task","taskId":"t{}","status":"working"}}"#, task + 1);
            story += &format!(
                r#"
                A> {{"id":"c","method":"tools/call","params":{{"name":"x",$M}}}} -> 1 as {id}
                1> {{"id":{id},"result":{result}}} -> A as "c"
                "#
            );
            id += 1;
        }
    }
    // The entry outlives the connection.
    story += &format!(
        r#"
        A leaves
            1< {{"method":"notifications/cancelled","params":{{…"requestId":3}}}}
        +1min
            - it was idle for too long
            stop 1
        1 ends
        B comes; principal 1; front http
            start 2 at nowhere
        2 spawns
        B> {{"id":"b","method":"tasks/get","params":{{"taskId":"t1024",$M}}}}
            2< {{"id":{},"method":"server/discover","params":{{$M}}}}
        2> {{"id":{},"result":$D}}
            2< {{"id":{id},"method":"tasks/get","params":{{"taskId":"t1024",$M}}}}
        "#,
        id + 1,
        id + 1,
    );
    play(&story);
}

/// Tasks of a departed client are dropped too, since no client can access them.
#[test]
fn tasks_of_lost_clients_make_room() {
    let mut story = r#"
        given remote; era modern; linger 1min
        A comes; principal 1
            start 1 at nowhere
        1 spawns
        A> {"id":"a","method":"tools/call","params":{"name":"x",$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"tools/call","params":{"name":"x",$M}}
        1> {"id":1,"result":{"resultType":"task","taskId":"t0","status":"working"}} -> A as "a"
    "#
    .to_owned();
    for task in 1..1024 {
        let id = task + 2;
        let result = format!(r#"{{"resultType":"task","taskId":"t{task}","status":"working"}}"#);
        story += &format!(
            r#"
            A> {{"id":"c","method":"tools/call","params":{{"name":"x",$M}}}} -> 1 as {id}
            1> {{"id":{id},"result":{result}}} -> A as "c"
            "#
        );
    }
    story += r#"
        A leaves
        B comes; principal 7; front http
        B> {"id":"b","method":"tools/call","params":{"name":"x",$M}}
            start 2 at nowhere
        2 spawns
            2< {"id":1027,"method":"server/discover","params":{$M}}
        2> {"id":1027,"result":$D}
            2< {"id":1026,"method":"tools/call","params":{"name":"x",$M}}
        2> {"id":1026,"result":{"resultType":"task","taskId":"u","status":"working"}} -> B as "b"
        B> {"id":"g","method":"tasks/get","params":{"taskId":"u",$M}} -> 2 as 1028
        2> {"id":1028,"result":{"resultType":"complete","taskId":"u","status":"completed"}} -> B as "g"
        B leaves
        +1min
            - it was idle for too long
            stop 1
            - it was idle for too long
            stop 2
        1 ends
        2 ends
        C comes; principal 7; front http
            start 3 at nowhere
        3 spawns
        C> {"id":"g","method":"tasks/get","params":{"taskId":"u",$M}}
            3< {"id":1030,"method":"server/discover","params":{$M}}
        3> {"id":1030,"result":$D}
            3< {"id":1029,"method":"tasks/get","params":{"taskId":"u",$M}}
    "#;
    play(&story);
}

/// A remote server keeps its tasks across a restart of Switchboard, which then no longer knows their owners.
#[test]
fn unknown_remote_task_is_the_owners() {
    let asked = |given: &str, client: &str, story: &str| {
        play(&format!(
            r#"
            given era modern{given}
            A comes; front http{client}
                start 1 at nowhere
            1 spawns
            A> {{"id":"a","method":"tools/list","params":{{$M}}}}
                1< {{"id":2,"method":"server/discover",…
            1> {{"id":2,"result":$D}}
                1< {{"id":1,"method":"tools/list",…
            {story}
            "#
        ));
    };
    let refused = r#"
        A> {"id":"g","method":"tasks/get","params":{"taskId":"t",$T}}
            A< {"id":"g","error":{"code":-32602,…"message":"Unknown task: t"…
        A> {"id":"u","method":"tasks/update","params":{"taskId":"t","inputResponses":{},$T}}
            A< {"id":"u","error":{"code":-32602,…
        A> {"id":"c","method":"tasks/cancel","params":{"taskId":"t",$T}}
            A< {"id":"c","error":{"code":-32602,…
        A> {"id":"l","method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"]},$T}}
            A< {"id":"l","error":{"code":-32602,…
    "#;
    let passed = r#"
        A> {"id":"g","method":"tasks/get","params":{"taskId":"t",$M}} -> 1 as 3
        1> {"id":3,"result":{"taskId":"t","status":"working"}} -> A as "g"
        A> {"id":"l","method":"subscriptions/listen","params":{"notifications":{"taskIds":["t"]},$M}} -> 1 as 4
    "#;
    asked("; remote", "; principal 2", refused);
    asked("; remote", "", passed);
    // Without authentication, all clients are one identity.
    asked("; remote", "; principal 1", passed);
    // A process ends with Switchboard, so it has no tasks of an earlier run.
    asked("", "; principal 2", passed);
}

/// `tasks/list` of 2025-11-25, in which a server names the tasks of all clients.
#[test]
fn remote_list_has_own_tasks_only() {
    let listed = |client: &str, shown: &str| {
        play(&format!(
            r#"
            given remote; era legacy
            A comes; folder /p{client}
                start 1 at /p
            A greets
            1 spawns
                1< {{"id":1,"method":"initialize",…
            1> {{"id":1,"result":{{"capabilities":{{"tasks":{{"list":{{}}}}}}}}}} -> A as 0
            A confirms
                1< {{"method":"notifications/initialized"}}
            A> {{"id":1,"method":"tools/call","params":{{"name":"t","task":{{}}}}}} -> 1 as 2
            1> {{"id":2,"result":{{"task":{{"taskId":"own","status":"working"}}}}}} -> A as 1
            A> {{"id":2,"method":"tasks/list"}} -> 1 as 3
            1> {{"id":3,"result":{{"tasks":[{{"taskId":"other"}},{{"taskId":"own"}}]}}}}
                A< {{"id":2,"result":{{"tasks":[{shown}]}}}}
            "#
        ));
    };
    listed("; principal 2", r#"{"taskId":"own"}"#);
    for party_without_token in ["", "; principal 1"] {
        listed(party_without_token, r#"{"taskId":"other"},{"taskId":"own"}"#);
    }
}

/// A stateless client's cancelled id is free as soon as no answer can follow.
#[test]
fn cancelled_ids_become_free() {
    let open = |given: &str, story: &str| {
        play(&format!(
            r#"
            given era modern; timeout 60s{given}
            A comes; front http; session none
                start 1 at nowhere
            1 spawns
            A> {{"id":"q","method":"tools/call","params":{{"name":"x",$M}}}}
                1< {{"id":2,"method":"server/discover",…
            A> {{"method":"notifications/cancelled","params":{{"requestId":"q"}}}}
                no answer A "q"
            A> {{"id":"a","method":"tools/call","params":{{"name":"x",$M}}}}
            1> {{"id":2,"result":$D}}
                1< {{"id":3,"method":"tools/call",…
            {story}
            "#
        ));
    };
    let cancelled = r#"
        A> {"method":"notifications/cancelled","params":{"requestId":"a"}}
            1< {"method":"notifications/cancelled","params":{"requestId":3}}
    "#;
    // After the late answer.
    open("", &format!(r#"{cancelled} 1> {{"id":3,"result":{{}}}} -> A as "a""#));
    // After the timeout.
    open("", &format!("{cancelled}\n+59.9s\n+0.1s\nno answer A \"a\""));
    // After the end of the process.
    open("", &format!("{cancelled}\n1 ends: exit code 1\nno answer A \"a\"\n- restart after a pause"));
    // After an answer that is not passed on.
    let denied = r#"{"id":3,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{}}}}}"#;
    open(
        "; denies sampling",
        &format!("{cancelled}\n1> {denied}\n- denied to owner: sampling/createMessage\nno answer A \"a\""),
    );
    open(
        "",
        r#"
        A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$M}} -> 1 as 4
        A> {"method":"notifications/cancelled","params":{"requestId":"s"}}
            1< {"method":"notifications/cancelled","params":{"requestId":4}}
            no answer A "s"
        "#,
    );
}

/// The number of reserved ids is limited.
#[test]
fn oldest_cancelled_ids_make_room() {
    let mut story = r#"
        given era modern
        A comes; front http; session none
            start 1 at nowhere
        1 spawns
        A> {"id":"a","method":"tools/list","params":{$M}}
            1< {"id":2,"method":"server/discover",…
        1> {"id":2,"result":$D}
            1< {"id":1,"method":"tools/list",…
    "#
    .to_owned();
    for number in 1..=34 {
        let id = number + 2;
        story += &format!(
            r#"
            A> {{"id":{number},"method":"tools/call","params":{{"name":"x",$M}}}} -> 1 as {id}
            A> {{"method":"notifications/cancelled","params":{{"requestId":{number}}}}}
                1< {{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}
            "#
        );
        if number > 32 {
            story += &format!("no answer A {}\n", number - 32);
        }
    }
    play(&story);
}
