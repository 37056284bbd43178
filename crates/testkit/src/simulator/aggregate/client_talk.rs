//! Requests of clients, singly or in batches.

use super::client::{Stage, Walk};
use super::verb::{AggregateRequest, Verb};
use super::{AggregateTurn, AggregateWorld};
use crate::simulator::engine::{Check, LEVELS, Phase, request};
use serde_json::json;
use switchboard_core::ClientId;
use switchboard_core::catalogue::{List, decode_resource, decode_template};
use switchboard_core::pins::Pinning;

/// Names that no server offers, or not to every client.
const ODD: &[&str] = &[
    "nothing",
    "a__nothing",
    "a__secret_key",
    "a__old",
    "git__new",
    "a__b__c",
    "read",
    "a__read",
    "file:///w/1",
    "file:///w/9",
    "db://t/1",
    "ui://app",
    "mem://x/y",
    "file:///secret_1",
    "proxy://template/a/file:///w/z",
    "git__wake",
];

impl AggregateWorld {
    pub(super) fn client_talks(&mut self, client: ClientId) -> Check {
        if self.rng.percent(8) {
            self.stats.count("batches");
            let members = self.rng.within(1..=4);
            let mut texts = Vec::new();
            for _ in 0..members {
                let (tag, text) = self.some_request(client);
                texts.push(text);
                self.ledger.requests[tag].is_in_batch = true;
            }
            return self.client_says(AggregateTurn::default(), client, format!("[{}]", texts.join(",")));
        }
        let (tag, text) = self.some_request(client);
        self.asks_for(client, tag, text)
    }

    /// Sends a message, and checks its immediate effects.
    pub(super) fn asks_for(&mut self, client: ClientId, tag: usize, text: String) -> Check {
        let is_list = matches!(self.ledger.requests[tag].verb, Verb::List { .. });
        let must_not_start = is_list && self.is_all_known(client);
        self.stats.count_if("warm_lists", must_not_start);
        let turn = AggregateTurn { must_not_start };
        let is_ready = self.is_ready_for(client, tag);
        self.client_says(turn, client, text)?;
        let request = &self.ledger.requests[tag];
        if is_ready && request.is_open() && request.handed.is_empty() {
            return Err(format!("{client} asks for {:?} of a server that is ready, and waits", request.name));
        }
        self.stats.count_if("not_held", is_ready);
        Ok(())
    }

    /// Whether a process serves this client and can take one more request.
    fn is_ready_for(&self, client: ClientId, tag: usize) -> bool {
        let Some(meant) = self.ledger.requests[tag].meant else { return false };
        let server = self.own.items[meant].server;
        let settings = &self.own.servers[server].settings;
        // The route may depend on the client's roots.
        let c = &self.clients[&client];
        // If the server asks for roots, they are compared with those of other clients before use.
        let is_unsure = (settings.splits && c.has_roots) || self.plan.asks || !c.asked_roots.is_empty();
        // A call may wait until the tools were compared, and others behind it.
        let may_wait = settings.pinning == Pinning::Hold;
        !is_unsure
            && !may_wait
            && self.processes.values().any(|p| {
                p.server == server
                    && p.phase == Phase::Alive
                    && !p.is_stopping
                    && p.is_confirmed
                    && p.clients.contains(&client)
                    && settings.max_in_flight > 10
                    && p.open.len() < 10
            })
    }

    pub(super) fn enter(&mut self, client: ClientId, verb: Verb, name: Option<String>) -> usize {
        let spell = self.rng.below(3);
        let c = self.client(client);
        c.next_id += 1;
        let number = c.next_id;
        let id = match spell {
            0 => format!("{number}"),
            1 => format!("\"{number}\""),
            _ => format!("\"\\u0069{number}\""),
        };
        let meant = self.meant(client, &verb, name.as_deref());
        let method = verb.method();
        let profile = self.clients[&client].profile;
        let rights_from = profile.map_or(0, |profile| self.own.profiles[profile].len() - 1);
        let own = AggregateRequest {
            verb,
            name,
            meant,
            waits_since: self.now,
            is_in_batch: false,
            rights_from,
            minted: None,
            said: None,
        };
        self.book(client, None, method, id, None, own)
    }

    /// The item behind a name in the list that the client was shown, if that must still hold.
    fn meant(&self, client: ClientId, verb: &Verb, name: Option<&str>) -> Option<usize> {
        let c = &self.clients[&client];
        let walk =
            c.newest(verb.list()?).filter(|walk| c.is_aggregate() && walk.change == self.own.change)?;
        let name = name?;
        let mut found = walk.items.iter().filter(|(public, _)| public == name);
        let (_, mark) = found.next()?;
        found.next().is_none().then_some(*mark)
    }

    fn some_request(&mut self, client: ClientId) -> (usize, String) {
        let verb = match self.rng.below(100) {
            0..30 => return self.list_page(client),
            30..55 => Verb::Call { as_task: self.rng.percent(15) },
            55..60 => Verb::Get,
            60..67 => Verb::Read,
            67..75 => Verb::Subscribe,
            75..78 => Verb::Unsubscribe,
            78..81 => Verb::Complete { list: *self.rng.pick(&[List::Prompts, List::Templates]) },
            81..85 => Verb::SetLevel { rank: self.rng.below(8) },
            85..90 => match self.task_of(client) {
                Some(task) => {
                    let method = *self.rng.pick(&["tasks/get", "tasks/result", "tasks/cancel"]);
                    Verb::Task { method, task }
                }
                None => Verb::TasksList,
            },
            90..92 => Verb::TasksList,
            92..93 => Verb::Unknown,
            93..95 => Verb::Ping,
            _ => Verb::Call { as_task: false },
        };
        let name = verb.list().map(|list| self.some_name(client, list));
        self.request(client, verb, name)
    }

    fn task_of(&mut self, client: ClientId) -> Option<usize> {
        // Sometimes a task of another client, guessed.
        let guesses = self.rng.percent(25);
        let own: Vec<usize> = (0..self.own.tasks.len())
            .filter(|&task| guesses || self.own.tasks[task].client == client)
            .collect();
        self.rng.choose(&own)
    }

    /// The name of the server before the id of a task, for a client of several servers.
    fn task_prefix(&self, client: ClientId, task: usize) -> String {
        let process = self.processes.get(&self.own.tasks[task].launch);
        let process = process.filter(|_| self.clients[&client].is_aggregate());
        process.map(|process| format!("{}:", self.name_of(process.server))).unwrap_or_default()
    }

    fn some_name(&mut self, client: ClientId, list: List) -> String {
        let c = &self.clients[&client];
        if let Some(server) = c.server {
            let marks = self.own.servers[server].menu(c.class).lists[list as usize].clone();
            return match marks.is_empty() {
                true => "nothing".to_owned(),
                false => {
                    let name = self.own.items[*self.rng.pick(&marks)].name.clone();
                    // The public name, or the server's own.
                    let naming = self.own.servers[server].settings.naming.clone();
                    let is_renamed = self.rng.percent(70);
                    if is_renamed { naming.filter(list).renamed(&name).to_owned() } else { name }
                }
            };
        }
        let shown = c.newest(list).map(|walk| walk.items.clone()).unwrap_or_default();
        if shown.is_empty() || self.rng.percent(20) {
            return self.rng.pick(ODD).to_string();
        }
        let (public, mark) = self.rng.pick(&shown).clone();
        match list {
            // The form used in results.
            List::Resources if self.rng.percent(30) => self.own.items[mark].name.clone(),
            _ => public,
        }
    }

    /// A request as text.
    pub(super) fn request(&mut self, client: ClientId, verb: Verb, name: Option<String>) -> (usize, String) {
        let tag = self.enter(client, verb.clone(), name.clone());
        let quoted = json!(name);
        let mut params = match &verb {
            Verb::Call { as_task: true } => {
                format!(r#""task":{{"ttl":1}},"name":{quoted},"arguments":{{"n":1.50}},"#)
            }
            Verb::Call { as_task: false } | Verb::Get => {
                format!(r#""name":{quoted},"arguments":{{"n":1.50}},"#)
            }
            Verb::Read | Verb::Subscribe | Verb::Unsubscribe => format!(r#""uri":{quoted},"#),
            Verb::Complete { list: List::Prompts } => {
                format!(r#""ref":{{"type":"ref/prompt","name":{quoted}}},"#)
            }
            Verb::Complete { .. } => format!(r#""ref":{{"type":"ref/resource","uri":{quoted}}},"#),
            Verb::SetLevel { rank } => {
                let c = self.client(client);
                // Switchboard answers this itself, and it counts at once.
                c.is_level_open = !c.is_aggregate();
                c.level = if c.is_aggregate() { Some(*rank) } else { c.level };
                format!(r#""level":"{}","#, LEVELS[*rank])
            }
            Verb::Task { task, .. } => format!(r#""taskId":"{}t{task}","#, self.task_prefix(client, *task)),
            Verb::Initialize | Verb::Ping | Verb::List { .. } | Verb::TasksList | Verb::Unknown => {
                String::new()
            }
        };
        if matches!(verb, Verb::Subscribe | Verb::Unsubscribe)
            && let Some(name) = &name
        {
            let own = self.own_uri(client, name);
            for server in 0..self.own.servers.len() {
                let used = self.client(client).spellings.entry((server, own.clone())).or_default();
                used.retain(|other| other != name);
                used.push(name.clone());
            }
            if verb == Verb::Subscribe {
                for p in self.processes.values_mut() {
                    p.deaf.remove(&(own.clone(), client));
                }
            }
        }
        if self.rng.percent(35) {
            let token = if self.rng.percent(50) { format!("{tag}") } else { format!("\"k{tag}\"") };
            params.push_str(&format!(r#""_meta":{{"progressToken":{token}}},"#));
            self.ledger.requests[tag].token = Some(token);
        }
        self.spelled(tag, &params)
    }

    /// The next page of a walk, or the first page of a new one.
    fn list_page(&mut self, client: ClientId) -> (usize, String) {
        let list = *self.rng.pick(&List::ALL);
        let c = &self.clients[&client];
        let is_under_way = |walk: &&u64| {
            let walk = &c.walks[walk];
            walk.cursor.is_some() && !walk.is_complete
        };
        let under_way: Vec<u64> = c.walks.keys().filter(is_under_way).copied().collect();
        if self.rng.percent(2) {
            let verb = Verb::List { list, walk: u64::MAX, is_first: false };
            let tag = self.enter(client, verb, None);
            return self.spelled(tag, r#""cursor":"bm9uc2Vuc2U","#);
        }
        if !under_way.is_empty() && self.rng.percent(60) {
            let walk = *self.rng.pick(&under_way);
            return self.page(client, list, Some(walk));
        }
        self.page(client, list, None)
    }

    /// A page of a list; for a walk that has begun, the walk's list.
    pub(super) fn page(&mut self, client: ClientId, list: List, walk: Option<u64>) -> (usize, String) {
        let number = walk.unwrap_or(self.ledger.requests.len() as u64);
        let (list, cursor) = match walk.map(|walk| &self.clients[&client].walks[&walk]) {
            Some(known) => (List::ALL[(number >> 60) as usize], known.cursor.clone()),
            None => (list, None),
        };
        // The number of a walk determines its list.
        let number = if walk.is_some() { number } else { number | (list as u64) << 60 };
        let verb = Verb::List { list, walk: number, is_first: cursor.is_none() };
        let tag = self.enter(client, verb.clone(), None);
        let change = self.own.change;
        let c = self.client(client);
        match &cursor {
            None => {
                c.walks.insert(number, Walk { change, ..Walk::default() });
            }
            // The same page is not requested twice.
            Some(_) => c.walks.get_mut(&number).expect("it has begun").cursor = None,
        }
        let cursor = cursor.map(|cursor| format!(r#""cursor":"{cursor}","#)).unwrap_or_default();
        self.spelled(tag, &cursor)
    }

    /// A request with its members, each followed by a comma, and its tag.
    fn spelled(&self, tag: usize, members: &str) -> (usize, String) {
        let asked = &self.ledger.requests[tag];
        let params = format!(r#"{{{members}"tag":{tag}}}"#);
        (tag, request(&asked.id, asked.rule.name, params))
    }

    pub(super) fn cancels(&mut self, client: ClientId) -> Check {
        match self.clients[&client].stage {
            Stage::Greeted => self.cancels_one(client).map(|_| ()),
            Stage::New | Stage::Asked => Ok(()),
        }
    }

    /// The server's own URI for the one that a client names.
    pub(super) fn own_uri(&self, client: ClientId, public: &str) -> String {
        let is_there = |name: &str| self.listed_for(client).iter().any(|&at| self.name_of(at) == name);
        // A prefix that names no server may be part of a server's own URI.
        decoded(public).filter(|(of, _)| is_there(of)).map_or_else(|| public.to_owned(), |(_, uri)| uri)
    }
}

/// The server that a URI names, and the server's own URI.
pub(super) fn decoded(public: &str) -> Option<(String, String)> {
    decode_resource(public)
        .or_else(|| decode_template(public).map(|(of, uri)| (of.into_owned(), uri.to_owned())))
}
