//! The process table of Linux: `/proc`.

use super::Entry;
use crate::mark::{MARK_VARIABLE, parse_mark};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::{fs, io};

pub(crate) fn all() -> io::Result<Vec<Entry>> {
    let mut table = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        // A process that ends while we read is no error.
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok())
            && let Some(entry) = one(pid)
        {
            table.push(entry);
        }
    }
    Ok(table)
}

/// The children of this process, which must have one thread: at once, where reading all of the table takes
/// milliseconds. Nothing where the kernel was built without it.
pub(crate) fn own_children() -> Vec<u32> {
    let me = std::process::id();
    let numbers = fs::read_to_string(format!("/proc/{me}/task/{me}/children")).unwrap_or_default();
    numbers.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

pub(crate) fn one(pid: u32) -> Option<Entry> {
    parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// `PID (NAME) STATE PARENT GROUP …`, and the start as the 22nd field. The name may hold anything, brackets and
/// blanks included.
fn parse_stat(pid: u32, stat: &[u8]) -> Option<Entry> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let name = OsString::from_vec(stat.get(open + 1..close)?.to_vec());
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let start = fields.nth(16)?.parse().ok()?;
    Some(Entry { pid, parent, group, start, name, is_zombie: matches!(state, "Z" | "X") })
}

/// What a process may be called by: its own name, its file's, and the one it was started under.
pub(crate) fn names(entry: &Entry) -> Vec<OsString> {
    let mut names = vec![entry.name.clone()];
    let mut add = |path: &Path| names.extend(path.file_name().map(Into::into));
    if let Ok(file) = fs::read_link(format!("/proc/{}/exe", entry.pid)) {
        add(&file);
    }
    if let Ok(words) = fs::read(format!("/proc/{}/cmdline", entry.pid))
        && let Some(first) = words.split(|byte| *byte == 0).next()
    {
        add(Path::new(std::ffi::OsStr::from_bytes(first)));
    }
    names
}

/// How many bytes a process holds, in memory or in swap: its share of what it uses together with others, for which the
/// kernel looks at all of its pages (16 ms for a GiB). Where that may not be asked, or a kernel before 4.14 cannot tell:
/// all but what is mapped from files. Nothing if it is gone.
pub(crate) fn memory(pid: u32) -> Option<u64> {
    let sum_of = |file: &str, names: &[&str]| {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        sum(&text, names)
    };
    sum_of("smaps_rollup", &["Pss:", "SwapPss:"])
        .or_else(|| sum_of("status", &["RssAnon:", "RssShmem:", "VmSwap:"]))
}

/// Adds up lines as `Pss:    335 kB`, in bytes. The first must be there: of a process that has ended it is not.
fn sum(text: &str, names: &[&str]) -> Option<u64> {
    let bytes = |name: &&str| {
        let line = text.lines().find_map(|line| line.strip_prefix(*name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let (first, others) = names.split_first()?;
    Some(others.iter().filter_map(bytes).fold(bytes(first)?, u64::saturating_add))
}

/// Whether a process has inherited a mark. That is a limit which the system has not looked at since Linux 2.4
/// (`RLIMIT_LOCKS`), so that it does no harm and is inherited by all, also by those that empty their environment;
/// or a variable, where somebody has set that limit too low to carry it.
pub(crate) fn carries(pid: u32, is_meant: impl Fn(u64) -> bool) -> bool {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"));
    let soft = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
    // Most processes have no such limit, and so no variable either.
    soft.is_some_and(|soft| is_meant(soft) || variable(pid).is_some_and(&is_meant))
}

fn variable(pid: u32) -> Option<u64> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        parse_mark(std::str::from_utf8(value).ok()?)
    })
}

/// The number that was given away last.
pub(crate) fn newest() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().last()?.parse().ok()
}

/// Differs from one start of the machine to the next.
pub(crate) fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Process numbers mean different processes in different ones: containers may share a home folder.
pub(crate) fn pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = b"42 (a) R 1 (b)) S 7 41 42 0 -1 4194560 105 0 0 0 0 0 0 0 20 0 1 0 123456 2473984 199 1";
        let expect = Entry {
            pid: 42,
            parent: 7,
            group: 41,
            start: 123_456,
            name: "a) R 1 (b)".into(),
            is_zombie: false,
        };
        assert_eq!(parse_stat(42, stat), Some(expect));
        assert_eq!(parse_stat(42, b"42 (sh) Z"), None);
        assert_eq!(parse_stat(42, b""), None);
    }

    #[test]
    fn memory_is_what_is_private_and_a_share_of_the_rest() {
        let rollup =
            "55a7-7ffe [rollup]\nRss:  1700 kB\nPss:   335 kB\nPss_Dirty:  116 kB\nSwapPss:     5 kB\n";
        assert_eq!(sum(rollup, &["Pss:", "SwapPss:"]), Some(340 * 1024));
        assert_eq!(sum(rollup, &["Pss:", "Absent:"]), Some(335 * 1024));
        assert_eq!(sum(rollup, &["Absent:", "Pss:"]), None);
        assert_eq!(sum("", &["Pss:"]), None);
        assert_eq!(memory(u32::MAX), None);
    }

    #[test]
    fn we_have_no_mark_unless_somebody_gave_us_one() {
        let me = std::process::id();
        assert!(boot().is_some() && pid_namespace().is_some() && newest().is_some());
        // Under a Switchboard of somebody's there is one.
        let limits = fs::read_to_string("/proc/self/limits").unwrap();
        let is_plain = limits.lines().any(|l| l.starts_with("Max file locks            unlimited"));
        assert_eq!(carries(me, |_| true), !is_plain);
    }
}
