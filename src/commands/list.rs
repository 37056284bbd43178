//! What the servers offer: tools, prompts, or resources and the templates for more.

use super::client::{Failure, with_gateway};
use super::columns::{Row, shown};
use super::complain;
use super::terminal::{self, Stream};
use crate::cli::ListArgs;
use crate::exit::Exit;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Clone, Copy)]
pub(crate) enum What {
    Tools,
    Prompts,
    Resources,
}

/// A list of the protocol.
struct List {
    method: &'static str,
    /// Where the items stand in a result.
    key: &'static str,
    /// What an item is asked for by.
    name: &'static str,
    heading: Option<&'static str>,
}

impl What {
    fn lists(self) -> &'static [List] {
        match self {
            Self::Tools => &[List { method: "tools/list", key: "tools", name: "name", heading: None }],
            Self::Prompts => &[List { method: "prompts/list", key: "prompts", name: "name", heading: None }],
            Self::Resources => &[
                List { method: "resources/list", key: "resources", name: "uri", heading: None },
                List {
                    method: "resources/templates/list",
                    key: "resourceTemplates",
                    name: "uriTemplate",
                    heading: Some("Templates:"),
                },
            ],
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }
}

pub(crate) fn run(args: &ListArgs, what: What) -> anyhow::Result<Exit> {
    with_gateway(&args.gateway, args.only.as_deref(), async |client| {
        let mut lists = Vec::new();
        for list in what.lists() {
            let items = match client.list(list.method, list.key).await {
                // Servers with resources need not have templates.
                Err(Failure::Refused(_)) if list.heading.is_some() => Vec::new(),
                other => other?,
            };
            lists.push((list, items));
        }
        if args.json {
            super::print(&array(lists.iter().flat_map(|(_, items)| items)))?;
            return Ok(Exit::Ok);
        }
        if lists.iter().all(|(_, items)| items.is_empty()) {
            complain(&format!("No {} are offered.", what.word()));
        }
        for (list, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
            let heading = list.heading.map(|heading| format!("{heading}\n")).unwrap_or_default();
            let rows: Vec<Row> = items.iter().map(|item| row(item, list.name)).collect();
            let (width, colours) = (terminal::width(Stream::Out), terminal::has_colours(Stream::Out));
            super::print(&format!("{heading}{}", shown(&rows, width, colours)))?;
        }
        Ok(Exit::Ok)
    })
}

/// As they were sent, one a line.
fn array<'a>(items: impl Iterator<Item = &'a Box<RawValue>>) -> String {
    let lines: Vec<String> = items.map(|item| format!("  {item}")).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

fn row(item: &RawValue, name: &str) -> Row {
    let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
    let texts = [&item["description"], &item["title"], &item["annotations"]["title"], &item["name"]];
    let about = texts.into_iter().filter_map(Value::as_str).find(|text| !text.trim().is_empty());
    let name = item[name].as_str().unwrap_or("(without a name)");
    Row::new(name, about.filter(|about| *about != name).unwrap_or_default())
}
