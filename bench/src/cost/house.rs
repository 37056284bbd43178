//! A config file with a daemon of its own, its windows, and figures of a process from `/proc`.

use crate::caller::{Caller, listed};
use crate::procfs::smaps_kib;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};
use switchboard_testkit::client::{Pipes, Program, Start};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::{daemons, pids, wire};

/// Time limit for a daemon to end after its last window, including its `linger`.
const END_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct House {
    scratch: Scratch,
    config: PathBuf,
    program: PathBuf,
    servers: usize,
}

/// A client with one connection: to Switchboard in its default mode, or through the pump to one server.
pub(super) struct OpenWindow {
    child: Child,
    caller: Caller<Pipes>,
}

impl OpenWindow {
    /// The byte pump, with the same server as every program.
    pub(super) fn pump() -> io::Result<Self> {
        let this: OsString = std::env::current_exe()?.into();
        let mut argv = vec![this.clone(), "pump".into(), "--".into(), this];
        argv.extend(["backend", "--tools", "10"].map(OsString::from));
        Self::open(Start::plain(&argv), 1)
    }

    /// Starts a program, lists the tools of this many servers, and calls one.
    fn open(start: Start, servers: usize) -> io::Result<Self> {
        let (Program { child, pipes }, tools) = listed(start)?;
        let seen = tools.iter().filter(|name| name.ends_with("tiny")).count();
        if seen != servers {
            return Err(io::Error::other(format!("{seen} of {servers} servers are listed")));
        }
        let mut caller = Caller::of_tiny(pipes, tools);
        caller.first_calls()?;
        Ok(Self { child, caller })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Small calls with this many in flight.
    pub(super) fn calls_per_second(&mut self, count: usize, callers: usize) -> io::Result<f64> {
        // Compared by text, not by length, as in all published figures: the check is part of the pump's cost too.
        let is_right = |answer: &[u8], _| wire::field(answer, b"\"text\"") == Some(b"\"ok\"");
        Ok(count as f64 / self.caller.calls_at_once(count, callers, is_right)?.as_secs_f64())
    }

    pub(super) fn close(self) -> io::Result<()> {
        let Self { mut child, caller } = self;
        drop(caller);
        child.wait().map(drop)
    }
}

impl House {
    /// A config with this many servers, each with its own name in its command line.
    pub(super) fn new(program: &Path, servers: usize) -> io::Result<Self> {
        let this = std::env::current_exe()?;
        let entry = |number: usize| {
            let name = format!("s{number}");
            let arguments = ["backend", "--tools", "10", "--name", &name];
            (name.clone(), json!({ "command": this, "args": arguments }))
        };
        let entries: Map<String, Value> = (0..servers).map(entry).collect();
        let scratch = Scratch::new();
        let config = json!({ "linger": "1s", "mcpServers": entries });
        let config = scratch.file("config.json", config.to_string());
        Ok(Self { scratch, config, program: program.to_owned(), servers })
    }

    /// Opens a window, which has listed the tools and called one.
    pub(super) fn open(&self) -> io::Result<OpenWindow> {
        let start = Start::inside(&self.scratch, &self.program).args(["stdio", "--config"]).arg(&self.config);
        OpenWindow::open(start.cwd(self.scratch.folder("project")), self.servers)
    }

    pub(super) fn daemon(&self) -> io::Result<Process> {
        let daemon = daemons::of(self.scratch.path()).first().copied();
        daemon.map(Process).ok_or_else(|| io::Error::other("no daemon"))
    }

    /// Closes the windows, and waits for the daemon's end.
    pub(super) fn close(self, windows: Vec<OpenWindow>) -> io::Result<()> {
        let daemon = self.daemon();
        for window in windows {
            window.close()?;
        }
        let Ok(Process(daemon)) = daemon else { return Ok(()) };
        let deadline = Instant::now() + END_TIMEOUT;
        while pids::is_alive(daemon) {
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("the daemon {daemon} does not end")));
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// A process, by pid.
pub(super) struct Process(pub(super) u32);

pub(super) struct Memory {
    pub(super) private_kib: f64,
    pub(super) share_kib: f64,
    pub(super) resident_kib: f64,
    /// The memory files of its windows, mapped or not.
    pub(super) files_kib: f64,
}

impl Process {
    pub(super) fn memory(&self) -> io::Result<Memory> {
        Ok(Memory {
            private_kib: smaps_kib(self.0, "Private_Clean:")? + smaps_kib(self.0, "Private_Dirty:")?,
            share_kib: smaps_kib(self.0, "Pss:")?,
            resident_kib: smaps_kib(self.0, "Rss:")?,
            files_kib: self.memory_files()?,
        })
    }

    fn memory_files(&self) -> io::Result<f64> {
        let mut blocks = 0;
        for file in fs::read_dir(format!("/proc/{}/fd", self.0))?.flatten() {
            let target = fs::read_link(file.path()).unwrap_or_default();
            if target.to_string_lossy().starts_with("/memfd:switchboard") {
                blocks += fs::metadata(file.path()).map_or(0, |meta| meta.blocks());
            }
        }
        Ok(blocks as f64 / 2.0)
    }

    /// Voluntary context switches of all threads that are there.
    pub(super) fn switches(&self) -> io::Result<u64> {
        let mut switches = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.0))?.flatten() {
            let text = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            switches += line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or_default();
        }
        Ok(switches)
    }
}
