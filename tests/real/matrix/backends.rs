//! server-everything, in each of its three modes.

use crate::real::elsewhere::Elsewhere;
use crate::real::peers::{Link, Server};
use serde_json::{Value, json};
use switchboard_testkit::client::Start;

/// Transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Stdio,
    Streamable,
    Sse,
}

/// A server that runs, or can be started, while this value lives.
pub(super) enum Backend {
    Here(Server),
    Streamable(Elsewhere),
    Sse(Elsewhere),
}

impl Backend {
    pub(super) fn start(reach: Reach) -> Self {
        match reach {
            Reach::Stdio => Self::Here(Server::everything()),
            Reach::Streamable => Self::Streamable(Elsewhere::everything("streamableHttp")),
            Reach::Sse => Self::Sse(Elsewhere::everything("sse")),
        }
    }

    /// The server's entry in a config file.
    pub(super) fn entry(&self) -> Value {
        match self {
            Self::Here(server) => {
                let words: Vec<String> =
                    server.words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
                json!({ "command": words[0], "args": words[1..] })
            }
            Self::Streamable(elsewhere) => json!({ "type": "http", "url": elsewhere.url() }),
            Self::Sse(elsewhere) => json!({ "type": "sse", "url": elsewhere.url() }),
        }
    }

    /// The server's process, if the client starts it.
    pub(super) fn command(server: &Server) -> Start {
        server.start(Link::Direct)
    }
}
