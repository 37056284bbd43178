//! The events that wake a guard or a warden: signals, the end of the main process, readable descriptors. Must
//! not know what follows from an event.

#[cfg(target_os = "linux")]
#[path = "watch/linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "watch/macos.rs"]
mod os;

pub(super) use os::WakeSource;

/// Causes of a wake-up, apart from a timeout.
pub(super) struct Woken {
    /// The main process has ended.
    pub(super) us_gone: bool,
    /// Which of the two descriptors are readable or at their end.
    pub(super) readable: [bool; 2],
    /// SIGTERM or a similar signal arrived.
    pub(super) asked_to_end: bool,
}
