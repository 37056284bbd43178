//! Events of clients and processes, parsed from a story; and messages in the story's form.

use super::given::{call_limits, environment};
use bytes::Bytes;
use switchboard_core::access::{Front, Identity, Patterns, Proof, Rights};
use switchboard_core::routing::{NamedBy, NamedPath};
use switchboard_core::{ClientId, Event, Launch, MemberPath, Principal, ServerId, Surroundings};
use switchboard_protocol::hunt::Hunter;
use switchboard_protocol::recover::recover;
use switchboard_protocol::{Parsed, ShownToken, parse};

const VERSION: &str = r#"{"jsonrpc":"2.0","#;

/// The bytes of a message as a story writes it.
fn to_wire(text: &str) -> String {
    match (text.strip_prefix("raw "), text.strip_prefix('{')) {
        (Some(raw), _) => raw.to_owned(),
        (None, Some(members)) => format!("{VERSION}{members}"),
        (None, None) => panic!("neither a message nor `raw`: {text}"),
    }
}

pub(super) fn from_wire(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_prefix(VERSION).map_or_else(|| format!("raw {text}"), |members| format!("{{{members}"))
}

pub(super) fn of_client(client: ClientId, what: &str) -> Event {
    if let Some(options) = what.strip_prefix(" comes") {
        return connected(client, options);
    }
    if let Some(how) = what.strip_prefix(" greets") {
        let info = how.strip_prefix(" as ").map(|name| format!(r#","clientInfo":{{"name":"{name}"}}"#));
        let params = format!(
            r#"{{"protocolVersion":"v","capabilities":{}{}}}"#,
            how.strip_prefix(" with ").unwrap_or("{}"),
            info.unwrap_or_default()
        );
        return from_client(client, &format!(r#"{{"id":0,"method":"initialize","params":{params}}}"#), None);
    }
    match what {
        " confirms" => from_client(client, r#"{"method":"notifications/initialized"}"#, None),
        " closes its end" => Event::ClientInputEnded { client },
        " leaves" => Event::ClientLost { client },
        _ => match what.strip_prefix(" at ").and_then(|rest| rest.split_once("> ")) {
            Some((place, text)) => from_client(client, text, Some(place)),
            None => from_client(client, what.strip_prefix("> ").expect("a message"), None),
        },
    }
}

fn connected(client: ClientId, options: &str) -> Event {
    let (mut surroundings, mut server) = (Surroundings::default(), Some(ServerId(0)));
    for part in options.split("; ").skip(1) {
        match part.split_once(' ').expect("a word and a value") {
            ("folder", path) => surroundings.working_folder = Some(path.into()),
            ("front", "http") => surroundings.front = Front::Http,
            ("session", "none") => surroundings.goes_by_request = true,
            ("elsewhere", _) => surroundings.is_elsewhere = true,
            ("pinned", path) => surroundings.pinned = Some(path.into()),
            ("principal", number) => {
                let principal = Principal(number.parse().expect("a number"));
                let name = if number == "0" { "owner".into() } else { format!("token-{number}").into() };
                surroundings.identity = Identity { principal, name, ..Identity::default() }.into();
            }
            ("identity", name) => {
                let principal = Principal(u32::from(name.as_bytes()[0]));
                let identity = Identity { principal, name: name.into(), ..Identity::default() };
                surroundings.identity = identity.into();
            }
            ("limits", text) => {
                let identity = (*surroundings.identity).clone();
                surroundings.identity = Identity { limits: call_limits(text), ..identity }.into();
            }
            ("proof", "optional") => surroundings.proof = Proof::Optional,
            ("proof", "required") => surroundings.proof = Proof::Required,
            ("proof", token) => surroundings.proof = Proof::Shown(ShownToken::Text(token.into())),
            ("rights", text) => {
                let rights = vec![rights(text).into()];
                surroundings.identity = Identity { name: "ci".into(), rights, ..Identity::default() }.into();
            }
            ("profile", name) => surroundings.profiles.push(name.into()),
            ("env", text) => surroundings.environment = environment(text),
            ("server", "all") => server = None,
            ("server", number) => server = Some(ServerId(number.parse().expect("a number"))),
            other => panic!("unknown option of a client: {other:?}"),
        }
    }
    match server {
        Some(server) => Event::ClientConnected { client, server, surroundings },
        None => Event::AggregateConnected { client, surroundings, environments: Vec::new() },
    }
}

/// `tools read* -read_all, methods -tools/list`: the patterns of each kind; `-` denies. `everything` has none.
pub(super) fn rights(text: &str) -> Rights {
    let mut rights = Rights::default();
    for kind in text.split(", ").filter(|kind| *kind != "everything") {
        let (kind, globs) = kind.split_once(' ').expect("a kind and its patterns");
        let (deny, allow): (Vec<&str>, Vec<&str>) = globs.split(' ').partition(|glob| glob.starts_with('-'));
        let allow = allow.into_iter().map(str::to_owned).collect();
        let deny = deny.into_iter().map(|glob| glob[1..].to_owned()).collect();
        let patterns = match kind {
            "servers" => &mut rights.servers,
            "tools" => &mut rights.tools,
            "prompts" => &mut rights.prompts,
            "resources" => &mut rights.resources,
            "methods" => &mut rights.methods,
            other => panic!("unknown kind of rights: {other}"),
        };
        *patterns = Patterns { allow, deny };
    }
    rights
}

fn from_client(client: ClientId, text: &str, place: Option<&str>) -> Event {
    if let Some(text) = text.strip_prefix("(too long) ") {
        let mut hunter = Hunter::default();
        hunter.feed(text.as_bytes());
        return Event::ClientTooLong { client, length: 20_000_000, glimpses: hunter.finish() };
    }
    let path = place.map(|path| {
        let project = path.split('/').nth(1).map(|first| format!("/{first}"));
        let path = NamedPath { named_by: NamedBy::Argument("path".into()), path: path.into(), project };
        MemberPath { member: 0, path }
    });
    Event::FromClient { client, frame: parse(to_wire(text).into()), paths: path.into_iter().collect() }
}

/// Sorts the output of a process as the gateway does.
pub(super) fn from_backend(launch: Launch, text: &str) -> Vec<Event> {
    if let Some(text) = text.strip_prefix("(too long) ") {
        let mut hunter = Hunter::default();
        hunter.feed(text.as_bytes());
        return vec![Event::BackendTooLong { launch, length: 20_000_000, glimpses: hunter.finish() }];
    }
    if let Some((about, text)) = text.strip_prefix("(about ").and_then(|rest| rest.split_once(") ")) {
        let about = about.parse().expect("the id of a request");
        let Ok(Parsed::One(message)) = parse(to_wire(text).into()) else { panic!("no message: {text}") };
        return vec![Event::LogOfRequest { launch, about, message }];
    }
    let line = Bytes::from(to_wire(text));
    match parse(line.clone()) {
        Ok(Parsed::One(message)) => vec![Event::FromBackend { launch, message }],
        Ok(Parsed::Batch(_)) => panic!("no process sends batches: {text}"),
        Err(broken) => {
            let found = recover(&line, broken);
            if found.messages.is_empty() {
                return vec![Event::BackendNoise { launch, text: line, broken: found.broken }];
            }
            let messages = found.messages.into_iter().map(|message| Event::FromBackend { launch, message });
            let noise = Event::BackendNoise { launch, text: found.noise.into(), broken: found.broken };
            messages.chain([noise]).collect()
        }
    }
}
