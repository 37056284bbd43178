//! Roots of modern clients that share processes of legacy servers. A process gets a client's roots only if no other client
//! uses it.

use super::eras_roots::{OPEN, PAUSED, TWO, open, shows, tell};

/// The server is known to ask for roots, so its first use binds a process to roots.
fn known_to_ask() -> String {
    OPEN.replace("given era legacy;", "given asks_roots; era legacy;")
}

/// The window B in the same folder.
const JOIN: &str = r#"
    B comes; folder /w
    B> {"id":"a",$call$R}}
        1< {"id":3,…}
"#;

/// Two windows use the process, so neither is asked.
#[test]
fn shared_process_gets_the_folder() {
    open(&format!(
        r#"
        {JOIN}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"a",…
        1> {{"id":"r","method":"roots/list"}}
            1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        "#
    ));
}

/// Both windows have the folder as their answer, so they keep sharing.
#[test]
fn process_with_the_folder_stays_shared() {
    open(&format!(
        r#"
        {JOIN}
        1> {{"id":"r","method":"roots/list"}}
            1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        A> {{"id":"b",$call$R}}}}
            1< {{"id":4,…}}
        B> {{"id":"b",$call$R}}}}
            1< {{"id":5,…}}
        C comes; folder /w
        C> {{"id":"a",$call$R}}}}
            1< {{"id":6,…}}
        "#
    ));
}

/// Another window joined during the pause: the process gets the folder, and the next request of the client goes to a
/// process with its roots.
#[test]
fn joining_window_keeps_the_folder() {
    tell(&format!(
        r#"{}{PAUSED}
        {JOIN}
        {}
            1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        1> {{"id":1,"result":{{"content":[]}}}}
            A< {{"id":"b","result":{{"resultType":"complete","content":[]}}}}
        A> {{"id":"c",$call$R}}}}
            - no longer shared by 1
            start 2 at /w
        2 spawns
            2< {{"id":5,"method":"initialize",…
        2> {{"id":5,"result":{{"capabilities":{{}}}}}}
            2< {{"method":"notifications/initialized"}}
            2< {{"id":4,"method":"tools/call","params":{{"name":"t"}}}}
        2> {{"id":"r","method":"roots/list"}}
            2< {{"id":"r","result":{TWO}}}
        1> {{"id":"r2","method":"roots/list"}}
            1< {{"id":"r2","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        "#,
        known_to_ask(),
        shows(TWO)
    ));
}

/// Other windows do not use a process with the roots of one window.
#[test]
fn other_windows_leave_process_with_roots() {
    tell(&format!(
        r#"{}
        B comes; folder /w
        B> {{"id":"l","method":"tools/list","params":{{$R}}}}
            1< {{"id":3,…}}
        {PAUSED}
        {}
            1< {{"id":"r","result":{TWO}}}
        B> {{"id":"a",$call$R}}}}
            - no longer shared by 1
            start 2 at /w
        C comes; folder /w
        C> {{"id":"a",$call$R}}}}
            start 3 at /w
        "#,
        OPEN,
        shows(TWO)
    ));
}

/// Another window with a stolen state can continue the call, but its roots are ignored.
#[test]
fn roots_of_another_window_are_ignored() {
    tell(&format!(
        r#"{}{PAUSED}
        B comes; folder /w
        B> {{"id":"l","method":"tools/list","params":{{$R}}}}
            1< {{"id":3,…}}
        B> {{"id":"b",$call"inputResponses":{{"1":{TWO}}},"requestState":"$state1",$R}}}}
            1< {{"id":"r","result":{{"roots":[{{"uri":"file:///w"}}]}}}}
        "#,
        known_to_ask()
    ));
}

/// A process that all identities share never gets the roots of one of them.
#[test]
fn roots_of_another_principal_are_not_told() {
    tell(&format!(
        r#"
        given scope global; asks_roots; era legacy; timeout 20min
        A comes; folder /w
            start 1 at home
        1 spawns
        A> {{"id":"a",$call$R}}}}
            1< {{"id":2,…}}
        1> {{"id":2,"result":{{"capabilities":{{}}}}}}
            1< {{"method":"notifications/initialized"}}
            1< {{"id":1,…}}
        {PAUSED}
        B comes; folder /w; principal 2
        B> {{"id":"a",$call$R}}}}
            1< {{"id":3,…}}
        {}
            1< {{"id":"r","result":{{"roots":[]}}}}
        1> {{"id":"r2","method":"roots/list"}}
            1< {{"id":"r2","result":{{"roots":[]}}}}
        "#,
        shows(TWO)
    ));
}
