//! Returns memory to the system: allocator settings, and pages that only the start needed. Must not know who
//! uses the memory.

#[cfg(target_os = "linux")]
use rustix::mm::{Advice, madvise};
use std::mem::MaybeUninit;

/// Must be called first in `main`, before any big allocation.
///
/// glibc raises its mmap threshold to the size of every big block that is freed, up to 32 MiB: after the
/// first large message all later ones come from the heap, where one small block above them keeps all of it
/// resident. An explicitly set threshold stays fixed. Two arenas suffice for a program that works mostly on
/// one thread, and each arena keeps free memory of its own.
pub fn allocator_gives_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in
        [(libc::M_MMAP_THRESHOLD, 256 * 1024), (libc::M_TRIM_THRESHOLD, 512 * 1024), (libc::M_ARENA_MAX, 2)]
    {
        // SAFETY: mallopt takes two integers and changes only the allocator's own parameters, under its lock.
        // A refused value changes nothing, and can be ignored.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Releases pages of the program that only the start needed: reading arguments and files, finding other
/// processes. They stay in the page cache and come back one by one on demand. For processes that do little
/// and exist in large numbers.
pub fn forget_the_start() {
    #[cfg(target_os = "linux")]
    {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        for (start, length) in maps.lines().filter_map(program_text) {
            // SAFETY: these are private, read-only mappings of files: their pages equal the file's content,
            // and the system reads them again on access.
            let _ = unsafe { madvise(start as *mut std::ffi::c_void, length, Advice::LinuxDontNeed) };
        }
    }
}

/// Parses a line of the map: a range of file pages that cannot have been modified.
#[cfg(target_os = "linux")]
fn program_text(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_whitespace();
    let (range, rights) = (fields.next()?, fields.next()?);
    let path = fields.nth(3)?;
    // Writable data that was later made read-only (relocations) differs from the file; only code is certain.
    let is_text = rights == "r-xp" && path.starts_with('/');
    let (start, end) = range.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    is_text.then(|| (start, end - start))
}

/// Allocates the pages for an upcoming read at once. Otherwise each page would fault during the copy: a
/// quarter of the time that a large message takes.
pub(crate) fn make_pages(spare: &mut [MaybeUninit<u8>]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE_BYTES: usize = 4096;
        let start = spare.as_mut_ptr().cast::<std::ffi::c_void>();
        let skip = start.align_offset(PAGE_BYTES);
        let length = spare.len().saturating_sub(skip) / PAGE_BYTES * PAGE_BYTES;
        if length > 0 {
            // SAFETY: the range is whole pages inside memory that the caller owns for writing; allocating
            // them changes no content. If the system refuses, the pages fault one by one.
            let _ = unsafe { madvise(start.wrapping_byte_add(skip), length, Advice::LinuxPopulateWrite) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = spare;
}
