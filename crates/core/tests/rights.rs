//! Rights of clients: everything that they exclude is out of reach, out of sight, and refused with one answer.

use crate::story::run;

const OFFERS: &str = r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{}}"#;

/// A client of the one server with these rights, after the handshake.
#[track_caller]
fn alone(rights: &str, story: &str) {
    run(&format!("A opens 1; offers {OFFERS}; unconfirmed; rights {rights}\n{story}"));
}

/// The same, with the rights of a profile.
#[track_caller]
fn profiled(rights: &str, story: &str) {
    run(&format!(
        "given profile work {rights}\nA opens 1; offers {OFFERS}; unconfirmed; profile work\n{story}"
    ));
}

/// A client of both servers with these rights, after the handshake, with the lists of the visible server.
#[track_caller]
fn merged(rights: &str, story: &str) {
    let before = r#"
        given servers more
        A greets all: 1; rights RIGHTS
        1 completes handshake 2; offers {"tools":{},"prompts":{},"resources":{"subscribe":true}}; answers A
            1< {"id":3,"method":"tools/list"}
            1< {"id":4,"method":"prompts/list"}
            1< {"id":5,"method":"resources/list"}
            1< {"id":6,"method":"resources/templates/list"}
        1> {"id":3,"result":{"tools":[{"name":"read"},{"name":"read_secret"},{"name":"write"}]}}
        1> {"id":4,"result":{"prompts":[{"name":"ask"},{"name":"secret"}]}}
        1> {"id":5,"result":{"resources":[{"uri":"a:1"},{"uri":"a:secret"}]}}
        1> {"id":6,"result":{"resourceTemplates":[{"uriTemplate":"a:t/{x}"},{"uriTemplate":"a:secret/{x}"}]}}
            store 0
    "#;
    run(&(before.replace("RIGHTS", rights) + story));
}

#[test]
fn excluded_names_get_one_answer() {
    alone(
        "tools read* -*secret",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"write"}}
            A< {"id":1,"error":{"code":-32603,"data":{"hint":"whoever administers its token or profile can allow it","kind":"forbidden","nearest":[],"retryable":false},"message":"the tool `write` is not available to `ci`"}}
        A> {"id":2,"method":"tools/call","params":{"name":"no such tool"}}
            A< {"id":2,"error":{"code":-32603,"data":{"hint":"whoever administers its token or profile can allow it","kind":"forbidden","nearest":[],"retryable":false},"message":"the tool `no such tool` is not available to `ci`"}}
        A> {"id":3,"method":"tools/call","params":{"name":"read_\u0073ecret"}}
            A< {"id":3,"error":{…"forbidden"…`read_secret`…}}
        A> {"id":4,"method":"tools/call","params":["write"]}
            A< {"id":4,"error":{…"forbidden"…}}
        A> {"id":5,"method":"Tools/Call","params":{"name":"write"}}
            A< {"id":5,"error":{…"forbidden"…the method `Tools/Call`…}}
        A> {"id":6,"method":"tools/call","params":{"name":"read"}}
            1< {"id":2,"method":"tools/call","params":{"name":"read"}}
        A> {"id":7,"method":"prompts/get","params":{"name":"write"}}
            1< {"id":3,"method":"prompts/get","params":{"name":"write"}}
        "#,
    );
}

/// An unknown method may name a hidden item in a way that we do not know, unless the rights name the method.
#[test]
fn unknown_methods_need_a_right() {
    let custom = r#"A> {"id":1,"method":"custom/invoke","params":{"tool":"write"}}"#;
    alone("tools read", &format!(r#"{custom}{}"#, "\n A< {\"id\":1,\"error\":{…\"forbidden\"…}}"));
    let passes = "\n 1< {\"id\":2,\"method\":\"custom/invoke\",\"params\":{\"tool\":\"write\"}}";
    alone("tools read, methods tools/* custom/*", &format!("{custom}{passes}"));
    alone("servers files", &format!("{custom}{passes}"));
}

#[test]
fn pages_show_what_may_be_used() {
    alone(
        "tools read*, methods -prompts/get, resources a:*",
        r#"
        A> {"id":1,"method":"tools/list"}
            1< {"id":2,"method":"tools/list"}
        1> {"id":2,"result":{"tools":[{"name":"write"},{"name":"read"},{"name":"other"}],"nextCursor":"2"}}
            A< {"id":1,"result":{"tools":[{"name":"read"}],"nextCursor":"2"}}
        A> {"id":2,"method":"prompts/list"}
            1< {"id":3,"method":"prompts/list"}
        1> {"id":3,"result":{"prompts":[{"name":"read"}]}}
            A< {"id":2,"result":{"prompts":[]}}
        A> {"id":3,"method":"resources/list"}
            1< {"id":4,"method":"resources/list"}
        1> {"id":4,"result":{"resources":[{"uri":"b:1"},{"uri":"a:1"}]}}
            A< {"id":3,"result":{"resources":[{"uri":"a:1"}]}}
        "#,
    );
}

/// What may not be called is not seen; everything else about the connection works.
#[test]
fn excluded_methods_are_refused() {
    alone(
        "methods -tools/call -resources/subscribe -custom/*",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            A< {"id":1,"error":{…"forbidden"…"the method `tools/call` is not available to `ci`"}}
        A> {"id":2,"method":"TOOLS/call","params":{"name":"read"}}
            A< {"id":2,"error":{…"forbidden"…}}
        A> {"id":3,"method":"custom/thing"}
            A< {"id":3,"error":{…"forbidden"…}}
        A> {"id":4,"method":"resources/subscribe","params":{"uri":"a:1"}}
            A< {"id":4,"error":{…"forbidden"…}}
        A> {"id":5,"method":"\ud800"}
            A< {"id":5,"error":{…"forbidden"…}}
        A> {"id":6,"method":"ping"}
            1< {"id":2,"method":"ping"}
        A> {"id":7,"method":"logging/setLevel","params":{"level":"info"}}
            1< {"id":3,"method":"logging/setLevel","params":{"level":"info"}}
        A> {"id":8,"method":"server/discover"}
            A< {"id":8,"error":{…"method_not_found"…}}
        A> {"id":9,"method":"resources/read","params":{"uri":"a:1"}}
            1< {"id":4,"method":"resources/read","params":{"uri":"a:1"}}
        1> {"method":"notifications/tools/list_changed"}
        1> {"method":"notifications/prompts/list_changed"}
            A< {"method":"notifications/prompts/list_changed"}
        "#,
    );
}

/// A hidden server is not even started.
#[test]
fn excluded_server_is_refused() {
    run(r#"
        A comes; folder /p; rights servers more
        A greets
            A< {"id":0,"error":{"code":-32603,"data":{…"kind":"forbidden","retryable":false},"message":"the server `files` is not available to `ci`"}}
        A confirms
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"error":{…"forbidden"…}}
        A> {"id":2,"method":"ping"}
            A< {"id":2,"result":{}}
        A> {"id":3,"method":"switchboard/anything"}
            A< {"id":3,"error":{…"forbidden"…}}
        A> (too long) {"jsonrpc":"2.0","id":4,"method":"tools/call"
            A< {"id":4,"error":{"code":-32603,"data":{"hint":…,"kind":"message_too_large","retryable":false,"root":null},…}}
    "#);
}

#[test]
fn resources_are_judged_by_every_reading() {
    alone(
        "resources file:///p/* -*.env",
        r#"
        A> {"id":1,"method":"resources/read","params":{"uri":"file:///p/.%65nv"}}
            A< {"id":1,"error":{…"forbidden"…"the resource `file:///p/.%65nv` is not available to `ci`"}}
        A> {"id":2,"method":"resources/subscribe","params":{"uri":"file:///p/.env?x"}}
            A< {"id":2,"error":{…"forbidden"…}}
        A> {"id":3,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"file:///p/.env#"}}}
            A< {"id":3,"error":{…"forbidden"…}}
        A> {"id":4,"method":"resources/delete","params":{"path":"/p/.env"}}
            A< {"id":4,"error":{…"forbidden"…}}
        A> {"id":5,"method":"resources/read","params":{"uri":"file:///p/a"}}
            1< {"id":2,"method":"resources/read","params":{"uri":"file:///p/a"}}
        "#,
    );
}

/// A template that one layer hides allows nothing, though the server's own filter shows it.
#[test]
fn hidden_template_allows_nothing() {
    alone(
        "resources doc:///p/{name}",
        r#"
        A confirms
            1< {"method":"notifications/initialized"}
            1< {"id":2,"method":"tools/list"}
            1< {"id":3,"method":"prompts/list"}
            1< {"id":4,"method":"resources/list"}
            1< {"id":5,"method":"resources/templates/list"}
        1> {"id":2,"result":{"tools":[]}}
        1> {"id":3,"result":{"prompts":[]}}
        1> {"id":4,"result":{"resources":[]}}
        A> {"id":1,"method":"resources/read","params":{"uri":"doc:///p/a"}}
        A> {"id":2,"method":"resources/read","params":{"uri":"doc:///q/a"}}
        1> {"id":5,"result":{"resourceTemplates":[{"uriTemplate":"doc:///p/{name}"},{"uriTemplate":"doc:///q/{name}"}]}}
            store 0
            1< {"id":6,"method":"resources/read","params":{"uri":"doc:///p/a"}}
            A< {"id":2,"error":{…"forbidden"…}}
        "#,
    );
}

#[test]
fn merged_lists_show_what_may_be_used() {
    merged(
        "servers files, tools -*secret, prompts ask, resources -*secret*",
        r#"
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"},{"name":"files__write"}]}}
        A> {"id":2,"method":"prompts/list"}
            A< {"id":2,"result":{"prompts":[{"name":"files__ask"}]}}
        A> {"id":3,"method":"resources/list"}
            A< {"id":3,"result":{"resources":[{"uri":"proxy://resource/ZmlsZXMKYTox"}]}}
        A> {"id":4,"method":"resources/templates/list"}
            A< {"id":4,"result":{"resourceTemplates":[{"uriTemplate":"proxy://template/files/a:t/{x}"}]}}
        A> {"id":5,"method":"switchboard/servers"}
            A< {"id":5,"result":{"servers":[{"isStarting":false,"lastError":null,"name":"files"}]}}
        "#,
    );
}

#[test]
fn merged_requests_reach_nothing_hidden() {
    merged(
        "servers files, tools -*secret, prompts ask, resources -*secret*",
        r#"
        A> {"id":1,"method":"tools/call","params":{"name":"files__read_secret"}}
            A< {"id":1,"error":{…"kind":"forbidden","nearest":[]…"the tool `files__read_secret` is not available to `ci`"}}
        A> {"id":1,"method":"tools/call","params":{"name":"files__reat"}}
            A< {"id":1,"error":{…"did you mean `files__read`? …","kind":"forbidden","nearest":["files__read"]…}}
        A> {"id":2,"method":"tools/call","params":{"name":"more__read"}}
            A< {"id":2,"error":{…"forbidden"…"the tool `more__read` is not available to `ci`"}}
        A> {"id":3,"method":"tools/call","params":{"name":"none__read"}}
            A< {"id":3,"error":{…"forbidden"…"the tool `none__read` is not available to `ci`"}}
        A> {"id":4,"method":"prompts/get","params":{"name":"files__secret"}}
            A< {"id":4,"error":{…"forbidden"…}}
        A> {"id":5,"method":"completion/complete","params":{"ref":{"name":"files__secret"}}}
            A< {"id":5,"error":{…"forbidden"…}}
        A> {"id":6,"method":"completion/complete","params":{"ref":{"name":"files__ask","uri":"a:secret/1"}}}
            A< {"id":6,"error":{…"forbidden"…}}
        A> {"id":7,"method":"completion/complete","params":{"ref":{"uri":"proxy://template/files/a:secret/{x}"}}}
            A< {"id":7,"error":{…"forbidden"…}}
        A> {"id":8,"method":"resources/read","params":{"uri":"a:secret"}}
            A< {"id":8,"error":{…"forbidden"…}}
        A> {"id":9,"method":"resources/subscribe","params":{"uri":"proxy://resource/ZmlsZXMKYTpzZWNyZXQ"}}
            A< {"id":9,"error":{…"forbidden"…}}
        A> {"id":10,"method":"resources/read","params":{"uri":"proxy://template/files/a:secret/1"}}
            A< {"id":10,"error":{…"forbidden"…}}
        A> {"id":11,"method":"resources/read","params":{"uri":"proxy://template/more/a:t/1"}}
            1< {"id":7,"method":"resources/read","params":{"uri":"proxy://template/more/a:t/1"}}
        A> {"id":12,"method":"resources/read","params":{"uri":"proxy://template/none/a:t/1"}}
            1< {"id":8,"method":"resources/read","params":{"uri":"proxy://template/none/a:t/1"}}
        A> {"id":13,"method":"resources/read","params":{"uri":"proxy://template/more/a:secret/1"}}
            A< {"id":13,"error":{…"forbidden"…}}
        A> {"id":14,"method":"resources/read","params":{"uri":"proxy://template/files/a:t/1"}}
            1< {"id":9,"method":"resources/read","params":{"uri":"a:t/1"}}
        A> {"id":15,"method":"tools/call","params":{"name":"files__read"}}
            1< {"id":10,"method":"tools/call","params":{"name":"read"}}
        "#,
    );
}

/// Only changes of what a client sees are told, and nothing of hidden resources.
#[test]
fn hidden_changes_are_not_told() {
    merged(
        "servers files, tools -*secret, resources -*secret*",
        r#"
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{…}}
        1> {"method":"notifications/tools/list_changed"}
        +2s
            1< {"id":8,"method":"tools/list"}
        1> {"id":8,"result":{"tools":[{"name":"read"},{"name":"new_secret"},{"name":"write"}]}}
            store 0
        +2s
        1> {"method":"notifications/resources/updated","params":{"uri":"a:secret"}}
            - no listener for notifications/resources/updated
        1> {"method":"notifications/tools/list_changed"}
            1< {"id":9,"method":"tools/list"}
        1> {"id":9,"result":{"tools":[{"name":"read"}]}}
            store 0
        +2s
            A< {"method":"notifications/tools/list_changed"}
        "#,
    );
}

/// Clients with different rights share a backend and see different lists.
#[test]
fn rights_of_clients_do_not_mix() {
    merged(
        "servers files, tools read",
        r#"
        B comes; folder /p; server all; rights servers files, tools write
        B greets
            B< {"id":0,"result":…}
        C comes; folder /p; rights tools read_secret
        C greets
            C< {"id":0,"result":…}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"result":{"tools":[{"name":"files__write"}]}}
        C> {"id":1,"method":"tools/list"}
            1< {"id":11,"method":"tools/list"}
        1> {"id":11,"result":{"tools":[{"name":"read"},{"name":"read_secret"}]}}
            C< {"id":1,"result":{"tools":[{"name":"read_secret"}]}}
        "#,
    );
}

#[test]
fn stored_lists_keep_to_the_rights() {
    run(r#"
        given stored read write wrote
        A comes; folder /p; rights tools -write
            start 1 at /p
        A greets
            A< {"id":0,"result":{"serverInfo":"stored",…}}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"read"},{"name":"wrote"}]}}
        A> {"id":2,"method":"tools/call","params":{"name":"write"}}
            A< {"id":2,"error":{…"kind":"forbidden","nearest":["wrote"]…}}
        B comes; folder /p; server all; rights tools files__read
        B greets
            B< {"id":0,"result":…}
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"result":{"tools":[{"name":"files__read"}]}}
        B> {"id":2,"method":"tools/call","params":{"name":"files__write"}}
            B< {"id":2,"error":{…"kind":"forbidden"…}}
        C comes; folder /p; server all
        C greets
            C< {"id":0,"result":…}
        C> {"id":1,"method":"tools/call","params":{"name":"files__writ"}}
            C< {"id":1,"error":{…"kind":"unknown_name","nearest":["files__write"…}}
    "#);
}

/// A server that a reload adds is hidden too.
#[test]
fn added_server_stays_hidden() {
    for (rights, servers) in [("servers files", 1), ("servers *", 2), ("servers -more", 1), ("tools *", 2)] {
        let server = r#"{"isStarting":false,"lastError":null,"name":NAME}"#;
        let names = [r#""files""#, r#""more""#];
        let servers: Vec<String> = names[..servers].iter().map(|name| server.replace("NAME", name)).collect();
        run(&format!(
            r#"
            given stored read write
            A comes; folder /p; server all; rights {rights}
            A greets
                A< {{"id":0,"result":…}}
            config adds one
            A> {{"id":1,"method":"switchboard/servers"}}
                A< {{"id":1,"result":{{"servers":[{}]}}}}
            "#,
            servers.join(",")
        ));
    }
}

/// A client of one server. Its open request finishes; the server is not restarted.
#[test]
fn changed_rights_hold_at_once() {
    profiled(
        "tools read write",
        r#"
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}
            1< {"id":2,"method":"resources/subscribe","params":{"uri":"a:1"}}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":2,"method":"tools/call","params":{"name":"write"}}
            1< {"id":3,"method":"tools/call","params":{"name":"write"}}
        A> {"id":3,"method":"tools/list"}
            1< {"id":4,"method":"tools/list"}
        config is as it was; profile work tools read, resources b:*
            1< {"id":5,"method":"resources/unsubscribe","params":{"uri":"a:1"}}
            A< {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/resources/list_changed"}
        1> {"id":4,"result":{"tools":[{"name":"read"},{"name":"write"}]}}
            A< {"id":3,"result":{"tools":[{"name":"read"}]}}
        1> {"id":3,"result":{}}
            A< {"id":2,"result":{}}
        A> {"id":4,"method":"tools/call","params":{"name":"write"}}
            A< {"id":4,"error":{…"forbidden"…}}
        1> {"method":"notifications/resources/updated","params":{"uri":"a:1"}}
            - no listener for notifications/resources/updated
        config is as it was; profile work tools read, resources b:*
        config is as it was; profile work everything
            A< {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/resources/list_changed"}
        A> {"id":5,"method":"tools/call","params":{"name":"write"}}
            1< {"id":6,"method":"tools/call","params":{"name":"write"}}
        "#,
    );
}

/// A subscription is on its way to the server while a right is withdrawn.
#[test]
fn late_subscription_is_ended() {
    profiled(
        "everything",
        r#"
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}
            1< {"id":2,"method":"resources/subscribe","params":{"uri":"a:1"}}
        config is as it was; profile work methods -resources/subscribe
        1> {"id":2,"result":{}}
            1< {"id":3,"method":"resources/unsubscribe","params":{"uri":"a:1"}}
            A< {"id":1,"result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"a:1"}}
            - no listener for notifications/resources/updated
        "#,
    );
}

/// Calls that were accepted before wait for their server; the new rights hold for them too.
#[test]
fn changed_rights_refuse_waiting_calls() {
    let story = |who: &str, name: &str, rights: &str, refused: &str| {
        run(&format!(
            r#"
            given stored read write wrote; profile work everything
            A comes; folder /p{who}; profile work
            A greets
                A< …
            A> {{"id":1,"method":"tools/call","params":{{"name":"{name}"}}}}
                start 1 at /p
            config is as it was; profile work {rights}
                A< {{"id":1,"error":{{…"forbidden"…{refused}…}}}}
            "#
        ));
    };
    for (rights, refused) in [
        ("tools -read", "the tool `files__read`"),
        ("methods -tools/*", "the method `tools/call`"),
        ("servers more", "the tool `files__read`"),
    ] {
        story("; server all", "files__read", rights, refused);
    }
}

/// The client leaves a server that it may not use any more, and can return.
#[test]
fn withdrawn_server_is_left() {
    profiled(
        "servers files",
        r#"
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"id":1,"method":"tools/call","params":{"name":"read"}}
            1< {"id":2,"method":"tools/call","params":{"name":"read"}}
        config is as it was; profile work servers more
            A< {"method":"notifications/tools/list_changed"}
            A< {"method":"notifications/prompts/list_changed"}
            A< {"method":"notifications/resources/list_changed"}
        1> {"method":"notifications/message","params":{"level":"info","data":"x"}}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        A> {"id":2,"method":"tools/call","params":{"name":"read"}}
            A< {"id":2,"error":{…"the server `files` is not available to `owner` with the profile `work`"}}
        A> {"method":"notifications/custom"}
        A> {"id":3,"method":"ping"}
            A< {"id":3,"result":{}}
        1> {"id":7,"method":"sampling/createMessage","params":{}}
            1< {"id":7,"error":{…}}
            - it asks its clients questions
            stop 1
        "#,
    );
}

/// Both kinds of servers: one that the rights bring, and one that they take away.
#[test]
fn merged_servers_follow_the_rights() {
    run(r#"
        given profile work servers files; servers more; stored read write; server 1; stored dig
        A comes; folder /p; server all; profile work
        A greets
            A< {"id":0,"result":…}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"},{"name":"files__write"}]}}
        config is as it was; profile work servers more
        +1s
            A< {"method":"notifications/tools/list_changed"}
        A> {"id":2,"method":"tools/list"}
            A< {"id":2,"result":{"tools":[{"name":"more__dig"}]}}
        A> {"id":3,"method":"tools/call","params":{"name":"files__read"}}
            A< {"id":3,"error":{…"forbidden"…}}
        A> {"id":4,"method":"switchboard/servers"}
            A< {"id":4,"result":{"servers":[{"isStarting":false,"lastError":null,"name":"more"}]}}
    "#);
}

/// A page of a list from before is not continued: it would show what is hidden now.
#[test]
fn pages_do_not_outlive_rights() {
    run(r#"
        given page_size 1; stored a b c; profile work everything
        A comes; folder /p; server all; profile work
        A greets
            A< {"id":0,"result":…}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__a"}],"nextCursor":"AAAAAAAAAAIAAAAAAAAAASCCz70"}}
        config is as it was; profile work tools -b
        A> {"id":2,"method":"tools/list","params":{"cursor":"AAAAAAAAAAIAAAAAAAAAASCCz70"}}
            A< {"id":2,"error":{…"stale_cursor"…}}
    "#);
}

/// The rights of a token and those of a profile hold together.
#[test]
fn profiles_only_narrow() {
    run(r#"
        given profile work tools read* write*; stored read read_secret write other
        A comes; folder /p; server all; rights tools -*secret other read* write; profile work
        A greets
            A< {"id":0,"result":…}
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"result":{"tools":[{"name":"files__read"},{"name":"files__write"}]}}
    "#);
}

/// A profile that is no longer in the config allows nothing.
#[test]
fn removed_profile_allows_nothing() {
    run(r#"
        given profile work everything; stored read
        A comes; folder /p; server all; profile work
        A greets
            A< {"id":0,"result":…}
        B comes; folder /p; server all; profile wrok
        B greets
            B< {"id":0,"result":…}
        B> {"id":1,"method":"tools/list"}
            B< {"id":1,"error":{…"forbidden"…}}
        config is as it was; profile other everything
        A> {"id":1,"method":"tools/list"}
            A< {"id":1,"error":{…"forbidden"…}}
        A> {"id":2,"method":"tools/call","params":{"name":"files__read"}}
            A< {"id":2,"error":{…"forbidden"…}}
    "#);
}
