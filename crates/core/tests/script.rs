//! Stories: what happens, and what comes of it, line by line.
//!
//! A line that is something happening is told to the core. The lines below it, up to the next such line, are
//! all that must come of it, in this order. `…` in them stands for anything.
//!
//! | happens | |
//! |---|---|
//! | `connect` | a client comes |
//! | `greeted` | all of it at once: a client, its process, and a handshake with the ids 0 and 1 |
//! | `client> TEXT`, `server> TEXT` | a line from one of them; `(too long) TEXT` if it is beyond the limit |
//! | `old server> TEXT` | a late word of the process before the present one |
//! | `spawned`, `cannot spawn: WHY`, `ended: HOW`, `ended: HOW; said: STDERR` | the fate of the process |
//! | `client stops reading`, `client reads`, `server …` | what is written to it stays in its outbox, or not |
//! | `client closes its end`, `client is lost`, `drain`, `kill` | the end |
//! | `+5s`, `+100ms`, `+10min` | time passes, and ticks come when they are wanted |
//!
//! | comes of it | |
//! |---|---|
//! | `client< TEXT`, `server< TEXT` | a message to one of them, to the byte |
//! | `start newline`, `stop gently`, `stop within 1s`, `stop now`, `finished` | what is to be done |
//! | `- …` | a fact that is worth seeing, the usual ones left out |

use crate::claims::check_claims;
use bytes::Bytes;
use std::time::Duration;
use switchboard_core::{
    Action, Aggregates, ClientId, Core, Event, Fact, Launch, Limits, Moment, Peer, Pool, Roots, ServerId,
    ServerSettings, Settings, StopHow, Surroundings,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::hunt::Hunter;
use switchboard_protocol::recover::recover;
use switchboard_protocol::{Parsed, parse};

const CLIENT: ClientId = ClientId(1);

/// Checks a story with the settings that most people have.
#[track_caller]
pub(crate) fn check(story: &str) {
    check_with(|_| {}, story);
}

#[track_caller]
pub(crate) fn check_with(change: impl FnOnce(&mut Settings), story: &str) {
    let mut settings = settings();
    change(&mut settings);
    let mut stage = Stage::new(settings);
    let mut told = String::new();
    let lines: Vec<&str> = story.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut at = 0;
    while at < lines.len() {
        let happens = lines[at];
        assert!(!is_outcome(happens), "a story begins with something that happens: {happens}");
        let expect: Vec<&str> = lines[at + 1..].iter().copied().take_while(|line| is_outcome(line)).collect();
        let got = stage.play(happens);
        at += 1 + expect.len();
        let fits =
            got.len() == expect.len() && expect.iter().zip(&got).all(|(expect, got)| matches(expect, got));
        if !fits {
            let list = |lines: &[&str]| lines.iter().map(|line| format!("    {line}\n")).collect::<String>();
            let got: Vec<&str> = got.iter().map(String::as_str).collect();
            panic!("\n{told}{happens}\nexpected:\n{}but this came of it:\n{}", list(&expect), list(&got));
        }
        told.push_str(&format!("{happens}\n"));
    }
}

fn settings() -> Settings {
    Settings {
        servers: vec![ServerSettings::new("files")],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: LearntDialect::Open,
        shutdown_grace: Duration::from_secs(5),
        limits: Limits::default(),
        linger: None,
        aggregates: Aggregates::default(),
        stays: false,
        first_question: 1,
        seed: 1,
        report_routes: false,
    }
}

fn is_outcome(line: &str) -> bool {
    ["client<", "server<", "start ", "stop ", "finished", "- "].iter().any(|&prefix| line.starts_with(prefix))
}

/// Compares with `…` for anything.
fn matches(expect: &str, got: &str) -> bool {
    let parts: Vec<&str> = expect.split('…').collect();
    let [first, middle @ .., last] = &parts[..] else { return expect == got };
    let Some(mut rest) = got.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    middle.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

struct Stage {
    core: Core,
    now: Moment,
    /// The process of now, and the one before.
    launch: Option<Launch>,
    old: Option<Launch>,
    client_reads: bool,
    server_reads: bool,
    client_unread: usize,
    server_unread: usize,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        Self {
            core: Core::new(settings),
            now: Moment::default(),
            launch: None,
            old: None,
            client_reads: true,
            server_reads: true,
            client_unread: 0,
            server_unread: 0,
        }
    }

    /// Lets something happen; gives what comes of it.
    fn play(&mut self, line: &str) -> Vec<String> {
        let mut seen = Vec::new();
        if let Some(time) = line.strip_prefix('+') {
            self.pass(duration(time), &mut seen);
        } else if line == "greeted" {
            for line in GREETING {
                self.play(line);
            }
        } else {
            for event in self.events(line) {
                self.tell(event, &mut seen);
            }
        }
        self.read(&mut seen);
        seen
    }

    fn pass(&mut self, time: Duration, seen: &mut Vec<String>) {
        let target = self.now + time;
        while let Some(wake) = self.core.wake().filter(|wake| *wake <= target) {
            self.now = self.now.max(wake);
            self.tell(Event::Tick, seen);
        }
        self.now = target;
    }

    fn tell(&mut self, event: Event, seen: &mut Vec<String>) {
        let mut actions = Vec::new();
        self.core.handle(self.now, event, &mut actions);
        for action in actions {
            seen.extend(self.perform(action));
        }
    }

    /// Whoever reads has read.
    fn read(&mut self, seen: &mut Vec<String>) {
        if self.client_reads && self.client_unread > 0 {
            let bytes = std::mem::take(&mut self.client_unread);
            self.tell(Event::Flushed { peer: Peer::Client(CLIENT), bytes }, seen);
        }
        if let (true, Some(launch), 1..) = (self.server_reads, self.launch, self.server_unread) {
            let bytes = std::mem::take(&mut self.server_unread);
            self.tell(Event::Flushed { peer: Peer::Backend(launch), bytes }, seen);
        }
    }

    fn events(&mut self, line: &str) -> Vec<Event> {
        if let Some(text) = line.strip_prefix("client> ") {
            return vec![from_client(text)];
        }
        if let Some(text) = line.strip_prefix("server> ") {
            return from_server(self.launch.expect("a process was started"), text);
        }
        if let Some(text) = line.strip_prefix("old server> ") {
            return from_server(self.old.expect("a process was started before"), text);
        }
        if let Some(how) = line.strip_prefix("ended: ") {
            let (how, stderr) = how.split_once("; said: ").unwrap_or((how, ""));
            self.old = self.launch;
            self.server_unread = 0;
            let launch = self.launch.expect("a process was started");
            return vec![Event::BackendEnded { launch, how: how.into(), stderr: stderr.into(), hint: None }];
        }
        if let Some(reason) = line.strip_prefix("cannot spawn: ") {
            let launch = self.launch.expect("a process was started");
            return vec![Event::SpawnFailed { launch, reason: reason.into(), hint: None }];
        }
        match line {
            "connect" => {
                vec![Event::ClientConnected {
                    client: CLIENT,
                    server: ServerId(0),
                    surroundings: Surroundings::default(),
                }]
            }
            "spawned" => vec![Event::Spawned { launch: self.launch.expect("a process was started"), pid: 7 }],
            "client closes its end" => vec![Event::ClientInputEnded { client: CLIENT }],
            "client is lost" => vec![Event::ClientLost { client: CLIENT }],
            "drain" => vec![Event::Drain { why: "the story ends" }],
            "kill" => vec![Event::Kill],
            "client stops reading" | "client reads" => {
                self.client_reads = line == "client reads";
                Vec::new()
            }
            "server stops reading" | "server reads" => {
                self.server_reads = line == "server reads";
                Vec::new()
            }
            other => panic!("nothing of this kind happens: {other}"),
        }
    }

    fn perform(&mut self, action: Action) -> Option<String> {
        let seen = match action {
            Action::Start { launch, framing, .. } => {
                self.launch = Some(launch);
                format!("start {}", framing.name())
            }
            Action::Stop { how: StopHow::Gently { .. }, .. } => "stop gently".into(),
            Action::Stop { how: StopHow::Terminate { grace }, .. } => format!("stop within {grace:?}"),
            Action::Stop { how: StopHow::Kill, .. } => "stop now".into(),
            Action::ToBackend { launch, out } => {
                assert_eq!(Some(launch), self.launch, "only the present process is told anything");
                check_claims(&out);
                self.server_unread += out.len();
                format!("server< {}", String::from_utf8_lossy(&out.to_vec()))
            }
            Action::ToClient { out, .. } => {
                check_claims(&out);
                self.client_unread += out.len();
                format!("client< {}", String::from_utf8_lossy(&out.to_vec()))
            }
            Action::LookUp { .. } => panic!("these stories have no workspaces"),
            Action::ReadOffer { .. } | Action::StoreOffer { .. } => panic!("these clients have one server"),
            // Shown as the facts that it is made of.
            Action::StoreRecord { .. } => return None,
            Action::Disconnect { .. } => "let go".into(),
            Action::Report(fact) => format!("- {}", show(&fact)?),
            Action::Finished => "finished".into(),
        };
        Some(seen)
    }
}

const GREETING: &[&str] = &[
    "connect",
    "spawned",
    r#"client> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#,
    r#"server> {"jsonrpc":"2.0","id":1,"result":{}}"#,
    r#"client> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
];

fn from_client(text: &str) -> Event {
    match text.strip_prefix("(too long) ") {
        Some(text) => {
            let mut hunter = Hunter::default();
            hunter.feed(text.as_bytes());
            Event::ClientTooLong { client: CLIENT, length: 20_000_000, glimpses: hunter.finish() }
        }
        None => {
            let frame = parse(Bytes::copy_from_slice(text.as_bytes()));
            Event::FromClient { client: CLIENT, frame, paths: Vec::new() }
        }
    }
}

/// As the gateway sorts what a process writes to its stdout.
fn from_server(launch: Launch, text: &str) -> Vec<Event> {
    if let Some(text) = text.strip_prefix("(too long) ") {
        let mut hunter = Hunter::default();
        hunter.feed(text.as_bytes());
        return vec![Event::BackendTooLong { launch, length: 20_000_000, glimpses: hunter.finish() }];
    }
    let line = Bytes::copy_from_slice(text.as_bytes());
    match parse(line.clone()) {
        Ok(Parsed::One(message)) => vec![Event::FromBackend { launch, message }],
        Ok(Parsed::Batch(_)) => panic!("no story has a server that sends batches: {text}"),
        Err(broken) => {
            let found = recover(&line, broken);
            if found.messages.is_empty() {
                return vec![Event::BackendNoise { launch, text: line, broken: found.broken }];
            }
            let messages = found.messages.into_iter().map(|message| Event::FromBackend { launch, message });
            let noise = Event::BackendNoise { launch, text: found.noise.into(), broken: found.broken };
            messages.chain([noise]).collect()
        }
    }
}

/// The facts that a story may be about.
fn show(fact: &Fact) -> Option<String> {
    let text = match fact {
        Fact::LateAnswer { .. } => "a late word, dropped".into(),
        Fact::Quarantined { text, .. } => format!("quarantined: {text}"),
        Fact::Retried { method, .. } => format!("once more: {method}"),
        Fact::RestartIn { .. } => "restarts after a pause".into(),
        Fact::BreakerOpened { cooldown, .. } => format!("gives up for {} s", cooldown.as_secs()),
        Fact::Probing { .. } => "asks for a sign of life".into(),
        Fact::DroppedNotification { .. } => "a notification was dropped".into(),
        _ => return None,
    };
    Some(text)
}

fn duration(text: &str) -> Duration {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().expect("a time is a number and a unit");
    match &text[digits..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "min" => Duration::from_secs(60 * number),
        unit => panic!("no such unit of time: {unit}"),
    }
}
