//! The process table of macOS: `libproc`, and `sysctl` for the arguments and environment of a process.

use super::{CpuTime, Entry};
use crate::mark::{MARK_VARIABLE, parse_mark};
use std::ffi::{CStr, OsString, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;
use std::{io, mem, ptr};

pub(crate) fn all() -> io::Result<Vec<Entry>> {
    // SAFETY: without a buffer the call only returns the count.
    let count = unsafe { libc::proc_listallpids(ptr::null_mut(), 0) };
    // Room for processes that appear meanwhile.
    let mut pids: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or_default() + 64];
    let bytes = c_int::try_from(mem::size_of_val(pids.as_slice())).unwrap_or(c_int::MAX);
    // SAFETY: the buffer has the given length.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast::<c_void>(), bytes) };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    pids.truncate(count);
    Ok(pids.into_iter().filter_map(|pid| one(u32::try_from(pid).ok()?)).collect())
}

/// Empty: orphans are not re-parented to us here, so the fast path has no use.
pub(crate) fn own_children() -> Vec<u32> {
    Vec::new()
}

pub(crate) fn one(pid: u32) -> Option<Entry> {
    let size = c_int::try_from(mem::size_of::<libc::proc_bsdinfo>()).ok()?;
    // SAFETY: a structure of integers, for which zero is valid; the call fills at most its size.
    let mut info: libc::proc_bsdinfo = unsafe { mem::zeroed() };
    // SAFETY: the buffer has the given length.
    let filled = unsafe {
        let into = ptr::from_mut(&mut info).cast::<c_void>();
        libc::proc_pidinfo(pid.cast_signed(), libc::PROC_PIDTBSDINFO, 0, into, size)
    };
    if filled != size {
        return None;
    }
    let name: Vec<u8> =
        info.pbi_name.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    Some(Entry {
        pid,
        parent: info.pbi_ppid,
        group: info.pbi_pgid,
        start: info.pbi_start_tvsec.wrapping_mul(1_000_000).wrapping_add(info.pbi_start_tvusec),
        name: OsString::from_vec(name),
        is_zombie: info.pbi_status == libc::SZOMB,
    })
}

/// The physical footprint of a process in bytes, including compressed and swapped memory. `None` if the
/// process is gone or belongs to another user.
pub(crate) fn memory(pid: u32) -> Option<u64> {
    usage(pid).map(|usage| usage.ri_phys_footprint)
}

/// CPU time of a process. `None` if it is gone, also as a zombie, or belongs to another user.
pub(crate) fn cpu(pid: u32) -> Option<CpuTime> {
    let usage = usage(pid)?;
    let (numerator, denominator) = nanoseconds_per_tick()?;
    let time = |user: u64, system: u64| {
        let ticks = u128::from(user) + u128::from(system);
        let nanoseconds = ticks * u128::from(numerator) / u128::from(denominator);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    };
    Some(CpuTime {
        own: time(usage.ri_user_time, usage.ri_system_time),
        reaped: time(usage.ri_child_user_time, usage.ri_child_system_time),
    })
}

fn usage(pid: u32) -> Option<libc::rusage_info_v1> {
    // SAFETY: a structure of integers, for which zero is valid.
    let mut usage: libc::rusage_info_v1 = unsafe { mem::zeroed() };
    // SAFETY: the buffer is the structure for this flavour; the type in the signature is a quirk of the system.
    let asked = unsafe {
        let into = ptr::from_mut(&mut usage).cast::<libc::rusage_info_t>();
        libc::proc_pid_rusage(pid.cast_signed(), libc::RUSAGE_INFO_V1, into)
    };
    (asked == 0).then_some(usage)
}

/// Unit of the times in `rusage_info`, as a fraction: a nanosecond on Intel, 41 2/3 on Apple's own processors.
#[expect(deprecated, reason = "the crate that should replace it would bring nothing else that we need")]
fn nanoseconds_per_tick() -> Option<(u32, u32)> {
    let mut unit = libc::mach_timebase_info { numer: 0, denom: 0 };
    // SAFETY: the call fills the structure.
    let asked = unsafe { libc::mach_timebase_info(&mut unit) };
    (asked == 0 && unit.denom != 0).then_some((unit.numer, unit.denom))
}

pub(crate) fn names(entry: &Entry) -> Vec<OsString> {
    vec![entry.name.clone()]
}

/// Whether a process carries a mark. Readable only for the same user, and only until the process overwrites it.
pub(crate) fn carries(pid: u32, is_meant: impl Fn(u64) -> bool) -> bool {
    mark(pid).is_some_and(is_meant)
}

/// Not available on macOS.
pub(crate) fn newest() -> Option<u32> {
    None
}

fn mark(pid: u32) -> Option<u64> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid.cast_signed()];
    let mut size: usize = 0;
    // SAFETY: without a buffer the call only returns the length.
    let asked = unsafe { libc::sysctl(name.as_mut_ptr(), 3, ptr::null_mut(), &mut size, ptr::null_mut(), 0) };
    if asked != 0 || size == 0 {
        return None;
    }
    let mut words = vec![0u8; size];
    // SAFETY: the buffer has the given length.
    let asked = unsafe {
        libc::sysctl(name.as_mut_ptr(), 3, words.as_mut_ptr().cast::<c_void>(), &mut size, ptr::null_mut(), 0)
    };
    if asked != 0 {
        return None;
    }
    words.truncate(size);
    words.split(|byte| *byte == 0).find_map(|word| {
        let value = word.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        parse_mark(std::str::from_utf8(value).ok()?)
    })
}

/// Boot time of the machine.
pub(crate) fn boot() -> Option<String> {
    // SAFETY: two integers, for which zero is valid.
    let mut time: libc::timeval = unsafe { mem::zeroed() };
    let mut size = mem::size_of::<libc::timeval>();
    let name: &CStr = c"kern.boottime";
    // SAFETY: the buffer has the given length.
    let asked = unsafe {
        let into = ptr::from_mut(&mut time).cast::<c_void>();
        libc::sysctlbyname(name.as_ptr(), into, &mut size, ptr::null_mut(), 0)
    };
    (asked == 0).then(|| time.tv_sec.to_string())
}

/// A constant: macOS has no PID namespaces.
pub(crate) fn pid_namespace() -> Option<String> {
    Some("the machine".into())
}
