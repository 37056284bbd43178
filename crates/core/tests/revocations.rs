//! Tokens that are revoked at any moment: every request gets one answer, nothing follows the end of a connection, and
//! no token reaches a server. Random clients of one server and of all, with tokens shown in every way.

use crate::story::settings;
use crate::story::tokens::KnownTokens;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::access::Proof;
use switchboard_core::{
    Action, ClientId, Core, Event, Launch, Moment, Peer, ServerId, ServerSettings, Settings, Surroundings,
};
use switchboard_protocol::{ShownToken, parse};

const RUNS: u64 = 150;
const STEPS: usize = 150;
const NAMES: [&str; 3] = ["owner", "red", "blue"];

struct World {
    core: Core,
    tokens: Arc<KnownTokens>,
    chance: u64,
    parties: u32,
    /// Open ids of each connected client.
    open: BTreeMap<ClientId, BTreeSet<u64>>,
    next_client: u32,
    next_id: u64,
    /// Calls that processes work on.
    at_work: Vec<(Launch, Value)>,
    answered: usize,
    ended: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let tokens = Arc::new(KnownTokens::new());
        let servers = ["files", "more"].map(ServerSettings::new).into();
        let linger = Some(Duration::from_secs(30));
        let settings = Settings { servers, linger, authenticator: tokens.clone(), ..settings() };
        Self {
            core: Core::new(settings),
            tokens,
            chance: seed,
            parties: 100,
            open: BTreeMap::new(),
            next_client: 1,
            next_id: 1,
            at_work: Vec::new(),
            answered: 0,
            ended: 0,
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
                Action::Start { launch, .. } => self.tell(Event::Spawned { launch, pid: 7 }),
                Action::ToBackend { launch, out } => self.at_backend(launch, &out.to_vec()),
                Action::ToClient { client, out, .. } => self.at_client(client, &out.to_vec()),
                Action::Disconnect { client } => {
                    let open = self.open.remove(&client);
                    assert_eq!(open, Some(BTreeSet::new()), "{client}: all was answered before the end");
                    self.ended += 1;
                }
                Action::ReadOffer { launch, round, raw } => {
                    let offer = Arc::new(raw.read());
                    self.tell(Event::OfferRead { launch, round, offer });
                }
                Action::Stop { launch, .. } => {
                    self.at_work.retain(|(at, _)| *at != launch);
                    let how = "it was stopped".to_owned();
                    self.tell(Event::BackendEnded { launch, how, stderr: String::new(), hint: None });
                }
                Action::NoAnswer { .. }
                | Action::LookUp { .. }
                | Action::StoreOffer { .. }
                | Action::StoreRecord { .. }
                | Action::StorePins { .. }
                | Action::Report(_)
                | Action::Finished => {}
            }
        }
    }

    fn at_backend(&mut self, launch: Launch, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("swb_") && !text.contains("authToken"), "{text}");
        self.tell(Event::Flushed { peer: Peer::Backend(launch), bytes: bytes.len() });
        let message: Value = serde_json::from_slice(bytes).expect("a message");
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => {
                let result = json!({ "serverInfo": { "name": "s" }, "capabilities": { "tools": {} } });
                self.answer(launch, id, &result);
            }
            Some("tools/list") => self.answer(launch, id, &json!({ "tools": [{ "name": "x" }] })),
            Some(_) if !id.is_null() => self.at_work.push((launch, id.clone())),
            Some(_) | None => {}
        }
    }

    fn answer(&mut self, launch: Launch, id: &Value, result: &Value) {
        let text = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        let Ok(switchboard_protocol::Parsed::One(message)) = parse(text.into()) else { panic!("a message") };
        self.tell(Event::FromBackend { launch, message });
    }

    fn at_client(&mut self, client: ClientId, bytes: &[u8]) {
        let message: Value = serde_json::from_slice(bytes).expect("a message");
        let open =
            self.open.get_mut(&client).unwrap_or_else(|| panic!("{client} is gone, and gets {message}"));
        let members = message.as_array().cloned().unwrap_or_else(|| vec![message.clone()]);
        for answer in members.iter().filter(|member| member.get("method").is_none()) {
            let id = answer["id"].as_u64().expect("one of our ids");
            assert!(open.remove(&id), "{client} gets a second answer: {answer}");
            self.answered += 1;
        }
        self.tell(Event::Flushed { peer: Peer::Client(client), bytes: bytes.len() });
    }

    fn token(&mut self) -> String {
        match self.below(5) {
            0 => "swb_nobody".to_owned(),
            at => format!("swb_{}", NAMES[at % NAMES.len()]),
        }
    }

    fn connect(&mut self) {
        let client = ClientId(self.next_client);
        self.next_client += 1;
        self.open.insert(client, BTreeSet::new());
        let proof = match self.below(4) {
            0 => Proof::Optional,
            1 => Proof::Required,
            _ => Proof::Shown(ShownToken::Text(self.token())),
        };
        let surroundings =
            Surroundings { proof, working_folder: Some("/p".into()), ..Surroundings::default() };
        let event = match self.below(2) {
            0 => Event::ClientConnected { client, server: ServerId(0), surroundings },
            _ => Event::AggregateConnected { client, surroundings, environments: Vec::new() },
        };
        self.tell(event);
    }

    fn request(&mut self, client: ClientId) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let (method, mut params) = match self.below(6) {
            0 | 1 => ("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} })),
            2 => ("tools/list", json!({})),
            3 => ("tools/call", json!({ "name": "files__x" })),
            _ => ("tools/call", json!({ "name": "x" })),
        };
        match self.below(4) {
            0 => params["proxy"] = json!({ "authToken": self.token() }),
            1 => params["_meta"] = json!({ "progressToken": id, "switchboard/authToken": self.token() }),
            _ => {}
        }
        self.open.get_mut(&client).expect("it is connected").insert(id);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    fn step(&mut self) {
        let clients: Vec<ClientId> = self.open.keys().copied().collect();
        let some = (!clients.is_empty()).then(|| self.below(clients.len())).map(|at| clients[at]);
        match (self.below(12), some) {
            (0 | 1, _) | (_, None) if clients.len() < 8 => self.connect(),
            (0..=5, Some(client)) => {
                let message = self.request(client);
                self.send(client, &message);
            }
            (6, Some(client)) => {
                let batch: Vec<Value> = (0..3).map(|_| self.request(client)).collect();
                self.send(client, &Value::from(batch));
            }
            (7, Some(client)) => {
                let confirm = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
                self.send(client, &confirm);
            }
            (8 | 9, _) if !self.at_work.is_empty() => {
                let at = self.below(self.at_work.len());
                let (launch, id) = self.at_work.swap_remove(at);
                self.answer(launch, &id, &json!({ "content": [] }));
            }
            (10, _) => self.revoke(),
            (11, Some(client)) => {
                self.open.remove(&client);
                self.tell(Event::ClientLost { client });
            }
            _ => {}
        }
    }

    fn send(&mut self, client: ClientId, message: &Value) {
        let frame = parse(message.to_string().into());
        self.tell(Event::FromClient { client, frame, paths: Vec::new() });
    }

    fn revoke(&mut self) {
        let name = NAMES[self.below(NAMES.len())];
        self.parties += 1;
        // The owner stays the owner, by another token.
        let number = if name == "owner" { 0 } else { self.parties };
        let identity = self.tokens.replace(name, number);
        self.tell(Event::Revoked { identity });
        let left = self.core.status().clients.into_iter().filter(|it| it.identity.as_deref() == Some(name));
        // Windows of the owner need no token.
        assert!(name == "owner" || left.count() == 0, "no client of `{name}` is left");
    }
}

#[test]
fn revocation_at_any_moment() {
    let (mut answered, mut ended) = (0, 0);
    for seed in 0..RUNS {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step());
        while let Some((launch, id)) = world.at_work.pop() {
            world.answer(launch, &id, &json!({ "content": [] }));
        }
        answered += world.answered;
        ended += world.ended;
        let open: BTreeMap<_, _> = world.open.iter().filter(|(_, open)| !open.is_empty()).collect();
        assert!(open.is_empty(), "seed {seed}: without an answer: {open:?}");
    }
    assert!(answered > 5_000 && ended > 200, "{answered} answers, {ended} ended connections");
}
