//! Settings of the HTTP front, with their checks.

use super::ServeConfig;
use super::defaults;
use super::keys::ServeEntry;
use super::lists::{ByName, NamedEntry, WordList};
use super::read::{Count, Key, Size, Time};
use super::report::{Report, shown};

pub(super) fn settings(entry: ServeEntry, report: &mut Report<'_>) -> ServeConfig {
    let usual = ServeConfig::default();
    if let (Key::Given(_, place), Key::Absent) | (Key::Absent, Key::Given(_, place)) =
        (&entry.tls_cert, &entry.tls_key)
    {
        report.error(
            &place.readable(),
            "a certificate without its key, or a key without a certificate",
            "set both `tlsCert` and `tlsKey`",
        );
    }
    let origins = words(entry.allowed_origins, report, |word| {
        let is_page = word.split_once("://").is_some_and(|(_, host)| !host.is_empty() && !host.contains('/'));
        (!is_page).then_some("write a scheme and a host: \"https://app.example.com\"")
    });
    let hosts = words(entry.allowed_hosts, report, |word| {
        word.contains('/').then_some("write only a name: \"mcp.example.com\"")
    });
    ServeConfig {
        listen: match &entry.listen {
            Key::Absent => usual.listen,
            // A wrong value was reported, and must not be replaced by the default address.
            Key::Given(..) | Key::Wrong => words(entry.listen, report, |_| None),
        },
        tls_cert: entry.tls_cert.value(),
        tls_key: entry.tls_key.value(),
        allowed_hosts: hosts,
        allowed_origins: origins,
        token_in_body: entry.token_in_body.or(defaults::TOKEN_IN_BODY),
        session_ttl: entry.session_ttl.or(Time(defaults::SESSION_TTL)).0,
        max_sessions: entry.max_sessions.or(Count(defaults::MAX_SESSIONS)).0,
        event_bytes: entry.event_bytes.or(Size(defaults::EVENT_BYTES)).0,
        root_map: roots(entry.root_map),
    }
}

fn roots(given: Key<ByName<String>>) -> Vec<(String, String)> {
    let Some(ByName(entries)) = given.value() else { return Vec::new() };
    entries.into_iter().map(|NamedEntry { name, value, .. }| (name, value)).collect()
}

fn words(
    given: Key<WordList>,
    report: &mut Report<'_>,
    fault: impl Fn(&str) -> Option<&'static str>,
) -> Vec<String> {
    let Some(WordList(words)) = given.value() else { return Vec::new() };
    for (word, place) in &words {
        if word.trim().is_empty() {
            report.error(place, "an empty name", "remove it");
        } else if let Some(remedy) = fault(word) {
            report.error(place, format!("`{}` is not valid here", shown(word)), remedy);
        }
    }
    words.into_iter().map(|(word, _)| word).collect()
}
