//! Connections without a token: few, short-lived, and no obstacle to known clients.

use super::served::{FAKE, Served};
use crate::daemon::house::House;
use crate::support::text;
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use switchboard_testkit::http::{Connection, Talk};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const PING: u8 = 6;
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

fn nameless() -> Served {
    Served::start(House::new(), &["--no-auth"])
}

/// Waits until the other side has closed a connection.
#[track_caller]
fn check_closed(connection: &mut Box<dyn Connection>, what: &str) {
    let end = connection.read_to_end(&mut Vec::new());
    let is_closed = match &end {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
    };
    assert!(is_closed, "{what}: {end:?}");
}

/// Checks that the health check answers, regardless of other connections.
#[track_caller]
fn check_health(served: &Served) {
    assert_eq!(served.web.without("Authorization").get("/healthz").send().status, 200);
}

/// Without tokens, a session makes a client known. These connections have none and send a body that does not
/// end.
#[test]
fn newest_unknown_connection_is_accepted() {
    let served = nameless();
    let talk = served.open();
    let _own = talk.listen();
    let ask = served.web.post(FAKE, " ".repeat(1000)).to_bytes();
    let mut strangers: Vec<_> = (0..600)
        .map(|_| {
            let mut connection = served.web.connect();
            // Earlier ones may be closed by now, but not this one: it is the newest.
            connection.write_all(&ask[..ask.len() - 500]).unwrap();
            connection
        })
        .collect();
    check_health(&served);
    for (number, stranger) in strangers.iter_mut().take(300).enumerate() {
        check_closed(stranger, &format!("stranger {number}"));
    }
    check_health(&served);
    assert_eq!(text(&talk.call("echo", json!({}))), "{}");
    assert_eq!(text(&served.open().call("echo", json!({}))), "{}");
    assert_eq!(talk.listen().status, 409, "the stream of a known client was left open");
}

/// Answering pings does not help: only requests count.
#[test]
fn bare_http2_preface_is_closed() {
    let both = [Served::new(), nameless()];
    let mut opened = Vec::new();
    for served in &both {
        for said in [PREFACE, &[PREFACE, SETTINGS].concat()] {
            let mut connection = served.web.connect();
            connection.write_all(said).unwrap();
            opened.push(connection);
        }
    }
    std::thread::scope(|scope| {
        for connection in &mut opened {
            scope.spawn(|| answer_pings(connection));
        }
    });
    both.iter().for_each(check_health);
}

/// Answers pings until the connection is closed; fails at a second ping, since the first was answered.
fn answer_pings(connection: &mut Box<dyn Connection>) {
    let mut pings = 0;
    let mut head = [0; 9];
    while connection.read_exact(&mut head).is_ok() {
        let mut payload = vec![0; usize::from(head[2])];
        connection.read_exact(&mut payload).unwrap();
        if (head[3], head[4]) == (PING, 0) {
            pings += 1;
            assert!(pings < 2, "it is still waited for");
            let _ = connection.write_all(&[&[0, 0, 8, PING, 1, 0, 0, 0, 0], &payload[..]].concat());
        }
    }
}

/// Pipelined requests whose answers are not read.
#[test]
fn connection_that_reads_nothing_is_closed() {
    let both = [Served::new(), nameless()];
    let pester = |served: &Served| {
        let mut connection = served.web.connect();
        let many = served.web.without("Authorization").get("/healthz").to_bytes().repeat(1000);
        loop {
            if let Err(error) = connection.write_all(&many) {
                break error;
            }
        }
    };
    std::thread::scope(|scope| {
        let pesterers: Vec<_> = both.iter().map(|served| scope.spawn(|| pester(served))).collect();
        for pesterer in pesterers {
            let error = pesterer.join().unwrap();
            assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
        }
    });
    both.iter().for_each(check_health);
}

#[test]
fn known_client_stays_connected() {
    let served = Served::new();
    let talk = served.open();
    let mut own = talk.listen();
    let _strangers: Vec<_> = (0..300).map(|_| served.web.connect()).collect();
    let tell = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}"#;
    Talk::open(&served.web, FAKE).call("say", json!({ "text": format!("{tell}\n{answer}\n") }));
    assert_eq!(own.message().unwrap()["method"], "notifications/tools/list_changed");
}
