//! CPU time and memory of one process, from /proc. It knows no subject.

use std::fs;
use std::io;

use rustix::process::Pid;

const MIB: f64 = (1 << 20) as f64;

/// Nanoseconds on a CPU, over all threads that are alive. Threads that ended take theirs along.
pub(super) fn cpu_ns(pid: Pid) -> io::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()))? {
        // A thread may end between being listed and being read.
        let Ok(line) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        sum += line.split(' ').next().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

/// What is in memory now, in MiB.
pub(super) fn resident_mib(pid: Pid) -> io::Result<f64> {
    status_mib(pid, "VmRSS:")
}

/// The name of every process below this one, and what it has in memory, in MiB.
pub(super) fn resident_below(pid: Pid) -> io::Result<Vec<(String, f64)>> {
    let mut below = Vec::new();
    for thread in fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()))? {
        // A thread may end between being listed and being read.
        let Ok(children) = fs::read_to_string(thread?.path().join("children")) else { continue };
        for child in children.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)) {
            let name = fs::read_to_string(format!("/proc/{}/comm", child.as_raw_nonzero()));
            // So may a process.
            let (Ok(name), Ok(mib)) = (name, resident_mib(child)) else { continue };
            below.push((name.trim().to_owned(), mib));
            below.extend(resident_below(child).unwrap_or_default());
        }
    }
    Ok(below)
}

/// The most that was in memory since [`reset_peak`], in MiB.
pub(super) fn peak_mib(pid: Pid) -> io::Result<f64> {
    status_mib(pid, "VmHWM:")
}

pub(super) fn reset_peak(pid: Pid) -> io::Result<()> {
    fs::write(format!("/proc/{}/clear_refs", pid.as_raw_nonzero()), "5")
}

fn status_mib(pid: Pid, field: &str) -> io::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB")?.parse::<f64>().ok())
        .map(|kib| kib * 1024.0 / MIB)
        .ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("no {field} in /proc/{pid:?}/status"))
        })
}
