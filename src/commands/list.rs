//! `switchboard tools`, `prompts` and `resources`: the servers' lists.

use super::client::{Client, Failure, Servers, with_gateway};
use super::columns::{Row, shown};
use super::complain;
use crate::cli::ListArgs;
use crate::exit::Exit;
use crate::terminal::{self, Stream, wrap};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_gateway::{decode_resource, decode_template};

#[derive(Clone, Copy)]
pub(crate) enum What {
    Tools,
    Prompts,
    Resources,
}

/// A list of the protocol.
struct List {
    method: &'static str,
    /// Key of the items in a result.
    key: &'static str,
    /// Key of an item's identifier.
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
    let asks_one = args.only.is_some() || args.gateway.server.is_some() || !args.gateway.command.is_empty();
    with_gateway(&args.gateway, args.only.as_deref(), async |client| {
        let mut lists = ask(client, what).await?;
        let mut servers = Servers::default();
        // For one server, its failure is the error of the command; of several, it is only a missing part.
        if !asks_one {
            let (settled, took_time) = client.started_servers().await?;
            servers = settled;
            // Servers that started meanwhile have more to list.
            if took_time {
                lists = ask(client, what).await?;
            }
        }
        let is_empty = lists.iter().all(|(_, items)| items.is_empty());
        match args.json {
            true => super::print(&array(lists.iter().flat_map(|(_, items)| items)))?,
            false => show(&lists)?,
        }
        if is_empty && !args.json && !servers.all_failed() {
            complain(&format!("No {} are offered.", what.word()));
        }
        for trouble in servers.troubles() {
            complain(&wrap(&format!("switchboard: {trouble}"), terminal::width(Stream::Err)));
        }
        Ok(if is_empty && servers.all_failed() { Exit::Failure } else { Exit::Ok })
    })
}

type Items = Vec<Box<RawValue>>;

async fn ask(client: &mut Client, what: What) -> Result<Vec<(&'static List, Items)>, Failure> {
    let mut lists = Vec::new();
    for list in what.lists() {
        let items = match client.list(list.method, list.key).await {
            // Servers with resources need not have templates.
            Err(Failure::Refused(_)) if list.heading.is_some() => Vec::new(),
            other => other?,
        };
        lists.push((list, items));
    }
    Ok(lists)
}

fn show(lists: &[(&List, Items)]) -> std::io::Result<()> {
    for (list, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
        let heading = list.heading.map(|heading| format!("{heading}\n")).unwrap_or_default();
        let rows: Vec<Row> = items.iter().map(|item| row(item, list.name)).collect();
        let (width, colours) = (terminal::width(Stream::Out), terminal::has_colours(Stream::Out));
        super::print(&format!("{heading}{}", shown(&rows, width, colours)))?;
    }
    Ok(())
}

/// Items as they were sent, one per line.
fn array<'a>(items: impl Iterator<Item = &'a Box<RawValue>>) -> String {
    let lines: Vec<String> = items.map(|item| format!("  {item}")).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

fn row(item: &RawValue, key: &str) -> Row {
    let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
    let texts = [&item["description"], &item["title"], &item["annotations"]["title"], &item["name"]];
    let about = texts.into_iter().filter_map(Value::as_str).find(|text| !text.trim().is_empty());
    let name = item[key].as_str().unwrap_or("(without a name)");
    let about = about.filter(|about| *about != name).unwrap_or_default();
    match Origin::of(name) {
        // The server's own URI is shorter and readable; if several servers have
        // it, `read` asks for `--server`.
        Some(Origin { server, uri }) => Row::new(&uri, &format!("{server}: {about}")),
        None => Row::new(name, about),
    }
}

/// Server of a resource in a merged list, and its own URI.
struct Origin {
    server: String,
    uri: String,
}

impl Origin {
    fn of(uri: &str) -> Option<Self> {
        let template = || decode_template(uri).map(|(server, uri)| (server.into_owned(), uri.to_owned()));
        let (server, uri) = decode_resource(uri).or_else(template)?;
        Some(Self { server, uri })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(items: &[&str], key: &str) -> String {
        let items: Items =
            items.iter().map(|item| RawValue::from_string((*item).to_owned()).unwrap()).collect();
        super::shown(&items.iter().map(|item| row(item, key)).collect::<Vec<_>>(), None, false)
    }

    #[test]
    fn resources_have_their_own_uris() {
        let one = r#"{"uri":"proxy://resource/ZXhhbXBsZQpleGFtcGxlOi8vc3RhdHVz","description":"Calls"}"#;
        let plain = r#"{"uri":"file:///a","name":"a"}"#;
        assert_eq!(shown(&[one, plain], "uri"), "example://status  example: Calls\nfile:///a         a\n");
        let template = r#"{"uriTemplate":"proxy://template/notes/note://{id}","name":"note"}"#;
        assert_eq!(shown(&[template], "uriTemplate"), "note://{id}  notes: note\n");
    }
}
