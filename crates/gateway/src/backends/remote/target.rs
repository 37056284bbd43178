//! Address and headers of a remote server with their variables expanded, and how
//! to show them without a secret.

use crate::backends::launch::Unready;
use crate::config::{ServerConfig, Transport, expand, is_loopback};
use crate::environments::Vars;
use crate::secrets;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::path::Path;
use switchboard_core::redact::Secrets;

pub(crate) struct Target {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) transport: Transport,
    /// Values to mask, even where the server repeats them to us.
    secrets: Secrets,
}

impl Target {
    pub(crate) fn prepare(server: &ServerConfig, root: Option<&Path>, vars: &Vars) -> Result<Self, Unready> {
        let unready = |reason: String, hint: &str| Unready { reason, hint: Some(hint.to_owned()) };
        secrets::learn(secrets::of_server(server, root, &|name| vars.get(name)));
        let parts = expand::launch_parts(server, root, &|name| vars.get(name))?;
        let (Some((url, given)), Some(remote)) = (parts.remote, &server.remote) else {
            return Err(unready("it is not a remote server".to_owned(), "give its entry a `url`"));
        };
        // The text is not quoted: it may contain a key.
        let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| {
            unready("`url`: not an http(s) address".to_owned(), "write it as https://HOST/PATH")
        })?;
        let mut headers = HeaderMap::new();
        for (name, text) in given {
            let header = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(text.trim()));
            let (Ok(header), Ok(mut value)) = header else {
                let reason = format!("`headers.{name}`: not a valid header once its variables are filled in");
                return Err(unready(reason, "check the variable's value: a header is one line of text"));
            };
            // Keeps the value out of the HTTP client's debug output.
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(Self { url, headers, transport: remote.transport, secrets: secrets::known() })
    }

    /// The address and the names of the headers, for people.
    pub(crate) fn described(&self) -> String {
        let kind = match self.transport {
            Transport::Auto => "remote",
            Transport::Http => "http",
            Transport::Sse => "sse",
        };
        let names: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        let names =
            if names.is_empty() { String::new() } else { format!(" (headers: {})", names.join(", ")) };
        format!("{kind} {}{names}", self.secrets.mask_values(&shown(&self.url)))
    }

    pub(super) fn is_here(&self) -> bool {
        is_loopback(&self.url)
    }

    /// A server's text with all secrets redacted.
    pub(super) fn scrub(&self, text: &str) -> String {
        self.secrets.redact(text)
    }

    /// A hint of our own, in which only known secrets are masked.
    pub(super) fn scrub_hint(&self, hint: &str) -> String {
        self.secrets.mask_values(hint).into_owned()
    }
}

/// Address without its possible secrets: user, password and query.
pub(super) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RemoteConfig, Variables};

    fn target(url: &str, headers: &[(&str, &str)], vars: &[(&str, &str)]) -> Result<Target, String> {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let remote =
            RemoteConfig { url: url.to_owned(), headers: Variables(headers), transport: Transport::Auto };
        let server = ServerConfig {
            remote: Some(remote),
            expand: true,
            ..ServerConfig::for_command("s", "", Vec::new())
        };
        let vars = Vars::new(vars.iter().map(|(name, value)| (name.into(), value.into())).collect());
        Target::prepare(&server, None, &vars).map_err(|unready| unready.reason)
    }

    #[test]
    fn only_names_are_shown() {
        let it = target(
            "https://me:hunter22@${HOST}/mcp?key=s3cret99",
            &[("Authorization", "Bearer ${TOKEN}"), ("X-Version", "v1")],
            &[("HOST", "example.com"), ("TOKEN", "t0ken-of-mine")],
        );
        let it = it.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(it.described(), "remote https://example.com/mcp (headers: authorization, x-version)");
        assert_eq!(
            it.scrub("bad t0ken-of-mine, bad Bearer t0ken-of-mine, s3cret99, hunter22, v1"),
            "bad [redacted], bad [redacted], [redacted], [redacted], v1"
        );
    }

    #[test]
    fn expansion_errors_hide_values() {
        let why = |url, headers: &[_], vars: &[_]| target(url, headers, vars).err().unwrap_or_default();
        assert_eq!(why("https://x/${NONE}", &[], &[]), "`url`: the variable NONE is not set");
        assert_eq!(why("${U}", &[], &[("U", "file:///s3cret")]), "`url`: not an http(s) address");
        let why = why("https://x", &[("A", "${T}")], &[("T", "a\nb")]);
        assert_eq!(why, "`headers.A`: not a valid header once its variables are filled in");
    }
}
