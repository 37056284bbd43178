//! Messages of clients: requests with ids of all spellings, batches, cancellations, and text that is no
//! message. Their answers are in `client_answers`.

use super::ConnectionWorld;
use super::checks::MOST_MEMBERS;
use super::client::SentDialect;
use super::draft::{Draft, Piece, member, number_in, object, payload, place};
use super::plan::HIDDEN;
use super::post::{Batch, Role};
use crate::simulator::engine::Check;
use bytes::Bytes;
use switchboard_core::{ClientId, Event};
use switchboard_protocol::hunt::Hunter;
use switchboard_protocol::parse;

const METHODS: &[&str] = &[
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "ping",
    "logging/setLevel",
    "tasks/result",
    "acme/unknown",
    "server/discover",
];

impl ConnectionWorld {
    /// Passes a frame to the core, parsed as in the gateway.
    fn client_writes(&mut self, client: ClientId, text: String) -> Check {
        let frame = parse(Bytes::from(text));
        self.handle(Event::FromClient { client, frame, paths: Vec::new() })?;
        self.client(client).is_unclear = false;
        Ok(())
    }

    pub(super) fn client_sends(&mut self, client: ClientId, text: String, is_bare: bool) -> Check {
        self.client(client).speaks(is_bare, false);
        self.client_writes(client, text)
    }

    /// Whether the next message omits `jsonrpc`.
    pub(super) fn rolls_bare(&mut self, client: ClientId) -> bool {
        match self.client(client).sent_dialect {
            SentDialect::Standard => false,
            SentDialect::Bare => true,
            SentDialect::Mixed => self.rng.percent(50),
        }
    }

    pub(super) fn client_requests(&mut self, client: ClientId) -> Check {
        let is_bare = self.rolls_bare(client);
        let method = *self.rng.pick(METHODS);
        let id = self.spell_id(client);
        let text = self.draft_request(client, method, id, None, is_bare);
        self.client_sends(client, text, is_bare)
    }

    pub(super) fn client_initializes(&mut self, client: ClientId) -> Check {
        let is_bare = self.rolls_bare(client);
        let mut own = self.ledger.requests.iter().filter(|request| request.client == client);
        let is_second = own.any(|request| request.rule.name == "initialize" && !request.is_answered);
        let id = self.spell_id(client);
        let asked_at = self.own.next_number();
        let text = self.draft_request(client, "initialize", id, None, is_bare);
        let c = self.client(client);
        c.backend.asked_at = asked_at;
        c.is_confusing |= is_second;
        c.initializes += 1;
        c.has_confirmed = false;
        let is_again = c.greeted_at > 0;
        self.stats.count_if("second_initializes", is_again);
        self.client_sends(client, text, is_bare)?;
        if self.rng.percent(50) { self.client_confirms(client) } else { Ok(()) }
    }

    /// Writes a request and records it in the ledger.
    fn draft_request(
        &mut self,
        client: ClientId,
        method: &str,
        id: String,
        batch: Option<usize>,
        is_bare: bool,
    ) -> String {
        let number = self.own.next_number();
        let token = self.rng.percent(40).then(|| match self.rng.below(3) {
            0 => id.clone(),
            1 => format!("\"token-{number}\""),
            _ => self.rng.below(4).to_string(),
        });
        let is_hidden = self.plan.is_filtered && method == "tools/call" && self.rng.percent(10);
        self.stats.count_if("hidden_calls", is_hidden);
        let is_task = method == "tools/call" && self.rng.percent(15);
        let mut params = self.params(method, is_hidden);
        if is_task {
            params.push(member("task", r#"{ "ttl":60000 }"#));
        }
        if token.is_some() {
            params.push(object(&mut self.rng, "_meta", vec![place("progressToken", Piece::Token)]));
        }
        let params = object(&mut self.rng, "params", params);
        let name = if self.rng.percent(10) { method.replace('/', "\\/") } else { method.into() };
        let mut members = vec![place("id", Piece::Id), member("method", format_args!("\"{name}\"")), params];
        if self.rng.percent(15) {
            members.push(member("extra", r#"{"unknown":1.0}"#));
        }
        let request = self.book(client, batch, method, id.clone(), token.clone(), ());
        self.ledger.requests[request].is_hidden = is_hidden;
        self.own.watched.push(request);
        let c = self.client(client);
        c.requests += usize::from(method != "shutdown");
        c.is_plain |= !c.backend.has_greeted && !matches!(method, "initialize" | "shutdown" | "ping");
        let is_call = matches!(method, "tools/call" | "resources/read" | "prompts/get");
        // Words of a lost client are not read.
        let is_heard = !self.is_lost(client);
        self.client(client).calls += usize::from(is_call && is_heard);
        self.compose(members, &id, token.as_deref(), is_bare, Role::Request(request))
    }

    fn params(&mut self, method: &str, is_hidden: bool) -> Vec<Vec<Piece>> {
        let payload = self.payload();
        match method {
            "tools/call" | "prompts/get" => {
                let name = if is_hidden { HIDDEN } else { "echo" };
                vec![member("name", format_args!("\"{name}\"")), object(&mut self.rng, "arguments", payload)]
            }
            "resources/read" => [payload, vec![member("uri", "\"file:\\/\\/x\"")]].concat(),
            "tasks/result" => [payload, vec![member("taskId", "\"k\"")]].concat(),
            _ => payload,
        }
    }

    /// Ids of every legal spelling, some used before, most used by other clients too.
    fn spell_id(&mut self, client: ClientId) -> String {
        const ODD: &[&str] = &[
            "0",
            "-7",
            "1.50",
            "1e3",
            "1E3",
            "12345678901234567890123",
            "\"\"",
            "\"1\"",
            "1.0",
            "\"\\u00e9\\\"\"",
            "\"a-rather-long-id-that-does-not-fit-inline-0123456789\"",
            "null",
            "\"null\"",
            "2",
            "\"2\"",
        ];
        let pick = self.rng.below(100);
        let odd = self.rng.pick(ODD).to_string();
        let c = self.clients.get_mut(&client).expect("a client that connected");
        if pick < 12 && !c.used_ids.is_empty() {
            self.stats.count("reused_ids");
            return self.rng.pick(&c.used_ids).clone();
        }
        c.next_id += 1;
        let id = match pick {
            12..25 => odd,
            25..40 => format!("\"req-{}\"", c.next_id),
            _ => c.next_id.to_string(),
        };
        c.used_ids.push(id.clone());
        id
    }

    pub(super) fn client_sends_batch(&mut self, client: ClientId) -> Check {
        let is_bare = self.rolls_bare(client);
        let batch = self.own.batches.len();
        self.own.batches.push(Batch { client, owed: 0, is_answered: false });
        let only_notifications = self.rng.percent(15);
        let mut texts = Vec::new();
        for at in 0..self.rng.within(1..=MOST_MEMBERS) {
            let text = match self.rng.below(10) {
                _ if only_notifications => self.draft_client_notice(client, is_bare),
                0..2 => self.draft_client_notice(client, is_bare),
                2..4 => self.bad_member(client, batch, at),
                _ => {
                    let method = *self.rng.pick(METHODS);
                    let id = batch_id(batch, if self.rng.percent(10) { 0 } else { at });
                    self.own.batches[batch].owed += 1;
                    self.draft_request(client, method, id, Some(batch), is_bare)
                }
            };
            texts.push(text);
        }
        self.stats.count("batches");
        self.stats.count_if("batches_of_notifications", only_notifications);
        let before = self.own.deliveries;
        if texts.iter().any(|text| number_in(text.as_bytes()).is_some()) {
            self.client(client).speaks(is_bare, true);
        }
        self.client_writes(client, format!("[{}]", texts.join(" ,")))?;
        if only_notifications && self.own.deliveries > before {
            return Err(format!("{client} sent notifications only, and was answered"));
        }
        Ok(())
    }

    /// A member of a batch that is no message.
    fn bad_member(&mut self, client: ClientId, batch: usize, at: usize) -> String {
        let id = batch_id(batch, at);
        let (text, id) = match self.rng.below(4) {
            0 => ("7".into(), "null"),
            1 => (format!(r#"{{"id":{id}}}"#), id.as_str()),
            2 => (r#"{"id":{},"method":"x"}"#.into(), "null"),
            _ => (format!(r#"{{"id":{id},"method":"x","Method":"y"}}"#), id.as_str()),
        };
        self.own.batches[batch].owed += 1;
        self.owe_error(client, Some(batch), id, false);
        text
    }

    fn draft_client_notice(&mut self, client: ClientId, is_bare: bool) -> String {
        let name = *self.rng.pick(&["notifications/roots/list_changed", "acme/whatever"]);
        self.draft_notice(name, None, "", is_bare, Role::ClientNotification { client, is_initialized: false })
    }

    /// Writes a notification, perhaps with an id under this key.
    pub(super) fn draft_notice(
        &mut self,
        name: &str,
        key: Option<&str>,
        id: &str,
        is_bare: bool,
        role: Role,
    ) -> String {
        let mut params = self.payload();
        params.extend(key.map(|key| place(key, Piece::Id)));
        let params = object(&mut self.rng, "params", params);
        let members = vec![member("method", format_args!("\"{name}\"")), params];
        self.compose(members, id, None, is_bare, role)
    }

    /// The number that identifies the next message.
    pub(super) fn payload(&mut self) -> Vec<Vec<Piece>> {
        payload(&mut self.rng, self.own.next_number(), self.plan.longest)
    }

    /// Writes and sends a message; returns its text.
    pub(super) fn compose(
        &mut self,
        members: Vec<Vec<Piece>>,
        id: &str,
        token: Option<&str>,
        is_bare: bool,
        role: Role,
    ) -> String {
        let draft = Draft::compose(&mut self.rng, members, id, token, is_bare);
        let text = draft.written();
        self.own.post(draft, role);
        text
    }

    pub(super) fn client_notifies(&mut self, client: ClientId) -> Check {
        let is_bare = self.rolls_bare(client);
        let text = self.draft_client_notice(client, is_bare);
        self.client_sends(client, text, is_bare)
    }

    pub(super) fn client_confirms(&mut self, client: ClientId) -> Check {
        let c = self.client(client);
        if c.initializes == 0 || c.has_confirmed {
            return Ok(());
        }
        let is_bare = self.rolls_bare(client);
        let role = Role::ClientNotification { client, is_initialized: true };
        let text = self.draft_notice("notifications/initialized", None, "", is_bare, role);
        self.client(client).has_confirmed = true;
        self.client_sends(client, text, is_bare)
    }

    /// Cancels a request that is open, was open, or never existed.
    pub(super) fn client_cancels(&mut self, client: ClientId) -> Check {
        let is_bare = self.rolls_bare(client);
        let open: Vec<String> = self
            .own
            .watched
            .iter()
            .map(|&number| &self.ledger.requests[number])
            .filter(|request| request.client == client && !request.is_answered)
            .map(|request| request.id.clone())
            .collect();
        let used = &self.clients[&client].used_ids;
        let id = match self.rng.below(10) {
            0 => "\"never-used\"".into(),
            1..3 if !used.is_empty() => self.rng.pick(used).clone(),
            _ if !open.is_empty() => self.rng.pick(&open).clone(),
            _ => return Ok(()),
        };
        let found = self.take_back(client, &id);
        self.stats.count(if found { "cancellations" } else { "unknown_cancellations" });
        let role = Role::ClientCancel { client, wanted: id.clone() };
        let text = self.draft_notice("notifications/cancelled", Some("requestId"), &id, is_bare, role);
        let number = self.own.next_number() - 1;
        self.client_sends(client, text, is_bare)?;
        if !found && self.own.written_message(number)?.arrivals > 0 {
            return Err(format!("{client} took back {id}, which is not open, and the backend was told"));
        }
        Ok(())
    }

    /// Handles the cancellation of `id` by a client. `true` if a request can be meant.
    fn take_back(&mut self, client: ClientId, id: &str) -> bool {
        let mut found = false;
        let (accounts, requests) = (&mut self.ledger.accounts, &mut self.ledger.requests);
        for ((owner, _, spelling), account) in accounts {
            // A handshake and a farewell cannot be cancelled.
            let meant: Vec<usize> = match *owner == client && spelling == id {
                true => {
                    account.requests.iter().copied().filter(|&n| requests[n].rule.is_cancellable()).collect()
                }
                false => continue,
            };
            if meant.is_empty() {
                continue;
            }
            found |= account.open() > 0;
            account.waive();
            if let [only] = meant[..] {
                requests[only].is_cancelled = true;
            }
        }
        found
    }

    /// A frame that is no request is still answered with an error. `may_stay_open`: or it settles another request
    /// instead.
    fn owe_error(&mut self, client: ClientId, batch: Option<usize>, id: &str, may_stay_open: bool) {
        let account = self.ledger.account(client, batch, id);
        account.owed += 1;
        if may_stay_open {
            account.waive();
        }
    }

    pub(super) fn client_sends_garbage(&mut self, client: ClientId) -> Check {
        let id = self.spell_id(client);
        let text = match self.rng.below(12) {
            0 => "hello".into(),
            1 => "{".into(),
            2 => "[]".into(),
            3 => "{}".into(),
            4 => "12".into(),
            5 => format!(r#"{{"id":{id},"method":"tools/call","params":{{"a":NaN}}}}"#),
            6 => format!(r#"{{"id":{id},"method":"a","method":"b"}}"#),
            7 => format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"a","n\u0061me":"b"}}}}"#),
            8 => r#"{"id":[1],"method":"x"}"#.into(),
            9 => format!(r#"{{"id":{id},"method":"x","params":"text"}}"#),
            10 => format!(r#"{{"jsonrpc":"1.0","id":{id},"method":"x"}}"#),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1,"error":{{}}}}"#),
        };
        self.stats.count("garbage");
        let Err(broken) = parse(Bytes::copy_from_slice(text.as_bytes())) else {
            return Err(format!("this should be no message: {text}"));
        };
        let id = broken.id.map_or("null".into(), |id| id.to_string());
        // A broken answer may settle a question of a server; then the server gets the error.
        self.owe_error(client, None, &id, broken.is_answer);
        self.client_writes(client, text)
    }

    /// A frame beyond the limit; only excerpts remain.
    pub(super) fn client_sends_too_long(&mut self, client: ClientId) -> Check {
        let id = self.spell_id(client);
        let text = match self.rng.below(4) {
            0 => format!(r#"{{"method":"tools/call","params":{{"id":1}},"id":{id}}}"#),
            1 => r#"{"method":"notifications/roots/list_changed"}"#.into(),
            2 => format!(r#"{{"id":{id},"result":"long"}}"#),
            _ => format!(r#"[{{"id":{id},"method":"a"}},{{"id":"second-{id}","method":"b"}}]"#),
        };
        self.stats.count("client_too_long");
        let mut hunter = Hunter::default();
        hunter.feed(text.as_bytes());
        let glimpses = hunter.finish();
        for glimpse in glimpses.iter().filter(|glimpse| glimpse.method.is_some()) {
            let Some(id) = &glimpse.id else { continue };
            self.owe_error(client, None, &id.to_string(), false);
        }
        if glimpses.iter().all(|glimpse| glimpse.method.is_none()) {
            self.owe_error(client, None, "null", true);
        }
        self.handle(Event::ClientTooLong { client, length: 20 << 20, glimpses })
    }

    pub(super) fn client_says_farewell(&mut self, client: ClientId) -> Check {
        let is_bare = self.rolls_bare(client);
        let id = self.spell_id(client);
        let text = self.draft_request(client, "shutdown", id, None, is_bare);
        self.stats.count("shutdowns");
        self.client_sends(client, text, is_bare)
    }

    pub(super) fn client_exits(&mut self, client: ClientId) -> Check {
        self.stats.count("exits");
        self.client_sends(client, r#"{"jsonrpc":"2.0","method":"exit"}"#.into(), false)
    }
}

/// Ids that are used in this batch only.
fn batch_id(batch: usize, at: usize) -> String {
    match at % 3 {
        0 => format!("\"b{batch}-{at}\""),
        1 => format!("{}.50", 1_000_000 + batch * 100 + at),
        _ => (1_000_000 + batch * 100 + at).to_string(),
    }
}
