//! Daemons that a test has started indirectly, identified by the config file in their command line.

use crate::patience::LIMIT;
use crate::pids::{self, Word};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval of repeated signals to a daemon that is ending. After the second it does not wait for its servers.
const REPEAT: Duration = Duration::from_millis(5);

/// Pids of the daemons that serve a config file in this folder.
pub fn of(folder: &Path) -> Vec<u32> {
    // With the slash, since the name of one folder may begin with that of another.
    let mentioning = pids::with_text(&format!("{}/", folder.display()));
    mentioning.into_iter().filter(|&pid| is_daemon(pid)).collect()
}

/// Ends the daemons in order, and kills those that do not end.
pub fn stop(folder: &Path) {
    let daemons = of(folder);
    let left = || daemons.iter().copied().filter(|&pid| pids::is_alive(pid)).collect::<Vec<_>>();
    let deadline = Instant::now() + LIMIT / 12;
    while !left().is_empty() && Instant::now() < deadline {
        left().into_iter().for_each(|pid| pids::tell(pid, Word::Terminate));
        std::thread::sleep(REPEAT);
    }
    left().into_iter().for_each(|pid| pids::tell(pid, Word::Kill));
}

fn is_daemon(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"daemon")
}
