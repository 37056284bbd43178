//! Real servers that the gateway does not start: they listen on loopback, and are ended by process id.

use super::peers::{driver, node_package, python};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;

pub(crate) struct Elsewhere {
    words: Vec<OsString>,
    path: &'static str,
    port: u16,
    child: Child,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModernSdk {
    Python,
    TypeScript,
}

impl Elsewhere {
    /// Modes: `streamableHttp` or `sse`.
    pub(crate) fn everything(mode: &str) -> Self {
        let script = node_package("@modelcontextprotocol/server-everything/dist/index.js");
        let steady = driver("steady.mjs");
        let words = vec!["node".into(), "--import".into(), steady.into(), script.into(), mode.into()];
        Self::start(words, if mode == "sse" { "/sse" } else { "/mcp" })
    }

    /// Modes: `streamable-http`, `json` or `sse`.
    pub(crate) fn python(mode: &str) -> Self {
        let words = vec![python(".venv").into(), driver("server.py").into(), mode.into()];
        Self::start(words, if mode == "sse" { "/sse" } else { "/mcp" })
    }

    /// Modern servers with the same tools, some of which want headers.
    pub(crate) fn modern(sdk: ModernSdk) -> Self {
        let words = match sdk {
            ModernSdk::Python => vec![python(".venv").into(), driver("modern_server.py").into()],
            ModernSdk::TypeScript => vec!["node".into(), driver("modern_server.mjs").into()],
        };
        Self::start(words, "/mcp")
    }

    /// Starts a server that takes its port as the last argument, or as $PORT.
    pub(crate) fn start(words: Vec<OsString>, path: &'static str) -> Self {
        // A port that was just free is probably still free.
        for _ in 0..5 {
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
            if let Some(child) = listening(&words, port) {
                return Self { words, path, port, child };
            }
        }
        panic!("{words:?} does not listen");
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.path)
    }

    /// Kills the server and starts it on the same port.
    pub(crate) fn restart(&mut self) {
        self.end();
        self.child = listening(&self.words, self.port).expect("the port was its own");
    }

    /// Kills the server.
    pub(crate) fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.end();
    }
}

/// The process, once it reports that it listens.
fn listening(words: &[OsString], port: u16) -> Option<Child> {
    let mut command = Command::new(&words[0]);
    // Node's servers read the port from PORT, Python's from the last argument.
    command.args(&words[1..]).arg(port.to_string()).env("PORT", port.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    #[expect(clippy::disallowed_methods, reason = "it plays a server of somebody else; `Elsewhere` ends it")]
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_ready = |line: &String| {
        ["listening on port", "is running on port", "Uvicorn running on"].iter().any(|it| line.contains(it))
    };
    let ready = lines.by_ref().map_while(Result::ok).any(|line| is_ready(&line));
    if !ready {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    thread::spawn(move || lines.for_each(drop));
    Some(child)
}
