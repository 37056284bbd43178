//! Subscriptions: which resource is meant, and by which name a client hears of it.

use crate::story::run;

/// Two JSON spellings of one string are one resource; two percent-encodings are two.
#[test]
fn decoded_strings_are_compared() {
    run(r#"
        A comes; folder /p
            start 1 at /p
        1 spawns
        A greets
            1< {"id":1,"method":"initialize",…}
        1 greets with {"resources":{"subscribe":true}}
            A< {"id":0,…}
        A confirms
            1< {"method":"notifications/initialized"}
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"x:\/\/caf\u00e9"}}
            1< {"id":2,"method":"resources/subscribe","params":{"uri":"x:\/\/caf\u00e9"}}
        1> {"id":2,"result":{}}
            A< {"id":1,"result":{}}
        B comes; folder /p
        B greets
            B< {"id":0,…}
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"x://caf%C3%A9"}}
            1< {"id":4,"method":"resources/subscribe","params":{"uri":"x://caf%C3%A9"}}
        1> {"id":4,"result":{}}
            B< {"id":1,"result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x://café"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x://café"}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x:\/\/caf%C3%A9"}}
            B< {"method":"notifications/resources/updated","params":{"uri":"x:\/\/caf%C3%A9"}}
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"\u0078://café"}}
            1< {"id":5,"method":"resources/unsubscribe","params":{"uri":"\u0078://café"}}
        1> {"id":5,"result":{}}
            A< {"id":2,"result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x://café"}}
            - no listener for notifications/resources/updated
        "#);
}

/// After the handshake of a client of many servers, of which there is one.
#[track_caller]
fn aggregated(story: &str) {
    let before = r#"
        A comes; folder /p; server all
        A greets
            start 1 at /p
        1 spawns
            1< …
        1 greets with {"resources":{"subscribe":true}}
            A< …
            1< …
            1< {"id":3,"method":"resources/list"}
            1< {"id":4,"method":"resources/templates/list"}
        A confirms
        1> {"id":3,"result":{"resources":[]}}
        1> {"id":4,"result":{"resourceTemplates":[]}}
            store 0
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"proxy:\/\/template/files/db://caf\u00e9"}}
            1< {"id":5,"method":"resources/subscribe","params":{"uri":"db://café"}}
        1> {"id":5,"result":{}}
            A< {"id":1,"result":{}}
    "#;
    run(&format!("{before}{story}"));
}

/// The client hears of it by its own name, in its own spelling.
#[test]
fn public_names_are_found_by_decoded_string() {
    aggregated(
        r#"
        1> {"method":"notifications/resources/updated","params":{"uri":"db:\/\/caf\u00e9"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy:\/\/template/files/db://caf\u00e9"}}
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"proxy://template/files/db://café"}}
            1< {"id":6,"method":"resources/unsubscribe","params":{"uri":"db://café"}}
        1> {"id":6,"result":{}}
            A< {"id":2,"result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"db://café"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"db://café"}}
        "#,
    );
}

/// A server may answer the second `subscribe` after an `unsubscribe` that came before it.
#[test]
fn resubscribing_keeps_the_public_name() {
    aggregated(
        r#"
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"proxy://template/files/db://café"}}
            1< {"id":6,"method":"resources/unsubscribe","params":{"uri":"db://café"}}
        A> {"id":3,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db://café"}}
            1< {"id":7,"method":"resources/subscribe","params":{"uri":"db://café"}}
        1> {"id":6,"result":{}}
            A< {"id":2,"result":{}}
        1> {"id":7,"result":{}}
            A< {"id":3,"result":{}}
        1> {"method":"notifications/resources/updated","params":{"uri":"db://café"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy://template/files/db://café"}}
        "#,
    );
}
