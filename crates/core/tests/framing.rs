//! Framing towards a server: by line first, and by `Content-Length` if no answer comes.

use crate::story::run;

#[test]
fn a_silent_server_is_tried_by_length() {
    run(r#"
        A starts 1
        A> raw {"id":"i","method":"initialize"}
            1< {"id":1,"method":"initialize"}
        A> raw {"method":"notifications/initialized"}
            1< {"method":"notifications/initialized"}
        A> raw {"id":"l","method":"tools/list"}
            1< {"id":2,"method":"tools/list"}
        +29s
        +1s
            - it did not answer; trying the other framing
            - retry: tools/list
            stop 1 now
        1 ends: signal 9
            start 2 at nowhere by content-length
        2 spawns
            2< {"id":1,"method":"initialize"}
            2< {"method":"notifications/initialized"}
            2< {"id":2,"method":"tools/list"}
        2> {"id":1,"result":{}}
            A< raw {"id":"i","result":{}}
        2> {"id":2,"result":{"tools":[]}}
            A< raw {"id":"l","result":{"tools":[]}}
        2 ends
            - restart after a pause
        +1s
            start 3 at nowhere by content-length
    "#);
}

#[test]
fn noise_does_not_count_as_an_answer() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"initialize"} -> 1 as 1
        1> raw waiting for headers
            - quarantined: waiting for headers
        +30s
            - it did not answer; trying the other framing
            stop 1 now
        1 ends: signal 9
            start 2 at nowhere by content-length
    "#);
}

#[test]
fn a_server_silent_in_both_is_tried_anew() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"initialize"} -> 1 as 1
        +30s
            - it did not answer; trying the other framing
            stop 1 now
        1 ends: signal 9
            start 2 at nowhere by content-length
        2 spawns
            2< {"id":1,"method":"initialize"}
        +30s
            A< {"id":1,"error":{"code":-32003,…
            - it did not answer `initialize`
            stop 2 within 1s
        2 ends: signal 15
        +10min
        A> {"id":2,"method":"initialize"}
            start 3 at nowhere
    "#);
}

#[test]
fn requests_during_a_stop_get_a_new_process() {
    run(r#"
        given framing newline
        A starts 1
        A> {"id":1,"method":"initialize"} -> 1 as 1
        +30s
            A< {"id":1,"error":{"code":-32003,…
            - it did not answer `initialize`
            stop 1 within 1s
        A> {"id":2,"method":"initialize"}
        1 ends: signal 15
            - restart after a pause
        +1s
            start 2 at nowhere
        2 spawns
            2< {"id":2,"method":"initialize"}
    "#);
}

#[test]
fn a_late_answer_settles_the_framing() {
    run(r#"
        A starts 1
        A> {"id":1,"method":"initialize"} -> 1 as 1
        +30s
            - it did not answer; trying the other framing
            stop 1 now
        1> {"id":1,"result":{"slow":true}}
            - late answer dropped
        1 ends: signal 9
            start 2 at nowhere
        2 spawns
            2< {"id":1,"method":"initialize"}
    "#);
}
