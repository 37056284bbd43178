//! Programs installed by `scripts/setup`, and how they are started: directly, or behind us.

use super::elsewhere::Elsewhere;
use crate::support::program;
#[cfg(target_os = "linux")]
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::Start;
use switchboard_testkit::pids;
use switchboard_testkit::scratch::Scratch;

/// A real server: its command line names its own folder, which identifies its processes.
pub(crate) struct Server {
    words: Vec<OsString>,
    folder: Scratch,
    /// Behind us, a running server is used instead.
    elsewhere: Option<Elsewhere>,
}

/// Link to a server: direct, or through Switchboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Direct,
    Through,
}

impl Server {
    pub(crate) fn everything() -> Self {
        let folder = Scratch::new();
        let script = node_package("@modelcontextprotocol/server-everything/dist/index.js");
        let words = node(script).chain(["stdio".into(), mark(&folder).into()]).collect();
        Self { words, folder, elsewhere: None }
    }

    /// The same; behind us, a server over HTTP in this mode.
    pub(crate) fn everything_elsewhere(mode: &'static str) -> Self {
        let mut server = Self::everything();
        server.elsewhere = Some(Elsewhere::everything(mode));
        server
    }

    /// A server of the Python SDK; behind us, in this mode.
    pub(crate) fn python_elsewhere(mode: &'static str) -> Self {
        let folder = Scratch::new();
        let mut option = OsString::from("-Xmark=");
        option.push(mark(&folder));
        let words =
            vec![python(".venv").into(), option, driver("server.py").into(), "stdio".into(), "0".into()];
        Self { words, folder, elsewhere: Some(Elsewhere::python(mode)) }
    }

    /// The server has access to the folder `files` inside its own.
    pub(crate) fn filesystem() -> Self {
        let folder = Scratch::new();
        let script = node_package("@modelcontextprotocol/server-filesystem/dist/index.js");
        let words = node(script).chain([folder.folder("files").into()]).collect();
        Self { words, folder, elsewhere: None }
    }

    /// Stores its data in its folder.
    pub(crate) fn memory() -> Self {
        let folder = Scratch::new();
        let mut file = OsString::from("MEMORY_FILE_PATH=");
        file.push(folder.join("memory.jsonl"));
        let script = node_package("@modelcontextprotocol/server-memory/dist/index.js");
        let words =
            ["env".into(), file].into_iter().chain(node(script)).chain([mark(&folder).into()]).collect();
        Self { words, folder, elsewhere: None }
    }

    pub(crate) fn time() -> Self {
        let folder = Scratch::new();
        // An option that the interpreter stores and ignores.
        let mut option = OsString::from("-Xmark=");
        option.push(mark(&folder));
        let words = [python(".venv").into(), option, driver("steady.py").into()].into_iter();
        let words = words
            .chain(["mcp_server_time", "--local-timezone", "Europe/Paris"].map(OsString::from))
            .collect();
        Self { words, folder, elsewhere: None }
    }

    /// The same server started with `npx`: three processes, one below the other.
    pub(crate) fn everything_by_npx() -> Self {
        let folder = Scratch::new();
        let words = npx("mcp-server-everything").chain(["stdio".into(), mark(&folder).into()]).collect();
        Self { words, folder, elsewhere: None }
    }

    /// The time server started with `uvx`: two processes. Its packages come from a local folder.
    #[cfg(target_os = "linux")]
    pub(crate) fn time_by_uvx() -> Self {
        let folder = Scratch::new();
        let at = |name: &str| OsString::from(installed(".venv-uv").join(name));
        let words = vec![
            at("bin/uvx"),
            "--offline".into(),
            "--no-index".into(),
            "--find-links".into(),
            at("wheels"),
            "--cache-dir".into(),
            at("cache"),
            "--python".into(),
            at("bin/python"),
            "mcp-server-time".into(),
        ];
        Self { words, folder, elsewhere: None }
    }

    /// Also below `npx`. It starts a browser for the first page, with a profile in the folder for temporary
    /// files.
    #[cfg(target_os = "linux")]
    pub(crate) fn playwright_by_npx() -> Self {
        let folder = Scratch::new();
        let config = folder.file("browser.json", browser().to_string());
        let words = npx("playwright-mcp").chain(["--config".into(), config.into()]).collect();
        Self { words, folder, elsewhere: None }
    }

    pub(crate) fn folder(&self) -> &Scratch {
        &self.folder
    }

    /// The server's own command line.
    pub(crate) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The command line for this link.
    pub(crate) fn command(&self, link: Link) -> Vec<OsString> {
        let before: &[&str] = match link {
            Link::Direct => &[],
            Link::Through => &[env!("CARGO_BIN_EXE_switchboard"), "stdio", "--"],
        };
        before.iter().map(OsString::from).chain(self.words.iter().cloned()).collect()
    }

    /// A scripted client, with the same environment both ways.
    pub(crate) fn start(&self, link: Link) -> Start {
        let start = match link {
            Link::Direct => Start::new(&self.words[0]).args(&self.words[1..]),
            Link::Through => match &self.elsewhere {
                None => program().args(["stdio", "--"]).args(&self.words),
                Some(_) => {
                    let config = serde_json::json!({ "mcpServers": { "far": self.entry() } });
                    let path = self.folder.file("config.json", config.to_string());
                    program().args(["stdio", "--server", "far", "--config"]).arg(path)
                }
            },
        };
        start.home(self.folder.home()).env("XDG_RUNTIME_DIR", self.folder.runtime()).cwd(self.folder.path())
    }

    /// The server in a config file.
    pub(crate) fn entry(&self) -> serde_json::Value {
        match &self.elsewhere {
            Some(elsewhere) => serde_json::json!({ "url": elsewhere.url() }),
            None => {
                let words: Vec<&str> = self.words.iter().filter_map(|word| word.to_str()).collect();
                serde_json::json!({ "command": words[0], "args": words[1..] })
            }
        }
    }

    /// The server's processes, and ours with its command line.
    pub(crate) fn processes(&self) -> Vec<u32> {
        // With the slash, since another folder's name may begin like this one's.
        pids::with_text(&format!("{}/", self.folder.path().display()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for pid in self.processes() {
            pids::tell(pid, pids::Word::Kill);
        }
    }
}

/// A path in the folder, as an argument that the server ignores.
fn mark(folder: &Scratch) -> PathBuf {
    folder.join("mark")
}

/// A command of one of the packages, found by `npx` without a network.
fn npx(command: &str) -> impl Iterator<Item = OsString> {
    let home = installed("package.json").parent().unwrap_or(Path::new(".")).into();
    ["npx".into(), "--offline".into(), "--no".into(), "--prefix".into(), home, command.into()].into_iter()
}

/// Settings of the browser: the system's, headless, also for root, and without network traffic.
#[cfg(target_os = "linux")]
fn browser() -> serde_json::Value {
    let browser = Path::new("/usr/bin/chromium");
    assert!(browser.exists(), "{} is missing: run scripts/setup first", browser.display());
    let args = [
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ];
    let launch =
        json!({ "executablePath": browser, "headless": true, "chromiumSandbox": false, "args": args });
    json!({ "browser": { "browserName": "chromium", "isolated": true, "launchOptions": launch } })
}

/// Node with a script and fixed time and randomness.
pub(crate) fn node(script: PathBuf) -> impl Iterator<Item = OsString> {
    ["node".into(), "--import".into(), driver("steady.mjs").into(), script.into()].into_iter()
}

/// The interpreter of one of the Python environments.
pub(crate) fn python(environment: &str) -> PathBuf {
    installed(environment).join("bin/python")
}

pub(crate) fn node_package(path: &str) -> PathBuf {
    installed("node_modules").join(path)
}

/// A script in `drivers`.
pub(crate) fn driver(name: &str) -> PathBuf {
    installed("drivers").join(name)
}

#[track_caller]
pub(crate) fn installed(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name);
    assert!(path.exists(), "{} is missing: run scripts/setup first", path.display());
    path
}
