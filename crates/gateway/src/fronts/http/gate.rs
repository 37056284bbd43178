//! Who may come in at all, decided from the head of a request alone, before a byte of its body is read: the host that it
//! was sent to, the page that it came from, and its token. Pure.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use std::net::{IpAddr, Ipv4Addr};

/// What is let in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    /// Names under which we may be addressed, beside those of this machine.
    pub(crate) hosts: Vec<String>,
    /// Pages that may talk to us, beside those of this machine.
    pub(crate) origins: Vec<String>,
    /// Nothing: everybody may come in who is on this machine.
    pub(crate) token: Option<String>,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A page of somebody else's may have got here by a name that leads to us.
    Host(String),
    Origin(String),
    NoToken,
    WrongToken,
}

impl Gate {
    /// Of the page that a browser shows: whether it may be answered so that it can read it.
    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
            || origin.split_once("://").is_some_and(|(scheme, host)| {
                matches!(scheme, "http" | "https") && is_this_machine(host_of(host))
            })
    }

    fn allows_host(&self, host: &str) -> bool {
        let name = host_of(host);
        is_this_machine(name)
            || self
                .hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(host))
    }

    /// Host and origin: what a page that is not ours could not forge.
    pub(crate) fn check_way(&self, headers: &HeaderMap, authority: Option<&str>) -> Result<(), Refused> {
        let host = text(headers, &HOST).or(authority).unwrap_or_default();
        if !self.allows_host(host) || headers.get_all(HOST).iter().count() > 1 {
            return Err(Refused::Host(host.to_owned()));
        }
        match headers.get(ORIGIN) {
            None => Ok(()),
            Some(origin) => match origin.to_str() {
                Ok(origin) if self.allows_origin(origin) => Ok(()),
                Ok(origin) => Err(Refused::Origin(origin.to_owned())),
                Err(_) => Err(Refused::Origin("?".to_owned())),
            },
        }
    }

    pub(crate) fn check_token(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let Some(token) = &self.token else { return Ok(()) };
        let Some(given) = headers.get(AUTHORIZATION) else { return Err(Refused::NoToken) };
        let given = given.as_bytes();
        let Some(space) = given.iter().position(|byte| *byte == b' ') else {
            return Err(Refused::WrongToken);
        };
        let (scheme, given) = given.split_at(space);
        let is_it = scheme.eq_ignore_ascii_case(b"bearer") && same(given.trim_ascii(), token.as_bytes());
        if is_it { Ok(()) } else { Err(Refused::WrongToken) }
    }
}

pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Without the port.
fn host_of(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        }),
    }
}

/// Names that lead here and nowhere else, whoever resolves them. `0.0.0.0` is none: pages can use it.
fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| match address {
            IpAddr::V4(address) => address.octets()[0] == Ipv4Addr::LOCALHOST.octets()[0],
            IpAddr::V6(address) => address.is_loopback(),
        })
}

/// Takes as long whatever differs, so that nobody can find out a token byte by byte.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && std::hint::black_box(difference) == 0
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

    fn gate() -> Gate {
        Gate {
            hosts: vec!["mcp.example.com".into()],
            origins: vec!["https://app.example.com".into()],
            token: Some("secret".into()),
        }
    }

    #[test]
    fn only_names_of_this_machine_and_those_that_were_given_lead_here() {
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
        ] {
            let found = gate().check_way(&headers(&[("host", host)]), None);
            assert_eq!(found.is_ok(), is_allowed, "{host}");
        }
        assert!(gate().check_way(&headers(&[]), None).is_err());
        assert!(gate().check_way(&headers(&[]), Some("localhost:1")).is_ok(), "HTTP/2 says it elsewhere");
        assert!(gate().check_way(&headers(&[("host", "localhost"), ("host", "evil")]), None).is_err());
    }

    #[test]
    fn only_pages_of_this_machine_and_those_that_were_given_may_talk() {
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
        ] {
            let found = gate().check_way(&headers(&[("host", "localhost"), ("origin", origin)]), None);
            assert_eq!(found.is_ok(), is_allowed, "{origin}");
        }
    }

    #[test]
    fn a_token_is_asked_for() {
        let check = |value: &str| gate().check_token(&headers(&[("authorization", value)]));
        assert_eq!(gate().check_token(&headers(&[])), Err(Refused::NoToken));
        assert_eq!(check("Bearer secret"), Ok(()));
        assert_eq!(check("bearer  secret"), Ok(()));
        for wrong in ["secret", "Basic secret", "Bearer", "Bearer secre", "Bearer secrets", "Bearer Secret"] {
            assert_eq!(check(wrong), Err(Refused::WrongToken), "{wrong}");
        }
        assert_eq!(Gate::default().check_token(&headers(&[])), Ok(()));
    }
}
