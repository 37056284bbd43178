//! Makes the allocator give freed memory back to the system. Knows malloc only, not who allocates.

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
