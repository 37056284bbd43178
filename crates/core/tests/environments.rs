//! Clients with different variables: which of them share a process.

use crate::story::{run, settings};
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::environment::Source;
use switchboard_core::{
    Action, ClientId, Core, Environment, Event, Launch, Moment, ServerId, Settings, Surroundings,
};

/// A server that was taken for global. A client with roots has completed the handshake.
#[track_caller]
fn taken_for_global(story: &str) {
    run(&format!(
        r#"
        given scope global; known_package x
        A comes; folder /p
            start 1 at home
        1 spawns
        A greets with {{"roots":{{}}}}
            1< …
        1 greets
            A< …
        A confirms
            1< …
        {story}
        "#
    ));
}

/// The client gets more variables than alone, which does no harm.
#[test]
fn client_with_fewer_variables_joins() {
    run(r#"
        A opens 1; env X=1 Y=1; unconfirmed
        B joins 1; env Y=1; unconfirmed
        C comes; folder /p; env X=2
        C greets
            start 2 at /p with env X=2
    "#);
}

/// The new process has all variables, and serves the other clients from then on.
#[test]
fn more_variables_bring_a_new_process() {
    run(r#"
        A opens 1; env X=1
        A> {"id":1,"method":"tools/call","params":{"name":"slow"}} -> 1 as 2
        B comes; folder /p; env X=1 Y=1
        B greets
            - no longer shared by 1
            start 2 at /p with env X=1 Y=1 + X=1
        2 completes handshake 4; answers B
        A> {"id":2,"method":"tools/call","params":{"name":"quick"}} -> 2 as 5
        1> {"id":2,"result":{}} -> A as 1
            - clients now share an instance with more variables
            stop 1
        C joins 2; env X=1; unconfirmed
    "#);
}

/// A and B each have a variable that the other lacks: one process has both.
#[test]
fn variables_of_two_clients_are_merged() {
    run(r#"
        A opens 1; env X=1
        B comes; folder /p; env Y=1
        B greets
            - no longer shared by 1
            start 2 at /p with env Y=1 + X=1
            - clients now share an instance with more variables
            stop 1
        2 completes handshake 3; answers B
        A> {"id":1,"method":"tools/call","params":{}} -> 2
    "#);
}

/// A client that has left is forgotten: the next process gets nothing of it.
#[test]
fn values_go_with_their_client() {
    run(r#"
        A opens 1; env X=1 Y=1
        B joins 1; env Y=1
        A leaves
        1 ends
            - restart after a pause
        B> {"id":1,"method":"tools/call","params":{}}
        +5s
            start 2 at /p with env Y=1
    "#);
}

/// A process with state is not given up for the sake of sharing.
#[test]
fn process_with_state_stays() {
    run(r#"
        given state backend
        A opens 1; env X=1
        B comes; folder /p; env X=1 Y=1
        B greets
            start 2 at /p with env X=1 Y=1
        A> {"id":1,"method":"tools/call","params":{}} -> 1
        C comes; folder /p; env X=1
        C greets
    "#);
}

/// A server that was taken for global, and asks for roots, gets one process per workspace from then on.
#[test]
fn global_server_that_asks_for_roots() {
    taken_for_global(
        r#"
        B joins 1; folder /q; with {"roots":{}}
        1> {"id":1,"method":"roots/list"}
            A< …
        A answers 1 with roots /p
            1< …
            B< …
            - no longer shared by 2
            - it asks for its clients' roots
            stop 1
        A> {"id":1,"method":"tools/call","params":{}}
            start 2 at /p
        B> {"id":1,"method":"tools/call","params":{}}
        B answers 2 with roots /q
            start 3 at /q
        "#,
    );
}

/// The gateway's copy of a client's variables goes with the client and its processes.
#[test]
fn values_go_with_the_last_process() {
    let mut core = Core::new(Settings { linger: Some(Duration::from_secs(1)), ..settings() });
    let mut time = Duration::ZERO;
    let mut tell = |event: Event| {
        time += Duration::from_secs(2);
        let mut actions = Vec::new();
        core.handle(Moment::after_start(time), event, &mut actions);
        actions.into_iter().find_map(|action| match action {
            Action::Start { launch, .. } => Some(launch),
            _ => None,
        })
    };
    let values = Arc::new("secret".to_owned());
    let environment = Environment::new(Arc::default(), Arc::default(), Some(Source::new(values.clone())));
    let surroundings =
        Surroundings { environment, working_folder: Some("/p".into()), ..Surroundings::default() };
    let client = ClientId(1);
    let launch: Launch =
        tell(Event::ClientConnected { client, server: ServerId(0), surroundings }).expect("a start");
    tell(Event::Spawned { launch, pid: 7 });
    assert!(Arc::strong_count(&values) > 1);
    tell(Event::ClientLost { client });
    tell(Event::Tick);
    tell(Event::BackendEnded { launch, how: "exit code 0".into(), stderr: String::new(), hint: None });
    tell(Event::Tick);
    assert_eq!(Arc::strong_count(&values), 1);
}

/// Two terminals whose values differ take turns: each finds the process that it left.
#[test]
fn terminals_taking_turns_keep_processes() {
    run(r#"
        given linger 600s
        A opens 1; env X=1
        A leaves
        B opens 2; env X=2; id 2; on greeting
        B leaves
        C joins 1; env X=1; unconfirmed
    "#);
}

/// The same, where the entry names the variable that differs.
#[test]
fn terminals_with_other_tokens_keep_theirs() {
    run(r#"
        given linger 600s
        A opens 1; env 1
        A leaves
        B opens 2; env 2; id 2; on greeting
        B leaves
        C joins 1; env 1; unconfirmed
    "#);
}

/// A window without the variable works at its process, while two terminals whose values differ take turns.
#[test]
fn window_stays_while_terminals_take_turns() {
    run(r#"
        given linger 600s
        W opens 1; env Y=1
        A comes; folder /p; env X=1 Y=1
        A greets
            - no longer shared by 1
            start 2 at /p with env X=1 Y=1 + Y=1
            - clients now share an instance with more variables
            stop 1
        2 completes handshake 3; answers A
        W> {"id":1,"method":"tools/call","params":{}} -> 2
        2> {"id":4,"result":{}} -> W
        A leaves
        B comes; folder /p; env X=2 Y=1
        B greets
            start 3 at /p with env X=2 Y=1
    "#);
}

/// Two backends with other variables: the second takes the first one's place, and the first does not come back.
#[test]
fn other_variables_are_no_return() {
    run(r#"
        given linger 600s; max_backends 1
        A opens 1; env X=1
        B comes; folder /p; env X=2
        B greets
            - waits for room
            - to make room for another workspace
            stop 1
        1 ends
            start 2 at /p with env X=2
    "#);
}

/// A server that was taken for global asks for roots in the middle of a call, as server-filesystem would.
#[test]
fn roots_question_in_a_call_is_answered() {
    taken_for_global(
        r#"
        B joins 1; folder /q; with {"roots":{}}
        A> {"id":1,"method":"tools/call","params":{}}
            1< …
        1> {"id":1,"method":"roots/list"}
            A< …
        A answers 1 with roots /p
            1< …
            B< …
            - no longer shared by 2
        1> {"id":3,"result":{}} -> A as 1
            - it asks for its clients' roots
            stop 1
        "#,
    );
}

#[test]
fn roots_question_of_one_client_is_answered() {
    taken_for_global(
        r#"
        A> {"id":1,"method":"tools/call","params":{}}
            1< …
        1> {"id":1,"method":"roots/list"}
            A< …
        A answers 1 with roots /p
            1< …
            - no longer shared by 1
        "#,
    );
}
