//! Clients and servers of three SDKs, which offer and expect the same (`drivers/modern_*`, and the example `rmcp_peer` of
//! the testkit), and the record of a conversation between two of them.

use crate::real::elsewhere::Elsewhere;
use crate::real::peers::{driver, python};
use crate::support::testkit_example;
use serde_json::Value;
use std::ffi::OsString;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sdk {
    Python,
    TypeScript,
    Rust,
}

pub(super) const SDKS: [Sdk; 3] = [Sdk::Python, Sdk::TypeScript, Sdk::Rust];

impl Sdk {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Rust => "rust",
        }
    }

    /// The client, which wants an address or a command line.
    fn client(self) -> Vec<OsString> {
        match self {
            Self::Python => vec![python(".venv").into(), driver("modern_client.py").into()],
            Self::TypeScript => vec!["node".into(), driver("modern_client.mjs").into()],
            Self::Rust => vec![testkit_example("rmcp_peer").into(), "talk".into()],
        }
    }

    /// The server, which wants `stdio` or a port.
    fn server(self) -> Vec<OsString> {
        match self {
            Self::Python => vec![python(".venv").into(), driver("modern_server.py").into()],
            Self::TypeScript => vec!["node".into(), driver("modern_server.mjs").into()],
            Self::Rust => vec![testkit_example("rmcp_peer").into(), "serve".into()],
        }
    }

    /// Command line of the server over stdio.
    pub(super) fn over_stdio(self) -> Vec<OsString> {
        [self.server(), vec!["stdio".into()]].concat()
    }

    /// The server over HTTP.
    pub(super) fn over_http(self) -> Elsewhere {
        Elsewhere::start(self.server(), "/mcp")
    }

    /// Holds the conversation with the server at this address or behind this command line; `dress` adds to the client's
    /// environment.
    #[track_caller]
    pub(super) fn talk(self, target: &[OsString], dress: impl Fn(Start) -> Start) -> Steps {
        let words = [self.client(), target.to_vec()].concat();
        let mut program = dress(Start::new(&words[0]).args(&words[1..])).start();
        let deadline = Instant::now() + patience::LIMIT;
        while !program.has_ended() {
            let printed = || String::from_utf8_lossy(&program.unread_bytes()).into_owned();
            let said = || program.stderr_so_far();
            assert!(Instant::now() < deadline, "{words:?} does not end: {}\n{}", printed(), said());
            std::thread::sleep(Duration::from_millis(5));
        }
        let end = program.wait_for_end();
        let printed = String::from_utf8_lossy(&end.stdout).into_owned();
        assert_eq!(end.code, Some(0), "{words:?}: {printed}\n{}", end.stderr);
        Steps::read(&printed)
    }

    /// The conversation with a server over stdio, without us. Held once for all tests.
    #[track_caller]
    pub(super) fn directly(self, server: Self) -> &'static Steps {
        static HELD: [[OnceLock<Steps>; 3]; 3] = [const { [const { OnceLock::new() }; 3] }; 3];
        HELD[self as usize][server as usize].get_or_init(|| self.talk(&server.over_stdio(), |start| start))
    }
}

/// A conversation: the name of each step, and what the client was told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps(Vec<(String, Value)>);

impl Steps {
    fn read(printed: &str) -> Self {
        let steps = printed.lines().map(|line| {
            let step: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            (step["step"].as_str().unwrap_or_default().to_owned(), step["value"].clone())
        });
        Self(steps.collect())
    }

    #[track_caller]
    pub(super) fn get(&self, name: &str) -> &Value {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, value)) => value,
            None => panic!("there was no step `{name}`: {:?}", self.0),
        }
    }

    /// Replaces the value of each step, or drops the step.
    pub(super) fn map(&self, change: impl Fn(&str, &Value) -> Option<Value>) -> Self {
        let changed = self.0.iter().filter_map(|(name, value)| Some((name.clone(), change(name, value)?)));
        Self(changed.collect())
    }

    /// The differences to another conversation, one line each.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let length = self.0.len().max(other.0.len());
        let pairs =
            (0..length).map(|at| (self.0.get(at), other.0.get(at))).filter(|(ours, theirs)| ours != theirs);
        pairs.map(|(ours, theirs)| format!("{}\n      not {}", show(ours), show(theirs))).collect()
    }
}

fn show(step: Option<&(String, Value)>) -> String {
    step.map_or("nothing".to_owned(), |(name, value)| format!("{name}: {value}"))
}
