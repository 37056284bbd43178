//! The input of the fake backend, byte for byte: one file per launch, named by the launch's number, with its pid beside it.

use crate::patience;
use crate::pids;
use crate::wine;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder given to the fake backend with `--record`.
#[derive(Debug, Clone)]
pub struct Record {
    path: PathBuf,
    /// The same as the server sees it.
    seen: PathBuf,
}

impl Record {
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        let path = folder.into();
        let seen = if wine::loader().is_some() { wine::path(&path).into() } else { path.clone() };
        Self { path, seen }
    }

    /// The folder, for a command line.
    pub fn folder(&self) -> &Path {
        &self.seen
    }

    /// The number of its processes so far.
    pub fn launches(&self) -> u32 {
        // A process that is killed at its start may never write its id.
        (1..).take_while(|number| self.path.join(format!("{number}.heard")).exists()).count() as u32
    }

    /// All input of one launch, the first being 1. Empty if there was no such launch.
    pub fn heard(&self, launch: u32) -> Vec<u8> {
        fs::read(self.path.join(format!("{launch}.heard"))).unwrap_or_default()
    }

    /// All input lines of one launch.
    pub fn lines(&self, launch: u32) -> Vec<String> {
        String::from_utf8_lossy(&self.heard(launch)).lines().map(str::to_owned).collect()
    }

    /// The input lines of all launches in turn.
    pub fn all_lines(&self) -> Vec<String> {
        (1..=self.launches()).flat_map(|launch| self.lines(launch)).collect()
    }

    /// Waits for an input line with this text, and returns the line.
    #[track_caller]
    pub fn wait_for(&self, launch: u32, text: &str) -> String {
        patience::until(
            format_args!("launch {launch} did not read `{text}`, but {:?}", self.lines(launch)),
            || {
                let heard = self.heard(launch);
                // Only whole lines: the end of one may not have arrived yet.
                let whole = memrchr(b'\n', &heard)?;
                String::from_utf8_lossy(&heard[..whole])
                    .lines()
                    .find(|line| line.contains(text))
                    .map(str::to_owned)
            },
        )
    }

    /// The process id of a launch, once it is written.
    #[track_caller]
    pub fn pid(&self, launch: u32) -> u32 {
        let told = self.told_pid(launch);
        if wine::loader().is_none() {
            return told;
        }
        assert_eq!(launch, self.launches(), "only the last launch can be found under Wine");
        patience::until("the server's process", || self.windows_servers().max())
    }

    /// The processes of all launches that are alive.
    pub fn alive(&self) -> Vec<u32> {
        if wine::loader().is_some() {
            return self.windows_servers().collect();
        }
        (1..=self.launches()).map(|launch| self.told_pid(launch)).filter(|&pid| pids::is_alive(pid)).collect()
    }

    /// Under Wine a server tells its number of Windows. Its process is known by the folder in its command line.
    fn windows_servers(&self) -> impl Iterator<Item = u32> {
        pids::with_text(&self.path.display().to_string()).into_iter().filter(|pid| is_server(*pid))
    }

    #[track_caller]
    fn told_pid(&self, launch: u32) -> u32 {
        patience::until(format_args!("launch {launch}"), || {
            fs::read_to_string(self.path.join(format!("{launch}.pid"))).ok()?.trim().parse().ok()
        })
    }

    /// Kills the remaining launches.
    pub fn clean_up(&self) {
        let ours = self.path.display().to_string();
        for pid in pids::with_text(&ours) {
            pids::tell(pid, pids::Word::Kill);
        }
    }
}

/// Whether this is the fake backend, and not a program that starts it.
fn is_server(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
    program.ends_with(b"fake-backend.exe")
}

fn memrchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|&b| b == byte)
}
