//! Windows of one user, with a common home, config, state and runtime folder. Dropping the value checks that
//! every process started in it has ended.

use crate::support::{config, program};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Client, End, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::record::Record;
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::tree::Process;
use switchboard_testkit::wine;

/// Windows whose streams the daemon reads and writes itself where possible.
pub(crate) type House = Home<false>;
/// Windows that relay every message, as they do where streams cannot be handed over.
pub(crate) type Relayed = Home<true>;

pub(crate) struct Home<const RELAYED: bool> {
    scratch: Scratch,
    config: PathBuf,
}

impl<const RELAYED: bool> Home<RELAYED> {
    /// A house with the fake backend as the only server, and a short linger.
    pub(crate) fn new() -> Self {
        Self::with(json!({}), json!({}), &[])
    }

    /// `file` has keys of the config file, `server` those of its only server, `fake`.
    pub(crate) fn with(file: Value, server: Value, options: &[&str]) -> Self {
        let scratch = Scratch::new();
        for name in ["home", "record", "r"] {
            scratch.folder(name);
        }
        fs::set_permissions(scratch.join("r"), fs::Permissions::from_mode(0o700)).unwrap();
        let mut keys = json!({ "linger": "100ms", "shutdownGrace": "300ms" });
        keys.as_object_mut().unwrap().extend(file.as_object().unwrap().clone());
        let text = config(keys, server, &scratch.join("record"), options).to_string();
        let config = scratch.file("config.json", text);
        Self { scratch, config }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// A path in the state folder of this home.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.scratch.state(name)
    }

    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    /// Messages that the fake backends received.
    pub(crate) fn record(&self) -> Record {
        Record::in_folder(self.scratch.join("record"))
    }

    /// The program, in the environment that all windows share.
    pub(crate) fn program(&self, folder: &str) -> Start {
        let start = program()
            .env("HOME", self.path("home"))
            .env("XDG_RUNTIME_DIR", self.path("r"))
            .env("COLUMNS", "80")
            .cwd(self.scratch.folder(folder));
        if RELAYED { start.env("SWITCHBOARD_RELAY", "1") } else { start }
    }

    /// A window on a folder, not yet started.
    pub(crate) fn window(&self, folder: &str) -> Start {
        self.program(folder).args(["stdio", "--server", "fake", "--config"]).arg(&self.config)
    }

    /// A window on a folder, after its handshake.
    #[track_caller]
    pub(crate) fn open(&self, folder: &str) -> Client {
        let mut client = self.window(folder).start();
        client.initialize();
        client
    }

    /// Output and exit code of a command.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> End {
        self.program("home").args(args).start().finish()
    }

    /// Output of a command that must succeed.
    #[track_caller]
    pub(crate) fn say(&self, args: &[&str]) -> String {
        let end = self.run(args);
        assert_eq!(end.code, Some(0), "{args:?}: {}", end.stderr);
        String::from_utf8(end.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.say(&["status", "--json"])).unwrap()
    }

    /// All processes that refer to the scratch folder.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let traces = pids::with_trace(&format!("{}/", self.scratch.path().display()));
        traces.into_iter().filter_map(Process::look).filter(|process| !process.is_zombie()).collect()
    }

    /// Running daemons.
    pub(crate) fn daemons(&self) -> Vec<Process> {
        // Under Wine the name is that of a thread.
        let is_program = |process: &Process| process.name == "switchboard" || wine::loader().is_some();
        let is_daemon = |process: &Process| {
            let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(b"daemon") && is_program(process)
        };
        self.processes().into_iter().filter(is_daemon).collect()
    }

    /// The only running daemon.
    #[track_caller]
    pub(crate) fn daemon(&self) -> Process {
        match &self.daemons()[..] {
            [one] => one.clone(),
            others => panic!("one daemon is expected, there are {others:?}"),
        }
    }

    /// Running server processes.
    pub(crate) fn servers(&self) -> Vec<u32> {
        self.record().alive()
    }

    /// Extensions of the files in the runtime folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("r/switchboard")).into_iter().flatten().flatten();
        let mut ends: Vec<String> = entries
            .map(|entry| entry.path().extension().unwrap_or_default().to_string_lossy().into_owned())
            .collect();
        ends.sort();
        ends
    }

    /// Path of the daemon's socket.
    #[track_caller]
    pub(crate) fn socket(&self) -> PathBuf {
        let entries = fs::read_dir(self.path("r/switchboard")).unwrap().flatten();
        entries
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|end| end == "sock"))
            .unwrap()
    }

    /// Checks that everything has ended within this time.
    #[track_caller]
    pub(crate) fn check_empty(&self, within: Duration) {
        let deadline = Instant::now() + within;
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "after {within:?} there are still {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until exactly `count` servers run.
    #[track_caller]
    pub(crate) fn wait_for_servers(&self, count: usize) {
        patience::until_true(format_args!("{count} servers"), || self.servers().len() == count);
    }
}

/// Process id of the server that answers a client, as it reports itself.
#[track_caller]
pub(crate) fn server_of(client: &mut Client) -> u32 {
    let answer = client.call("facts", json!({}));
    match answer["result"]["pid"].as_u64() {
        Some(pid) => pid as u32,
        None => panic!("no facts: {answer}"),
    }
}

impl<const RELAYED: bool> Drop for Home<RELAYED> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.processes().iter().for_each(|process| process.tell(Word::Kill));
            return;
        }
        self.check_empty(patience::LIMIT);
    }
}
