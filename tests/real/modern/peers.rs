//! Clients and servers of three SDKs, which offer and expect the same (`drivers/modern_*`, and the example `rmcp_peer` of
//! the testkit), and the record of a conversation between two of them.

use crate::real::elsewhere::Elsewhere;
use crate::real::peers::{driver, python};
use crate::support::testkit_example;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::OnceLock;
use std::time::Instant;
use switchboard_testkit::client::{Client, Start, Wait};
use switchboard_testkit::patience;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sdk {
    Python,
    TypeScript,
    Rust,
    /// The 1.x line, a client of the legacy era only.
    OldTypeScript,
}

/// Each offers a server of both eras, and a client of each era.
pub(super) const SDKS: [Sdk; 3] = [Sdk::Python, Sdk::TypeScript, Sdk::Rust];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// As in a config file, and as an argument of a server that speaks this era only.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// Its latest version, which all of the SDKs speak.
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaks {
    Both,
    Only(Era),
    /// Both, without sessions over HTTP. Only that of the TypeScript SDK.
    Sessionless,
}

impl Speaks {
    fn words(self) -> Vec<OsString> {
        match self {
            Self::Both => vec![],
            Self::Only(era) => vec![era.name().into()],
            Self::Sessionless => vec!["sessionless".into()],
        }
    }
}

impl Sdk {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Rust => "rust",
            Self::OldTypeScript => "typescript-1",
        }
    }

    /// Whether its server tells clients of this era of changed tools.
    pub(super) fn tells_of_tools(self, era: Era) -> bool {
        (self, era) != (Self::Python, Era::Legacy)
    }

    /// The client, which reads what to do from its input.
    fn client(self) -> Vec<OsString> {
        match self {
            Self::Python => vec![python(".venv").into(), driver("modern_client.py").into()],
            Self::TypeScript => vec!["node".into(), driver("modern_client.mjs").into()],
            Self::OldTypeScript => {
                vec!["env".into(), "LINE=1".into(), "node".into(), driver("modern_client.mjs").into()]
            }
            Self::Rust => vec![testkit_example("rmcp_peer").into(), "talk".into()],
        }
    }

    /// The server, which wants `stdio` or a port.
    fn server(self, speaks: Speaks) -> Vec<OsString> {
        let words = match self {
            Self::Python => vec![python(".venv").into(), driver("modern_server.py").into()],
            Self::TypeScript | Self::OldTypeScript => {
                vec!["node".into(), driver("modern_server.mjs").into()]
            }
            Self::Rust => vec![testkit_example("rmcp_peer").into(), "serve".into()],
        };
        [words, speaks.words()].concat()
    }

    /// Command line of the server over stdio.
    pub(super) fn over_stdio(self, speaks: Speaks) -> Vec<OsString> {
        [self.server(speaks), vec!["stdio".into()]].concat()
    }

    /// The server over HTTP.
    pub(super) fn over_http(self, speaks: Speaks) -> Elsewhere {
        Elsewhere::start(self.server(speaks), "/mcp")
    }
}

/// A conversation to be held, as `drivers/modern_client.mjs` describes it.
pub(super) struct Job(Value);

impl Job {
    /// With the server at this address or behind this command line.
    pub(super) fn new(era: Era, target: &[OsString]) -> Self {
        let target: Vec<&str> = target.iter().filter_map(|word| word.to_str()).collect();
        Self(json!({ "target": target, "era": era.name() }))
    }

    /// With this server without us.
    fn directly(era: Era, server: Sdk) -> Self {
        Self::new(era, &server.over_stdio(Speaks::Both)).with_server(server, era)
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0[name] = value.into();
        self
    }

    /// The server behind the target, which is spoken to in this era.
    pub(super) fn with_server(self, server: Sdk, spoken_to: Era) -> Self {
        self.with("silent", !server.tells_of_tools(spoken_to))
    }
}

/// A client program, which holds one conversation after the other: SDKs take long to load.
pub(super) struct Talker {
    pub(super) sdk: Sdk,
    program: Client,
}

impl Talker {
    pub(super) fn start(sdk: Sdk) -> Self {
        let words = sdk.client();
        Self { sdk, program: Start::new(&words[0]).args(&words[1..]).start() }
    }

    #[track_caller]
    pub(super) fn talk(&mut self, job: &Job) -> Steps {
        self.program.send_bytes(format!("{}\n", job.0));
        let deadline = Instant::now() + patience::LIMIT;
        let mut printed = String::new();
        loop {
            let line = self.program.recv_line_within(deadline.saturating_duration_since(Instant::now()));
            let Wait::Found(line) = line else {
                let said = self.program.stderr_so_far();
                panic!("{:?} does not close {}: {printed}\n{said}", self.sdk, job.0);
            };
            printed += &String::from_utf8_lossy(&line);
            if serde_json::from_slice::<Value>(&line).is_ok_and(|line| line["step"] == "closed") {
                return Steps::read(&printed);
            }
        }
    }

    /// The conversation with a server over stdio, without us. Held once for all tests.
    #[track_caller]
    pub(super) fn directly(&mut self, era: Era, server: Sdk) -> &'static Steps {
        static HELD: [[[OnceLock<Steps>; 3]; 4]; 2] =
            [const { [const { [const { OnceLock::new() }; 3] }; 4] }; 2];
        HELD[era as usize][self.sdk as usize][server as usize]
            .get_or_init(|| self.talk(&Job::directly(era, server)))
    }
}

/// A conversation: the name of each step, and what the client was told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps(Vec<(String, Value)>);

impl Steps {
    pub(super) fn of(steps: Vec<(&str, Value)>) -> Self {
        Self(steps.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    pub(super) fn find(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn read(printed: &str) -> Self {
        let steps = printed.lines().map(|line| {
            let step: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let mut value = step["value"].clone();
            // A token is whatever its sender likes, and each sender on the way has its own.
            if let Some(token) = value.pointer_mut("/_meta/progressToken") {
                *token = Value::from("a token");
            }
            (step["step"].as_str().unwrap_or_default().to_owned(), value)
        });
        Self(steps.collect())
    }

    #[track_caller]
    pub(super) fn get(&self, name: &str) -> &Value {
        match self.find(name) {
            Some(value) => value,
            None => panic!("there was no step `{name}`: {:?}", self.0),
        }
    }

    /// Replaces the value of each step, or drops the step.
    pub(super) fn map(&self, change: impl Fn(&str, &Value) -> Option<Value>) -> Self {
        let changed = self.0.iter().filter_map(|(name, value)| Some((name.clone(), change(name, value)?)));
        Self(changed.collect())
    }

    /// The steps that differ from those of another conversation, by name, and how.
    pub(super) fn differing(&self, other: &Self) -> Vec<(String, String)> {
        let (ours, theirs) = (self.numbered(), other.numbered());
        let find = |steps: &[(String, usize, Value)], name: &str, number: usize| {
            steps.iter().find(|(known, count, _)| known == name && *count == number).map(|it| it.2.clone())
        };
        let mut all: Vec<(String, usize)> = Vec::new();
        for (name, number, _) in ours.iter().chain(&theirs) {
            if !all.iter().any(|(known, count)| known == name && count == number) {
                all.push((name.clone(), *number));
            }
        }
        let mut differing: Vec<(String, String)> = Vec::new();
        for (name, number) in all {
            let (ours, theirs) = (find(&ours, &name, number), find(&theirs, &name, number));
            if ours != theirs {
                differing.push((name, format!("{}\n    not {}", show(ours), show(theirs))));
            }
        }
        let in_both = |one: &Self, other: &Self| -> Vec<String> {
            let is_there = |name: &String| other.0.iter().any(|(known, _)| known == name);
            one.0.iter().map(|(name, _)| name.clone()).filter(is_there).collect()
        };
        let (ours, theirs) = (in_both(self, other), in_both(other, self));
        if differing.is_empty() && ours != theirs {
            differing.push(("order".to_owned(), format!("{ours:?}\n    not {theirs:?}")));
        }
        differing
    }

    /// Each step with the number of earlier steps of its name.
    fn numbered(&self) -> Vec<(String, usize, Value)> {
        let number = |at: usize, name: &str| self.0[..at].iter().filter(|(known, _)| known == name).count();
        let steps = self.0.iter().enumerate();
        steps.map(|(at, (name, value))| (name.clone(), number(at, name), value.clone())).collect()
    }
}

fn show(value: Option<Value>) -> String {
    value.map_or("nothing".to_owned(), |value| value.to_string())
}
