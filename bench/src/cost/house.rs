//! A folder with a config file, a home and a daemon of its own; and the figures that `/proc` has of a process.

use super::window::OpenWindow;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a daemon may take to end after its last window, which includes its `linger`.
const END_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct House {
    folder: PathBuf,
    program: PathBuf,
    servers: usize,
}

impl House {
    /// A config with so many servers, each with a name of its own in its command line.
    pub(super) fn new(folder: &Path, program: &Path, servers: usize) -> io::Result<Self> {
        for part in ["home", "r", "state", "project"] {
            fs::create_dir_all(folder.join(part))?;
        }
        fs::set_permissions(folder.join("r"), Permissions::from_mode(0o700))?;
        let this = std::env::current_exe()?;
        let entry = |number: usize| {
            let name = format!("s{number}");
            let arguments = ["backend", "--tools", "10", "--name", &name];
            (name.clone(), json!({ "command": this, "args": arguments }))
        };
        let entries: Map<String, Value> = (0..servers).map(entry).collect();
        let config = json!({ "linger": "1s", "mcpServers": entries });
        fs::write(folder.join("config.json"), config.to_string())?;
        let folder = folder.canonicalize()?;
        Ok(Self { folder, program: program.to_owned(), servers })
    }

    /// One more window of it, which has listed the tools and called one.
    pub(super) fn open(&self) -> io::Result<OpenWindow> {
        let argv: [OsString; 4] = [
            self.program.clone().into(),
            "stdio".into(),
            "--config".into(),
            self.folder.join("config.json").into(),
        ];
        let variables = [
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), self.folder.join("home").into()),
            ("XDG_RUNTIME_DIR".into(), self.folder.join("r").into()),
            ("SWITCHBOARD_STATE_DIR".into(), self.folder.join("state").into()),
        ];
        OpenWindow::open(&argv, variables, &self.folder.join("project"), self.servers)
    }

    pub(super) fn daemon(&self) -> io::Result<Process> {
        let files = fs::read_dir(self.folder.join("r/switchboard"))?.flatten().map(|entry| entry.path());
        let mut described =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let file = described.next().ok_or_else(|| io::Error::other("no daemon"))?;
        let text: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
        let pid = text["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        pid.map(Process).ok_or_else(|| io::Error::other("a daemon without a pid"))
    }

    /// Closes the windows, and waits for the daemon's end.
    pub(super) fn close(self, windows: Vec<OpenWindow>) -> io::Result<()> {
        let daemon = self.daemon();
        for window in windows {
            window.close()?;
        }
        let Ok(Process(daemon)) = daemon else { return Ok(()) };
        let deadline = Instant::now() + END_TIMEOUT;
        while Path::new(&format!("/proc/{daemon}")).exists() {
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("the daemon {daemon} does not end")));
            }
            sleep(Duration::from_millis(50));
        }
        fs::remove_dir_all(&self.folder)
    }
}

/// A process, by its number.
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
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.0))?;
        let field = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
        };
        Ok(Memory {
            private_kib: field("Private_Clean:") + field("Private_Dirty:"),
            share_kib: field("Pss:"),
            resident_kib: field("Rss:"),
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
