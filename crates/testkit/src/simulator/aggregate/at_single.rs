//! Clients of one server. They see and reach exactly the items that its filters show, under the server's own names.
//!
//! A reload may have happened on the way, so each of the filters that a server ever had may have been applied.

use super::AggregateWorld;
use super::menu::{Item, is_shown};
use super::verb::{AggregateRequest, Verb};
use crate::simulator::engine::{Check, Request, Words, parsed};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_core::Launch;
use switchboard_core::catalogue::{Filter, List, Naming};

impl AggregateWorld {
    /// Whether a page equals the server's page without hidden items: each item to the byte, except for its name.
    pub(super) fn is_filtered_page(&self, tag: usize, said: &str, got: &str) -> bool {
        let request = &self.ledger.requests[tag];
        let Verb::List { list, .. } = request.verb else { return false };
        let Some(server) = self.clients[&request.client].server else { return false };
        let (said, got) = (format!("{{{said}}}"), format!("{{{got}}}"));
        let (Some(said), Some(got)) = (page_of(&said, list), page_of(&got, list)) else { return false };
        let shown = |naming: &Naming| -> Vec<String> {
            said.0.iter().filter_map(|raw| self.single_item(naming, list, raw.get())).collect()
        };
        let namings = &self.own.servers[server].namings;
        let got_items: Vec<&str> = got.0.iter().map(|raw| raw.get()).collect();
        said.1 == got.1 && namings.iter().any(|naming| shown(naming) == got_items)
    }

    /// The name of an item for a client of its server alone.
    fn single_item(&self, naming: &Naming, list: List, raw: &str) -> Option<String> {
        let mark = serde_json::from_str::<Value>(raw).ok()?["mark"].as_u64()? as usize;
        self.single_text(naming, list, &self.own.items[mark])
    }

    pub(super) fn single_text(&self, naming: &Naming, list: List, item: &Item) -> Option<String> {
        let shown = shown_as(naming.filter(list), list, &item.name)?;
        Some(if shown == item.name { item.text() } else { item.under(&Value::from(shown).to_string()) })
    }

    /// Fails if a hidden name reaches a process, or another name arrives changed.
    pub(super) fn check_single_access(&mut self, launch: Launch, tag: usize, words: &Value) -> Check {
        let request = &self.ledger.requests[tag];
        let (Some(list), Some(said)) = (request.verb.list(), request.name.as_deref()) else { return Ok(()) };
        let heard = heard_name(request, words);
        let namings = &self.own.servers[self.processes[&launch].server].namings;
        let may_be = |naming: &Naming| {
            let filter = naming.filter(list);
            shown_as(filter, list, heard).is_some_and(|shown| shown == said)
                || (said == heard && is_of_template(filter, said))
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
        let (Some(list), Some(said), Some(server)) = (request.verb.list(), request.name.as_deref(), c.server)
        else {
            return Ok(());
        };
        let is_open = |naming: &Naming| is_meant(naming.filter(list), list, said);
        if self.own.servers[server].namings.iter().all(|naming| is_open(naming)) {
            return Err(format!("{} may have {said}, and is told that there is none", request.client));
        }
        self.stats.count("single_hidden");
        Ok(())
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
fn shown_as<'a>(filter: &'a Filter, list: List, own: &'a str) -> Option<&'a str> {
    if matches!(list, List::Resources | List::Templates) {
        return is_shown(filter, own).then_some(own);
    }
    let to = filter.rename.iter().find(|(from, _)| from == own).map(|(_, to)| to.as_str());
    let is_taken = to.is_none() && filter.rename.iter().any(|(_, to)| to == own);
    (is_shown(filter, own) && !is_taken).then_some(to.unwrap_or(own))
}

/// Whether an item may be shown under this name.
fn is_meant(filter: &Filter, list: List, said: &str) -> bool {
    if matches!(list, List::Resources | List::Templates) {
        return is_shown(filter, said);
    }
    let from = filter.rename.iter().find(|(_, to)| to == said).map(|(from, _)| from.as_str());
    let is_renamed = from.is_none() && filter.rename.iter().any(|(from, _)| from == said);
    is_shown(filter, from.unwrap_or(said)) && !is_renamed
}

/// Whether a URI matches the only template that is allowed by its own text in these runs.
fn is_of_template(filter: &Filter, uri: &str) -> bool {
    let is_allowed = filter.allow.iter().any(|allow| allow == "file:///w/{name}");
    is_allowed && uri.strip_prefix("file:///w/").is_some_and(|name| !name.contains('/'))
}
