//! A window with a real server behind it that is several processes deep, and the check that all of them end.

use super::peers::{Link, Server};
use crate::support::program;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::tree::{self, Process};

/// The promise is one second. The machine may be busy with other tests.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// A server, and how it gets all of its processes.
pub(super) struct Chain {
    pub(super) server: fn() -> Server,
    /// Capabilities of its client.
    pub(super) capabilities: fn() -> Value,
    /// The client's part after the handshake.
    pub(super) open: fn(&mut Client),
    /// Minimum number of processes below each other.
    pub(super) depth: usize,
    /// Name prefixes of the temporary files that the server has then, and removes before it ends.
    pub(super) temporary: &'static [&'static str],
}

pub(super) struct Window {
    pub(super) client: Client,
    server: Server,
    temporary: &'static [&'static str],
    us: Process,
    /// All our descendants when the server had all of its processes.
    family: Vec<Process>,
    /// Processes of the chain itself.
    line: Vec<Process>,
}

impl Window {
    /// `state` is the state folder, which outlives the window.
    #[track_caller]
    pub(super) fn open(chain: &Chain, guard: &str, state: &Path) -> Self {
        let server = (chain.server)();
        let start = program().args(["stdio", "--guard", guard, "--"]).args(server.command(Link::Direct));
        let start = start.cwd(server.folder().path()).own_group();
        let start = start.env("HOME", server.folder().folder("home")).env("TMPDIR", temporary(&server));
        let mut client = start.env("XDG_STATE_HOME", state).start();
        let us = Process::look(client.pid()).unwrap();
        greet(&mut client, (chain.capabilities)());
        (chain.open)(&mut client);
        let family = tree::descendants(us.pid);
        let mut line = longest_line(&family);
        line.truncate(chain.depth);
        let window = Self { client, server, temporary: chain.temporary, us, family, line };
        assert_eq!(window.line.len(), chain.depth, "the chain is complete: {:#?}", window.family);
        assert!(window.on_disk().len() >= chain.temporary.len(), "{:?}", window.on_disk());
        window
    }

    /// Existing files of `Chain::temporary`.
    pub(super) fn on_disk(&self) -> Vec<String> {
        let entries = fs::read_dir(temporary(&self.server)).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| self.temporary.iter().any(|beginning| name.starts_with(beginning))).collect()
    }

    pub(super) fn kill(&self) {
        self.us.tell(Word::Kill);
    }

    pub(super) fn kill_group(&self) {
        pids::tell_group(self.us.pid, Word::Kill);
    }

    /// Checks that no process is left, neither an earlier nor a later one.
    #[track_caller]
    pub(super) fn check_gone(&mut self, since: Instant) {
        let last = RefCell::new(Vec::new());
        patience::before(since + CLEANUP_TIMEOUT, Left(&last), || {
            *last.borrow_mut() = self.left();
            last.borrow().is_empty().then_some(())
        });
    }

    fn left(&mut self) -> Vec<Process> {
        // Reaps the program, whose parent is the test.
        self.client.has_ended();
        let there = [&self.us].into_iter().chain(&self.family).filter(|process| process.is_alive()).cloned();
        // The server's home is in the environment of all its children.
        let since = pids::with_trace(&format!("{}/", self.server.folder().path().display()));
        there.chain(since.into_iter().filter_map(Process::look)).collect()
    }

    /// Checks that the window was not affected.
    #[track_caller]
    pub(super) fn check_well(&mut self) {
        let hurt: Vec<&Process> = self.line.iter().filter(|process| !process.is_alive()).collect();
        assert!(hurt.is_empty(), "these had nothing to do with it: {hurt:#?}");
        let answer = self.client.request("ping", json!({}));
        assert!(answer["result"].is_object(), "{answer}");
    }
}

impl Drop for Window {
    /// Cleans up after a failed test too.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.left().iter().for_each(|process| process.tell(Word::Kill));
        }
    }
}

fn temporary(server: &Server) -> PathBuf {
    server.folder().folder("tmp")
}

#[track_caller]
fn greet(client: &mut Client, capabilities: Value) {
    let info = json!({ "name": "window", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
    let greeting = client.request("initialize", params);
    assert!(greeting["result"].is_object(), "{greeting}");
    client.notify("notifications/initialized", json!({}));
}

/// The longest chain of processes from the server's first one to one without children, without our own.
fn longest_line(family: &[Process]) -> Vec<Process> {
    let parent_of = |process: &Process| {
        family.iter().find(|other| other.pid == process.parent && !other.name.starts_with("sb-"))
    };
    let lines = family.iter().filter(|process| !process.name.starts_with("sb-")).map(|process| {
        let mut line: Vec<Process> =
            std::iter::successors(Some(process), |process| parent_of(process)).cloned().collect();
        line.reverse();
        line
    });
    lines.max_by_key(Vec::len).unwrap_or_default()
}

struct Left<'a>(&'a RefCell<Vec<Process>>);

impl Display for Left<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing is left after {CLEANUP_TIMEOUT:?}; there are still {:#?}", self.0.borrow())
    }
}
