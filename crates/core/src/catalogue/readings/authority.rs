//! Hosts: which part of a URI names one, and what URL parsers drop from it. Must not know about paths, except
//! where they begin.
//!
//! The crate `url` does not fit: it is one parser, and a filter must consider several that disagree; also,
//! the text may be a glob or half decoded, which `url` rejects.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::path::{is_drive, is_plain};

/// Schemes whose hosts the WHATWG URL standard parses, with their default ports.
const DEFAULT_PORTS: [(&str, u32); 5] =
    [("http:", 80), ("https:", 443), ("ws:", 80), ("wss:", 443), ("ftp:", 21)];

/// Treatment of the part between scheme and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Authority {
    /// Unchanged, as by most servers with their own scheme.
    Unchanged,
    /// Taken as the first segment of the path.
    Path,
    /// Parsed as by browsers: user, default port and the host of a file are dropped, and extra slashes ignored.
    Parsed,
    /// Same as `Parsed`, but a backslash may be part of the user name, as in RFC 3986.
    ParsedWithBackslash,
}

/// The parts of a URI, with backslashes turned into slashes.
#[derive(Debug)]
pub(super) struct Location {
    /// Lowercase, including its colon.
    pub(super) scheme: String,
    /// Lowercase. `None` if the URI has no `//`.
    pub(super) host: Option<String>,
    pub(super) path: String,
}

impl Authority {
    pub(super) fn all(is_possible: bool, may_hide_user: bool) -> &'static [Self] {
        match (is_possible, may_hide_user) {
            (_, true) => &[Self::Unchanged, Self::Path, Self::Parsed, Self::ParsedWithBackslash],
            (true, false) => &[Self::Unchanged, Self::Path, Self::Parsed],
            (false, false) => &[Self::Unchanged],
        }
    }

    pub(super) fn drops_parts(self) -> bool {
        match self {
            Self::Unchanged | Self::Path => false,
            Self::Parsed | Self::ParsedWithBackslash => true,
        }
    }

    pub(super) fn locate(self, text: &str) -> Location {
        match self {
            Self::Unchanged => kept(text),
            Self::Path => {
                let mut location = kept(text);
                // `file:////server/share` equals `file://server/share` on Windows.
                if location.scheme == "file:" && location.path.starts_with("//") {
                    let rest = location.path.trim_start_matches('/');
                    let (host, path) = split_host(rest);
                    (location.host, location.path) = (Some(host.to_ascii_lowercase()), path.to_owned());
                }
                location
            }
            Self::Parsed => parsed(without_url_prefix(text)),
            Self::ParsedWithBackslash => parsed(&without_user(text)),
        }
    }
}

fn kept(text: &str) -> Location {
    let text = text.replace('\\', "/");
    let (scheme, rest) = split_scheme(&text);
    let scheme = scheme.to_ascii_lowercase();
    let is_file = scheme == "file:";
    let (host, path) = match rest.strip_prefix("//") {
        // `file://c:/a` equals `file:///c:/a`.
        Some(rest) if is_file && is_drive(split_host(rest).0) => (Some(String::new()), format!("/{rest}")),
        Some(rest) => {
            let (host, path) = split_host(rest);
            let host = host.to_ascii_lowercase();
            // To RFC 8089, `localhost` is the same as no host.
            let is_here = is_file && host == "localhost";
            (Some(if is_here { String::new() } else { host }), path.to_owned())
        }
        // `file:/a` equals `file:///a`.
        None if is_file && rest.starts_with('/') => (Some(String::new()), rest.to_owned()),
        None => (None, rest.to_owned()),
    };
    Location { scheme, host, path }
}

fn parsed(text: &str) -> Location {
    let mut location = kept(text);
    if let Some(port) = default_port(&location.scheme) {
        // `http:example.com`, `http:/example.com` and `http:///example.com` equal `http://example.com/`.
        let all = location.host.unwrap_or_default() + &location.path;
        let (host, path) = split_host(all.trim_start_matches('/'));
        location.host = Some(web_host(host, port));
        location.path = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    } else if location.scheme == "file:" {
        if !location.path.starts_with('/') {
            location.path.insert(0, '/');
        }
        location.host = Some(String::new());
    } else if let Some(host) = &mut location.host
        && let Some(at) = host.rfind('@')
    {
        host.drain(..=at);
    }
    location
}

/// Strips the prefix of `url:file:///a`, which Java and Python accept.
fn without_url_prefix(text: &str) -> &str {
    match text.split_at_checked(4) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case("url:") => rest,
        Some(_) | None => text,
    }
}

/// Strips the user: `http://a\@b/` becomes `http://b/`.
fn without_user(text: &str) -> String {
    let text = without_url_prefix(text);
    let (scheme, rest) = split_scheme(text);
    let Some(rest) = rest.strip_prefix("//") else { return text.to_owned() };
    match split_host(rest) {
        (authority, path) if authority.contains('\\') => {
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}//{host}{path}")
        }
        _ => text.to_owned(),
    }
}

/// A host without user, default port and unusual spelling.
fn web_host(authority: &str, default_port: u32) -> String {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = split_port(host);
    let name: String = name.chars().filter_map(ascii_form).flat_map(char::to_lowercase).collect();
    let name = name.trim_end_matches('.');
    let name = ip_address(name).unwrap_or_else(|| name.to_owned());
    match port.map(|port| port.trim_start_matches('0')) {
        None | Some("") => name,
        Some(port) if port.parse() == Ok(default_port) => name,
        Some(port) => format!("{name}:{port}"),
    }
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        // The colons of an IPv6 address lie within its brackets.
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit()) && name.starts_with('[') == name.ends_with(']') =>
        {
            (name, Some(port))
        }
        Some(_) | None => (host, None),
    }
}

/// Maps characters that IDNA maps to ASCII or ignores. Other Unicode names are not compared with their Punycode.
fn ascii_form(c: char) -> Option<char> {
    match c {
        '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => None,
        '\u{3002}' | '\u{ff61}' => Some('.'),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0),
        c => Some(c),
    }
}

/// The canonical spelling of an IP address: `127.1`, `0x7f000001` and `[::ffff:7f00:1]` are `127.0.0.1`.
fn ip_address(name: &str) -> Option<String> {
    if let Some(inner) = name.strip_prefix('[') {
        let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(address.to_ipv4_mapped().map_or_else(|| format!("[{address}]"), |v4| v4.to_string()));
    }
    // A fifth part is one too many, and enough to see that.
    let parts: Vec<u32> = name.split('.').take(5).map(ip_number).collect::<Option<_>>()?;
    let (&last, first) = parts.split_last()?;
    let is_in_range = first.len() < 4 && first.iter().all(|&part| part < 256);
    // The last number fills all remaining bytes.
    if !is_in_range || u64::from(last) >= 1 << (8 * (4 - first.len())) {
        return None;
    }
    let bits = first.iter().enumerate().fold(last, |bits, (at, part)| bits | part << (24 - 8 * at));
    Some(Ipv4Addr::from(bits).to_string())
}

fn ip_number(text: &str) -> Option<u32> {
    // `from_str_radix` would accept a sign.
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric());
    let (digits, radix) = match text.strip_prefix("0x") {
        // Browsers read a lone `0x` as zero.
        Some("") => ("0", 16),
        Some(hex) => (hex, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    u32::from_str_radix(digits, radix).ok().filter(|_| is_plain)
}

pub(super) fn is_web(scheme: &str) -> bool {
    default_port(scheme).is_some()
}

/// Whether the glob names a single web host, on any port.
pub(super) fn is_exact_web_host(glob: &str) -> bool {
    let Location { scheme, host, .. } = kept(glob);
    is_web(&scheme) && host.is_some_and(|host| !host.is_empty() && !host.contains(['*', '?', '@']))
}

/// Whether the text may contain an authority. May return true too often, never too seldom.
pub(super) fn is_possible(text: &str) -> bool {
    let (scheme, rest) = split_scheme(text);
    let is_special = ["file:", "url:"].iter().any(|special| scheme.eq_ignore_ascii_case(special));
    is_special
        || is_web(&scheme.to_ascii_lowercase())
        || rest.contains("//")
        || text.bytes().any(|b| b <= b' ' || b == b'\\')
}

pub(super) fn may_hide_user(text: &str) -> bool {
    text.contains('\\') && text.contains('@')
}

/// The path after an authority that every reading leaves unchanged; `None` if there is no such authority.
/// Does not allocate.
pub(super) fn plain_path<'a>(scheme: &str, rest: &'a str) -> Option<&'a str> {
    if scheme == "url:" {
        return None;
    }
    let is_file = scheme == "file:";
    let port = default_port(scheme);
    let Some(behind) = rest.strip_prefix("//") else { return (!is_file && port.is_none()).then_some(rest) };
    let (host, path) = split_host(behind);
    let is_kept = match port {
        Some(port) => !path.is_empty() && is_plain_web_host(host, port),
        None if is_file => host.is_empty() && path.starts_with('/'),
        None => {
            // After a host that is read as a segment, a drive starts the path anew.
            let has_drive = !host.is_empty() && path.split('/').any(is_drive);
            !host.bytes().any(|b| b.is_ascii_uppercase() || b == b'@') && is_plain(host) && !has_drive
        }
    };
    is_kept.then_some(path)
}

fn is_plain_web_host(host: &str, default_port: u32) -> bool {
    let (name, port) = split_port(host);
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_');
    let may_be_ip =
        name.rsplit('.').next().is_some_and(|label| label.starts_with(|c: char| c.is_ascii_digit()));
    let is_plain_port =
        |port: &str| !port.is_empty() && !port.starts_with('0') && port.parse() != Ok(default_port);
    !name.is_empty()
        && name.bytes().all(is_name)
        && !name.ends_with('.')
        && !name.split('.').any(str::is_empty)
        && (!may_be_ip || name.parse::<Ipv4Addr>().is_ok())
        && port.is_none_or(is_plain_port)
}

fn default_port(scheme: &str) -> Option<u32> {
    DEFAULT_PORTS.iter().find(|(name, _)| *name == scheme).map(|&(_, port)| port)
}

fn split_host(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// The scheme including its colon; empty if there is none.
pub(super) fn split_scheme(uri: &str) -> (&str, &str) {
    let end = uri.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
    match end {
        Some(end) if uri.starts_with(|c: char| c.is_ascii_alphabetic()) && uri[end..].starts_with(':') => {
            uri.split_at(end + 1)
        }
        Some(_) | None => ("", uri),
    }
}
