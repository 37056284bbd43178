//! The process table of Linux: `/proc`.

use super::{CpuTime, Entry};
use crate::mark::{MARK_VARIABLE, parse_mark};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::str::SplitAsciiWhitespace;
use std::time::Duration;
use std::{fs, io};

pub(crate) fn all() -> io::Result<Vec<Entry>> {
    let mut table = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        // A process that ends while we read is not an error.
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok())
            && let Some(entry) = one(pid)
        {
            table.push(entry);
        }
    }
    Ok(table)
}

/// The children of this process, which must have one thread. Fast, whereas reading the whole table takes
/// milliseconds. Empty if the kernel was built without this file.
pub(crate) fn own_children() -> Vec<u32> {
    let me = std::process::id();
    let numbers = fs::read_to_string(format!("/proc/{me}/task/{me}/children")).unwrap_or_default();
    numbers.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

pub(crate) fn one(pid: u32) -> Option<Entry> {
    parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `PID (NAME) STATE PARENT GROUP …`, with the start time as field 22.
fn parse_stat(pid: u32, stat: &[u8]) -> Option<Entry> {
    let (name, mut fields) = split_stat(stat)?;
    let name = OsString::from_vec(name.to_vec());
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Fields 6 to 21 are of no interest.
    let start = fields.nth(16)?.parse().ok()?;
    Some(Entry { pid, parent, group, start, name, is_zombie: matches!(state, "Z" | "X") })
}

/// The name, and the fields after it. The name may contain anything, including brackets and spaces.
fn split_stat(stat: &[u8]) -> Option<(&[u8], SplitAsciiWhitespace<'_>)> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    Some((stat.get(open + 1..close)?, rest.split_ascii_whitespace()))
}

/// CPU time of a process, including a zombie. `None` if it is gone.
pub(crate) fn cpu(pid: u32) -> Option<CpuTime> {
    // SAFETY: one constant.
    let ticks_per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    parse_cpu(&fs::read(format!("/proc/{pid}/stat")).ok()?, ticks_per_second)
}

/// Parses the fields 14 to 17: user and kernel time of the process, then of the children it has waited for.
fn parse_cpu(stat: &[u8], ticks_per_second: u64) -> Option<CpuTime> {
    // The first field after the name is field 3.
    let times = split_stat(stat)?.1.skip(11).take(4).map(|ticks| ticks.parse::<u64>());
    let &[user, kernel, reaped_user, reaped_kernel] = times.collect::<Result<Vec<_>, _>>().ok()?.as_slice()
    else {
        return None;
    };
    let time = |user: u64, kernel: u64| {
        let milliseconds = user.saturating_add(kernel).saturating_mul(1000).checked_div(ticks_per_second)?;
        Some(Duration::from_millis(milliseconds))
    };
    Some(CpuTime { own: time(user, kernel)?, reaped: time(reaped_user, reaped_kernel)? })
}

/// Names of a process: its own, its executable's, and the one it was started under.
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

/// Memory of a process in bytes, resident or swapped, with a proportional share of shared pages; the kernel
/// walks all its pages for this (16 ms per GiB). If that is forbidden, or the kernel is older than 4.14:
/// everything except file mappings. `None` if the process is gone.
pub(crate) fn memory(pid: u32) -> Option<u64> {
    let sum_of = |file: &str, names: &[&str]| {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        sum(&text, names)
    };
    sum_of("smaps_rollup", &["Pss:", "SwapPss:"])
        .or_else(|| sum_of("status", &["RssAnon:", "RssShmem:", "VmSwap:"]))
}

/// Sums lines such as `Pss:    335 kB`, in bytes. The first name must be present: it is missing for an ended process.
fn sum(text: &str, names: &[&str]) -> Option<u64> {
    let bytes = |name: &&str| {
        let line = text.lines().find_map(|line| line.strip_prefix(*name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let (first, others) = names.split_first()?;
    Some(others.iter().filter_map(bytes).fold(bytes(first)?, u64::saturating_add))
}

/// Whether a process has inherited a mark. The carrier is a limit that the kernel has not used since Linux
/// 2.4 (`RLIMIT_LOCKS`): harmless, and inherited even by processes that clear their environment. A variable
/// carries the mark where that limit is set too low.
pub(crate) fn carries(pid: u32, is_meant: impl Fn(u64) -> bool) -> bool {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"));
    let soft = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
    // Most processes have no such limit, and then no variable either.
    soft.is_some_and(|soft| is_meant(soft) || variable(pid).is_some_and(&is_meant))
}

fn variable(pid: u32) -> Option<u64> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        parse_mark(std::str::from_utf8(value).ok()?)
    })
}

/// The most recently assigned process number.
pub(crate) fn newest() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().last()?.parse().ok()
}

/// Identifier of this boot of the machine.
pub(crate) fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Identifier of the PID namespace. Containers may share a home folder, but process numbers differ between namespaces.
pub(crate) fn pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_name_may_contain_anything() {
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
    fn cpu_time_is_own_and_reaped() {
        let stat = b"42 (a) R 1 (b)) S 7 41 41 0 -1 4194560 110 5 0 0 150 25 1200 34 20 0 1 0 123456 0 0";
        let expect = CpuTime { own: Duration::from_millis(1750), reaped: Duration::from_millis(12_340) };
        assert_eq!(parse_cpu(stat, 100), Some(expect));
        assert_eq!(parse_cpu(stat, 0), None);
        assert_eq!(parse_cpu(b"42 (sh) S 7 41 41 0 -1 4194560 110 5 0 0 150 25 1200", 100), None);
        assert_eq!(cpu(u32::MAX), None);
    }

    #[test]
    fn memory_sums_private_and_shared_parts() {
        let rollup =
            "55a7-7ffe [rollup]\nRss:  1700 kB\nPss:   335 kB\nPss_Dirty:  116 kB\nSwapPss:     5 kB\n";
        assert_eq!(sum(rollup, &["Pss:", "SwapPss:"]), Some(340 * 1024));
        assert_eq!(sum(rollup, &["Pss:", "Absent:"]), Some(335 * 1024));
        assert_eq!(sum(rollup, &["Absent:", "Pss:"]), None);
        assert_eq!(sum("", &["Pss:"]), None);
        assert_eq!(memory(u32::MAX), None);
    }

    #[test]
    fn own_process_is_marked_only_if_inherited() {
        let me = std::process::id();
        assert!(boot().is_some() && pid_namespace().is_some() && newest().is_some());
        // A test run started by a Switchboard has a mark.
        let limits = fs::read_to_string("/proc/self/limits").unwrap();
        let is_plain = limits.lines().any(|l| l.starts_with("Max file locks            unlimited"));
        assert_eq!(carries(me, |_| true), !is_plain);
    }
}
