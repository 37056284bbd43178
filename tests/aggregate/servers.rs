//! Several fake servers in one config file, each with its own record and offer. All windows share a home, a
//! state and a runtime folder. Dropping the value checks that every process started in it has ended.

use crate::support::{fake_backend, program};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::record::Record;
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::tree::Process;

pub(crate) struct Servers {
    scratch: Scratch,
    config: Value,
}

impl Servers {
    /// No servers, and short grace periods.
    pub(crate) fn none() -> Self {
        let scratch = Scratch::new();
        for name in ["home", "r", "work"] {
            scratch.folder(name);
        }
        fs::set_permissions(scratch.join("r"), fs::Permissions::from_mode(0o700)).unwrap();
        let config = json!({ "linger": "100ms", "shutdownGrace": "300ms", "mcpServers": {} });
        let servers = Self { scratch, config };
        servers.write();
        servers
    }

    /// Servers with the usual tools.
    pub(crate) fn of(names: &[&str]) -> Self {
        names.iter().fold(Self::none(), |servers, name| servers.and(name, json!({}), &[]))
    }

    /// Adds a server: `keys` go into its config entry, `options` to the fake backend.
    pub(crate) fn and(mut self, name: &str, keys: Value, options: &[&str]) -> Self {
        self.put(name, keys, options);
        self
    }

    /// Adds a server that offers `offer`.
    pub(crate) fn and_offer(self, name: &str, keys: Value, offer: &str) -> Self {
        let path = self.offers(name, offer).display().to_string();
        self.and(name, keys, &["--offer", &path])
    }

    /// Sets a top-level key of the file.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.set(key, value);
        self
    }

    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.config[key] = value;
        self.write();
    }

    /// Adds or replaces a server.
    pub(crate) fn put(&mut self, name: &str, keys: Value, options: &[&str]) {
        let mut args = vec![json!("--record"), json!(self.record(name).folder())];
        args.extend(options.iter().map(|option| json!(option)));
        let mut entry = json!({ "command": fake_backend(), "args": args });
        entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        self.config["mcpServers"][name] = entry;
        self.write();
    }

    /// Sets keys of a server's entry.
    pub(crate) fn edit(&mut self, name: &str, keys: &Value) {
        let entry = self.config["mcpServers"][name].as_object_mut().unwrap();
        entry.extend(keys.as_object().unwrap().clone());
        self.write();
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.config["mcpServers"].as_object_mut().unwrap().remove(name);
        self.write();
    }

    /// Atomic, since a daemon may be reading the file.
    fn write(&self) {
        let draft = self.scratch.file("config.draft", self.config.to_string());
        fs::rename(draft, self.path("config.json")).unwrap();
    }

    /// Replaces the offer of a server made with `and_offer`. Returns the file.
    pub(crate) fn offers(&self, name: &str, offer: &str) -> PathBuf {
        let is_sound = serde_json::from_str::<Value>(offer);
        assert!(is_sound.is_ok(), "{is_sound:?}: {offer}");
        let draft = self.scratch.file("offers/draft", offer);
        let path = self.scratch.join("offers").join(name);
        fs::rename(draft, &path).unwrap();
        path
    }

    /// A path in the windows' state folder.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.scratch.state(name)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("config.json")
    }

    /// Messages that a server received.
    pub(crate) fn record(&self, name: &str) -> Record {
        Record::in_folder(self.scratch.folder("record").join(name))
    }

    /// Number of starts of each server.
    pub(crate) fn launches<const N: usize>(&self, names: [&str; N]) -> [u32; N] {
        names.map(|name| self.record(name).launches())
    }

    /// Number of messages to a server, over all its processes, that contain `text`.
    pub(crate) fn told(&self, name: &str, text: &str) -> usize {
        self.record(name).all_lines().iter().filter(|line| line.contains(text)).count()
    }

    pub(crate) fn program(&self) -> Start {
        program().env("HOME", self.path("home")).env("XDG_RUNTIME_DIR", self.path("r")).cwd(self.path("work"))
    }

    /// A solo window, not yet started.
    pub(crate) fn start(&self) -> Start {
        self.program().args(["stdio", "--solo", "--config"]).arg(self.config())
    }

    /// A window of the daemon, not yet started.
    pub(crate) fn shared(&self) -> Start {
        self.program().args(["stdio", "--config"]).arg(self.config())
    }

    /// A solo window after its handshake.
    #[track_caller]
    pub(crate) fn open(&self) -> Client {
        let mut client = self.start().start();
        client.initialize();
        client
    }

    /// A solo window with these client capabilities.
    #[track_caller]
    pub(crate) fn open_with(&self, capabilities: Value) -> Client {
        greet_with(self.start(), capabilities)
    }

    /// A window of the daemon after its handshake.
    #[track_caller]
    pub(crate) fn open_shared(&self) -> Client {
        let mut client = self.shared().start();
        client.initialize();
        client
    }

    /// Output of a command.
    #[track_caller]
    pub(crate) fn say(&self, args: &[&str]) -> String {
        let end = self.program().args(args).start().finish();
        assert_eq!(end.code, Some(0), "{args:?}: {}", end.stderr);
        String::from_utf8(end.stdout).unwrap()
    }

    /// The whole log so far.
    pub(crate) fn log(&self) -> String {
        let files = fs::read_dir(self.scratch.state("logs")).into_iter().flatten().flatten();
        let own = files.filter(|file| file.file_name().to_string_lossy().starts_with("switchboard-"));
        own.map(|file| fs::read_to_string(file.path()).unwrap_or_default()).collect()
    }

    /// All processes that refer to the scratch folder.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let traces = pids::with_trace(&format!("{}/", self.scratch.path().display()));
        traces.into_iter().filter_map(Process::look).filter(|process| !process.is_zombie()).collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let left = || format!("{:#?}", self.processes());
            let end = std::time::Instant::now() + patience::LIMIT;
            while !self.processes().is_empty() {
                assert!(std::time::Instant::now() < end, "still there: {}", left());
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        self.processes().iter().for_each(|process| process.tell(Word::Kill));
    }
}

/// A client with these capabilities, after its handshake.
#[track_caller]
pub(crate) fn greet_with(start: Start, capabilities: Value) -> Client {
    let mut client = start.start();
    let mut params = initialize_params();
    params["capabilities"] = capabilities;
    let answer = client.request("initialize", params);
    assert!(answer.get("result").is_some(), "{answer}");
    client.notify("notifications/initialized", json!({}));
    client
}

/// A member of every item of a list: `tools`, `prompts`, `resources` or `resourceTemplates`.
#[track_caller]
pub(crate) fn listed(client: &mut Client, list: &str, member: &str) -> Vec<String> {
    let method = match list {
        "resourceTemplates" => "resources/templates/list".to_owned(),
        other => format!("{other}/list"),
    };
    let answer = client.request(&method, json!({}));
    let Some(items) = answer["result"][list].as_array() else { panic!("no list: {answer}") };
    items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
pub(crate) fn tools(client: &mut Client) -> Vec<String> {
    listed(client, "tools", "name")
}

/// Process id of the server that answers the call, as it reports itself.
#[track_caller]
pub(crate) fn pid(client: &mut Client, tool: &str) -> u32 {
    let answer = client.call(tool, json!({}));
    match answer["result"]["pid"].as_u64() {
        Some(pid) => pid as u32,
        None => panic!("no facts: {answer}"),
    }
}

/// An offer with tools of these names only.
pub(crate) fn with_tools(names: &[&str]) -> String {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    json!({ "tools": names.iter().map(tool).collect::<Vec<_>>() }).to_string()
}

/// Makes a server print these lines and then answer.
#[track_caller]
pub(crate) fn say(client: &mut Client, tool: &str, lines: &[&str]) {
    let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[]}}"#;
    let text: String = lines.iter().chain([&answer]).map(|line| format!("{line}\n")).collect();
    let answer = client.call(tool, json!({ "text": text }));
    assert!(answer.get("result").is_some(), "{answer}");
}

/// The request as the server received it: the fake backend returns it for unknown methods.
#[track_caller]
pub(crate) fn heard(answer: &Value) -> Value {
    match answer["result"]["heard"].as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => panic!("nothing was heard: {answer}"),
    }
}
