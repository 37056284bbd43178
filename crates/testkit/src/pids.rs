//! Processes by pid: whether they live, their memory, and signals.

use crate::wine;
use std::fs;

/// Whether this process runs. A zombie does not.
#[cfg(target_os = "linux")]
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The process name may contain anything, including a closing bracket.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}

#[cfg(all(unix, not(target_os = "linux")))]
pub fn is_alive(pid: u32) -> bool {
    number(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// Peak resident memory, in bytes.
pub fn peak_memory(pid: u32) -> Option<u64> {
    status(pid, "VmHWM:").map(|kibibytes| kibibytes * 1024)
}

/// Resident memory, in bytes.
pub fn memory(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:").map(|kibibytes| kibibytes * 1024)
}

fn status(pid: u32, key: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Pids of the processes with this text in their command line, for a Windows process with backslashes. Concurrent
/// tests identify theirs by the path of their scratch folder.
pub fn with_text(text: &str) -> Vec<u32> {
    all_where(|pid| mentions(pid, text))
}

/// Pids of the processes with this text in their command line or their environment, as far as that is readable.
pub fn with_trace(text: &str) -> Vec<u32> {
    all_where(|pid| mentions(pid, text) || contains(&format!("/proc/{pid}/environ"), text))
}

fn all_where(is_it: impl Fn(u32) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| is_it(pid) && is_alive(pid)).collect()
}

/// Whether the command line contains this text, which excludes another process with the same pid.
pub fn mentions(pid: u32, text: &str) -> bool {
    contains(&format!("/proc/{pid}/cmdline"), text)
}

fn contains(path: &str, text: &str) -> bool {
    let words = fs::read(path).unwrap_or_default();
    let has = |text: &str| words.windows(text.len()).any(|window| window == text.as_bytes());
    has(text) || (wine::loader().is_some() && has(&text.replace('/', "\\")))
}

/// Signals that tests send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Terminate,
    Interrupt,
    HangUp,
    Kill,
    Abort,
    Suspend,
    Continue,
}

#[cfg(unix)]
impl Word {
    fn signal(self) -> rustix::process::Signal {
        use rustix::process::Signal;
        match self {
            Self::Terminate => Signal::TERM,
            Self::Interrupt => Signal::INT,
            Self::HangUp => Signal::HUP,
            Self::Kill => Signal::KILL,
            Self::Abort => Signal::ABORT,
            Self::Suspend => Signal::STOP,
            Self::Continue => Signal::CONT,
        }
    }
}

#[cfg(unix)]
pub fn tell(pid: u32, word: Word) {
    // A number that a Windows process has told is none of Linux, where it may be anyone's.
    if wine::loader().is_some() && !wine::is_ours(pid) {
        return;
    }
    if let Some(pid) = number(pid) {
        // The process may be gone already.
        let _ = rustix::process::kill_process(pid, word.signal());
    }
}

/// Signals a whole process group.
#[cfg(unix)]
pub fn tell_group(leader: u32, word: Word) {
    assert!(wine::loader().is_none(), "process groups mean nothing to Windows processes");
    if let Some(leader) = number(leader) {
        let _ = rustix::process::kill_process_group(leader, word.signal());
    }
}

#[cfg(unix)]
fn number(pid: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(pid.cast_signed())
}
