//! `switchboard serve` on a free port, with the fake backend behind it.

use crate::daemon::house::House;
use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use switchboard_testkit::client::Client;
use switchboard_testkit::http::{Reply, Talk, Web};
use switchboard_testkit::patience;
use switchboard_testkit::record::Record;

/// Path of the fake backend alone.
pub(crate) const FAKE: &str = "/servers/fake/mcp";

pub(crate) struct Served {
    // Drop order: processes end before the house checks for leftovers.
    pub(crate) program: Client,
    pub(crate) web: Web,
    pub(crate) house: House,
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::with(json!({}), json!({}), &[])
    }

    /// Serves with these keys of `serve`.
    pub(crate) fn set(serve: Value) -> Self {
        Self::with(json!({ "serve": serve }), json!({}), &[])
    }

    /// `file` has keys of the config file, `server` those of its only server, `fake`.
    pub(crate) fn with(file: Value, server: Value, options: &[&str]) -> Self {
        Self::start(House::with(file, server, options), &[])
    }

    #[track_caller]
    pub(crate) fn start(house: House, flags: &[&str]) -> Self {
        let listen = ["serve", "--listen", "127.0.0.1:0", "--config"];
        let mut program = house.program("home").args(listen).arg(house.config()).args(flags).start();
        let mut web = Web::at(address(&mut program));
        if !flags.contains(&"--no-auth") {
            web = web.with("Authorization", &format!("Bearer {}", token(&house)));
        }
        Self { program, web, house }
    }

    pub(crate) fn record(&self) -> Record {
        self.house.record()
    }

    /// A session with the fake backend.
    #[track_caller]
    pub(crate) fn open(&self) -> Talk {
        Talk::open(&self.web, FAKE)
    }

    /// Checks that no refused message reached a server: `word` was part of each.
    #[track_caller]
    pub(crate) fn check_not_forwarded(&self, word: &str) {
        // Everything forwarded before this call has arrived by its answer.
        let talk = self.open();
        talk.call("echo", json!({ "mark": "the last one" }));
        let lines = self.record().all_lines();
        assert!(lines.iter().any(|line| line.contains("the last one")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains(word)), "{lines:?}");
    }
}

/// The first address in the program's output.
#[track_caller]
pub(crate) fn address(program: &mut Client) -> SocketAddr {
    patience::until("an address", || {
        let said = program.stderr_so_far();
        assert!(!program.has_ended(), "it ended and said {said:?}");
        let (_, rest) = said.split_once("listening at ")?;
        rest.split_once([' ', '\n'])?.0.parse().ok()
    })
}

pub(crate) fn token(house: &House) -> String {
    fs::read_to_string(house.state("token")).unwrap().trim().to_owned()
}

/// Arguments for the tool `ask`: it requests a sample from its client and answers with the result.
pub(crate) fn asking() -> Value {
    let request = r#"{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{"messages":[]}}"#;
    json!({ "id": "77", "request": request })
}

/// Checks the status of a refusal and returns its body.
#[track_caller]
pub(crate) fn refused(reply: impl Into<Reply>, status: u16) -> String {
    let mut reply = reply.into();
    let text = reply.text();
    assert_eq!(reply.status, status, "{text}");
    text
}
