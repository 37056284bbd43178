//! The programs of each front: their command lines, config files, and clients.

use super::subject::{Serving, Speech, Subject};
use crate::aggregate::{BETWEEN, SERVER};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use switchboard_testkit::client::Start;
use switchboard_testkit::daemons;
use switchboard_testkit::scratch::Scratch;

/// Programs of each front, see [`Front::open`].
pub(super) const SUBJECTS: usize = 5;
/// Servers behind the aggregated front.
const SERVERS: usize = 10;

/// Era of the clients of a comparison.
#[derive(Clone, Copy)]
pub(super) enum ClientEra {
    Legacy,
    Modern,
}

impl ClientEra {
    pub(super) const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    Solo,
    Daemon,
    Many,
    HttpOne,
    HttpAll,
}

impl Front {
    pub(super) const ALL: [Self; 5] = [Self::Solo, Self::Daemon, Self::Many, Self::HttpOne, Self::HttpAll];

    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "solo" => Some(Self::Solo),
            "daemon" => Some(Self::Daemon),
            "many" => Some(Self::Many),
            "http" => Some(Self::HttpOne),
            "http-all" => Some(Self::HttpAll),
            _ => None,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Solo => "stdio, one server, `--solo`",
            Self::Daemon => "stdio, one server, daemon",
            Self::Many => "stdio, ten servers as one",
            Self::HttpOne => "HTTP, one server",
            Self::HttpAll => "HTTP, `/mcp`",
        }
    }

    /// The floor with legacy and modern messages, and Switchboard with legacy, long legacy and modern ones.
    pub(super) fn open(self, switchboard: &Path) -> io::Result<[Subject; SUBJECTS]> {
        Ok([
            self.floor(Speech::Legacy)?,
            self.floor(Speech::Modern)?,
            self.switchboard(switchboard, Speech::Legacy)?,
            self.switchboard(switchboard, Speech::LongLegacy)?,
            self.switchboard(switchboard, Speech::Modern)?,
        ])
    }

    fn floor(self, speech: Speech) -> io::Result<Subject> {
        let this = std::env::current_exe()?.into_os_string();
        let words: &[&str] = match self {
            Self::Solo | Self::Daemon => &["pump", "--"],
            Self::Many => &["aggregate", "--servers", "10", "--"],
            Self::HttpOne | Self::HttpAll => &["bridge", "--"],
        };
        let words = words.iter().map(OsString::from);
        let argv: Vec<OsString> =
            [this.clone()].into_iter().chain(words).chain([this]).chain(backend(speech)).collect();
        let (start, scratch) = (Start::plain(&argv), Scratch::new());
        match self {
            Self::Solo | Self::Daemon => Subject::over_pipes(start, scratch, speech, vec!["tiny".to_owned()]),
            Self::Many => Subject::over_pipes(start, scratch, speech, prefixed(SERVERS)),
            Self::HttpOne | Self::HttpAll => Subject::over_http(start, scratch, speech, "/mcp", "tiny"),
        }
    }

    /// Switchboard with this client, of a server of its own era and of one of the other.
    pub(super) fn open_translated(self, switchboard: &Path, client: ClientEra) -> io::Result<[Subject; 2]> {
        let speeches = match client {
            ClientEra::Legacy => [Speech::Legacy, Speech::ToModern],
            ClientEra::Modern => [Speech::Modern, Speech::ToLegacy],
        };
        let [passed, translated] = speeches.map(|speech| self.switchboard(switchboard, speech));
        Ok([passed?, translated?])
    }

    fn switchboard(self, program: &Path, speech: Speech) -> io::Result<Subject> {
        let scratch = Scratch::new();
        let servers = if self == Self::Many { SERVERS } else { 1 };
        let config = scratch.file("config.json", config(servers, speech)?.to_string());
        let one = format!("{SERVER}0");
        let start = Start::inside(&scratch, program).cwd(scratch.folder("project"));
        let stdio = |start: Start| start.args(["stdio", "--config"]).arg(&config);
        let serve = |start: Start| start.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&config);
        let tiny = vec!["tiny".to_owned()];
        match self {
            Self::Solo => {
                Subject::over_pipes(stdio(start).args(["--solo", "--server", &one]), scratch, speech, tiny)
            }
            Self::Daemon => {
                let folder = scratch.path().to_owned();
                let start = stdio(start).args(["--server", &one]);
                let subject = Subject::over_pipes(start, scratch, speech, tiny)?;
                Ok(subject.served_by(Serving::Daemon(daemons::of(&folder))))
            }
            Self::Many => Subject::over_pipes(stdio(start).arg("--solo"), scratch, speech, prefixed(SERVERS)),
            Self::HttpOne => {
                Subject::over_http(serve(start), scratch, speech, &format!("/servers/{one}/mcp"), "tiny")
            }
            Self::HttpAll => Subject::over_http(serve(start), scratch, speech, "/mcp", &prefixed(1)[0]),
        }
    }
}

fn prefixed(servers: usize) -> Vec<String> {
    (0..servers).map(|number| format!("{SERVER}{number}{BETWEEN}tiny")).collect()
}

/// The server's words.
fn backend(speech: Speech) -> Vec<OsString> {
    let words: &[&str] = match speech.has_modern_server() {
        false => &["backend"],
        true => &["backend", "--modern"],
    };
    words.iter().map(OsString::from).collect()
}

fn config(servers: usize, speech: Speech) -> io::Result<Value> {
    let this = std::env::current_exe()?;
    let entry = |number: usize| {
        let name = format!("{SERVER}{number}");
        let mut words = json!(["backend", "--name", name]);
        let mut entry = json!({ "command": this });
        // No server is asked for its era.
        entry["era"] = "legacy".into();
        if let (true, Some(words)) = (speech.has_modern_server(), words.as_array_mut()) {
            words.push("--modern".into());
            entry["era"] = "modern".into();
        }
        entry["args"] = words;
        (name, entry)
    };
    let servers: Map<String, Value> = (0..servers).map(entry).collect();
    Ok(json!({ "linger": "1s", "mcpServers": servers }))
}
