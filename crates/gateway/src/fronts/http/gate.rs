//! Admission of requests by their head, before a byte of the body is read: host, origin and credentials. Pure.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Rules of admission.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    /// Host names by which we may be addressed, beside those of this machine.
    pub(crate) hosts: Vec<String>,
    /// Origins of pages that may access us, beside those of this machine.
    pub(crate) origins: Vec<String>,
}

/// Reason for a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Guards against DNS rebinding: a foreign page may reach us by a name that resolves to this machine.
    Host(String),
    Origin(String),
    NoToken,
    WrongToken,
}

impl Gate {
    /// Whether a browser may let this origin read our answers.
    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
            || origin.split_once("://").is_some_and(|(scheme, host)| {
                // Pages of local development servers may use any port, so only the host counts.
                matches!(scheme, "http" | "https") && host_of(host).is_some_and(is_this_machine)
            })
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(name) = host_of(host) else { return false };
        is_this_machine(name)
            || self
                .hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(host))
    }

    /// Checks host and origin, which a foreign page cannot forge. `authority` is the host in the request line
    /// (HTTP/2, or an absolute target); it must be allowed too, since it overrides the header.
    pub(crate) fn check_way(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Refused> {
        let hosts = [only(headers, &HOST).map_err(Refused::Host)?, authority];
        // HTTP/1.0 without a host: the gate cannot tell which name was used.
        if hosts == [None, None] {
            return Err(Refused::Host(String::new()));
        }
        if let Some(foreign) = hosts.into_iter().flatten().find(|host| !self.allows_host(host)) {
            return Err(Refused::Host(foreign.to_owned()));
        }
        match only(headers, &ORIGIN).map_err(Refused::Origin)? {
            Some(origin) if !self.allows_origin(origin) => Err(Refused::Origin(origin.to_owned())),
            // Programs other than browsers send no origin.
            Some(_) | None => Ok(()),
        }
    }
}

/// Headers that proxies add. Parsed names, since each modern request is checked.
static FORWARDED: [HeaderName; 6] = [
    hyper::header::FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-real-ip"),
    hyper::header::VIA,
];

/// Whether a proxy forwarded the request: it says so, or the host is not a name of this machine. The
/// connection then belongs to the proxy and does not tell where the client is.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDED.iter().any(|name| headers.contains_key(name))
        || text(headers, &HOST).is_some_and(|host| !host_of(host).is_some_and(is_this_machine))
}

/// Credentials of a request, with the scheme normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credentials<'a> {
    None,
    /// Token of `Bearer TOKEN`.
    Bearer(&'a str),
    /// Of another scheme, not text, or of several headers.
    Other(&'a [u8]),
}

pub(crate) fn credentials(headers: &HeaderMap) -> Credentials<'_> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(given) = values.next().map(HeaderValue::as_bytes) else { return Credentials::None };
    match bearer(given).and_then(|token| std::str::from_utf8(token).ok()) {
        // With two of them, a proxy might check one and we the other.
        Some(token) if values.next().is_none() => Credentials::Bearer(token),
        Some(_) | None => Credentials::Other(given),
    }
}

/// Token of `Bearer TOKEN`.
fn bearer(given: &[u8]) -> Option<&[u8]> {
    let space = given.iter().position(|byte| *byte == b' ')?;
    let (scheme, token) = given.split_at(space);
    scheme.eq_ignore_ascii_case(b"bearer").then(|| token.trim_ascii())
}

/// Value of a header that may occur once; an error if it occurs twice or is not text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    match (first.map(HeaderValue::to_str), second) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        // Two hosts or origins: a proxy might check one of them, and we the other.
        (Some(first), _) => Err(first.unwrap_or("?").to_owned()),
    }
}

pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Host without the port; `None` if malformed. Brackets contain an IPv6 address, and
/// only a port may follow them.
fn host_of(host: &str) -> Option<&str> {
    let Some(rest) = host.strip_prefix('[') else {
        return match host.rsplit_once(':') {
            Some((name, port)) => is_port(port).then_some(name),
            None => Some(host),
        };
    };
    let (address, after) = rest.split_once(']')?;
    let is_whole = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
    // The address must be valid: anything in brackets would otherwise pass as a host.
    (is_whole && address.parse::<Ipv6Addr>().is_ok()).then_some(address)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names that always resolve to this machine. `0.0.0.0` is excluded: foreign pages can use it.
fn is_this_machine(host: &str) -> bool {
    // Parsed, not compared by prefix: `127.evil.example` is a name, and may resolve anywhere.
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| match address {
            IpAddr::V4(address) => address.octets()[0] == Ipv4Addr::LOCALHOST.octets()[0],
            IpAddr::V6(address) => address.is_loopback(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn proxies_are_recognised() {
        for host in ["localhost", "127.0.0.1:7411", "[::1]:7411"] {
            assert!(!is_forwarded(&headers(&[("host", host)])), "{host}");
            for name in &FORWARDED {
                assert!(is_forwarded(&headers(&[("host", host), (name.as_str(), "x")])), "{host} {name}");
            }
        }
        assert!(!is_forwarded(&headers(&[])));
        assert!(is_forwarded(&headers(&[("host", "mcp.example.com")])));
    }

    fn gate() -> Gate {
        Gate { hosts: vec!["mcp.example.com".into()], origins: vec!["https://app.example.com".into()] }
    }

    #[test]
    fn only_own_and_allowed_hosts_pass() {
        for (host, is_allowed) in [
            ("localhost", true),
            ("LOCALHOST:7411", true),
            ("127.0.0.1:7411", true),
            ("127.8.9.1", true),
            ("[::1]:7411", true),
            ("mcp.example.com", true),
            ("mcp.example.com:443", true),
            ("", false),
            ("evil.example.com", false),
            ("localhost.evil.example.com", false),
            ("evil.example.com:7411", false),
            ("127.0.0.1.evil.example.com", false),
            ("0.0.0.0:7411", false),
            ("192.168.1.5", false),
            ("localhost:7411@evil.example.com", false),
            ("mcp.example.com.evil.com", false),
            ("[::1].evil.com", false),
            ("[::1].evil.com:7411", false),
            ("[::1]x", false),
            ("[::1]:80@evil.com", false),
            ("[::1", false),
            ("[localhost]", false),
            ("[localhost]:7411", false),
            ("[127.0.0.1]", false),
            ("[mcp.example.com]", false),
            ("localhost:x", false),
            ("localhost:80:80", false),
        ] {
            let found = gate().check_way(&headers(&[("host", host)]), None);
            assert_eq!(found.is_ok(), is_allowed, "{host}");
        }
        assert!(gate().check_way(&headers(&[]), None).is_err());
        assert!(gate().check_way(&headers(&[]), Some("localhost:1")).is_ok(), "HTTP/2 says it elsewhere");
        assert!(gate().check_way(&headers(&[("host", "localhost"), ("host", "evil")]), None).is_err());
        assert!(gate().check_way(&headers(&[("host", "localhost"), ("host", "localhost")]), None).is_err());
    }

    #[test]
    fn header_and_authority_must_both_be_ours() {
        let check = |host: &str, authority| gate().check_way(&headers(&[("host", host)]), Some(authority));
        assert_eq!(check("localhost:7411", "127.0.0.1:7411"), Ok(()));
        assert_eq!(check("localhost", "evil.com"), Err(Refused::Host("evil.com".into())));
        assert_eq!(check("evil.com", "localhost"), Err(Refused::Host("evil.com".into())));
        assert_eq!(check("localhost", "localhost@evil.com"), Err(Refused::Host("localhost@evil.com".into())));
        let unreadable = HeaderMap::from_iter([(HOST, HeaderValue::from_bytes(b"\xff").unwrap())]);
        assert_eq!(gate().check_way(&unreadable, Some("localhost")), Err(Refused::Host("?".into())));
    }

    #[test]
    fn two_origins_are_refused() {
        let pair = |one, two| headers(&[("host", "localhost"), ("origin", one), ("origin", two)]);
        for (one, two) in [("http://localhost", "https://evil.com"), ("http://localhost", "http://localhost")]
        {
            assert_eq!(gate().check_way(&pair(one, two), None), Err(Refused::Origin(one.into())));
        }
    }

    #[test]
    fn credentials_are_read() {
        let check = |values: &[&str], expect: Credentials<'_>| {
            let pairs: Vec<(&str, &str)> = values.iter().map(|value| ("authorization", *value)).collect();
            assert_eq!(credentials(&headers(&pairs)), expect, "{values:?}");
        };
        check(&[], Credentials::None);
        check(&["Bearer secret"], Credentials::Bearer("secret"));
        check(&["bearer  secret"], Credentials::Bearer("secret"));
        check(&["Bearer Secret"], Credentials::Bearer("Secret"));
        check(&["Bearer "], Credentials::Bearer(""));
        for other in ["secret", "Basic secret", "Bearer"] {
            check(&[other], Credentials::Other(other.as_bytes()));
        }
        check(&["Bearer secret", "Bearer secret"], Credentials::Other(b"Bearer secret"));
    }

    #[test]
    fn only_own_and_allowed_origins_pass() {
        for (origin, is_allowed) in [
            ("http://localhost:3000", true),
            ("http://127.0.0.1", true),
            ("https://[::1]:9", true),
            ("https://app.example.com", true),
            ("http://app.example.com", false),
            ("null", false),
            ("", false),
            ("https://evil.example.com", false),
            ("http://localhost.evil.example.com", false),
            ("file://localhost", false),
            ("https://app.example.com.evil.com", false),
            ("http://[::1].evil.com", false),
            ("http://[localhost]", false),
            ("http://localhost@evil.com", false),
        ] {
            let found = gate().check_way(&headers(&[("host", "localhost"), ("origin", origin)]), None);
            assert_eq!(found.is_ok(), is_allowed, "{origin}");
        }
    }
}
