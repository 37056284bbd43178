//! The state at rest: all parties behave well, and time passes until nothing changes. Then lists are current, and no
//! state is left over.

use super::AggregateWorld;
use super::client::{AggregateClient, Stage};
use super::process::AggregateProcess;
use super::rights::Seen;
use super::verb::Verb;
use crate::simulator::engine::{Check, Client, Phase, Presence, Process};
use std::collections::BTreeMap;
use std::time::Duration;
use switchboard_core::catalogue::List;
use switchboard_core::{ClientId, Launch, Order};

/// Longer than any timeout: a breaker closes, a request times out.
const REST_TIME: Duration = Duration::from_secs(500);
const SHORT: Duration = Duration::from_secs(45);

impl AggregateWorld {
    pub(super) fn comes_to_rest(&mut self) -> Check {
        if self.is_ending {
            return Ok(());
        }
        self.stats.count("rests");
        let were_on_time = std::mem::replace(&mut self.ticks_on_time, true);
        self.own.is_calm = true;
        self.read_all()?;
        self.calm_ones_act()?;
        self.tick()?;
        self.advance(REST_TIME)?;
        if !self.is_ending {
            self.look_around()?;
        }
        self.own.is_calm = false;
        self.ticks_on_time = were_on_time;
        Ok(())
    }

    fn look_around(&mut self) -> Check {
        self.check_nothing_waits()?;
        for at in 0..self.own.servers.len() {
            if self.owner.is_held(at) {
                self.order(at, None, Order::Start)?;
            }
        }
        let is_here = |c: &&Client<AggregateClient>| c.is_aggregate() && c.presence == Presence::Here;
        let aggregates: Vec<ClientId> = self.clients.values().filter(is_here).map(|c| c.id).collect();
        for &client in &aggregates {
            self.greet_calmly(client)?;
        }
        // Processes that must make room for others announce their changes first.
        self.all_say_news()?;
        self.advance(SHORT)?;
        for &client in &aggregates {
            self.look_for_strangers(client)?;
        }
        let mut homes = BTreeMap::new();
        for &client in &aggregates {
            for at in self.listed_for(client) {
                if let Some(launch) = self.wake(client, at)? {
                    homes.insert((client, at), launch);
                }
            }
        }
        self.advance(SHORT)?;
        self.all_say_news()?;
        self.advance(SHORT)?;
        for &client in &aggregates {
            for list in List::ALL {
                self.look(client, list, &homes)?;
            }
        }
        self.advance(SHORT)?;
        self.check_nothing_waits()?;
        self.check_forgotten()
    }

    fn greet_calmly(&mut self, client: ClientId) -> Check {
        if self.clients[&client].stage == Stage::New {
            self.greets(client)?;
        }
        self.calm_ones_act()?;
        self.advance(SHORT)?;
        if self.clients[&client].stage != Stage::Greeted {
            return Err(format!("{client} is not greeted, and nothing moves any more"));
        }
        if !self.clients[&client].is_confirmed {
            self.confirms(client)?;
        }
        self.calm_ones_act()
    }

    /// Requests a list, so that every server becomes known that can be started.
    fn look_for_strangers(&mut self, client: ClientId) -> Check {
        let before = self.stats.get("waits_for_room");
        self.walk(client, List::Tools)?;
        self.advance(SHORT)?;
        let shown = self.walk(client, List::Tools)?;
        // A server without calls does not displace others that are in use.
        let status = self.core.status();
        let mut instances = status.servers.iter().flat_map(|server| &server.instances);
        let waits_for_room = instances.any(|instance| instance.state == "queued");
        if self.settings.pool.max_backends < 32 || self.stats.get("waits_for_room") > before || waits_for_room
        {
            return Ok(());
        }
        for at in self.listed_for(client) {
            let server = &self.own.servers[at];
            let is_shown = shown.iter().any(|(_, mark)| self.own.items[*mark].server == at);
            let seen = Seen { naming: &server.settings.naming, rights: self.rights_of(client) };
            let has_nothing = |marks: &[usize]| self.visible(seen, marks).is_empty();
            let offers_nothing = |menu: &super::menu::Menu| {
                !menu.declares(List::Tools) || has_nothing(&menu.lists[List::Tools as usize])
            };
            let may_be_empty = server.menus.iter().any(offers_nothing)
                || server.told.iter().any(|(list, marks)| *list == List::Tools && has_nothing(marks));
            if !is_shown && !may_be_empty && !server.cannot_start {
                return Err(format!("{client} sees nothing of {}, and nobody asks it", self.name_of(at)));
            }
        }
        Ok(())
    }

    /// Calls a tool of this server, so that its process for this client runs.
    fn wake(&mut self, client: ClientId, at: usize) -> Check<Option<Launch>> {
        let mut found = None;
        for list in [List::Tools, List::Prompts, List::Resources] {
            let items = self.walk(client, list)?;
            let own = items.into_iter().find(|(_, mark)| self.own.items[*mark].server == at);
            if let Some((public, _)) = own {
                found = Some((list, public));
                break;
            }
        }
        let (list, public) = found.unwrap_or_else(|| (List::Tools, format!("{}__wake", self.name_of(at))));
        let verb = match list {
            List::Tools => Verb::Call { as_task: false },
            List::Prompts => Verb::Get,
            List::Resources | List::Templates => Verb::Read,
        };
        let (tag, text) = self.request(client, verb, Some(public));
        self.asks_for(client, tag, text)?;
        self.calm_ones_act()?;
        for _ in 0..10 {
            if !self.ledger.requests[tag].is_open() {
                break;
            }
            self.advance(Duration::from_secs(10))?;
        }
        let handed = self.ledger.requests[tag].handed.last().copied();
        Ok(handed.filter(|launch| self.processes[launch].server == at))
    }

    /// All pages of a list.
    fn walk(&mut self, client: ClientId, list: List) -> Check<Vec<(String, usize)>> {
        let mut number = None;
        for _ in 0..200 {
            let (tag, text) = self.page(client, list, number);
            let Verb::List { walk, .. } = self.ledger.requests[tag].verb else { continue };
            number = Some(walk);
            self.asks_for(client, tag, text)?;
            self.calm_ones_act()?;
            for _ in 0..40 {
                if !self.ledger.requests[tag].is_open() {
                    break;
                }
                self.advance(Duration::from_secs(1))?;
            }
            let known = &self.clients[&client].walks[&walk];
            if known.is_complete {
                return Ok(known.items.clone());
            }
            if known.cursor.is_none() {
                // The list changed meanwhile, or the client was too slow.
                number = None;
            }
        }
        Err(format!("{client} cannot walk through {list:?}"))
    }

    fn all_say_news(&mut self) -> Check {
        let is_there =
            |p: &&Process<AggregateProcess>| p.phase == Phase::Alive && p.is_greeted && !p.is_stopping;
        let there: Vec<Launch> = self.processes.values().filter(is_there).map(|p| p.launch).collect();
        for launch in there {
            if self.processes[&launch].phase == Phase::Alive {
                self.process(launch).unannounced = List::ALL.to_vec();
                self.says_news(launch)?;
                self.calm_ones_act()?;
            }
        }
        Ok(())
    }

    /// Fails unless a client is shown the present lists, and was notified if its last ones differ.
    fn look(&mut self, client: ClientId, list: List, homes: &BTreeMap<(ClientId, usize), Launch>) -> Check {
        let c = &self.clients[&client];
        let (before, is_told) =
            (c.newest(list).cloned(), c.is_told[list as usize] || c.is_anew[list as usize]);
        let now = self.walk(client, list)?;
        if let Some(before) = before.filter(|_| !is_told) {
            let seen = before.items.len();
            let is_so = now.len() >= seen
                && now[..seen] == before.items[..]
                && (!before.is_complete || now.len() == seen);
            if !is_so {
                return Err(format!(
                    "{client} was shown {:?} of {list:?}, now it is {now:?}, and it was not told",
                    before.items
                ));
            }
        }
        self.stats.count("looks");
        let mut rest: Vec<usize> = now.iter().map(|(_, mark)| *mark).collect();
        for at in self.listed_for(client) {
            let own = rest.iter().take_while(|mark| self.own.items[**mark].server == at).count();
            let own: Vec<usize> = rest.drain(..own).collect();
            let Some(launch) = homes.get(&(client, at)) else { continue };
            let menu = self.own.servers[at].menu(self.processes[launch].class.unwrap_or_default());
            let offered: &[usize] = if menu.declares(list) { &menu.lists[list as usize] } else { &[] };
            let seen = Seen { naming: &self.own.servers[at].settings.naming, rights: self.rights_of(client) };
            let expected = self.visible(seen, offered);
            self.stats.count("sections");
            if own != expected {
                let name = self.name_of(at);
                return Err(format!(
                    "{client} is shown {own:?} of {name}'s {list:?}, which are {expected:?}"
                ));
            }
        }
        match rest.is_empty() {
            true => Ok(()),
            false => Err(format!("{client} is shown {rest:?} of {list:?}, which is nobody's")),
        }
    }

    fn check_nothing_waits(&self) -> Check {
        if let Some(open) = self.ledger.requests.iter().find(|request| request.is_open()) {
            let (method, sent) = (open.verb.method(), open.sent);
            return Err(format!("{} waits for {} ({method}) since {sent:?}", open.client, open.id));
        }
        match self.core.unanswered() {
            0 => Ok(()),
            some => Err(format!("everything has come to rest, and {some} requests are open")),
        }
    }

    /// Fails unless the state of departed clients and their delegates is removed.
    fn check_forgotten(&self) -> Check {
        let there = self.clients.values().filter(|c| c.is_there());
        let aggregates = there.clone().filter(|c| c.is_aggregate()).count();
        let most = aggregates * self.listed().len();
        let (clients, delegates) = self.core.known_clients();
        if delegates > most {
            return Err(format!("{delegates} delegates of {aggregates} clients are known"));
        }
        if self.settings.linger.is_some() && clients > there.count() {
            return Err(format!("{clients} clients are known"));
        }
        Ok(())
    }
}
