//! The story engine. A story is a list of events, one per line; the lines below an event are all of its outcomes, in
//! order. `…` in an outcome matches any text.
//!
//! A client is a letter, a process a digit: processes are numbered in the order of their starts. Messages are written
//! without `"jsonrpc":"2.0",` as their first member; a message that has it elsewhere, or not at all, is written `raw`.
//!
//! | event | meaning |
//! |---|---|
//! | `given shared; linger 30s` | settings, for the whole story; see `given.rs` |
//! | `A comes`, `A comes; folder /p; env A=1 B=2; principal 1; identity ci; limits 5/min burst 1; proof required; front http; session none; elsewhere yes; pinned /p; server 1; rights tools read* -read_all, servers files; profile work` | a client connects, to the first server, to another, or to all of them (`server all`) |
//! | `A greets`, `A greets with CAPABILITIES`, `A greets as NAME` | the client sends `initialize` under the id 0 |
//! | `A confirms` | the client sends `notifications/initialized` |
//! | `A> MESSAGE`, `1> MESSAGE` | a client or a process sends a message; `(too long) TEXT` exceeds the limit; `(about 3) TEXT` came in the response to that request |
//! | `A at /p/x> MESSAGE` | the message names this path, whose project is its first folder |
//! | `A stops reading`, `A reads`, `1 stops reading`, `1 reads` | the outbox fills, or drains |
//! | `A closes its end`, `A leaves` | the client's input ends; the client is lost |
//! | `1 spawns`, `1 cannot spawn: REASON`, `1 ends`, `1 ends: HOW; said: STDERR` | the life of a process |
//! | `1 greets`, `1 greets with CAPABILITIES` | the process answers the last `initialize` |
//! | `1 holds 5` | the process holds that many bytes of memory |
//! | `found /p /q` | the paths of the last `look up`, resolved |
//! | `revoke NAME` | the token `swb_NAME` is revoked; `tokens.rs` has those that are known |
//! | `owner restarts`, `owner stops /p`, `owner starts`, `owner keeps`, `owner forgets`, `owner approves read` | the owner's orders, for all roots or for one |
//! | `config changes`, `config drops it`, `config adds one`, `config denies read`, `config limits 5/min burst 1`, `config is as it was` | a reload; options: `; env A 2; server 1; room 1; linger 5; audit all; profile work tools read*` |
//! | `+5s`, `+0.1s`, `+10min` | time passes |
//! | `drain`, `kill` | Switchboard is to end |
//! | `switchboard restarts` | another Switchboard takes its place, without clients and processes |
//!
//! `$state1` in an event is the first `requestState` that a client got.
//!
//! `shorthand.rs` has lines that stand for several of these, outcomes included.
//!
//! | outcome | meaning |
//! |---|---|
//! | `A< MESSAGE`, `1< MESSAGE` | a message to a client or a process, to the byte |
//! | `start 1 at /p`, `start 1 at home with env A=1`, `start 1 at /p by content-length` | a process to start; by line, if nothing is said |
//! | `stop 1`, `stop 1 within 5s`, `stop 1 now` | a process to stop; gently, if nothing is said |
//! | `look up /p` | paths to resolve |
//! | `store 0`, `record 0: slow, try 1`, `record 0: modern only` | lists of the first server to store, that it was slow, or its era |
//! | `pins 0: first read, changed write` | changes of the first server's pins to store |
//! | `no answer A 7` | no answer follows to a cancelled request |
//! | `disconnect A`, `finished` | |
//! | `- …` | a fact |

mod claims;
pub(crate) mod tokens;
mod events;
mod given;
mod shorthand;

use claims::check_claims;
use events::{from_backend, from_wire, of_client, rights};
pub(crate) use given::settings;
use given::{call_limits, duration, environment};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::{Call, ServerLimits};
use switchboard_core::catalogue::Digest;
use switchboard_core::pins::{Pin, PinNews, Pins};
use switchboard_core::redact::MASK;
use switchboard_core::{
    Action, Change, ClientId, Core, Event, Fact, Launch, Moment, Order, Outcome, Peer, ProcessUsage,
    ServerId, ServerSettings, Settings, StateKey, StopHow, Surroundings,
};
use switchboard_protocol::{Era, Framing, Method};
use tokens::KnownTokens;

/// Plays a story; fails at the first event with other outcomes.
#[track_caller]
pub(crate) fn run(story: &str) {
    run_with(settings(), story);
}

/// The same, from these settings on.
#[track_caller]
pub(crate) fn run_with(mut settings: Settings, story: &str) {
    let story = shorthand::expand(story);
    let lines: Vec<&str> = story.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (given, lines): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| line.starts_with("given "));
    given.iter().for_each(|line| given::apply(&mut settings, line));
    let mut stage = Stage::new(settings);
    let mut at = 0;
    while at < lines.len() {
        let event = lines[at];
        assert!(!is_outcome(event), "a story begins with an event: {event}");
        let expect: Vec<&str> = lines[at + 1..].iter().copied().take_while(|line| is_outcome(line)).collect();
        at += 1 + expect.len();
        let got = stage.play(event);
        let fits =
            got.len() == expect.len() && expect.iter().zip(&got).all(|(expect, got)| matches(expect, got));
        let show = |lines: Vec<&str>| lines.iter().map(|line| format!("    {line}\n")).collect::<String>();
        let got: Vec<&str> = got.iter().map(String::as_str).collect();
        let before = lines[..at].join("\n");
        assert!(fits, "\n{before}\n\nexpected:\n{}outcomes:\n{}", show(expect), show(got));
    }
}

fn is_outcome(line: &str) -> bool {
    let is_message = line.split_once("< ").is_some_and(|(who, _)| who.len() == 1);
    is_message
        || [
            "start ",
            "stop ",
            "look up ",
            "disconnect ",
            "no answer ",
            "store ",
            "record ",
            "pins ",
            "- ",
            "finished",
        ]
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

fn show_era((era, is_only): (Era, bool)) -> String {
    format!("{}{}", era.name(), if is_only { " only" } else { "" })
}

fn client_of(name: &str) -> ClientId {
    ClientId(u32::from(name.as_bytes()[0] - b'A' + 1))
}

fn name_of(client: ClientId) -> char {
    char::from(b'A' + client.0 as u8 - 1)
}

struct Stage {
    core: Core,
    settings: Settings,
    tokens: Arc<KnownTokens>,
    now: Moment,
    launches: Vec<Launch>,
    ended: BTreeSet<usize>,
    /// Id of the last `initialize` that each process received.
    initialize_ids: BTreeMap<usize, String>,
    /// Client and number of the last `look up`.
    inquiry: Option<(ClientId, u32)>,
    /// Retries of each slow server, as stored last.
    slow: BTreeMap<u32, Option<u32>>,
    /// The last stored era of each server.
    eras: BTreeMap<u32, Option<(Era, bool)>>,
    /// The changed definition of each tool, as stored last.
    changed: BTreeMap<Arc<str>, Digest>,
    /// The `requestState` of each answer that wants input, oldest first.
    states: Vec<String>,
    /// Bytes in the outboxes of parties that do not read.
    unread: BTreeMap<String, (Peer, usize)>,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        let tokens = Arc::new(KnownTokens::new());
        let settings = Settings { authenticator: tokens.clone(), ..settings };
        Self {
            tokens,
            core: Core::new(settings.clone()),
            settings,
            now: Moment::default(),
            launches: Vec::new(),
            ended: BTreeSet::new(),
            initialize_ids: BTreeMap::new(),
            inquiry: None,
            slow: BTreeMap::new(),
            eras: BTreeMap::new(),
            changed: BTreeMap::new(),
            states: Vec::new(),
            unread: BTreeMap::new(),
        }
    }

    /// Stores the state of an answer that wants input.
    fn note_state(&mut self, answer: &[u8]) {
        let text = String::from_utf8_lossy(answer);
        let state = text.split_once(r#""requestState":""#).and_then(|(_, rest)| rest.split_once('"'));
        self.states.extend(state.map(|(state, _)| state.to_owned()));
    }

    /// Handles an event; returns its outcomes.
    fn play(&mut self, line: &str) -> Vec<String> {
        let mut seen = Vec::new();
        let states = self.states.iter().enumerate();
        let line = &states
            .fold(line.to_owned(), |line, (at, state)| line.replace(&format!("$state{}", at + 1), state));
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(time) = line.strip_prefix('+') {
            self.pass(duration(time), &mut seen);
        } else if let Some(who) = line.strip_suffix(" stops reading") {
            self.unread.insert(who.to_owned(), (self.peer(who), 0));
        } else if let Some(who) = line.strip_suffix(" reads") {
            let (peer, bytes) = self.unread.remove(who).expect("it had stopped reading");
            self.tell(Event::Flushed { peer, bytes }, &mut seen);
        } else if line == "switchboard restarts" {
            // As if it were killed: processes are numbered anew.
            self.settings.state_key = StateKey([1; 32]);
            (self.core, self.launches) = (Core::new(self.settings.clone()), Vec::new());
        } else if first == "owner" {
            self.order(rest, &mut seen);
        } else if first == "config" {
            self.reconfigure(rest, &mut seen);
        } else {
            for event in self.events(line) {
                self.tell(event, &mut seen);
            }
        }
        seen
    }

    fn peer(&self, who: &str) -> Peer {
        match who.parse::<usize>() {
            Ok(number) => Peer::Backend(self.launches[number - 1]),
            Err(_) => Peer::Client(client_of(who)),
        }
    }

    fn pass(&mut self, time: Duration, seen: &mut Vec<String>) {
        let target = self.now + time;
        while let Some(wake) = self.core.wake().filter(|wake| *wake <= target) {
            self.now = self.now.max(wake);
            self.tell(Event::Tick, seen);
        }
        self.now = target;
    }

    fn order(&mut self, line: &str, seen: &mut Vec<String>) {
        let (word, root) = line.split_once(' ').map_or((line, None), |(word, root)| (word, Some(root)));
        let mut actions = Vec::new();
        let order = match word {
            "keeps" => {
                let surroundings =
                    Surroundings { pinned: root.map(str::to_owned), ..Surroundings::default() };
                let _ = self.core.stand_by(self.now, ServerId(0), surroundings, &mut actions);
                return self.perform(actions, seen);
            }
            "approves" => {
                let tool: Arc<str> = root.expect("a tool").into();
                let digest = self.changed.get(&tool).copied().expect("it has changed");
                let stored = Pins::new([(tool, Pin::new(vec![digest], vec![], vec![]))], false);
                self.core.adopt_pins(self.now, ServerId(0), &stored, &mut actions);
                return self.perform(actions, seen);
            }
            "forgets" => Order::Forget,
            "restarts" => Order::Restart,
            "stops" => Order::Stop,
            "starts" => Order::Start,
            other => panic!("unknown order: {other}"),
        };
        self.core.order(self.now, ServerId(0), root, order, &mut actions);
        self.perform(actions, seen);
    }

    fn reconfigure(&mut self, line: &str, seen: &mut Vec<String>) {
        let mut parts = line.split("; ");
        let what = parts.next().expect("a change");
        let (mut environments, mut server) = (Vec::new(), ServerId(0));
        for part in parts {
            if let Some((name, text)) = part.strip_prefix("profile ").and_then(|it| it.split_once(' ')) {
                self.settings.profiles = vec![(name.to_owned(), rights(text).into())];
                continue;
            }
            match part.split_whitespace().collect::<Vec<_>>()[..] {
                ["env", client, number] => {
                    environments.push((client_of(client), server, environment(number)));
                }
                ["server", number] => server = ServerId(number.parse().expect("a number")),
                ["audit", clients] => self.settings.audit.clients = given::audited(clients),
                ["room", number] => self.settings.pool.max_backends = number.parse().expect("a number"),
                ["linger", seconds] => {
                    self.settings.linger = Some(Duration::from_secs(seconds.parse().expect("seconds")));
                }
                _ => panic!("unknown option of a reload: {part}"),
            }
        }
        let other = ServerSettings { max_queue: 7, ..self.settings.servers[0].clone() };
        let mut denying = (*other.naming).clone();
        denying.tools.deny = vec!["read".into()];
        let (mut servers, mut shown, mut limits) = (Vec::new(), Vec::new(), Vec::new());
        match what {
            "changes" => servers.push((server, Some(other))),
            "changes and denies read" => {
                servers.push((server, Some(ServerSettings { naming: denying.into(), ..other })));
            }
            "drops it" => servers.push((server, None)),
            "adds one" => servers.push((ServerId(1), Some(ServerSettings { name: "more".into(), ..other }))),
            "denies read" => {
                denying.resources.deny = vec!["read".into()];
                shown.push((server, denying.into()));
            }
            "is as it was" => {}
            "lifts its limits" => limits.push((server, None)),
            what if what.starts_with("limits ") => {
                let all = call_limits(what.trim_start_matches("limits "));
                limits.push((server, Some(Arc::new(ServerLimits { all, tools: Vec::new() }))));
            }
            other => panic!("unknown change: {other}"),
        }
        let Settings {
            pool,
            roots,
            dialect,
            shutdown_grace,
            linger,
            aggregates,
            identity_limits,
            profiles,
            audit,
            client_era,
            ..
        } = self.settings.clone();
        let policy = roots.policy;
        let change = Change {
            servers,
            shown,
            call_limits: limits,
            identity_limits,
            profiles,
            environments,
            pool,
            policy,
            dialect,
            client_era,
            shutdown_grace,
            linger,
            aggregates,
            audit,
        };
        let mut actions = Vec::new();
        self.core.reconfigure(self.now, change, &mut actions);
        self.perform(actions, seen);
    }

    fn events(&mut self, line: &str) -> Vec<Event> {
        if let Some(paths) = line.strip_prefix("found") {
            let (client, inquiry) = self.inquiry.expect("something is looked up");
            let roots = paths.split_whitespace().map(|path| Some(path.to_owned())).collect();
            return vec![Event::RootsLookedUp { client, inquiry, roots }];
        }
        match line {
            "drain" => return vec![Event::Drain { why: "the story ends" }],
            "kill" => return vec![Event::Kill],
            _ => {}
        }
        if let Some(name) = line.strip_prefix("revoke ") {
            return vec![Event::Revoked { identity: self.tokens.revoke(name) }];
        }
        let (who, what) = line.split_at(1);
        match who.parse::<usize>() {
            Ok(number) => self.of_process(number, what),
            Err(_) => vec![of_client(client_of(who), what)],
        }
    }

    fn of_process(&mut self, number: usize, what: &str) -> Vec<Event> {
        let launch = self.launches[number - 1];
        if let Some(text) = what.strip_prefix("> ") {
            return from_backend(launch, text);
        }
        let (word, rest) = what.trim_start().split_once(' ').unwrap_or((what.trim_start(), ""));
        let event = match word.trim_end_matches(':') {
            "spawns" => Event::Spawned { launch, pid: 7 },
            "cannot" => {
                self.ended.insert(number);
                let reason = rest.strip_prefix("spawn: ").expect("a reason").to_owned();
                Event::SpawnFailed { launch, reason, hint: None }
            }
            "ends" => {
                self.ended.insert(number);
                self.unread.remove(&number.to_string());
                let (how, stderr) = rest.split_once("; said: ").unwrap_or((rest, ""));
                let how = if how.is_empty() { "exit code 0" } else { how };
                Event::BackendEnded { launch, how: how.into(), stderr: stderr.into(), hint: None }
            }
            "greets" => {
                let id = self.initialize_ids.get(&number).expect("it received `initialize`");
                let more = rest.strip_prefix("with ").map(|some| format!(r#","capabilities":{some}"#));
                let more = more.unwrap_or_default();
                return from_backend(
                    launch,
                    &format!(r#"{{"id":{id},"result":{{"serverInfo":{number}{more}}}}}"#),
                );
            }
            "holds" => {
                let memory_bytes = rest.parse().expect("a number");
                Event::Measured { used: vec![(launch, ProcessUsage { memory_bytes, cpu: Duration::ZERO })] }
            }
            other => panic!("unknown event of a process: {other}"),
        };
        vec![event]
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
                Action::Start { launch, root, in_home, environment, framing, .. } => {
                    self.launches.push(launch);
                    let number = self.launches.len();
                    let place = if in_home { "home".to_owned() } else { root.unwrap_or("nowhere".into()) };
                    let sources = environment.sources().filter_map(|source| source.get::<String>());
                    let sources: Vec<String> = sources.map(|text| text.to_string()).collect();
                    let with = match sources.is_empty() {
                        true => String::new(),
                        false => format!(" with env {}", sources.join(" + ")),
                    };
                    let by = if framing == Framing::Newline { "" } else { " by content-length" };
                    seen.push(format!("start {number} at {place}{with}{by}"));
                }
                Action::Stop { launch, how } => {
                    let how = match how {
                        StopHow::Gently { .. } => String::new(),
                        StopHow::Terminate { grace } => format!(" within {grace:?}"),
                        StopHow::Kill => " now".to_owned(),
                    };
                    seen.push(format!("stop {}{how}", self.number(launch)));
                }
                Action::ToBackend { launch, out } => {
                    check_claims(&out);
                    let number = self.number(launch);
                    assert!(!self.ended.contains(&number), "{number} has ended, and is sent a message");
                    let text = out.to_vec();
                    if out.method() == Method::Initialize {
                        let id = out.id().expect("a request has an id");
                        self.initialize_ids.insert(number, String::from_utf8_lossy(id).into_owned());
                    }
                    flushed.push((number.to_string(), Peer::Backend(launch), text.len()));
                    seen.push(format!("{number}< {}", from_wire(&text)));
                }
                Action::ToClient { client, out, .. } => {
                    check_claims(&out);
                    let (name, text) = (name_of(client), out.to_vec());
                    self.note_state(&text);
                    flushed.push((name.to_string(), Peer::Client(client), text.len()));
                    seen.push(format!("{name}< {}", from_wire(&text)));
                }
                Action::NoAnswer { client, id } => seen.push(format!("no answer {} {id}", name_of(client))),
                Action::LookUp { client, inquiry, paths } => {
                    self.inquiry = Some((client, inquiry));
                    seen.push(format!("look up {}", paths.join(" ")));
                }
                Action::ReadOffer { launch, round, raw } => {
                    let offer = Arc::new(raw.read());
                    self.tell(Event::OfferRead { launch, round, offer }, seen);
                }
                Action::StoreOffer { server, .. } => seen.push(format!("store {}", server.0)),
                Action::StoreRecord { server, record } => {
                    let tries = record.slow.map(|slow| slow.tries);
                    let before = self.slow.insert(server.0, tries).flatten();
                    let new = tries.filter(|tries| before != Some(*tries));
                    seen.extend(new.map(|tries| format!("record {}: slow, try {tries}", server.0)));
                    let era = record.era.map(|known| (known.era, known.is_only));
                    let before = self.eras.insert(server.0, era).flatten();
                    let new = era.filter(|era| before != Some(*era));
                    seen.extend(new.map(|era| format!("record {}: {}", server.0, show_era(era))));
                }
                Action::StorePins { server, news } => {
                    self.changed.extend(news.iter().filter_map(|it| match it {
                        PinNews::Changed { tool, digest, .. } => Some((tool.clone(), *digest)),
                        _ => None,
                    }));
                    let news: Vec<String> = news.iter().map(show_news).collect();
                    seen.push(format!("pins {}: {}", server.0, news.join(", ")));
                }
                Action::Disconnect { client } => seen.push(format!("disconnect {}", name_of(client))),
                Action::Report(fact) => seen.extend(show(&fact).map(|text| format!("- {text}"))),
                Action::Finished => seen.push("finished".into()),
            }
        }
        for (who, peer, bytes) in flushed {
            match self.unread.get_mut(&who) {
                Some((_, unread)) => *unread += bytes,
                None => self.tell(Event::Flushed { peer, bytes }, seen),
            }
        }
    }

    fn number(&self, launch: Launch) -> usize {
        1 + self.launches.iter().position(|known| *known == launch).expect("it was started")
    }
}

fn show_news(news: &PinNews) -> String {
    match news {
        PinNews::FirstSight { tool, .. } => format!("first {tool}"),
        PinNews::Seen { tool, .. } => format!("seen {tool}"),
        PinNews::Changed { tool, .. } => format!("changed {tool}"),
        PinNews::Restored { tool } => format!("restored {tool}"),
        PinNews::Dropped { tool, .. } => format!("dropped {tool}"),
        PinNews::Forgotten => "forgotten".to_owned(),
    }
}

/// The text of a fact; `None` for facts that no story is about.
fn show(fact: &Fact) -> Option<String> {
    let text = match fact {
        Fact::Fallback { .. } => "no workspace is known".into(),
        Fact::NoRoom { .. } => "waits for room".into(),
        Fact::Crowded { crowding, .. } => format!("{}; {}", crowding.message, crowding.hint),
        Fact::KeepsState { tool, .. } => format!("keeps state: {tool}"),
        Fact::ToolsChanged { tools, are_held: false, .. } => format!("changed: {}", tools.join(" ")),
        Fact::ToolsChanged { tools, .. } => format!("held: {}", tools.join(" ")),
        Fact::ToolVariants { tools, .. } => format!("another definition: {}", tools.join(" ")),
        Fact::ToolsRestored { tools, .. } => format!("as approved again: {}", tools.join(" ")),
        Fact::ToolsApproved { tools, .. } => format!("approved: {}", tools.join(" ")),
        Fact::StateLost { .. } => "state lost".into(),
        Fact::Heavy { .. } => "over its memory limit".into(),
        Fact::PoolHeavy { .. } => "all over the memory limit".into(),
        Fact::AskDenied { method, identity, .. } => {
            format!("denied to {}: {method}", identity.as_deref().unwrap_or("?"))
        }
        Fact::RateLimited { identity, server, limit, refused, .. } => {
            format!("{identity} over the {} limit at {server}: {refused}", limit.name())
        }
        Fact::Separated { clients, .. } => format!("no longer shared by {clients}"),
        Fact::Unheard { method, .. } => format!("no listener for {method}"),
        Fact::Stopping { why, .. } => (*why).to_owned(),
        Fact::NotStarted { why, .. } => format!("not started: {why}"),
        Fact::LateAnswer { .. } => "late answer dropped".into(),
        Fact::Quarantined { text, .. } => format!("quarantined: {text}"),
        Fact::Retried { method, .. } => format!("retry: {method}"),
        Fact::RestartIn { .. } => "restart after a pause".into(),
        Fact::BreakerOpened { cooldown, .. } => format!("breaker open for {} s", cooldown.as_secs()),
        Fact::Probing { .. } => "probe".into(),
        Fact::DroppedNotification { .. } => "notification dropped".into(),
        Fact::Called(call) => called(call),
        Fact::Crashed { stderr, .. } if stderr.contains(MASK) => format!("crashed: {stderr}"),
        _ => return None,
    };
    Some(text)
}

/// The record of a call; `-` for a part that is not known.
fn called(call: &Call) -> String {
    let known = |part: &Option<String>| part.clone().unwrap_or_else(|| "-".into());
    let result = match call.outcome {
        Outcome::Ok if call.is_tool_error => "tool_error",
        Outcome::Ok => "ok",
        Outcome::ServerError => "server_error",
        Outcome::Refused(kind) => kind.name(),
        Outcome::Cancelled => "cancelled",
    };
    let params = call.params.as_ref().map(|params| format!(" {}", String::from_utf8_lossy(&params.text)));
    let identity = call.identity.as_deref().unwrap_or("-");
    let Call { front, method, took, request_bytes, answer_bytes, .. } = call;
    format!(
        "called by {} {identity} ({}, {}): {method} {} {} at {} in {}: {result} after {took:?}, {request_bytes} and \
         {answer_bytes} bytes{}",
        name_of(call.client),
        call.info
            .as_ref()
            .map_or("-".into(), |info| format!("{} {}", info.name, info.version).trim().to_owned()),
        front.name(),
        known(&call.server),
        known(&call.item),
        known(&call.root),
        known(&call.launch.map(|launch| launch.to_string())),
        params.unwrap_or_default(),
    )
}
