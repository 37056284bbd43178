//! Refusals over HTTP: the status of a single request says what is wrong; in a batch or a stream the error does.

use super::token::{kind, web_of};
use crate::http::served::{FAKE, Served};
use serde_json::json;
use switchboard_testkit::http::{Reply, Talk, call};

/// A revoked token is the one refusal of the core that every request can get.
#[test]
fn open_call_of_a_revoked_token_gets_401() {
    let served = Served::new();
    let talk = Talk::open(&web_of(&served, &["ci"]), FAKE);
    let (id, message) = talk.call_of("hang", json!({}));
    // A client that takes no streams waits for one whole answer.
    let wire = talk.say(&message).header("Accept", "application/json").begin();
    let pair = json!([call(90, "hang", json!({})), call(91, "hang", json!({}))]);
    let batch = talk.say(&pair).header("Accept", "application/json").begin();
    for text in ["\"id\":", "\"hang\""] {
        served.record().wait_for(1, text);
    }
    switchboard_testkit::patience::until_true("all calls are there", || {
        served.record().all_lines().iter().filter(|line| line.contains("\"hang\"")).count() == 3
    });
    served.house.say(&["token", "revoke", "ci"]);
    let mut reply = Reply::read(wire).unwrap();
    assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some("Bearer realm=\"switchboard\"")));
    let answer = reply.json();
    assert_eq!((kind(&answer), &answer["id"]), ("unauthorized", &json!(id)));
    let mut reply = Reply::read(batch).unwrap();
    assert_eq!(reply.status, 200, "each answer of a batch speaks for itself");
    let answers = reply.json();
    for (at, id) in [(0, 90), (1, 91)] {
        assert_eq!((kind(&answers[at]), &answers[at]["id"]), ("unauthorized", &json!(id)), "{answers}");
    }
}

#[test]
fn stream_that_began_ends_with_an_error() {
    let served = Served::new();
    let talk = Talk::open(&web_of(&served, &["ci"]), FAKE);
    let mut stream = talk.begin("hang", json!({}));
    assert!(stream.is_stream() && stream.status == 200, "after a second it is a stream");
    served.house.say(&["token", "revoke", "ci"]);
    assert_eq!(kind(&stream.message().unwrap()), "unauthorized");
    assert_eq!(stream.message(), None, "and then it ends");
}
