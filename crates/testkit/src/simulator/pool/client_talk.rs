//! Messages of clients. Every request carries its number in the ledger, which identifies its client.

use super::access::TOOL;
use super::client::Answering;
use super::plan::HIDDEN;
use super::verb::{PoolRequest, Verb};
use super::{PoolTurn, PoolWorld};
use crate::simulator::engine::{Check, LEVELS, Presence, Request, answer, message, notice, request};
use serde_json::{Value, json};
use switchboard_core::routing::{NamedBy, NamedPath};
use switchboard_core::{ClientId, Event, MemberPath};
use switchboard_protocol::Parsed;

pub(super) const URIS: &[&str] = &["mem:one", "mem:two", "mem:three"];
const VERSIONS: &[&str] = &["2025-06-18", "2025-03-26"];

impl PoolWorld {
    pub(super) fn client_requests(
        &mut self,
        client: ClientId,
        verb: Verb,
        mut params: Value,
        place: Option<NamedPath>,
    ) -> Check {
        let number = self.ledger.requests.len();
        let c = self.client(client);
        c.next_id += 1;
        let id =
            if c.next_id.is_multiple_of(3) { format!("\"id-{}\"", c.next_id) } else { c.next_id.to_string() };
        let is_confirmed = c.is_confirmed;
        params["tag"] = json!(number);
        let token = (matches!(verb, Verb::Call { .. }) && self.rng.percent(40)).then(|| id.clone());
        if let Some(token) = &token {
            let token: Value = serde_json::from_str(token).map_err(|error| error.to_string())?;
            params["_meta"] = json!({ "progressToken": token });
        }
        let params = params.to_string();
        let is_placed = self.is_split() && place.is_some();
        let places: Vec<NamedPath> = place.iter().filter(|_| is_placed).cloned().collect();
        let text = request(&id, verb.method(), &params);
        let method = verb.method();
        let is_initialize = verb == Verb::Initialize;
        let is_plain = self.clients[&client].initialize.is_none() && verb.follows_handshake();
        let is_hidden = params.contains(HIDDEN);
        let is_undecided = !is_initialize && !is_hidden && verb != Verb::Ping && self.is_undecided(client);
        let known = self.clients[&client].known.seen.len();
        if is_plain && !self.clients[&client].is_greeted_by_us {
            // Greeted in its place first, before the request names a workspace.
            self.client(client).is_greeted_by_us = true;
            self.settle_home(client);
        }
        // A hidden tool is refused before routing.
        let roots = if is_initialize || is_undecided || is_hidden {
            Default::default()
        } else {
            self.roots_for(client, place.as_ref())
        };
        let is_unclear = !self.is_split() && self.has_no_root(client);
        if is_placed {
            self.stats.count("placed_calls");
            self.stats.count_if("opened_roots", self.clients[&client].known.seen.len() > known);
            self.stats.count_if("nested_roots", roots.contains(&Some("/w/a/in".to_owned())));
        }
        self.stats.count_if("hidden_calls", is_hidden);
        let place = place.filter(|_| is_placed);
        let own = PoolRequest {
            verb,
            params,
            place,
            roots,
            is_undecided,
            is_unclear,
            is_confirmed,
            is_plain,
            is_refused: false,
        };
        self.book(client, None, method, id, token, own);
        self.ledger.requests[number].is_hidden = is_hidden;
        let frame = Ok(Parsed::One(message(text)?));
        let mut named: Vec<MemberPath> =
            places.into_iter().map(|place| MemberPath { member: 0, path: place }).collect();
        if is_initialize {
            named = self.initialize_places(client, number);
        }
        self.handle(Event::FromClient { client, frame, paths: named })
    }

    pub(super) fn client_initializes(&mut self, client: ClientId) -> Check {
        let number = self.ledger.requests.len();
        let c = self.client(client);
        c.initialize = Some(number);
        let mut capabilities = match c.variant {
            0 => json!({}),
            1 => json!({ "sampling": {} }),
            _ => json!({ "elicitation": {}, "sampling": {} }),
        };
        if c.has_roots {
            capabilities["roots"] = json!({ "listChanged": true });
        }
        let params = json!({
            "protocolVersion": VERSIONS[c.version],
            "capabilities": capabilities,
            "clientInfo": { "name": format!("sim {}", client.0), "version": "1" },
        });
        self.client_requests(client, Verb::Initialize, params, None)
    }

    /// Some clients name their roots at once.
    fn initialize_places(&mut self, client: ClientId, number: usize) -> Vec<MemberPath> {
        let folders = self.client(client).folders.clone();
        let paths: Vec<String> = folders
            .into_iter()
            .filter_map(|folder| super::client_roots::FOLDERS[folder].1.map(str::to_owned))
            .collect();
        let names_them = self.rng.percent(20);
        if names_them && !paths.is_empty() {
            self.client(client).known.client.clone_from(&paths);
        }
        self.unsettle(client);
        self.client(client).settled_from = number;
        self.settle_home(client);
        self.ledger.requests[number].roots = self.clients[&client].home.clone();
        let paths = if names_them { paths } else { Vec::new() };
        let place =
            |path: String| NamedPath { named_by: NamedBy::Uri, path: path.clone(), project: Some(path) };
        paths.into_iter().map(|path| MemberPath { member: 0, path: place(path) }).collect()
    }

    pub(super) fn client_confirms(&mut self, client: ClientId) -> Check {
        self.client(client).is_confirmed = true;
        self.client_says(PoolTurn::default(), client, notice("notifications/initialized", "{}"))
    }

    pub(super) fn client_calls(
        &mut self,
        client: ClientId,
        place: Option<NamedPath>,
        as_task: bool,
    ) -> Check {
        self.stats.count_if("early_talkers", self.clients[&client].initialize.is_none());
        let is_hidden = self.is_filtered() && self.rng.percent(8);
        let mut params = json!({ "name": if is_hidden { HIDDEN } else { TOOL }, "arguments": {} });
        if as_task {
            params["task"] = json!({ "ttl": 60_000 });
        }
        self.client_requests(client, Verb::Call { as_task }, params, place)
    }

    pub(super) fn is_filtered(&self) -> bool {
        !self.settings.servers[0].naming.tools.deny.is_empty()
    }

    pub(super) fn client_turns_subscription(&mut self, client: ClientId, on: bool) -> Check {
        let uri = self.rng.pick(URIS).to_string();
        let is_open = |request: &Request<PoolRequest>| {
            let verb = &request.verb;
            request.client == client
                && request.is_open()
                && (*verb == Verb::Subscribe { uri: uri.clone() }
                    || *verb == Verb::Unsubscribe { uri: uri.clone() })
        };
        if self.ledger.requests.iter().any(is_open) {
            // One at a time: the outcome of two at once is undefined.
            return Ok(());
        }
        for site in self.own.sites.values_mut().filter(|_| !on) {
            // The client may or may not get updates from now on.
            site.loosen(&uri, client);
        }
        let params = json!({ "uri": uri });
        let verb = if on { Verb::Subscribe { uri } } else { Verb::Unsubscribe { uri } };
        self.client_requests(client, verb, params, None)
    }

    pub(super) fn client_sets_level(&mut self, client: ClientId) -> Check {
        let is_open = |request: &Request<PoolRequest>| {
            request.client == client && request.is_open() && matches!(request.verb, Verb::SetLevel { .. })
        };
        if self.ledger.requests.iter().any(is_open) {
            return Ok(());
        }
        let rank = self.rng.below(LEVELS.len());
        self.client_requests(client, Verb::SetLevel { rank }, json!({ "level": LEVELS[rank] }), None)
    }

    pub(super) fn client_asks_for_task(&mut self, client: ClientId) -> Check {
        let mut tasks = self.client(client).tasks.clone();
        if self.rng.percent(30) {
            // Tasks of other clients, guessed.
            tasks =
                self.own.sites.values().flat_map(|site| &site.tasks).map(|task| task.id.clone()).collect();
        }
        if tasks.is_empty() {
            return Ok(());
        }
        let task = self.rng.pick(&tasks).clone();
        let params = json!({ "taskId": task });
        let verb = match self.rng.below(3) {
            0 => Verb::TaskGet { task },
            1 => Verb::TaskResult { task },
            _ => Verb::TaskCancel { task },
        };
        self.client_requests(client, verb, params, None)
    }

    pub(super) fn client_cancels(&mut self, client: ClientId) -> Check {
        if let Some(number) = self.cancels_one(client)? {
            self.note_free(number);
        }
        Ok(())
    }

    /// Answers one of its questions.
    pub(super) fn client_answers(&mut self, client: ClientId) -> Check {
        let index = self.rng.below(self.clients[&client].questions.len());
        let c = self.client(client);
        if c.questions.is_empty() || c.presence != Presence::Here {
            return Ok(());
        }
        let (id, ask) = c.questions.remove(index);
        let Some(ask) = ask else { return self.client_names_roots(client, &id) };
        let words = match c.answering {
            Answering::Silent => return Ok(()),
            Answering::Refuses => format!(r#""error":{{"code":-1,"message":"no","data":{{"ask":{ask}}}}}"#),
            Answering::Prompt | Answering::Late => format!(r#""result":{{"ask":{ask}}}"#),
        };
        self.own.last_talk = self.now;
        self.client_says(PoolTurn::default(), client, answer(id, words))
    }

    /// Prompt clients answer at once.
    pub(super) fn prompt_ones_answer(&mut self) -> Check {
        for client in self.clients_here() {
            while self.clients[&client].answering == Answering::Prompt
                && !self.clients[&client].questions.is_empty()
            {
                self.client_answers(client)?;
            }
        }
        Ok(())
    }
}
