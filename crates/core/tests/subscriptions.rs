//! Subscriptions: the resource that a URI means, and the alias that a client knows it by.

use crate::story::run;

/// Two JSON spellings of one string are one resource; two percent-encodings are two.
#[test]
fn decoded_strings_are_compared() {
    run(r#"
        A opens 1; offers {"resources":{"subscribe":true}}
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"x:\/\/caf\u00e9"}} -> 1 as 2
        1> {"id":2,"result":{}} -> A as 1
        B joins 1; offers {"resources":{"subscribe":true}}; unconfirmed
        B> {"id":1,"method":"resources/subscribe","params":{"uri":"x://caf%C3%A9"}} -> 1 as 4
        1> {"id":4,"result":{}} -> B as 1
        1> {"method":"notifications/resources/updated","params":{"uri":"x://café"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"x://café"}}
        1> {"method":"notifications/resources/updated","params":{"uri":"x:\/\/caf%C3%A9"}}
            B< {"method":"notifications/resources/updated","params":{"uri":"x:\/\/caf%C3%A9"}}
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"\u0078://café"}} -> 1 as 5
        1> {"id":5,"result":{}} -> A as 2
        1> {"method":"notifications/resources/updated","params":{"uri":"x://café"}}
            - no listener for notifications/resources/updated
    "#);
}

/// A client of all servers, of which there is one, with resources and no lists.
#[track_caller]
pub(crate) fn with_resources(story: &str) {
    let before = r#"
        A greets all: 1
        1 completes handshake 2; offers {"resources":{"subscribe":true}}; answers A
            1< {"id":3,"method":"resources/list"}
            1< {"id":4,"method":"resources/templates/list"}
        A confirms
        1> {"id":3,"result":{"resources":[]}}
        1> {"id":4,"result":{"resourceTemplates":[]}}
            store 0
    "#;
    run(&format!("{before}{story}"));
}

/// The client has subscribed to a resource by its alias.
#[track_caller]
fn subscribed(story: &str) {
    let before = r#"
        A> {"id":1,"method":"resources/subscribe","params":{"uri":"proxy:\/\/template/files/db://caf\u00e9"}}
            1< {"id":5,"method":"resources/subscribe","params":{"uri":"db://café"}}
        1> {"id":5,"result":{}} -> A as 1
    "#;
    with_resources(&format!("{before}{story}"));
}

/// Updates carry the client's own alias, in its own spelling.
#[test]
fn aliases_are_found_by_decoded_string() {
    subscribed(
        r#"
        1> {"method":"notifications/resources/updated","params":{"uri":"db:\/\/caf\u00e9"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy:\/\/template/files/db://caf\u00e9"}}
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"proxy://template/files/db://café"}}
            1< {"id":6,"method":"resources/unsubscribe","params":{"uri":"db://café"}}
        1> {"id":6,"result":{}} -> A as 2
        1> {"method":"notifications/resources/updated","params":{"uri":"db://café"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"db://café"}}
        "#,
    );
}

/// A server may answer the second `subscribe` after an `unsubscribe` that came before it.
#[test]
fn resubscribing_keeps_the_alias() {
    subscribed(
        r#"
        A> {"id":2,"method":"resources/unsubscribe","params":{"uri":"proxy://template/files/db://café"}}
            1< {"id":6,"method":"resources/unsubscribe","params":{"uri":"db://café"}}
        A> {"id":3,"method":"resources/subscribe","params":{"uri":"proxy://template/files/db://café"}}
            1< {"id":7,"method":"resources/subscribe","params":{"uri":"db://café"}}
        1> {"id":6,"result":{}} -> A as 2
        1> {"id":7,"result":{}} -> A as 3
        1> {"method":"notifications/resources/updated","params":{"uri":"db://café"}}
            A< {"method":"notifications/resources/updated","params":{"uri":"proxy://template/files/db://café"}}
        "#,
    );
}
