//! Makes the allocator, and a program that has started, give memory back to the system. Does not know who uses it.

#[cfg(target_os = "linux")]
use rustix::mm::{Advice, madvise};
use std::mem::MaybeUninit;

/// To be called first in `main`, before anything big is allocated.
///
/// glibc raises its mmap threshold to the size of every big block that is freed, up to 32 MiB: after the first
/// large message all later ones come from the heap, where one small block above them keeps the whole in our
/// resident memory. A threshold that was set by hand stays. Two arenas are enough for a program whose work
/// is done on one thread, and each arena keeps free memory of its own.
pub fn allocator_gives_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in
        [(libc::M_MMAP_THRESHOLD, 256 * 1024), (libc::M_TRIM_THRESHOLD, 512 * 1024), (libc::M_ARENA_MAX, 2)]
    {
        // SAFETY: mallopt takes two integers and touches only the allocator's own parameters, under its lock.
        // A refused value changes nothing, and there is nothing better to do then.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Gives back the pages of the program that were only needed to start: reading arguments and files, looking for others.
/// They lie in the system's cache, and come back one by one if they are needed after all. For a process that does
/// little, and of which there are many.
pub fn forget_the_start() {
    #[cfg(target_os = "linux")]
    {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        for (start, length) in maps.lines().filter_map(program_text) {
            // SAFETY: these are private mappings of files that cannot be written through: their pages hold what is in the
            // file, and the system reads it again when one is touched.
            let _ = unsafe { madvise(start as *mut std::ffi::c_void, length, Advice::LinuxDontNeed) };
        }
    }
}

/// A line of the map: the range of a file's pages that nobody can have written to.
#[cfg(target_os = "linux")]
fn program_text(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_whitespace();
    let (range, rights) = (fields.next()?, fields.next()?);
    let path = fields.nth(3)?;
    // What was written and then closed to writing (relocations) is no longer what the file holds.
    let is_text = rights == "r-xp" && path.starts_with('/');
    let (start, end) = range.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    is_text.then(|| (start, end - start))
}

/// Has the pages that are about to be read into made in one go. Left to the read, each page would be a fault
/// in the midst of copying: a quarter of the time that a large message takes.
pub(crate) fn make_pages(spare: &mut [MaybeUninit<u8>]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE_BYTES: usize = 4096;
        let start = spare.as_mut_ptr().cast::<std::ffi::c_void>();
        let skip = start.align_offset(PAGE_BYTES);
        let length = spare.len().saturating_sub(skip) / PAGE_BYTES * PAGE_BYTES;
        if length > 0 {
            // SAFETY: the range is whole pages inside memory that the caller owns for writing; making them
            // present changes no content. Where the system cannot do it, the faults come one by one.
            let _ = unsafe { madvise(start.wrapping_byte_add(skip), length, Advice::LinuxPopulateWrite) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = spare;
}
