//! Handshake between two Switchboard processes on one machine: one line of JSON each way. A client's messages
//! follow its handshake; other requests end with the reply.

use crate::config::{Config, Guard, InheritEnv, Packages, ServerConfig, defaults};
use crate::environments::Vars;
use crate::telemetry::WindowLog;
use crate::tokens::{Secret, TOKEN_VARIABLE};
use bytes::BytesMut;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::time::Duration;
use switchboard_process::local::Connection;
use switchboard_process::pipe::{ByteReader, ByteWriter};

/// Protocol version. To be raised when older processes cannot understand newer ones.
pub(crate) const PROTOCOL: u32 = 1;

/// Version of this program. In debug builds `SWITCHBOARD_PRETEND_VERSION` replaces it, for tests of upgrades.
pub(crate) fn version() -> String {
    #[cfg(debug_assertions)]
    if let Ok(other) = std::env::var("SWITCHBOARD_PRETEND_VERSION") {
        return other;
    }
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Longest line. An environment may be large, but not that large.
const MAX_LINE_BYTES: usize = 4 << 20;
/// Time limit for a line; a running daemon answers at once.
const HEAR_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) version: String,
    pub(crate) wants: Wants,
}

/// A hello before its request is understood.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) protocol: u32,
    pub(crate) version: String,
    pub(crate) wants: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Wants {
    Client(Box<Newcomer>),
    Status,
    /// End, whoever is connected.
    Stop,
    /// Accept no new clients, and end with the present ones: a newer daemon takes over.
    Retire,
    /// Like `Retire`, from any version: a daemon that also serves over HTTP takes over.
    GiveWay,
    Reload,
    Order {
        order: OrderWord,
        server: String,
        root: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum OrderWord {
    Restart,
    Stop,
    Start,
    Forget,
    /// Where the pins of the server's tools are stored.
    Pins,
    /// Apply the stored approvals of the server's tools.
    Approve,
}

/// Format of the file that accompanies a client's streams. The first format is no longer accepted, since it
/// contained addresses of the serving process; it was announced in another way.
const HANDOVER_FORM: u32 = 2;

/// A client of an attachment, with everything that it would have in a process of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Newcomer {
    pub(crate) server: String,
    /// All servers of the config, as one.
    pub(crate) everything: bool,
    /// Profile of the config that narrows its rights. The reply confirms it.
    pub(crate) profile: Option<String>,
    /// Launch of a server that is not in the config.
    #[serde(default)]
    pub(crate) ad_hoc: Option<AdHoc>,
    pub(crate) working_folder: Option<String>,
    pub(crate) pinned: Option<String>,
    pub(crate) given: Vec<String>,
    pub(crate) default: Option<String>,
    /// Variables that are not UTF-8 are left out: no setting could name them.
    pub(crate) env: Vec<(String, String)>,
    /// Format of the offered [handover](HANDOVER_FORM); 0 for none. Older daemons ignore the field.
    pub(crate) handover: u32,
    /// Secret mark for refusals, so that the relay can recognize them.
    pub(crate) refusal_mark: Option<String>,
    /// The window's own log settings.
    pub(crate) log: Option<WindowLog>,
    /// Token of the client. Older daemons ignore the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<Secret>,
}

/// A command line's server, as far as a command line can describe it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AdHoc {
    command: String,
    args: Vec<String>,
    max_backends: usize,
    idle_ttl: Option<Duration>,
    root_arguments: Vec<String>,
    inherit_env: InheritEnv,
    pass_env: Vec<String>,
    #[serde(default = "default_packages")]
    packages: Packages,
    guard: Guard,
    keep: Vec<String>,
    #[serde(default)]
    start_timeout: Option<Duration>,
    #[serde(default)]
    timeout: Option<Duration>,
}

/// Default for attachments of earlier versions, which do not send it.
fn default_packages() -> Packages {
    defaults::PACKAGES
}

impl AdHoc {
    pub fn of(server: &ServerConfig) -> Self {
        Self {
            command: server.command.clone(),
            args: server.args.clone(),
            max_backends: server.max_backends,
            idle_ttl: server.idle_ttl,
            root_arguments: server.root_arguments.clone(),
            inherit_env: server.inherit_env,
            pass_env: server.pass_env.clone(),
            packages: server.packages,
            guard: server.guard,
            keep: server.keep.clone(),
            start_timeout: Some(server.start_timeout),
            timeout: Some(server.timeout),
        }
    }

    /// The server, with the daemon's own config for everything else.
    pub(crate) fn server(self, name: &str, config: &Config) -> ServerConfig {
        let mut server = ServerConfig::for_command(name, self.command, self.args);
        config.apply_to(&mut server);
        ServerConfig {
            start_timeout: self.start_timeout.unwrap_or(server.start_timeout),
            timeout: self.timeout.unwrap_or(server.timeout),
            max_backends: self.max_backends,
            idle_ttl: self.idle_ttl,
            root_arguments: self.root_arguments,
            inherit_env: self.inherit_env,
            pass_env: self.pass_env,
            packages: self.packages,
            guard: self.guard,
            keep: self.keep,
            ..server
        }
    }
}

/// Name that a client of all servers is told.
const EVERYTHING: &str = "switchboard";

impl Newcomer {
    /// The server's name, for people.
    pub(crate) fn shown(&self) -> &str {
        if self.server.is_empty() { EVERYTHING } else { &self.server }
    }

    pub(crate) fn vars(&self) -> Vars {
        let pairs = self.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Vars::new(pairs.collect())
    }

    /// With the token of its environment, if it names none. Windows of releases without tokens pass the variable
    /// on with all others; their clients must not become the owner for it.
    pub(crate) fn with_variable(self) -> Self {
        let is_it = |pair: &&(String, String)| pair.0 == TOKEN_VARIABLE && !pair.1.is_empty();
        let given = self.env.iter().find(is_it).map(|(_, token)| Secret::new(token.as_str()));
        Self { token: self.token.or(given), ..self }
    }

    /// Offers the client's own streams to the daemon, or withdraws the offer.
    pub(crate) fn offering_streams(self, is_offered: bool) -> Self {
        Self { handover: if is_offered { HANDOVER_FORM } else { 0 }, ..self }
    }

    /// Whether the client's own streams are offered. An attachment with another file format is served as a
    /// relay.
    pub(crate) fn offers_streams(&self) -> bool {
        self.handover == HANDOVER_FORM
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// Reason for a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) result: Value,
}

impl Reply {
    pub(crate) fn with(result: Value) -> Self {
        Self { version: version(), pid: std::process::id(), error: None, result }
    }

    /// Whether the daemon takes the client's own streams.
    pub(crate) fn takes_streams(&self) -> bool {
        // Absent in replies of daemons that do not know the offer.
        self.result["streams"] == true
    }

    /// The reply to an accepted client.
    pub(crate) fn welcome(newcomer: &Newcomer, takes_streams: bool) -> Self {
        let mut result = Map::new();
        if takes_streams {
            result.insert("streams".to_owned(), true.into());
        }
        if let Some(profile) = &newcomer.profile {
            result.insert("profile".to_owned(), profile.as_str().into());
        }
        if newcomer.token.is_some() {
            result.insert("token".to_owned(), true.into());
        }
        Self::with(if result.is_empty() { Value::Null } else { result.into() })
    }

    /// Checks that the daemon applies what narrows the client's rights. Older daemons ignore fields that they do
    /// not know, and would make it the owner.
    pub(crate) fn check_narrowed(&self, newcomer: &Newcomer) -> io::Result<()> {
        let unknown = if newcomer.profile.as_ref().is_some_and(|profile| self.result["profile"] != **profile)
        {
            "profiles"
        } else if newcomer.token.is_some() && self.result["token"] != true {
            "tokens"
        } else {
            return Ok(());
        };
        let text = format!("the daemon does not know {unknown}; `switchboard daemon stop` ends it");
        Err(io::Error::other(text))
    }

    pub(crate) fn refusal(why: impl Into<String>) -> Self {
        Self { error: Some(why.into()), ..Self::with(Value::Null) }
    }
}

/// Whether an error means that no daemon listens, or no longer.
pub(crate) fn is_nobody(error: &io::Error) -> bool {
    // A daemon that ends closes its socket, which shows as any of these.
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | UnexpectedEof)
}

/// Sends a request and waits for the reply.
pub(crate) async fn ask(connection: &mut Connection, wants: Wants) -> io::Result<Reply> {
    let hello = Hello { protocol: PROTOCOL, version: version(), wants };
    say(&connection.writer, &hello).await?;
    hear(&mut connection.reader).await
}

pub(crate) async fn say(writer: &ByteWriter, words: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(words)?;
    line.push(b'\n');
    let mut rest = &line[..];
    while !rest.is_empty() {
        match writer.try_write(&[IoSlice::new(rest)]) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => writer.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads one line. Nothing may follow it, since the other side waits for the answer.
pub(crate) async fn hear<T: for<'a> Deserialize<'a>>(reader: &mut ByteReader) -> io::Result<T> {
    let mut buffer = BytesMut::new();
    let line = async {
        // The last byte is enough: the other side sends nothing after its line.
        while !buffer.ends_with(b"\n") {
            if reader.read(&mut buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if buffer.len() > MAX_LINE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
            }
        }
        serde_json::from_slice(&buffer).map_err(io::Error::from)
    };
    tokio::time::timeout(HEAR_TIMEOUT, line).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Whether one version is newer than another, compared number by number.
pub(crate) fn is_newer(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        // Pre-release and build parts do not count.
        let plain = version.split(['-', '+']).next().unwrap_or_default();
        // A version that cannot be read counts as the oldest.
        plain.split('.').map(|number| number.parse().unwrap_or(0)).collect()
    };
    numbers(one) > numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_newer("0.10.0", "0.9.9"));
        assert!(is_newer("1.0.0", "0.99.99"));
        assert!(!is_newer("0.1.0", "0.1.0"));
        assert!(!is_newer("0.1.0", "0.1.1"));
        assert!(!is_newer("0.1.0-beta", "0.1.0"));
    }

    /// A daemon that does not know profiles or tokens must not serve a client with one.
    #[test]
    fn profile_and_token_are_confirmed() {
        let of = |profile: Option<&str>, token: Option<&str>| Newcomer {
            profile: profile.map(str::to_owned),
            token: token.map(Secret::new),
            ..Newcomer::default()
        };
        let all = [of(None, None), of(Some("work"), None), of(None, Some("t")), of(Some("work"), Some("t"))];
        for takes_streams in [true, false] {
            for (known, asked) in (0..4).flat_map(|known| (0..4).map(move |asked| (known, asked))) {
                let reply = Reply::welcome(&all[known], takes_streams);
                assert_eq!(reply.takes_streams(), takes_streams);
                // One bit for the profile, one for the token: all that is asked must be confirmed.
                let expect = asked & !known == 0;
                assert_eq!(reply.check_narrowed(&all[asked]).is_ok(), expect, "{known} {asked}");
            }
            let other = Reply::welcome(&of(Some("other"), None), takes_streams);
            assert!(other.check_narrowed(&all[1]).is_err());
        }
    }

    /// Windows of releases without tokens send the variable with all others.
    #[test]
    fn variable_of_an_older_window_counts() {
        let with = |value: &str| Newcomer {
            env: vec![("A".into(), "b".into()), (TOKEN_VARIABLE.into(), value.into())],
            ..Newcomer::default()
        };
        let token =
            |newcomer: Newcomer| newcomer.with_variable().token.map(|token| token.expose().to_owned());
        assert_eq!(token(with("t")).as_deref(), Some("t"));
        assert_eq!(token(Newcomer { token: Some(Secret::new("own")), ..with("t") }).as_deref(), Some("own"));
        assert_eq!((token(with("")), token(Newcomer::default())), (None, None));
    }
}
