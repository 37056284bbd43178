//! The servers' offers as clients see them: filters and names, with the checks across several values.

use std::collections::{HashMap, HashSet};

use super::lists::{ByName, NamedEntry, Short, WordList};
use super::problem::Severity;
use super::read::Key;
use super::report::{FilePlace, Report, shown};
use super::server_keys::{FilterEntry, ResourceFilterEntry};
use super::{FilterConfig, ServerConfig};
use switchboard_core::catalogue::names::MAX_NAME_BYTES;
use switchboard_core::text::nearest::nearest_key;

/// Separator between a server's name and that of one of its tools.
const NAME_SEPARATOR: &str = "__";
/// Longest name that is compared with the prefixes of others, which takes quadratic time.
const MAX_COMPARED_NAME_BYTES: usize = 128;
/// Longest name that leaves enough room for the names of its tools.
const MAX_COMFORTABLE_NAME_BYTES: usize = 24;

/// Kinds of offers with their own naming rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Prompt,
}

pub(super) fn filter(
    given: Key<Short<FilterEntry>>,
    kind: Kind,
    report: &mut Report<'_>,
) -> Option<FilterConfig> {
    match given {
        Key::Given(Short::WordList(allow), place) => {
            Some(allowed(Key::Given(allow, place), Key::Absent, report))
        }
        Key::Given(Short::Full(entry), _) => {
            let rename = renames(entry.rename, kind, report);
            Some(FilterConfig { rename, ..allowed(entry.allow, entry.deny, report) })
        }
        Key::Absent | Key::Wrong => None,
    }
}

pub(super) fn resource_filter(
    given: Key<Short<ResourceFilterEntry>>,
    report: &mut Report<'_>,
) -> Option<FilterConfig> {
    match given {
        Key::Given(Short::WordList(allow), place) => {
            Some(allowed(Key::Given(allow, place), Key::Absent, report))
        }
        Key::Given(Short::Full(entry), _) => Some(allowed(entry.allow, entry.deny, report)),
        Key::Absent | Key::Wrong => None,
    }
}

pub(super) fn allowed(allow: Key<WordList>, deny: Key<WordList>, report: &mut Report<'_>) -> FilterConfig {
    // An empty list allows nothing; as a filter it would mean everything.
    let allows_nothing = matches!(&allow, Key::Given(WordList(words), _) if words.is_empty());
    let allow = patterns(allow, report);
    let mut deny = patterns(deny, report);
    if allows_nothing {
        deny.push("*".to_owned());
    }
    FilterConfig { allow, deny, rename: Vec::new() }
}

fn patterns(words: Key<WordList>, report: &mut Report<'_>) -> Vec<String> {
    let Some(WordList(words)) = words.value() else { return Vec::new() };
    for (word, place) in &words {
        if word.trim().is_empty() {
            report.error(place, "an empty pattern", "write a name, or a part of one with *: \"read_*\"");
        }
    }
    words.into_iter().map(|(word, _)| word).collect()
}

fn renames(given: Key<ByName<String>>, kind: Kind, report: &mut Report<'_>) -> Vec<(String, String)> {
    let Some(ByName(entries)) = given.value() else { return Vec::new() };
    let mut taken: HashMap<String, String> = HashMap::new();
    let mut renames = Vec::with_capacity(entries.len());
    for NamedEntry { name: old, named, value: new, valued } in entries {
        let valued = valued.readable();
        if old.trim().is_empty() || old.contains('*') {
            let remedy = "write one whole name as the server has it; patterns are for `allow` and `deny`";
            report.error(&named.readable(), format!("`{}` is not a name", shown(&old)), remedy);
        }
        if new.trim().is_empty() || new.contains(char::is_control) {
            report.error(&valued, "not a name", "write the new name, in letters, digits, - and _");
        } else if kind == Kind::Tool && !is_plain(&new) {
            let message = format!("many clients reject a tool named `{}`", shown(&new));
            report.warning(&valued, message, Some("use only letters, digits, - and _".to_owned()));
        }
        // Clients could not tell the two apart.
        if let Some(other) = taken.insert(new.clone(), old.clone()) {
            let message = format!("`{}` and `{}` get the same name", shown(&other), shown(&old));
            report.error(&valued, message, "give one of them another name");
        }
        renames.push((old, new));
    }
    renames
}

/// Servers by notification. `servers` are all servers of the file; others are refused.
pub(super) fn notifications(
    given: Key<ByName<WordList>>,
    servers: &[String],
    report: &mut Report<'_>,
) -> Vec<(String, Vec<String>)> {
    let Some(ByName(entries)) = given.value() else { return Vec::new() };
    let known: HashSet<&String> = servers.iter().collect();
    let mut lists = Vec::with_capacity(entries.len());
    for NamedEntry { name: method, named, value: WordList(words), valued: _ } in entries {
        if !method.starts_with("notifications/") {
            let message = format!("`{}` is not the method of a notification", shown(&method));
            let remedy = "write its full name, such as \"notifications/roots/list_changed\"";
            report.error(&named.readable(), message, remedy);
        }
        for (server, place) in words.iter().filter(|(server, _)| !known.contains(server)) {
            refuse_unknown(server, servers, place, report);
        }
        lists.push((method, words.into_iter().map(|(server, _)| server).collect()));
    }
    lists
}

pub(super) fn refuse_unknown(name: &str, servers: &[String], place: &FilePlace, report: &mut Report<'_>) {
    const MAX_LISTED_NAMES: usize = 12;
    let message = format!("there is no server `{}`", shown(name));
    if report.is_full_of(Severity::Error) {
        // Further errors are only counted, so no remedy is searched for.
        return report.error(place, message, "");
    }
    let names: Vec<&str> = servers.iter().map(String::as_str).collect();
    let remedy = match nearest_key(name, &names) {
        Some(near) => format!("did you mean `{}`?", shown(near)),
        None if names.is_empty() => "this file has no servers".to_owned(),
        None => {
            let listed: Vec<String> = names.iter().take(MAX_LISTED_NAMES).map(|name| shown(name)).collect();
            let more = if names.len() > MAX_LISTED_NAMES { ", …" } else { "" };
            format!("there are: {}{more}", listed.join(", "))
        }
    };
    report.error(&place.readable(), message, remedy);
}

/// Warns of servers whose tools' names would not identify their server.
pub(super) fn check_names(servers: &[(ServerConfig, FilePlace)], report: &mut Report<'_>) {
    // Names with errors need no further warning.
    let is_fine = |server: &ServerConfig| !server.disabled && !server.name.contains(char::is_control);
    let mut seen: HashMap<String, &str> = HashMap::new();
    for (server, place) in servers.iter().filter(|(server, _)| is_fine(server)) {
        let name = server.name.as_str();
        let as_shown = prefix(name);
        // The same name twice is an error of its own.
        let other = seen.insert(as_shown.clone(), name).filter(|other| *other != name);
        if let Some(other) = other {
            let message = format!(
                "the tools of `{}` and `{}` both begin with `{}`",
                shown(other),
                shown(name),
                shown(&as_shown)
            );
            report.warning(place, message, Some("give one of the two another name".to_owned()));
        } else if as_shown != name {
            let message = format!(
                "in the names of its tools, `{}` is written `{}`: many clients accept only letters, digits, - and _",
                shown(name),
                shown(&as_shown)
            );
            report.warning(place, message, Some(format!("call it `{}` here too", shown(&as_shown))));
        }
        if as_shown.len() > MAX_COMFORTABLE_NAME_BYTES {
            warn_of_length(as_shown.len(), place, report);
        }
    }
    // A second pass, since a name may also begin one that comes before it in the file.
    for (server, place) in servers.iter().filter(|(server, _)| is_fine(server)) {
        if let Some(other) = begun_by(&prefix(&server.name), &seen) {
            let (name, other) = (shown(&server.name), shown(other));
            let message =
                format!("`{name}{NAME_SEPARATOR}x` could be a tool of `{other}` as well as of `{name}`");
            let remedy = format!("give one of the two another name, without `{NAME_SEPARATOR}`");
            report.warning(place, message, Some(remedy));
        }
    }
}

fn warn_of_length(length: usize, place: &FilePlace, report: &mut Report<'_>) {
    let room = MAX_NAME_BYTES.saturating_sub(length + NAME_SEPARATOR.len());
    let which = match room {
        0 => "all its tools".to_owned(),
        room => format!("its tools with more than {room} characters"),
    };
    let message =
        format!("the server's name is long ({length} characters): the names of {which} are shortened");
    let remedy = format!("give it a name of at most {MAX_COMFORTABLE_NAME_BYTES} characters");
    report.warning(place, message, Some(remedy));
}

/// A server's name as it appears in those of its tools.
fn prefix(name: &str) -> String {
    // The same rule as in the core, so that a warning means what clients will see.
    name.chars().map(|c| if is_plain_char(c) { c } else { '_' }).collect()
}

fn is_plain(name: &str) -> bool {
    name.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Another server whose name and separator begin this server's name.
fn begun_by<'a>(name: &str, others: &HashMap<String, &'a str>) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_NAME_BYTES {
        return None;
    }
    // Also where separators overlap: `a___b` is `a` and `_b`, or `a_` and `b`.
    let cuts = (1..name.len()).filter(|at| name[*at..].starts_with(NAME_SEPARATOR));
    cuts.filter_map(|at| others.get(&name[..at])).next().copied()
}
