//! The memory of this machine. Must not know what it is used for.

/// Bytes of memory available to our processes: the machine's, or the limit of our cgroup if lower. `None` if unknown.
pub fn memory() -> Option<u64> {
    os::memory().filter(|bytes| *bytes > 0)
}

#[cfg(target_os = "linux")]
mod os {
    use crate::cgroup;
    use std::fs;
    use std::path::Path;

    /// Limit of a container under cgroup version 1, where the container sees its own group as the root.
    const CGROUP_1_LIMIT_FILE: &str = "/sys/fs/cgroup/memory/memory.limit_in_bytes";

    pub(super) fn memory() -> Option<u64> {
        let machine = total(&fs::read_to_string("/proc/meminfo").ok()?)?;
        let own = cgroup::own();
        // The limit of an outer group applies to all groups inside.
        let groups = own.iter().flat_map(|own| own.ancestors()).map(|group| group.join("memory.max"));
        let limits = groups.chain([Path::new(CGROUP_1_LIMIT_FILE).to_owned()]).filter_map(|file| {
            // `max`, which means no limit, does not parse.
            fs::read_to_string(file).ok()?.trim().parse().ok()
        });
        Some(limits.fold(machine, u64::min))
    }

    fn total(meminfo: &str) -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn total_is_in_bytes() {
            let meminfo = "MemTotal:       24689764 kB\nMemFree:        1 kB\n";
            assert_eq!(super::total(meminfo), Some(24_689_764 << 10));
            assert_eq!(super::total("MemFree: 1 kB\n"), None);
        }
    }
}

#[cfg(target_os = "macos")]
mod os {
    use std::ffi::c_void;
    use std::ptr;

    pub(super) fn memory() -> Option<u64> {
        let mut bytes: u64 = 0;
        let mut size = size_of::<u64>();
        // SAFETY: the buffer has the given length.
        let asked = unsafe {
            let into = ptr::from_mut(&mut bytes).cast::<c_void>();
            libc::sysctlbyname(c"hw.memsize".as_ptr(), into, &mut size, ptr::null_mut(), 0)
        };
        (asked == 0 && size == size_of::<u64>()).then_some(bytes)
    }
}

#[cfg(windows)]
mod os {
    use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

    pub(super) fn memory() -> Option<u64> {
        let mut status =
            MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
        // SAFETY: the structure's size field identifies it to the call, which fills it.
        let found = unsafe { GlobalMemoryStatusEx(&raw mut status) };
        (found != 0).then_some(status.ullTotalPhys)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
mod os {
    pub(super) fn memory() -> Option<u64> {
        None
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "macos", windows)))]
mod tests {
    #[test]
    fn this_machine_has_memory() {
        let bytes = super::memory().expect("the system tells");
        assert!(bytes > 64 << 20, "{bytes}");
    }
}
