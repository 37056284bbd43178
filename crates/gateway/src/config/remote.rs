//! Settings of remote servers, with the checks across several values.

use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::HeaderName;

use super::lists::{ByName, NamedEntry};
use super::read::Key;
use super::report::{FilePlace, Report};
use super::server_keys::ServerEntry;
use super::{RemoteConfig, Transport, Variables};

const HTTP: &[&str] = &["http", "streamable-http", "streamableHttp", "streamable_http"];
const SSE: &[&str] = &["sse"];
const EITHER: &[&str] = &["remote"];

/// Headers that only Switchboard sets, since they belong to the transport.
const RESERVED_HEADERS: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

impl RemoteConfig {
    /// Unexpanded address without its possible secrets: user, password and query.
    pub fn shown(&self) -> String {
        match Url::parse(&self.url) {
            Ok(url) => format!("{}{}", url.origin().ascii_serialization(), url.path()),
            // A text with variables may not parse yet, but its query may hold a key all the same.
            Err(_) => self.url.split('?').next().unwrap_or_default().to_owned(),
        }
    }
}

/// Whether an entry is a remote server.
pub(super) fn is_remote(entry: &ServerEntry) -> bool {
    let is_kind = |kind: &String| [HTTP, SSE, EITHER].iter().any(|kinds| kinds.contains(&kind.as_str()));
    // An entry with a command is a local server, whatever its other keys say.
    entry.command.is_absent()
        && (matches!(&entry.kind, Key::Given(kind, _) if is_kind(kind))
            || !entry.url.is_absent()
            || !entry.http_url.is_absent()
            || !entry.server_url.is_absent())
}

/// Reads the remote part of an entry. `None` after a problem was reported.
pub(super) fn remote(
    entry: &mut ServerEntry,
    place: &FilePlace,
    report: &mut Report<'_>,
) -> Option<RemoteConfig> {
    let is_given = |key: &Key<String>| !key.is_absent();
    let by_name =
        if is_given(&entry.url) || is_given(&entry.server_url) { Transport::Auto } else { Transport::Http };
    let transport = match std::mem::replace(&mut entry.kind, Key::Absent).value().as_deref() {
        Some(kind) if HTTP.contains(&kind) => Transport::Http,
        Some(kind) if SSE.contains(&kind) => Transport::Sse,
        // Gemini's `url` may be either transport; its `httpUrl` is Streamable HTTP.
        Some(_) | None => by_name,
    };
    let urls = [&mut entry.url, &mut entry.http_url, &mut entry.server_url];
    let mut given = urls.into_iter().map(|key| std::mem::replace(key, Key::Absent)).filter(is_given);
    let url = match given.next() {
        Some(Key::Given(url, at)) => checked_url(url, &at, report),
        Some(Key::Wrong) => None,
        Some(Key::Absent) | None => {
            report.error(
                place,
                "`url` is missing",
                "add the server's address, such as \"url\": \"https://…\"",
            );
            None
        }
    };
    let headers = headers(std::mem::replace(&mut entry.headers, Key::Absent), report);
    Some(RemoteConfig { url: url?, headers, transport })
}

fn checked_url(url: String, place: &FilePlace, report: &mut Report<'_>) -> Option<String> {
    let remedy = "write the server's address, such as \"https://example.com/mcp\"";
    let is_left_open = url.contains("${");
    // A text with variables is checked once they are expanded.
    match Url::parse(&url) {
        Ok(parsed) if !matches!(parsed.scheme(), "http" | "https") => {
            report.error(place, "`url` must begin with https:// or http://", remedy);
            None
        }
        Ok(parsed) => {
            if parsed.scheme() == "http" && !is_left_open && !is_loopback(&parsed) {
                let remedy = "use https:// if the server offers it".to_owned();
                let message =
                    "http:// is not encrypted: others on the network can read messages and `headers`";
                report.warning(place, message, Some(remedy));
            }
            Some(url)
        }
        Err(_) if is_left_open => Some(url),
        Err(error) => {
            report.error(place, format!("`url` is not valid: {error}"), remedy);
            None
        }
    }
}

/// Whether the address is on this machine, judged without a name lookup.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    // IPv6 addresses stand in brackets.
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or(host == "localhost" || host.ends_with(".localhost"), |address| address.is_loopback())
}

fn headers(given: Key<ByName<String>>, report: &mut Report<'_>) -> Variables {
    let Some(ByName(entries)) = given.value() else { return Variables::default() };
    let mut headers: Vec<(String, String)> = Vec::new();
    for NamedEntry { name, named, value, .. } in entries {
        let lower = name.to_ascii_lowercase();
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            report.error(&named, "not the name of a header", "use letters, digits and -");
        } else if RESERVED_HEADERS.contains(&lower.as_str()) {
            report.error(&named, "this header is set by Switchboard itself", "remove it");
        } else if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            report.error(&named, "this header is given twice", "remove one of the two");
        }
        headers.push((name, value));
    }
    headers.into()
}
