//! Pages of a list, for a client of several servers.

use super::AggregateWorld;
use super::rights::Seen;
use super::verb::Verb;
use crate::simulator::engine::{Check, Words, parsed};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use switchboard_core::ClientId;
use switchboard_core::access::Rights;
use switchboard_core::catalogue::{List, NameStyle, Naming, decode_resource, decode_template};

impl AggregateWorld {
    pub(super) fn page_at_client(
        &mut self,
        client: ClientId,
        tag: usize,
        list: List,
        walk: u64,
        result: &RawValue,
    ) -> Check {
        self.stats.count("pages");
        let result: Words<'_> = parsed(result.get())?;
        let Some(raw) = result.get(list.member()) else {
            return Err(format!("{client} asks for {list:?}, and gets {result:?}"));
        };
        let raw: Vec<&RawValue> = parsed(raw.get())?;
        let mut page = Vec::new();
        for raw in raw {
            let (public, mark) = self.item_at_client(list, raw.get())?;
            page.push((public, mark));
        }
        let (change, is_in_batch) = (self.own.change, self.ledger.requests[tag].is_in_batch);
        let c = &mut self.client(client).own;
        let known = c.walks.get_mut(&walk).expect("it was asked for");
        if !std::mem::replace(&mut known.has_begun, true) {
            // In a batch, the answer may have waited long.
            known.change = if is_in_batch { u64::MAX } else { change };
            c.shown[list as usize] = Some(walk);
            c.is_told[list as usize] = false;
            c.is_anew[list as usize] = is_in_batch;
        }
        known.items.extend(page);
        known.cursor = match result.get("nextCursor") {
            Some(cursor) => Some(parsed::<String>(cursor.get())?),
            None => None,
        };
        known.is_complete = known.cursor.is_none();
        let known = known.clone();
        self.stats.count_if("long_walks", known.cursor.is_some());
        self.check_single(client, &known.items)?;
        self.check_allowed(client, tag, &known.items)?;
        if known.is_complete { self.check_states(client, tag, list, &known.items) } else { Ok(()) }
    }

    /// The public name and the mark of an item, if it matches the server's bytes.
    fn item_at_client(&self, list: List, raw: &str) -> Check<(String, usize)> {
        let item: Value = parsed(raw)?;
        let (public, mark) = (item[list.key()].as_str(), item["mark"].as_u64());
        let (Some(public), Some(mark)) = (public, mark) else {
            return Err(format!("this is no item of anybody: {raw}"));
        };
        let mark = mark as usize;
        let known = &self.own.items[mark];
        let server = &self.own.servers[known.server];
        // With plain names, a reference to an app names its server only where it must.
        let is_plain = server.namings.iter().any(|naming| naming.style == NameStyle::Plain);
        let is_form = |spelled: &str| {
            let is_as_sent = (is_plain || !known.has_app()) && known.under(spelled) == raw;
            is_as_sent || known.under_app(spelled, &server.settings.name) == raw
        };
        if known.list != list || !(is_form(&Value::from(public).to_string()) || is_form(&known.spelled)) {
            return Err(format!("{} is shown as {raw}", known.text()));
        }
        let namings = &self.own.servers[known.server].namings;
        if !namings.iter().any(|naming| may_be_called(naming, list, &known.name, public)) {
            return Err(format!("{} of {} is called {public}", known.name, self.name_of(known.server)));
        }
        Ok((public.to_owned(), mark))
    }

    /// Fails if an item is shown twice.
    fn check_single(&self, client: ClientId, items: &[(String, usize)]) -> Check {
        for (at, (public, mark)) in items.iter().enumerate() {
            let item = &self.own.items[*mark];
            for (other, another) in &items[..at] {
                let other_item = &self.own.items[*another];
                let is_same = (item.server, &item.name) == (other_item.server, &other_item.name);
                if is_same || public == other {
                    return Err(format!("{client} is shown {public} and {other}, which is one thing"));
                }
            }
        }
        Ok(())
    }

    /// Fails unless the client may use each item.
    fn check_allowed(&self, client: ClientId, tag: usize, items: &[(String, usize)]) -> Check {
        let candidates = self.rights_for(tag);
        for (public, mark) in items {
            let item = &self.own.items[*mark];
            let may = |rights: &Option<Arc<Rights>>| {
                let namings = &self.own.servers[item.server].namings;
                let seen = |naming| Seen { naming, rights: rights.as_deref() };
                namings.iter().any(|naming| seen(naming).may_use(item.list, &item.name))
            };
            if !candidates.iter().any(may) {
                return Err(format!("{client} is shown {public}, which it may not use"));
            }
        }
        Ok(())
    }

    /// Fails unless a walk shows each server in one state that it had, in the server's order.
    fn check_states(&self, client: ClientId, tag: usize, list: List, items: &[(String, usize)]) -> Check {
        let candidates = self.rights_for(tag);
        let mut rest: Vec<usize> = items.iter().map(|(_, mark)| *mark).collect();
        let mut before = None;
        while let Some(&first) = rest.first() {
            let server = self.own.items[first].server;
            if before.is_some_and(|before| before >= server) {
                return Err(format!("{client} is shown things of {} at two places", self.name_of(server)));
            }
            before = Some(server);
            let own = rest.iter().take_while(|mark| self.own.items[**mark].server == server).count();
            let own: Vec<usize> = rest.drain(..own).collect();
            let states = self.own.servers[server].told.iter().filter(|(of, _)| *of == list);
            let namings = &self.own.servers[server].namings;
            let seen_by = |naming| candidates.iter().map(move |it| Seen { naming, rights: it.as_deref() });
            let ways: Vec<Seen<'_>> = namings.iter().flat_map(|naming| seen_by(naming)).collect();
            let mut seen = states.flat_map(|(_, marks)| ways.iter().map(|way| self.visible(*way, marks)));
            if !seen.any(|state| state == own) {
                return Err(format!(
                    "{client} is shown {own:?} of {}, which never was so",
                    self.name_of(server)
                ));
            }
        }
        Ok(())
    }

    /// Fails unless a client of one server is shown a list that this server once had, filtered, to the byte.
    pub(super) fn stored_at_client(&mut self, client: ClientId, list: List, result: &RawValue) -> Check {
        let shown: BTreeMap<String, Vec<&RawValue>> = parsed(result.get())?;
        let items = shown.get(list.member()).map(Vec::as_slice).unwrap_or_default();
        let server = self.clients[&client].server.map(|server| &self.own.servers[server]);
        let rights = self.rights_of(client);
        let was_so = |naming: &Naming, marks: &[usize]| {
            let seen = Seen { naming, rights };
            let shown = marks.iter().filter_map(|mark| self.single_text(seen, list, &self.own.items[*mark]));
            shown.eq(items.iter().map(|raw| raw.get()))
        };
        let may_be = |server: &&super::menu::Server| {
            let states = server.told.iter().filter(|(of, _)| *of == list);
            let mut seen = states.flat_map(|(_, marks)| server.namings.iter().map(move |it| (it, marks)));
            server.settings.stores_lists && seen.any(|(naming, marks)| was_so(naming, marks))
        };
        if server.filter(may_be).is_none() {
            return Err(format!("{client} is shown {result}, which was never stored"));
        }
        self.stats.count("from_store");
        Ok(())
    }

    /// Fails if a list waits longer than its client's budget.
    pub(super) fn check_lists_wait(&self) -> Check {
        if !self.ticks_on_time {
            return Ok(());
        }
        let grace = self.settings.aggregates.list_grace;
        for request in self.ledger.requests.iter().filter(|request| request.is_open()) {
            let c = &self.clients[&request.client];
            if !matches!(request.verb, Verb::List { .. }) || !c.is_aggregate() || request.is_in_batch {
                continue;
            }
            if self.now.since(request.waits_since) > grace {
                return Err(format!("{} waits for its list since {:?}", request.client, request.sent));
            }
        }
        Ok(())
    }
}

/// The public name by the documented rules: prefixed, within 46 plain characters, with a hash where that takes a change.
pub(super) fn may_be_called(naming: &Naming, list: List, name: &str, public: &str) -> bool {
    let is_plain = naming.style == NameStyle::Plain;
    match list {
        List::Tools | List::Prompts => {
            let shown = naming.filter(list).renamed(name);
            let plain = |text: &str| -> String {
                text.chars()
                    .map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' })
                    .collect()
            };
            let (server, own) = (plain(&naming.server), plain(shown));
            let full = format!("{server}__{own}");
            // 35 characters are left beside the separator and the hash: the server's name gives way, down to 8.
            let kept = server.len().min(35_usize.saturating_sub(own.len()).max(8));
            let stem = format!("{}__{}", &server[..kept], &own[..own.len().min(35 - kept)]);
            let hash = public.strip_prefix(&stem).and_then(|rest| rest.strip_prefix('_'));
            let is_hashed =
                hash.is_some_and(|hash| hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
            (public == full && full.len() <= 46) || is_hashed || (is_plain && public == shown)
        }
        List::Resources => {
            (is_plain && public == name)
                || decode_resource(public).is_some_and(|(server, uri)| server == naming.server && uri == name)
        }
        List::Templates => {
            (is_plain && public == name)
                || decode_template(public).is_some_and(|(server, uri)| server == naming.server && uri == name)
        }
    }
}
