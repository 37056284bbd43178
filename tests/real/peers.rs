//! The programs that `scripts/setup` installed, and how they are started: directly, or behind us.

use crate::support::program;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::Start;
use switchboard_testkit::pids;
use switchboard_testkit::scratch::Scratch;

/// A real server: a command line that names a folder of its own, by which its processes are known.
pub(crate) struct Server {
    words: Vec<OsString>,
    folder: Scratch,
}

/// The way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Direct,
    Through,
}

impl Server {
    pub(crate) fn everything() -> Self {
        let folder = Scratch::new();
        let script = node_package("@modelcontextprotocol/server-everything/dist/index.js");
        let words = node(script).chain(["stdio".into(), mark(&folder).into()]).collect();
        Self { words, folder }
    }

    /// May use the folder `files` inside its own.
    pub(crate) fn filesystem() -> Self {
        let folder = Scratch::new();
        let script = node_package("@modelcontextprotocol/server-filesystem/dist/index.js");
        let words = node(script).chain([folder.folder("files").into()]).collect();
        Self { words, folder }
    }

    pub(crate) fn time() -> Self {
        let folder = Scratch::new();
        // An option of ours: the interpreter takes note of it and does nothing.
        let mut option = OsString::from("-Xmark=");
        option.push(mark(&folder));
        let words = [python(".venv").into(), option, driver("steady.py").into()].into_iter();
        let words = words
            .chain(["mcp_server_time", "--local-timezone", "Europe/Paris"].map(OsString::from))
            .collect();
        Self { words, folder }
    }

    /// The same server as people start it who use `npx`: three processes, one below the other.
    pub(crate) fn everything_by_npx() -> Self {
        let folder = Scratch::new();
        let mut words: Vec<OsString> = ["npx", "--offline", "--no", "--prefix"].map(OsString::from).to_vec();
        words.push(installed("package.json").parent().unwrap_or(Path::new(".")).into());
        words.extend(["mcp-server-everything", "stdio"].map(OsString::from));
        words.push(mark(&folder).into());
        Self { words, folder }
    }

    pub(crate) fn folder(&self) -> &Scratch {
        &self.folder
    }

    /// Its command line, by this way.
    pub(crate) fn command(&self, way: Way) -> Vec<OsString> {
        let before: &[&str] = match way {
            Way::Direct => &[],
            Way::Through => &[env!("CARGO_BIN_EXE_switchboard"), "stdio", "--"],
        };
        before.iter().map(OsString::from).chain(self.words.iter().cloned()).collect()
    }

    /// A scripted client of it. Its environment is the same by both ways.
    pub(crate) fn start(&self, way: Way) -> Start {
        let start = match way {
            Way::Direct => Start::new(&self.words[0]).args(&self.words[1..]),
            Way::Through => program().args(["stdio", "--"]).args(&self.words),
        };
        start.env("HOME", self.folder.folder("home")).cwd(self.folder.path())
    }

    /// Its processes, and ours that was told its command line.
    pub(crate) fn processes(&self) -> Vec<u32> {
        // With the slash: another's folder may have a name that begins like this one's.
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

/// A path in the folder, for a server that is not told of one otherwise, and does not mind.
fn mark(folder: &Scratch) -> PathBuf {
    folder.join("mark")
}

/// Node with a script, in a steady world.
fn node(script: PathBuf) -> impl Iterator<Item = OsString> {
    ["node".into(), "--import".into(), driver("steady.mjs").into(), script.into()].into_iter()
}

/// The interpreter of one of the Python environments.
pub(crate) fn python(environment: &str) -> PathBuf {
    installed(environment).join("bin/python")
}

pub(crate) fn node_package(path: &str) -> PathBuf {
    installed("node_modules").join(path)
}

/// A script that lies in `drivers`.
pub(crate) fn driver(name: &str) -> PathBuf {
    installed("drivers").join(name)
}

#[track_caller]
fn installed(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name);
    assert!(path.exists(), "{} is missing: run scripts/setup first", path.display());
    path
}
