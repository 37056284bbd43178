//! The events that wake a guard or a warden: signals, the end of the process it works for, something to read.

#[cfg(target_os = "linux")]
#[path = "watch/linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "watch/macos.rs"]
mod os;

pub(super) use os::WakeSource;

/// What wakes a guard or a warden, besides the passing of time.
pub(super) struct Woken {
    /// The process that it works for has ended.
    pub(super) us_gone: bool,
    /// Which of the two descriptors have something to read, be it the end.
    pub(super) readable: [bool; 2],
    /// Someone sent SIGTERM or the like.
    pub(super) asked_to_end: bool,
}
