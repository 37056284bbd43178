//! Connections that do not say who they are: they are few, they do not stay, and they keep nobody out.

use super::served::{FAKE, Served};
use crate::daemon::house::House;
use crate::support::text;
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use switchboard_testkit::http::{Connection, Talk};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const PING: u8 = 6;
/// An empty frame of settings.
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

/// Says that it is well, whoever else is connected.
#[track_caller]
fn check_health(served: &Served) {
    assert_eq!(served.web.without("Authorization").get("/healthz").send().status, 200);
}

/// Without tokens, a session is what makes a client known. These send a body that does not end, and have none.
#[test]
fn the_newest_stranger_gets_in() {
    let served = nameless();
    let talk = served.open();
    let _own = talk.listen();
    let ask = served.web.post(FAKE, " ".repeat(1000)).to_bytes();
    let mut strangers: Vec<_> = (0..600)
        .map(|_| {
            let mut connection = served.web.connect();
            // Those before may be closed by now, and this one cannot be: it is the newest.
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

/// Nor does it help to answer pings: only requests count.
#[test]
fn a_bare_preface_is_not_waited_for() {
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

/// Until the connection is closed, or another ping comes although the first was answered.
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

/// Requests one after the other, whose answers are not read.
#[test]
fn who_does_not_read_is_not_waited_for() {
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

/// A known client's connection is its own for as long as it uses it.
#[test]
fn a_known_client_stays() {
    let served = Served::new();
    let talk = served.open();
    let mut own = talk.listen();
    let _strangers: Vec<_> = (0..300).map(|_| served.web.connect()).collect();
    let tell = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}"#;
    Talk::open(&served.web, FAKE).call("say", json!({ "text": format!("{tell}\n{answer}\n") }));
    assert_eq!(own.message().unwrap()["method"], "notifications/tools/list_changed");
}
