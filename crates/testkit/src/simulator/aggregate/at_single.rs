//! Clients of one server. They see and reach exactly the items that its filters show, under the server's own names.
//!
//! A reload may have happened on the way, so each of the filters that a server ever had may have been applied.

use super::AggregateWorld;
use super::menu::Item;
use super::rights::Seen;
use super::verb::{AggregateRequest, Verb};
use crate::simulator::engine::{Check, Request, Words, parsed};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_core::Launch;
use switchboard_core::access::Rights;
use switchboard_core::catalogue::{List, Naming};

impl AggregateWorld {
    /// Whether a page equals the server's page without hidden items: each item to the byte, except for its name.
    pub(super) fn is_filtered_page(&self, tag: usize, said: &str, got: &str) -> bool {
        let request = &self.ledger.requests[tag];
        let Verb::List { list, .. } = request.verb else { return false };
        let Some(server) = self.clients[&request.client].server else { return false };
        let (said, got) = (format!("{{{said}}}"), format!("{{{got}}}"));
        let (Some(said), Some(got)) = (page_of(&said, list), page_of(&got, list)) else { return false };
        let candidates = self.rights_for(tag);
        let shown = |naming: &Naming, rights: Option<&Rights>| -> Vec<String> {
            let seen = Seen { naming, rights };
            said.0.iter().filter_map(|raw| self.single_item(seen, list, raw.get())).collect()
        };
        let namings = &self.own.servers[server].namings;
        let got_items: Vec<&str> = got.0.iter().map(|raw| raw.get()).collect();
        let is_so =
            |naming: &Naming| candidates.iter().any(|rights| shown(naming, rights.as_deref()) == got_items);
        said.1 == got.1 && namings.iter().any(|naming| is_so(naming))
    }

    /// The name of an item for a client of its server alone.
    fn single_item(&self, seen: Seen<'_>, list: List, raw: &str) -> Option<String> {
        let mark = serde_json::from_str::<Value>(raw).ok()?["mark"].as_u64()? as usize;
        self.single_text(seen, list, &self.own.items[mark])
    }

    pub(super) fn single_text(&self, seen: Seen<'_>, list: List, item: &Item) -> Option<String> {
        let shown = shown_as(seen, list, &item.name)?;
        Some(if shown == item.name { item.text() } else { item.under(&Value::from(shown).to_string()) })
    }

    /// Fails if a hidden name reaches a process, or another name arrives changed.
    pub(super) fn check_single_access(&mut self, launch: Launch, tag: usize, words: &Value) -> Check {
        let request = &self.ledger.requests[tag];
        let (Some(list), Some(said)) = (request.verb.list(), request.name.as_deref()) else { return Ok(()) };
        let heard = heard_name(request, words);
        let namings = &self.own.servers[self.processes[&launch].server].namings;
        let rights = self.rights_of(request.client);
        let may_be = |naming: &Naming| {
            let seen = Seen { naming, rights };
            shown_as(seen, list, heard).is_some_and(|shown| shown == said)
                || (said == heard && seen.has_template_for(said))
        };
        if !namings.iter().any(|naming| may_be(naming)) {
            return Err(format!("{launch} hears of {heard}, which is hidden from {}", request.client));
        }
        self.stats.count("single_access");
        Ok(())
    }

    /// Fails if every filter shows the name: then it must not be refused.
    pub(super) fn check_hidden(&mut self, tag: usize) -> Check {
        let request = &self.ledger.requests[tag];
        let c = &self.clients[&request.client];
        if c.server.is_none() || request.verb.list().is_none() {
            return Ok(());
        }
        if !self.is_hidden_alone(tag, None) {
            let (client, said) = (request.client, &request.name);
            return Err(format!("{client} may have {said:?}, and is told that there is none"));
        }
        self.stats.count("single_hidden");
        Ok(())
    }

    /// Whether the name in a request of a client of one server was hidden by one of its filters, or by these rights.
    pub(super) fn is_hidden_alone(&self, tag: usize, rights: Option<&Rights>) -> bool {
        let request = &self.ledger.requests[tag];
        let server = self.clients[&request.client].server;
        let (Some(list), Some(said), Some(server)) = (request.verb.list(), request.name.as_deref(), server)
        else {
            return false;
        };
        let is_open = |naming: &Naming| is_meant(Seen { naming, rights }, list, said);
        !self.own.servers[server].namings.iter().all(|naming| is_open(naming))
    }
}

/// The name in a request, at its server.
pub(super) fn heard_name<'a>(request: &Request<AggregateRequest>, words: &'a Value) -> &'a str {
    let params = &words["params"];
    let heard = match request.verb {
        Verb::Call { .. } | Verb::Get => &params["name"],
        Verb::Complete { list: List::Prompts } => &params["ref"]["name"],
        Verb::Complete { .. } => &params["ref"]["uri"],
        _ => &params["uri"],
    };
    heard.as_str().unwrap_or_default()
}

/// The items of a page, and its other members.
type PageParts<'a> = (Vec<&'a RawValue>, Vec<(String, &'a str)>);

fn page_of(text: &str, list: List) -> Option<PageParts<'_>> {
    let answer: Words<'_> = parsed(text).ok()?;
    let mut result: Words<'_> = parsed(answer.get("result")?.get()).ok()?;
    let items: Vec<&RawValue> = parsed(result.remove(list.member())?.get()).ok()?;
    Some((items, result.into_iter().map(|(key, value)| (key, value.get())).collect()))
}

/// The name of an item in lists; `None` if it is hidden, or if a rename gives its name to another item.
fn shown_as<'a>(seen: Seen<'a>, list: List, own: &'a str) -> Option<&'a str> {
    if matches!(list, List::Resources | List::Templates) {
        return seen.shows(list, own).then_some(own);
    }
    let filter = seen.naming.filter(list);
    let to = filter.rename.iter().find(|(from, _)| from == own).map(|(_, to)| to.as_str());
    let is_taken = to.is_none() && filter.rename.iter().any(|(_, to)| to == own);
    (seen.shows(list, own) && !is_taken).then_some(to.unwrap_or(own))
}

/// Whether an item may be shown under this name.
fn is_meant(seen: Seen<'_>, list: List, said: &str) -> bool {
    if matches!(list, List::Resources | List::Templates) {
        return seen.shows(list, said);
    }
    let filter = seen.naming.filter(list);
    let from = filter.rename.iter().find(|(_, to)| to == said).map(|(from, _)| from.as_str());
    let is_renamed = from.is_none() && filter.rename.iter().any(|(from, _)| from == said);
    seen.shows(list, from.unwrap_or(said)) && !is_renamed
}
