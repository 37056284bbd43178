//! Events that cross: ends, verdicts and handshakes that come while something else is on its way. The simulator has found each
//! of these stories.

use super::eras::play;
use super::eras_for_modern::tell;

/// `$O` in a story: an id of the translator's own, without its last two digits.
const OWN_IDS: &str = "45035996273704";

#[track_caller]
fn race(story: &str) {
    play(&story.replace("$O", OWN_IDS).replace(
        "$I",
        r#""method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}"#,
    ));
}

/// The last client hears of the end of the process, so that there is nothing left to wait for, or to stop.
#[test]
fn ended_process_is_not_stopped() {
    race(
        r#"
        A starts 1
        A> {"id":"i",$I} -> 1 as 1
        A closes its end
        1> {"id":1,"error":{"code":-32601,"message":"no"}}
            1< {"id":$O98,"method":"server/discover","params":{$M}}
        1 ends
            A< {"id":"i","error":{"code":-32601,"message":"no"}}
            - switchboard is shutting down
            finished
        "#,
    );
}

/// Each translator of a process goes on where the one before it has stopped.
#[test]
fn process_never_gets_an_id_twice() {
    race(
        r#"
        A starts 1; folder /a
        A> {"id":"i",$I} -> 1 as 1
        1 ends
            A< {"id":"i","error":{…"kind":"backend_spawn_failed"…
        B comes; folder /b
        B> {"id":"j",$I}
            start 2 at /b
        2 spawns
            2< {"id":$O97,"method":"server/discover","params":{$M}}
        +5s
            2< {"id":2,$I}
        2> {"id":2,"error":{"code":-32601,"message":"no"}}
            2< {"id":$O99,"method":"server/discover","params":{$M}}
        +5s
            B< {"id":"j","error":{"code":-32601,"message":"no"}}
        A> {"id":"k",$I}
            start 3 at /a
        3 spawns
            3< {"id":3,$I}
        3> {"id":3,"error":{"code":-32601,"message":"no"}}
            3< {"id":4503599627370500,"method":"server/discover","params":{$M}}
        3> {"id":4503599627370500,"result":$D}
            3< {"id":4503599627370501,"method":"subscriptions/listen","params":{$M,"notifications":{"toolsListChanged":true}}}
            record 0: modern only
            A< {"id":"k","result":…
        B> {"id":"l",$I}
            2< {"id":4503599627370500,"method":"server/discover","params":{$M}}
        "#,
    );
}

/// One process has answered `initialize` while another one, which has refused the modern era, is still ending.
#[test]
fn late_end_does_not_weaken_a_verdict() {
    race(
        r#"
        A starts 1; folder /a
        A> {"id":"a","method":"tools/list","params":{$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        B comes; folder /b
        B> {"id":"b","method":"tools/list","params":{$M}}
            start 2 at /b
        2 spawns
            2< {"id":4,"method":"server/discover","params":{$M}}
        1> {"id":2,"error":{"code":-32601,"message":"no"}}
            - it does not speak the modern era
            stop 1 now
        2> {"id":4,"error":{"code":-32601,"message":"no"}}
            - it does not speak the modern era
            stop 2 now
        1 ends
            start 3 at /a
        3 spawns
            3< {"id":5,"method":"initialize",…}
        3> {"id":5,"result":{"capabilities":{}}}
            record 0: legacy
            3< {"method":"notifications/initialized"}
            3< {"id":1,"method":"tools/list","params":{}}
        3> {"id":1,"result":{"tools":[]}}
            A< {"id":"a","result":…
        B leaves
        2 ends
        +61s
        C comes; folder /c
        C> {"id":"c","method":"tools/list","params":{$M}}
            start 4 at /c
        4 spawns
            4< {"id":7,"method":"initialize",…}
        "#,
    );
}

/// It waits for a process that is asked for its era; before that has told, the client has declared something else.
#[test]
fn late_continuation_is_not_a_new_call() {
    race(
        r#"
        A starts 1; folder /a
        A> {"id":"a","method":"tools/call","params":{"name":"t","requestState":"x",$M}}
            1< {"id":2,"method":"server/discover","params":{$M}}
        B comes; folder /b
        B> {"id":"b","method":"tools/list","params":{$M}}
            start 2 at /b
        2 spawns
            2< {"id":4,"method":"server/discover","params":{$M}}
        2> {"id":4,"error":{"code":-32601,"message":"no"}}
            - it does not speak the modern era
            stop 2 now
        2 ends
            start 3 at /b
        3 spawns
            3< {"id":5,"method":"initialize",…}
        A> {"id":"c","method":"tools/list","params":{$S}}
            start 4 at /a
        4 spawns
            4< {"id":7,"method":"initialize",…}
        4> {"id":7,"result":{"capabilities":{}}}
            record 0: legacy
            4< {"method":"notifications/initialized"}
            4< {"id":6,"method":"tools/list","params":{}}
        4> {"id":"q","method":"sampling/createMessage","params":{}}
            - no longer shared by 1
            4< {"id":"q","error":{…"kind":"routing_failed"…
            A< {"id":"a","error":{…"kind":"input_expired"…
            - it asks its clients questions
            stop 1
        "#,
    );
}

/// The server has turned out to speak the modern era since the call was paused.
#[test]
fn state_of_ours_reaches_no_modern_server() {
    tell(
        r#"
        A starts 1
        A> {"id":"a","method":"tools/call","params":{"name":"t",$E}}
            1< {"id":2,"method":"server/discover",…}
        1 ends
            start 2 at nowhere
        2 spawns
            2< {"id":3,"method":"initialize",…}
        2> {"id":3,"result":{"capabilities":{}}}
            record 0: legacy
            2< {"method":"notifications/initialized"}
            2< {"id":1,"method":"tools/call","params":{"name":"t"}}
        2> {"id":"q","method":"elicitation/create","params":{"message":"sure?"}}
            A< {"id":"a","result":{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"sure?"}}},"requestState":"…"}}
        config changes
        A> {"id":"b","method":"tools/call","params":{"name":"t","inputResponses":{"1":{"action":"accept"}},"requestState":"$state1",$M}}
            2< {"id":"q","result":{"action":"cancel"}}
            2< {"method":"notifications/cancelled",…}
            start 3 at nowhere
            - its settings have changed
            stop 2
        3 spawns
            3< {"id":5,"method":"server/discover",…}
        3> {"id":5,"result":$D}
            record 0: modern
            A< {"id":"b","error":{…"kind":"input_expired"…
        "#,
    );
}

const SUBSCRIBES: &str = r#"
    given era legacy; exact
    A starts 1
    A> {"id":"a","method":"tools/list","params":{$M}}
        1< {"id":2,"method":"initialize",…}
    1> {"id":2,"result":{"capabilities":{"resources":{"subscribe":true}}}}
        1< {"method":"notifications/initialized"}
        1< {"id":1,"method":"tools/list","params":{}}
    1> {"id":1,"result":{"tools":[]}}
        A< {"id":"a","result":…
    A> {"id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["x:y"]},$M}}
        1< {"id":3,"method":"resources/subscribe","params":{"uri":"x:y"}}
    1> {"id":3,"result":{}}
        A< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{$sub:"s"},"notifications":{"resourceSubscriptions":["x:y"]}}}
"#;

/// A client that declares something else may go to another process, and its subscriptions go with it.
#[test]
fn subscription_follows_its_client() {
    race(&format!(
        r#"{SUBSCRIBES}
        B comes
        B> {{"id":"b","method":"tools/list","params":{{$S}}}}
            start 2 at nowhere
        2 spawns
            2< {{"id":6,"method":"initialize",…}}
        2> {{"id":6,"result":{{"capabilities":{{"resources":{{"subscribe":true}}}}}}}}
            2< {{"method":"notifications/initialized"}}
            2< {{"id":5,"method":"tools/list","params":{{}}}}
        2> {{"id":5,"result":{{"tools":[]}}}}
            B< {{"id":"b","result":…
        A> {{"id":"c","method":"tools/list","params":{{$S}}}}
            1< {{"id":7,"method":"resources/unsubscribe","params":{{"uri":"x:y"}}}}
            2< {{"id":8,"method":"resources/subscribe","params":{{"uri":"x:y"}}}}
            2< {{"id":9,"method":"tools/list","params":{{}}}}
        2> {{"method":"notifications/resources/updated","params":{{"uri":"x:y"}}}}
            A< {{"method":"notifications/resources/updated","params":{{"_meta":{{$sub:"s"}},"uri":"x:y"}}}}
        "#
    ));
}

/// A process that waits for `initialized` gets nothing from before its client's handshake.
#[test]
fn request_of_old_handshake_is_refused() {
    race(
        r#"
        A starts 1
        A> {"id":"a","method":"tools/call","params":{"name":"t"}}
            1< {"id":2,"method":"initialize",…}
        A> {"id":"i",$I}
            start 2 at nowhere
        config changes
        2 spawns
            2< {"id":3,$I}
        2> {"id":3,"result":{"capabilities":{}}}
            A< {"id":"i","result":{"capabilities":{}}}
            start 3 at nowhere
            - its settings have changed
            stop 1
            - its settings have changed
            stop 2
        3 spawns
            3< {"id":4,$I}
        3> {"id":4,"result":{"capabilities":{}}}
            A< {"id":"a","error":{…"kind":"backend_unavailable"…
        "#,
    );
}
