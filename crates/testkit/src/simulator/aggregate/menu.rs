//! Offers of servers. Each item is a text around its name, with a unique mark that identifies it anywhere.

use super::AggregateWorld;
use super::pins::StoredPins;
use super::rights::Seen;
use crate::simulator::engine::Rng;
use std::collections::BTreeSet;
use std::sync::Arc;
use switchboard_core::ServerSettings;
use switchboard_core::catalogue::{Filter, List, NameStyle, Naming};

/// Names as servers spell them, without the quotes. Some need a hash, some collide, one is spelled with an escape.
const NAMES: &[&str] = &[
    "read",
    "write",
    "list",
    "b__c",
    "c",
    "old",
    "new",
    "secret_key",
    "a.b/c",
    "a_b_c",
    "n\u{e4}me",
    "rea\\u0064y",
    "a-name-that-is-so-long-that-it-cannot-be-shown-as-it-is-anywhere",
    "x",
];
const URIS: &[&str] = &[
    "file:///w/1",
    "file:///w/2",
    "file:///secret_1",
    "db://t/1",
    "ui://app",
    "mem:\\/\\/x",
    "proxy://resource/Zm9v",
];
const TEMPLATES: &[&str] = &["file:///w/{name}", "db://{table}/{row}", "mem://{+path}", "file:///secret_{n}"];

/// The scheme of MCP Apps.
const UI: &str = "ui://";

/// An item that a server offers, or once offered.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) server: usize,
    pub(super) list: List,
    pub(super) name: String,
    /// The name with its quotes.
    pub(super) spelled: String,
    before: String,
    after: String,
}

impl Item {
    pub(super) fn under(&self, spelled: &str) -> String {
        format!("{}{spelled}{}", self.before, self.after)
    }

    /// The same with another name and, in a reference to an app, the name of the server.
    pub(super) fn under_app(&self, spelled: &str, server: &str) -> String {
        let named = format!("{UI}switchboard/{server}/");
        format!("{}{spelled}{}", self.before, self.after.replace(UI, &named))
    }

    /// Whether it refers to an app.
    pub(super) fn has_app(&self) -> bool {
        self.list == List::Tools && self.after.contains(UI)
    }

    pub(super) fn text(&self) -> String {
        self.under(&self.spelled)
    }
}

/// Lists of a server for one kind of client.
#[derive(Debug, Clone, Default)]
pub(super) struct Menu {
    pub(super) lists: [Vec<usize>; 4],
    /// Items per page.
    pub(super) page: usize,
    pub(super) capabilities: Vec<&'static str>,
}

impl Menu {
    pub(super) fn declares(&self, list: List) -> bool {
        let capability = match list {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources | List::Templates => "resources",
        };
        self.capabilities.contains(&capability)
    }

    pub(super) fn capabilities(&self) -> String {
        let one = |name: &&str| match *name {
            "resources" => r#""resources":{"subscribe":true}"#.to_owned(),
            "tasks" => r#""tasks":{"list":{}}"#.to_owned(),
            other => format!(r#""{other}":{{"listChanged":true}}"#),
        };
        let all: Vec<String> = self.capabilities.iter().map(one).collect();
        format!("{{{}}}", all.join(","))
    }
}

/// A server of the config, with its offer.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) settings: ServerSettings,
    /// All items that it ever had.
    pub(super) namings: Vec<Arc<Naming>>,
    /// Whether it offers other lists to clients with other capabilities.
    pub(super) differs: bool,
    pub(super) menus: [Menu; 2],
    /// Every state of a list that was ever read from its answers.
    pub(super) told: BTreeSet<(List, Vec<usize>)>,
    pub(super) cannot_start: bool,
    pub(super) is_crashy: bool,
    /// Whether a process of it has asked a client something.
    pub(super) has_asked: bool,
    /// Percentage of pages that it never answers, or refuses.
    pub(super) lies: usize,
    pub(super) pins: StoredPins,
}

impl Server {
    pub(super) fn menu(&self, class: usize) -> &Menu {
        &self.menus[if self.differs { class } else { 0 }]
    }
}

impl AggregateWorld {
    /// The marks that a client sees.
    pub(super) fn visible(&self, seen_as: Seen<'_>, marks: &[usize]) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        let mut shown = Vec::new();
        for &mark in marks {
            let item = &self.own.items[mark];
            if seen_as.shows(item.list, &item.name) && seen.insert(&item.name) {
                shown.push(mark);
            }
        }
        shown
    }

    pub(super) fn new_item(&mut self, server: usize, list: List) -> usize {
        let names = match list {
            List::Tools | List::Prompts => NAMES,
            List::Resources => URIS,
            List::Templates => TEMPLATES,
        };
        let spelled = format!("\"{}\"", self.rng.pick(names));
        let name = serde_json::from_str(&spelled).expect("names are JSON");
        let mark = self.own.items.len();
        let key = list.key();
        let (before, after) = match self.rng.below(3) {
            0 => (format!(r#"{{"{key}":"#), format!(r#","mark":{mark},"n":0.70}}"#)),
            1 => (format!(r#"{{"mark":{mark},"{key}": "#), " }".to_owned()),
            _ if list == List::Tools && self.rng.percent(50) => {
                // The tool of an app, which may be listed or not.
                let (before, app) = (format!(r#"{{"mark":{mark},"{key}":"#), self.rng.pick(&["app", "gone"]));
                (before, format!(r#","_meta":{{"ui":{{"resourceUri":"{UI}{app}","n":0.70}}}}}}"#))
            }
            _ => (format!(r#"{{"title":"t","mark":{mark},"{key}":"#), r#","_meta":{"name":"q"}}"#.to_owned()),
        };
        self.own.items.push(Item { server, list, name, spelled, before, after });
        mark
    }

    pub(super) fn new_menu(&mut self, server: usize) -> Menu {
        let mut menu = Menu { page: self.rng.within(1..=4), ..Menu::default() };
        for capability in ["tools", "prompts", "resources", "logging", "tasks", "completions"] {
            let chance = if capability == "tools" { 90 } else { 55 };
            if self.rng.percent(chance) {
                menu.capabilities.push(capability);
            }
        }
        for list in List::ALL {
            for _ in 0..self.rng.below(6) {
                let mark = self.new_item(server, list);
                menu.lists[list as usize].push(mark);
            }
        }
        menu
    }

    /// Adds, removes, moves or replaces an item.
    pub(super) fn change_list(&mut self, server: usize, class: usize, list: List) {
        let at = if self.own.servers[server].differs { class } else { 0 };
        let mut marks = std::mem::take(&mut self.own.servers[server].menus[at].lists[list as usize]);
        match self.rng.below(4) {
            0 if !marks.is_empty() => drop(marks.remove(self.rng.below(marks.len()))),
            1 => self.rng.shuffle(&mut marks),
            2 if !marks.is_empty() => {
                let place = self.rng.below(marks.len());
                marks[place] = self.new_item(server, list);
            }
            _ => {
                let mark = self.new_item(server, list);
                marks.insert(self.rng.below(marks.len() + 1), mark);
            }
        }
        self.own.servers[server].menus[at].lists[list as usize] = marks;
    }
}

/// Whether a name matches a pattern of the kinds used here: with a star at both ends, at the end, or none.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(rest), Some(_)) => name.contains(rest.trim_end_matches('*')),
        (None, Some(start)) => name.starts_with(start),
        (Some(_), None) | (None, None) => pattern == name,
    }
}

pub(super) fn is_shown(filter: &Filter, name: &str) -> bool {
    let fits = |pattern: &String| fits(pattern, name);
    let is_held = filter.held.as_ref().is_some_and(|held| held.hides(name));
    (filter.allow.is_empty() || filter.allow.iter().any(fits)) && !filter.deny.iter().any(fits) && !is_held
}

pub(super) fn naming(rng: &mut Rng, server: &str, style: NameStyle) -> Naming {
    let mut naming = Naming::new(server, style);
    let deny = |chance: bool| if chance { vec!["*secret_*".to_owned()] } else { Vec::new() };
    let rename = |chance: bool| if chance { vec![("old".to_owned(), "new".to_owned())] } else { Vec::new() };
    let allow = |chance: bool| if chance { vec!["*e*".to_owned(), "x".to_owned()] } else { Vec::new() };
    naming.tools = Filter {
        allow: allow(rng.percent(15)),
        deny: deny(rng.percent(40)),
        rename: rename(rng.percent(30)),
        ..Filter::default()
    };
    naming.prompts = Filter {
        allow: allow(rng.percent(10)),
        deny: deny(rng.percent(30)),
        rename: rename(rng.percent(20)),
        ..Filter::default()
    };
    let some = ["*db*", "*mem*", "*secret*", "file:///w/{name}"].map(str::to_owned);
    naming.resources = Filter {
        allow: if rng.percent(15) { some.to_vec() } else { Vec::new() },
        deny: deny(rng.percent(40)),
        ..Filter::default()
    };
    naming
}
