//! Descendants of a process on Windows, by the process table. Fallback for trees that cannot be put into a job. Weaker than
//! a job: a process whose parent has ended is not found.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::time::Duration;
use windows_sys::Win32::Foundation::{FILETIME, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_ACCESS_RIGHTS, PROCESS_QUERY_LIMITED_INFORMATION,
    PROCESS_TERMINATE, TerminateProcess,
};

/// Limit on snapshots of the table during a kill. Processes that are being killed may still start others.
const MAX_ROUNDS: usize = 20;

/// A snapshot of the table: process ids and parent ids.
fn table() -> io::Result<Vec<(u32, u32)>> {
    // SAFETY: two constants; the result is checked.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just created, without another owner.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut entry = PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..Default::default() };
    let mut all = Vec::new();
    // SAFETY: the snapshot is open, and the structure's size field identifies it to the call.
    let mut found = unsafe { Process32FirstW(snapshot.as_raw_handle(), &raw mut entry) };
    while found != 0 {
        all.push((entry.th32ProcessID, entry.th32ParentProcessID));
        // SAFETY: as above.
        found = unsafe { Process32NextW(snapshot.as_raw_handle(), &raw mut entry) };
    }
    Ok(all)
}

/// The parent of a process.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    table().ok()?.into_iter().find(|(one, _)| *one == pid).map(|(_, parent)| parent)
}

/// The process with this id and creation time, and its descendants, as far as they are alive.
pub(crate) fn of(pid: u32, since: u64) -> Vec<u32> {
    below(vec![(pid, since)]).into_iter().map(|(pid, _)| pid).collect()
}

/// These processes and their descendants, as far as they are alive, by id and creation time.
fn below(mut found: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
    let Ok(table) = table() else { return Vec::new() };
    let mut at = 0;
    while let Some(&(parent, since)) = found.get(at) {
        at += 1;
        for &(child, _) in table.iter().filter(|(child, its)| *its == parent && *child != parent) {
            // An id may have been reused: a child is never older than its parent.
            let created =
                open(child, PROCESS_QUERY_LIMITED_INFORMATION).map(|child| created(child.as_handle()));
            if let Some(created) = created.filter(|created| *created >= since)
                && !found.iter().any(|(known, _)| *known == child)
            {
                found.push((child, created));
            }
        }
    }
    found.retain(|(pid, _)| crate::alive::is_alive(*pid));
    found
}

/// Kills the process with this id and creation time and all its descendants, parents first.
pub(crate) fn kill(pid: u32, since: u64) {
    let mut known = vec![(pid, since)];
    // Keep handles of killed processes open, so that their ids are not reused: their children are found by these ids.
    let mut killed = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let family = below(known.clone());
        if family.is_empty() {
            return;
        }
        for (member, its) in family {
            let process = open(member, PROCESS_TERMINATE | PROCESS_QUERY_LIMITED_INFORMATION);
            // With another creation time, it is another process that reuses the id.
            if let Some(process) = process.filter(|process| created(process.as_handle()) == its) {
                terminate(process.as_handle());
                killed.push(process);
                if !known.contains(&(member, its)) {
                    known.push((member, its));
                }
            }
        }
    }
}

/// Kills one process. A failure means that the process has ended, or belongs to another user.
pub(crate) fn terminate(process: BorrowedHandle<'_>) {
    // SAFETY: the handle is open.
    unsafe { TerminateProcess(process.as_raw_handle(), crate::suspended::KILLED_EXIT_CODE) };
}

/// The creation time, in units of the system; 0 if unknown.
pub(crate) fn created(process: BorrowedHandle<'_>) -> u64 {
    let [created, ..] = times(process);
    created
}

/// CPU time of a process in user and kernel mode; zero if unknown.
pub(crate) fn cpu(process: BorrowedHandle<'_>) -> Duration {
    let [_, _, kernel, user] = times(process);
    // The system counts in units of 100 ns.
    Duration::from_micros(kernel.saturating_add(user) / 10)
}

/// Times of creation and exit, kernel and user time; zeros if unknown.
fn times(process: BorrowedHandle<'_>) -> [u64; 4] {
    let mut times = [FILETIME::default(); 4];
    let [created, exited, kernel, user] = &mut times;
    // SAFETY: the handle is open, and there is room for four times.
    let known = unsafe { GetProcessTimes(process.as_raw_handle(), created, exited, kernel, user) };
    let times = if known == 0 { [FILETIME::default(); 4] } else { times };
    times.map(|time| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime))
}

/// Opens a process; `None` if it has ended or belongs to another user.
pub(crate) fn open(pid: u32, rights: PROCESS_ACCESS_RIGHTS) -> Option<OwnedHandle> {
    // SAFETY: three integers; a null handle, the only failure, is checked for.
    let handle = unsafe { OpenProcess(rights, 0, pid) };
    // SAFETY: the handle was just opened and has no other owner.
    (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn cpu_time_grows_with_work() {
        let us = open(std::process::id(), PROCESS_QUERY_LIMITED_INFORMATION).unwrap();
        let (before, began) = (cpu(us.as_handle()), Instant::now());
        while cpu(us.as_handle()) < before + Duration::from_millis(50) {
            assert!(began.elapsed() < Duration::from_secs(60), "still {:?}", cpu(us.as_handle()));
            std::hint::black_box((0..100_000u64).sum::<u64>());
        }
        let job = crate::job::Job::new().unwrap();
        assert_eq!(job.cpu().unwrap(), Duration::ZERO, "it has no members");
    }
}
