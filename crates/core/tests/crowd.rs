//! Sixty-four clients on one backend, all with the same ids: `1` beside `"1"`, progress tokens equal to ids, answers in
//! any order. Each client gets its own. Random, from a seed; `SWITCHBOARD_CROWD=5000000` makes it longer.

use crate::story::settings;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use switchboard_core::{
    Action, ClientId, Core, Event, FramingChoice, Launch, Moment, Peer, ServerId, ServerSettings, Settings,
    Surroundings,
};
use switchboard_protocol::{Framing, Parsed, parse};

const CLIENTS: usize = 64;
/// Ids of a client, each spelled as a number and as a string.
const IDS: u64 = 4;

/// Fewer in a debug build, which is slow.
const REQUESTS: u64 = if cfg!(debug_assertions) { 200_000 } else { 2_000_000 };

/// The parts of a message that are checked here.
#[derive(Deserialize)]
struct Seen<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
    #[serde(borrow)]
    result: Option<&'a str>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    tag: Option<&'a str>,
    #[serde(borrow, rename = "progressToken")]
    token: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a str>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
    #[serde(borrow, rename = "requestId")]
    request: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: &'a RawValue,
}

/// A request that the backend works on.
struct AtWork {
    id: String,
    token: String,
    tag: String,
}

struct Crowd {
    core: Core,
    chance: u64,
    launch: Option<Launch>,
    /// Open ids of each client, as spelled, with the tag of each request.
    open: Vec<BTreeMap<String, String>>,
    at_work: Vec<AtWork>,
    /// Tags of cancelled requests, until the backend is told.
    cancelled: BTreeSet<String>,
    asked: u64,
    answered: u64,
    progress: u64,
    withdrawn: u64,
}

impl Crowd {
    fn new() -> Self {
        let server = ServerSettings {
            framing: FramingChoice::Fixed(Framing::Newline),
            max_in_flight: usize::MAX,
            max_queue: usize::MAX,
            ..ServerSettings::new("files")
        };
        let linger = Some(Duration::from_secs(30));
        let core = Core::new(Settings { servers: vec![server], linger, ..settings() });
        Self {
            core,
            chance: 20_261_116,
            launch: None,
            open: vec![BTreeMap::new(); CLIENTS],
            at_work: Vec::new(),
            cancelled: BTreeSet::new(),
            asked: 0,
            answered: 0,
            progress: 0,
            withdrawn: 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) as usize % end
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.core.handle(Moment::default(), event, &mut actions);
        for action in actions {
            match action {
                Action::Start { launch, .. } => {
                    assert_eq!(self.launch.replace(launch), None, "one process for all");
                    self.tell(Event::Spawned { launch, pid: 7 });
                }
                Action::ToBackend { launch, out } => {
                    let text = out.to_vec();
                    self.at_backend(&text);
                    self.tell(Event::Flushed { peer: Peer::Backend(launch), bytes: text.len() });
                }
                Action::ToClient { client, out, .. } => {
                    let text = out.to_vec();
                    self.at_client(client.0 as usize - 1, &text);
                    self.tell(Event::Flushed { peer: Peer::Client(client), bytes: text.len() });
                }
                Action::Report(_) => {}
                other => panic!("nothing of this kind: {other:?}"),
            }
        }
    }

    fn at_backend(&mut self, text: &[u8]) {
        let seen: Seen<'_> = serde_json::from_slice(text).expect("a message");
        match (seen.method, seen.id) {
            (Some("initialize"), Some(id)) => {
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"welcome"}}"#);
                self.backend_says(&answer);
            }
            (Some("tools/call"), Some(id)) => {
                let params = seen.params.expect("parameters");
                let token = params.meta.expect("a token").token.get().to_owned();
                let tag = params.tag.expect("a tag").to_owned();
                self.at_work.push(AtWork { id: id.get().to_owned(), token, tag });
            }
            (Some("notifications/cancelled"), None) => {
                let id = seen.params.and_then(|params| params.request).expect("a request").get();
                let at = self.at_work.iter().position(|work| work.id == id).expect("it is at work");
                let gone = self.at_work.swap_remove(at);
                assert!(self.cancelled.remove(&gone.tag), "{} was not cancelled", gone.tag);
            }
            (Some("notifications/initialized"), None) => {}
            other => panic!("the backend hears {other:?}"),
        }
    }

    fn at_client(&mut self, client: usize, text: &[u8]) {
        let seen: Seen<'_> = serde_json::from_slice(text).expect("a message");
        let shown = || String::from_utf8_lossy(text).into_owned();
        assert!(seen.error.is_none(), "{}", shown());
        match (seen.method, seen.id) {
            (None, Some(id)) if seen.result == Some("welcome") => assert_eq!(id.get(), "0"),
            (None, Some(id)) => {
                let tag = self.open[client].remove(id.get());
                assert_eq!(tag.as_deref(), seen.result, "client {client}: {}", shown());
                self.answered += 1;
            }
            (Some("notifications/progress"), None) => {
                let params = seen.params.expect("parameters");
                // Tokens are spelled as ids.
                let tag = self.open[client].get(params.token.expect("a token").get());
                assert_eq!(tag.map(String::as_str), params.message, "client {client}: {}", shown());
                self.progress += 1;
            }
            _ => panic!("client {client} hears {}", shown()),
        }
    }

    fn client_says(&mut self, client: usize, text: &str) {
        let frame = parse(Bytes::copy_from_slice(text.as_bytes()));
        self.tell(Event::FromClient {
            client: ClientId(client as u32 + 1),
            frame,
            paths: Default::default(),
        });
    }

    fn backend_says(&mut self, text: &str) {
        let launch = self.launch.expect("it was started");
        let Ok(Parsed::One(message)) = parse(Bytes::copy_from_slice(text.as_bytes())) else {
            panic!("{text}")
        };
        self.tell(Event::FromBackend { launch, message });
    }

    /// A client sends a request, if it has an id left.
    fn ask(&mut self) {
        let client = self.below(CLIENTS);
        let number = self.below(IDS as usize);
        let id = if self.below(2) == 0 { format!("{number}") } else { format!("\"{number}\"") };
        if self.open[client].contains_key(&id) {
            return;
        }
        self.asked += 1;
        let tag = format!("{client} {} {}", id.replace('"', "'"), self.asked);
        self.open[client].insert(id.clone(), tag.clone());
        let params = format!(r#"{{"name":"t","tag":"{tag}","_meta":{{"progressToken":{id}}}}}"#);
        self.client_says(
            client,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#),
        );
    }

    /// The backend answers a request, or reports progress.
    fn work(&mut self) {
        if self.at_work.is_empty() {
            return;
        }
        let at = self.below(self.at_work.len());
        if self.below(4) == 0 {
            let AtWork { token, tag, .. } = &self.at_work[at];
            let params = format!(r#"{{"progressToken":{token},"progress":1,"message":"{tag}"}}"#);
            let text = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
            return self.backend_says(&text);
        }
        let AtWork { id, tag, .. } = self.at_work.swap_remove(at);
        self.backend_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{tag}"}}"#));
    }

    /// A client cancels a request.
    fn give_up(&mut self) {
        let client = self.below(CLIENTS);
        let Some((id, tag)) = self.open[client].pop_first() else { return };
        self.withdrawn += 1;
        self.cancelled.insert(tag);
        let params = format!(r#"{{"requestId":{id}}}"#);
        self.client_says(
            client,
            &format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#),
        );
    }
}

#[test]
fn everyone_gets_their_own() {
    let wanted = std::env::var("SWITCHBOARD_CROWD").ok().map(|text| text.parse().expect("a number"));
    let mut crowd = Crowd::new();
    for client in 0..CLIENTS {
        let surroundings = Surroundings { working_folder: Some("/p".into()), ..Surroundings::default() };
        let id = ClientId(client as u32 + 1);
        crowd.tell(Event::ClientConnected { client: id, server: ServerId(0), surroundings });
    }
    for client in 0..CLIENTS {
        let params = r#"{"protocolVersion":"v","capabilities":{}}"#;
        crowd.client_says(
            client,
            &format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#),
        );
        crowd.client_says(client, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }
    let wanted = wanted.unwrap_or(REQUESTS);
    while crowd.asked < wanted {
        match crowd.below(100) {
            0 => crowd.give_up(),
            1..50 => crowd.ask(),
            _ => crowd.work(),
        }
    }
    while !crowd.at_work.is_empty() {
        crowd.work();
    }
    assert!(crowd.open.iter().all(BTreeMap::is_empty), "everything was answered");
    assert!(crowd.cancelled.is_empty(), "{:?}", crowd.cancelled);
    assert_eq!(crowd.asked, crowd.answered + crowd.withdrawn);
    assert!(crowd.progress > wanted / 8, "{}", crowd.progress);
    println!(
        "{} requests, {} answers, {} withdrawn, {} progress",
        crowd.asked, crowd.answered, crowd.withdrawn, crowd.progress
    );
}
