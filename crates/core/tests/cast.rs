//! Stories with several clients, workspaces and processes, line by line. As in `script.rs`, the lines below something
//! that happens are all that comes of it. Messages are shown short: what matters here is who gets them.
//!
//! | happens | |
//! |---|---|
//! | `A comes`, `A comes; folder /p`, `…; env 1`, `…; env A=1 B=2`, `…; principal 1`, `…; elsewhere yes`, `…; pinned /p`, `…; server 1`, `…; server all` | a client, named by one letter |
//! | `A> TEXT` | what it says; `{r}` in it is a file URI below a root that the message names: `at /p/x` before it |
//! | `A at /p/x> TEXT` | the same, of a message that names this place (its project is its first folder) |
//! | `A greets`, `A greets with CAPABILITIES`, `A greets as NAME` | `initialize` under the id 0 |
//! | `A confirms` | `notifications/initialized` |
//! | `1> TEXT` | what the first process says; processes are numbered as they are started |
//! | `1 spawns`, `1 cannot`, `1 ends`, `1 greets`, `1 greets with CAPABILITIES` | its fate; `greets` answers the `initialize` that it heard last |
//! | `1 holds 5` | it has so many bytes of memory, at the next look |
//! | `A leaves`, `found /p /q`, `+5s`, `drain` | |
//! | `owner restarts`, `owner stops /p`, `owner starts` | all instances of the server, or those at a root |
//! | `owner keeps`, `owner keeps /p` | an instance is started without a client, and kept |
//! | `config changes`, `config drops it`, `config adds one` | the server has other settings, is gone, or another comes |
//! | `config denies read` | a tool and a resource of the server are not to be shown |
//! | `config changes; env A 2; server 1; room 1; linger 5` | … with other environments, of another server, and so on |
//!
//! | comes of it | |
//! |---|---|
//! | `A< TEXT`, `1< TEXT` | a message to one of them; `…` stands for anything |
//! | `start 1 at /p`, `start 1 at home with env A=1`, `stop 1`, `look up /p` | |
//! | `keep 0`, `record 0: slow, try 1` | the first server's lists are to be stored, or that it was not ready in time |
//! | `- …` | a fact |

use crate::claims::check_claims;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::environment::{Source, Variable};
use switchboard_core::routing::{NamedBy, NamedPath};
use switchboard_core::{
    Action, Aggregates, Change, ClientId, Core, Environment, Event, Fact, Launch, Limits, MemberPath, Moment,
    Order, Peer, Pool, Principal, Roots, ServerId, ServerSettings, Settings, Surroundings,
};
use switchboard_protocol::dialect::LearntDialect;
use switchboard_protocol::{Framing, Parsed, parse};

/// A and B work in the same folder, and share the first process. Nobody has used it yet.
pub(crate) const TWO_CLIENTS: &str = r#"
    A comes; folder /p
        start 1 at /p
    1 spawns
    A greets
        1< …
    1 greets
        A< …
    A confirms
        1< …
    B comes; folder /p
    B greets
        B< …
    B confirms
"#;

/// One server, and the usual settings.
pub(crate) fn settings() -> Settings {
    Settings {
        servers: vec![ServerSettings {
            framing: switchboard_core::FramingChoice::Fixed(Framing::Newline),
            ..ServerSettings::new("files")
        }],
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

#[track_caller]
pub(crate) fn play(change: impl FnOnce(&mut Settings), story: &str) {
    let mut settings = settings();
    change(&mut settings);
    let mut stage = Stage::new(settings);
    let lines: Vec<&str> = story.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut at = 0;
    while at < lines.len() {
        let happens = lines[at];
        let expect: Vec<&str> = lines[at + 1..].iter().copied().take_while(|line| is_outcome(line)).collect();
        at += 1 + expect.len();
        let got = stage.happens(happens);
        let fits =
            got.len() == expect.len() && expect.iter().zip(&got).all(|(expect, got)| matches(expect, got));
        let show = |lines: Vec<&str>| lines.iter().map(|line| format!("    {line}\n")).collect::<String>();
        let got: Vec<&str> = got.iter().map(String::as_str).collect();
        let before = lines[..at].join("\n");
        assert!(fits, "\n{before}\n\nexpected:\n{}but this came of it:\n{}", show(expect), show(got));
    }
}

fn is_outcome(line: &str) -> bool {
    let is_message = line.split_once("< ").is_some_and(|(who, _)| who.len() == 1);
    is_message
        || ["start ", "stop ", "look up ", "let go ", "keep ", "record ", "- ", "finished"]
            .iter()
            .any(|&prefix| line.starts_with(prefix))
}

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
    settings: Settings,
    now: Moment,
    launches: Vec<Launch>,
    /// The id of the handshake that a process heard last.
    greeted: BTreeMap<usize, String>,
    /// Which client's roots are to be looked up, and the number of the inquiry.
    inquiry: Option<(ClientId, u32)>,
    /// How often each server was tried that was not ready in time, as stored last.
    slow: BTreeMap<u32, Option<u32>>,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        let core = Core::new(settings.clone());
        Self {
            core,
            settings,
            now: Moment::default(),
            launches: Vec::new(),
            greeted: BTreeMap::new(),
            slow: BTreeMap::new(),
            inquiry: None,
        }
    }

    fn happens(&mut self, line: &str) -> Vec<String> {
        let mut seen = Vec::new();
        if let Some(time) = line.strip_prefix('+') {
            let seconds: f64 = time.trim_end_matches('s').parse().expect("seconds");
            let target = self.now + Duration::from_secs_f64(seconds);
            while let Some(wake) = self.core.wake().filter(|wake| *wake <= target) {
                self.now = self.now.max(wake);
                self.tell(Event::Tick, &mut seen);
            }
            self.now = target;
            return seen;
        }
        if let Some(order) = line.strip_prefix("owner ") {
            self.orders(order, &mut seen);
        } else if let Some(change) = line.strip_prefix("config ") {
            self.changes(change, &mut seen);
        } else {
            let event = self.event(line);
            self.tell(event, &mut seen);
        }
        seen
    }

    fn orders(&mut self, line: &str, seen: &mut Vec<String>) {
        let (word, root) = line.split_once(' ').map_or((line, None), |(word, root)| (word, Some(root)));
        if word == "keeps" {
            let surroundings = Surroundings { pinned: root.map(str::to_owned), ..Surroundings::default() };
            let mut actions = Vec::new();
            let _ = self.core.stand_by(self.now, ServerId(0), surroundings, &mut actions);
            return self.perform(actions, seen);
        }
        let order = match word {
            "restarts" => Order::Restart,
            "stops" => Order::Stop,
            "starts" => Order::Start,
            other => panic!("an owner orders nothing of this kind: {other}"),
        };
        let mut actions = Vec::new();
        self.core.order(self.now, ServerId(0), root, order, &mut actions);
        self.perform(actions, seen);
    }

    fn changes(&mut self, line: &str, seen: &mut Vec<String>) {
        let mut parts = line.split("; ");
        let what = parts.next().expect("something changes");
        let (mut environments, mut server) = (Vec::new(), ServerId(0));
        for part in parts {
            match part.split_whitespace().collect::<Vec<_>>()[..] {
                ["env", client, number] => {
                    let client = ClientId(u32::from(client.as_bytes()[0] - b'A' + 1));
                    environments.push((client, server, environment_of(number)));
                }
                ["server", number] => server = ServerId(number.parse().expect("a number")),
                ["room", number] => self.settings.pool.max_backends = number.parse().expect("a number"),
                ["linger", seconds] => {
                    self.settings.linger = Some(Duration::from_secs(seconds.parse().expect("seconds")));
                }
                _ => panic!("no config has this: {part}"),
            }
        }
        let other = ServerSettings { max_queue: 7, ..self.settings.servers[0].clone() };
        let servers = match what {
            "changes" => vec![(server, Some(other))],
            "changes and denies read" => {
                let mut naming = (*other.naming).clone();
                naming.tools.deny = vec!["read".into()];
                vec![(server, Some(ServerSettings { naming: naming.into(), ..other }))]
            }
            "drops it" => vec![(server, None)],
            "adds one" => vec![(ServerId(1), Some(ServerSettings { name: "more".into(), ..other }))],
            "is as it was" | "denies read" => Vec::new(),
            other => panic!("a config does nothing of this kind: {other}"),
        };
        let Settings { pool, roots, dialect, shutdown_grace, linger, aggregates, .. } = self.settings.clone();
        let mut naming = (*self.settings.servers[0].naming).clone();
        naming.tools.deny = vec!["read".into()];
        naming.resources.deny = vec!["read".into()];
        let shown = if what == "denies read" { vec![(server, naming.into())] } else { Vec::new() };
        let change = Change {
            servers,
            shown,
            environments,
            pool,
            policy: roots.policy,
            dialect,
            shutdown_grace,
            linger,
            aggregates,
        };
        let mut actions = Vec::new();
        self.core.reconfigure(self.now, change, &mut actions);
        self.perform(actions, seen);
    }

    fn event(&mut self, line: &str) -> Event {
        if line == "drain" {
            return Event::Drain { why: "the story ends" };
        }
        if let Some(paths) = line.strip_prefix("found") {
            let (client, inquiry) = self.inquiry.expect("something is looked up");
            let roots = paths.split_whitespace().map(|path| Some(path.to_owned())).collect();
            return Event::RootsLookedUp { client, inquiry, roots };
        }
        let (who, what) = line.split_at(1);
        match who.parse::<usize>() {
            Ok(number) => self.of_process(number, what),
            Err(_) => of_client(ClientId(u32::from(who.as_bytes()[0] - b'A' + 1)), what),
        }
    }

    fn of_process(&mut self, number: usize, what: &str) -> Event {
        let launch = self.launches[number - 1];
        if let Some(text) = what.strip_prefix("> ") {
            return from_backend(launch, text);
        }
        if let Some(bytes) = what.strip_prefix(" holds ") {
            return Event::Measured { bytes: vec![(launch, bytes.parse().expect("a number"))] };
        }
        match what {
            " spawns" => Event::Spawned { launch, pid: 7 },
            " cannot" => Event::SpawnFailed { launch, reason: "no".into(), hint: None },
            " ends" => {
                Event::BackendEnded { launch, how: "exit code 0".into(), stderr: String::new(), hint: None }
            }
            " greets" => self.greets(number, launch, ""),
            _ if what.starts_with(" greets with ") => {
                self.greets(number, launch, what.strip_prefix(" greets with ").unwrap_or_default())
            }
            other => panic!("a process does nothing of this kind: {other}"),
        }
    }

    fn greets(&self, number: usize, launch: Launch, capabilities: &str) -> Event {
        let id = self.greeted.get(&number).expect("it was greeted");
        let more = match capabilities {
            "" => String::new(),
            some => format!(r#","capabilities":{some}"#),
        };
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"serverInfo":{number}{more}}}}}"#);
        from_backend(launch, &text)
    }

    fn tell(&mut self, event: Event, seen: &mut Vec<String>) {
        let mut actions = Vec::new();
        self.core.handle(self.now, event, &mut actions);
        self.perform(actions, seen);
    }

    fn perform(&mut self, actions: Vec<Action>, seen: &mut Vec<String>) {
        let mut flushed = Vec::new();
        for action in actions {
            match action {
                Action::Start { launch, root, in_home, environment, .. } => {
                    self.launches.push(launch);
                    let number = self.launches.len();
                    let root = root.unwrap_or("nowhere".into());
                    let sources = environment.sources().filter_map(|source| source.get::<String>());
                    let sources: Vec<String> = sources.map(|text| text.to_string()).collect();
                    let with = match sources.is_empty() {
                        true => String::new(),
                        false => format!(" with env {}", sources.join(" + ")),
                    };
                    let place = if in_home { "home".to_owned() } else { root };
                    seen.push(format!("start {number} at {place}{with}"));
                }
                Action::Stop { launch, .. } => seen.push(format!("stop {}", self.number(launch))),
                Action::ToBackend { launch, out } => {
                    check_claims(&out);
                    let number = self.number(launch);
                    let text = String::from_utf8_lossy(&out.to_vec()).into_owned();
                    if text.contains(r#""method":"initialize""#) {
                        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                        self.greeted.insert(number, value["id"].to_string());
                    }
                    flushed.push((Peer::Backend(launch), out.len()));
                    seen.push(format!("{number}< {}", text.replace(r#""jsonrpc":"2.0","#, "")));
                }
                Action::ToClient { client, out, .. } => {
                    check_claims(&out);
                    let name = char::from(b'A' + client.0 as u8 - 1);
                    let text = String::from_utf8_lossy(&out.to_vec()).into_owned();
                    flushed.push((Peer::Client(client), out.len()));
                    seen.push(format!("{name}< {}", text.replace(r#""jsonrpc":"2.0","#, "")));
                }
                Action::LookUp { client, inquiry, paths } => {
                    self.inquiry = Some((client, inquiry));
                    seen.push(format!("look up {}", paths.join(" ")));
                }
                Action::ReadOffer { launch, round, raw } => {
                    let offer = Arc::new(raw.read());
                    self.tell(Event::OfferRead { launch, round, offer }, seen);
                }
                Action::StoreOffer { server, .. } => seen.push(format!("keep {}", server.0)),
                Action::StoreRecord { server, record } => {
                    let tries = record.slow.map(|slow| slow.tries);
                    let before = self.slow.insert(server.0, tries).flatten();
                    let new = tries.filter(|tries| before != Some(*tries));
                    seen.extend(new.map(|tries| format!("record {}: slow, try {tries}", server.0)));
                }
                Action::Disconnect { client } => {
                    seen.push(format!("let go of {}", char::from(b'A' + client.0 as u8 - 1)));
                }
                Action::Report(fact) => seen.extend(show(&fact).map(|text| format!("- {text}"))),
                Action::Finished => seen.push("finished".into()),
            }
        }
        for (peer, bytes) in flushed {
            self.tell(Event::Flushed { peer, bytes }, seen);
        }
    }

    fn number(&self, launch: Launch) -> usize {
        1 + self.launches.iter().position(|known| *known == launch).expect("it was started")
    }
}

/// `A=1 B=2`: variables that every server gets. `2`: a variable that the server's entry names, with that value.
fn environment_of(text: &str) -> Environment {
    let variable = |name: &str, value: &str| Variable { name: name.into(), value: [value.as_bytes()[0]; 16] };
    let source = Some(Source::new(Arc::new(text.to_owned())));
    match text.contains('=') {
        true => {
            let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
            let common = pairs.map(|(name, value)| variable(name, value)).collect();
            Environment::new(Arc::default(), common, source)
        }
        false => Environment::new([variable("N", text)].into(), Arc::default(), source),
    }
}

fn of_client(client: ClientId, what: &str) -> Event {
    if let Some(rest) = what.strip_prefix(" comes") {
        let (mut surroundings, mut server) = (Surroundings::default(), Some(ServerId(0)));
        for part in rest.split("; ").skip(1) {
            match part.split_once(' ').expect("a word and a value") {
                ("folder", path) => surroundings.working_folder = Some(path.into()),
                ("elsewhere", _) => surroundings.is_elsewhere = true,
                ("pinned", path) => surroundings.pinned = Some(path.into()),
                ("principal", number) => {
                    surroundings.principal = Principal(number.parse().expect("a number"));
                }
                ("env", text) => surroundings.environment = environment_of(text),
                ("server", "all") => server = None,
                ("server", number) => server = Some(ServerId(number.parse().expect("a number"))),
                other => panic!("no client has this: {other:?}"),
            }
        }
        return match server {
            Some(server) => Event::ClientConnected { client, server, surroundings },
            None => Event::AggregateConnected { client, surroundings, environments: Vec::new(), only: None },
        };
    }
    if let Some(capabilities) = what.strip_prefix(" greets") {
        let info =
            capabilities.strip_prefix(" as ").map(|name| format!(r#","clientInfo":{{"name":"{name}"}}"#));
        let info = info.unwrap_or_default();
        let capabilities = capabilities.strip_prefix(" with ").unwrap_or("{}");
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"v","capabilities":{capabilities}{info}}}}}"#
        );
        return from_client(client, &text, None);
    }
    match what {
        " confirms" => from_client(client, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None),
        " leaves" => Event::ClientLost { client },
        _ => match what.strip_prefix(" at ").and_then(|rest| rest.split_once("> ")) {
            Some((place, text)) => from_client(client, text, Some(place)),
            None => from_client(client, what.strip_prefix("> ").expect("something is said"), None),
        },
    }
}

fn from_client(client: ClientId, text: &str, place: Option<&str>) -> Event {
    let path = place.map(|path| {
        let first = path.split('/').nth(1).map(|first| format!("/{first}"));
        let path =
            NamedPath { named_by: NamedBy::Argument("path".into()), path: path.into(), project: first };
        MemberPath { member: 0, path }
    });
    Event::FromClient {
        client,
        frame: parse(Bytes::copy_from_slice(text.as_bytes())),
        paths: path.into_iter().collect(),
    }
}

fn from_backend(launch: Launch, text: &str) -> Event {
    match parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(Parsed::One(message)) => Event::FromBackend { launch, message },
        other => panic!("a process says what is no message: {other:?}"),
    }
}

fn show(fact: &Fact) -> Option<String> {
    let text = match fact {
        Fact::Fallback { .. } => "no workspace is known".into(),
        Fact::NoRoom { .. } => "waits for room".into(),
        Fact::Crowded { crowding, .. } => format!("{}; {}", crowding.message, crowding.hint),
        Fact::KeepsState { tool, .. } => format!("keeps something, by {tool}"),
        Fact::StateLost { .. } => "what it kept is lost".into(),
        Fact::Heavy { .. } => "holds too much".into(),
        Fact::PoolHeavy { .. } => "all hold too much".into(),
        Fact::Separated { clients, .. } => format!("no longer shared by {clients}"),
        Fact::Unheard { method, .. } => format!("nobody hears {method}"),
        Fact::Stopping { why, .. } => (*why).to_owned(),
        Fact::NotStarted { why, .. } => format!("not started: {why}"),
        _ => return None,
    };
    Some(text)
}
