//! An IDE's window: us with a real server behind, which is several processes, one below the other; and whether
//! all of them are gone.

use super::peers::{Server, Way};
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

/// A second is what we promise. The machine may be busy with other tests.
const BOUND: Duration = Duration::from_secs(5);

/// A server as it is started, and how it is brought to where it has all of its processes.
pub(super) struct Chain {
    pub(super) server: fn() -> Server,
    /// What its client declares.
    pub(super) capabilities: fn() -> Value,
    /// The client's part after the handshake.
    pub(super) open: fn(&mut Client),
    /// So many processes stand one below the other then, at least.
    pub(super) depth: usize,
    /// What it has in its folder for temporary files then, and removes before it ends: how the names begin.
    pub(super) temporary: &'static [&'static str],
}

pub(super) struct Window {
    pub(super) client: Client,
    server: Server,
    temporary: &'static [&'static str],
    us: Process,
    /// All that descends from us, as it was when the server had all of its processes.
    family: Vec<Process>,
    /// Those of the chain itself.
    line: Vec<Process>,
}

impl Window {
    /// `state` is a folder for what must outlive us, beside the home.
    #[track_caller]
    pub(super) fn open(chain: &Chain, guard: &str, state: &Path) -> Self {
        let server = (chain.server)();
        let start = program().args(["stdio", "--guard", guard, "--"]).args(server.command(Way::Direct));
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

    /// What there is of `Chain::temporary`.
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

    /// Nobody is left, neither of those who were there, nor of those who came since.
    #[track_caller]
    pub(super) fn check_gone(&mut self, since: Instant) {
        let last = RefCell::new(Vec::new());
        patience::before(since + BOUND, Left(&last), || {
            *last.borrow_mut() = self.left();
            last.borrow().is_empty().then_some(())
        });
    }

    fn left(&mut self) -> Vec<Process> {
        // Reaps us, whose parent is the test.
        self.client.has_ended();
        let there = [&self.us].into_iter().chain(&self.family).filter(|process| process.is_alive()).cloned();
        // The server's home is in the environment of all that it starts.
        let since = pids::with_trace(&format!("{}/", self.server.folder().path().display()));
        there.chain(since.into_iter().filter_map(Process::look)).collect()
    }

    /// Nothing happened to it.
    #[track_caller]
    pub(super) fn check_well(&mut self) {
        let hurt: Vec<&Process> = self.line.iter().filter(|process| !process.is_alive()).collect();
        assert!(hurt.is_empty(), "these had nothing to do with it: {hurt:#?}");
        let answer = self.client.request("ping", json!({}));
        assert!(answer["result"].is_object(), "{answer}");
    }
}

impl Drop for Window {
    /// A failed test leaves nothing either.
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

/// The longest line of processes from the server's first to one that has no child. Ours are not of it.
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
        write!(f, "nothing is left after {BOUND:?}; there are still {:#?}", self.0.borrow())
    }
}
