//! The first words between two Switchboards on one machine: one line of JSON each way. After a client's, its messages
//! follow; everything else ends with the reply.

use crate::config::{Config, Guard, InheritEnv, Packages, ServerConfig, defaults};
use crate::environments::Vars;
use crate::telemetry::WindowLog;
use bytes::BytesMut;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::time::Duration;
use switchboard_process::local::Connection;
use switchboard_process::pipe::{ByteReader, ByteWriter};

/// Raised when older ones could not make sense of newer ones.
pub(crate) const PROTOCOL: u32 = 1;

/// Which of us this is. In debug builds `SWITCHBOARD_PRETEND_VERSION` says otherwise: there is no older one to try
/// it with.
pub(crate) fn version() -> String {
    #[cfg(debug_assertions)]
    if let Ok(other) = std::env::var("SWITCHBOARD_PRETEND_VERSION") {
        return other;
    }
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Longest line. An environment may be large, but not that large.
const MAX_LINE_BYTES: usize = 4 << 20;
/// Time for a line: a daemon that is there answers at once.
const HEAR_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) version: String,
    pub(crate) wants: Wants,
}

/// The same, before it is known whether we understand what is wanted.
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
    /// End, whoever is there.
    Stop,
    /// Take no new clients, and end when those that are there have gone: a newer one takes over.
    Retire,
    /// The same, whoever asks: one that also serves over HTTP takes over.
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
}

/// Form of the file that goes along with a client's streams. The first form was announced in another way, and is not taken
/// any more: it held addresses of the process that served.
pub(crate) const HANDOVER_FORM: u32 = 2;

/// A client that comes through an attachment, with all that it would have had for itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Newcomer {
    pub(crate) server: String,
    /// All servers of the config, as one.
    pub(crate) everything: bool,
    /// How to start it, if it is not the config's.
    #[serde(default)]
    pub(crate) ad_hoc: Option<AdHoc>,
    pub(crate) working_folder: Option<String>,
    pub(crate) pinned: Option<String>,
    pub(crate) given: Vec<String>,
    pub(crate) default: Option<String>,
    /// Variables that are no text are left out: no setting could name them.
    pub(crate) env: Vec<(String, String)>,
    /// It offers its client's own streams, with a file of this [form](HANDOVER_FORM); 0 is none. Whoever does not know it
    /// takes no notice.
    pub(crate) handover: u32,
    /// What its refusals are to be marked with, for it alone to know.
    pub(crate) refusal_mark: Option<String>,
    /// Its own log settings, if it has any.
    pub(crate) log: Option<WindowLog>,
}

/// A server that a command line gave, as far as that can say.
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

/// An attachment of an earlier version does not say it.
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

    /// What is not said here is as the daemon's own config has it.
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

/// What a client of all servers is told that it talks to.
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
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// Why not.
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
        self.result["streams"] == true
    }

    pub(crate) fn refusal(why: impl Into<String>) -> Self {
        Self { error: Some(why.into()), ..Self::with(Value::Null) }
    }
}

/// Whether an error says that nobody listens there, or not any more.
pub(crate) fn is_nobody(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | UnexpectedEof)
}

/// Says what is wanted, and hears what comes of it.
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

/// One line. Nothing may stand behind it: the other side waits for an answer.
pub(crate) async fn hear<T: for<'a> Deserialize<'a>>(reader: &mut ByteReader) -> io::Result<T> {
    let mut buffer = BytesMut::new();
    let line = async {
        while !buffer.ends_with(b"\n") {
            if reader.read(&mut buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if buffer.len() > MAX_LINE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "too long a line"));
            }
        }
        serde_json::from_slice(&buffer).map_err(io::Error::from)
    };
    tokio::time::timeout(HEAR_TIMEOUT, line).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Whether one version is newer than another: by its numbers, from the left.
pub(crate) fn is_newer(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let plain = version.split(['-', '+']).next().unwrap_or_default();
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
}
