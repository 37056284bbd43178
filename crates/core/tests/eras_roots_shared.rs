//! Roots of modern clients that share the processes of legacy servers: a process hears of the roots of one client only if
//! nobody else uses it.

use super::eras_roots::{OPEN, PAUSED, TWO, open, shows, tell};

/// Earlier runs have seen the server ask, so that a process is bound to roots by its first use.
fn known_to_ask() -> String {
    OPEN.replace("given era legacy;", "given asks_roots; era legacy;")
}

/// The window B in the same folder.
const JOIN: &str = r#"
    B comes; folder /w
    B> {"id":"a",$call$R}}
        1< {"id":3,…}
"#;

/// Two windows use the process: neither is asked.
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

/// The folder is the answer for both, so that they go on sharing.
#[test]
fn windows_share_a_process_that_was_told_the_folder() {
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

/// Another window has come meanwhile: the process is told the folder, and the next request of the client goes to a process
/// with its roots.
#[test]
fn window_that_joins_during_the_pause_keeps_the_folder() {
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

/// A process with the roots of one window is not used by others.
#[test]
fn told_process_is_left_by_other_windows() {
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

/// A state that another window has got hold of continues the call, but shows no roots.
#[test]
fn roots_of_another_window_are_not_taken() {
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

/// A process that serves everybody: one identity never hears of the roots of another.
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
