//! The end of our parent process. The end of our input usually signals the same; but a surviving process may
//! have inherited the other end of that pipe. Must not know who the parent is.

#[cfg(target_os = "linux")]
#[path = "parent/linux.rs"]
mod system;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "parent/macos.rs"]
mod system;

/// The process that started us.
pub struct Parent(os::OsParent);

impl Parent {
    /// Records the parent. Must be called first: a parent that ends before this call remains unknown.
    pub fn remember() {
        os::remember();
    }

    /// Starts watching. Must be called in the context of a tokio runtime.
    pub fn watch() -> Self {
        Self(os::OsParent::watch())
    }

    /// Waits for the end of the parent; forever if it cannot be watched.
    pub async fn gone(&mut self) {
        self.0.gone().await;
    }
}

/// Whether the parent's end can be observed; if not, the reason.
#[cfg(unix)]
pub(crate) fn can_be_watched() -> Result<(), String> {
    match os::OsParent::open() {
        // An early end of the parent is no sign that watching does not work.
        Ok(_) | Err(os::Unwatched::Gone) => Ok(()),
        Err(os::Unwatched::Nobody(why)) => Err(why),
    }
}

#[cfg(unix)]
pub(crate) use os::watch;

#[cfg(unix)]
mod os {
    use super::system;
    use rustix::process::{Pid, getppid};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::sync::OnceLock;
    use tokio::io::{Interest, unix::AsyncFd};

    static FIRST: OnceLock<Option<Pid>> = OnceLock::new();

    pub(super) fn remember() {
        first();
    }

    fn first() -> Option<Pid> {
        *FIRST.get_or_init(getppid)
    }

    pub(super) enum OsParent {
        /// Becomes readable when the parent ends.
        Watched(AsyncFd<OwnedFd>),
        Gone,
        /// No particular process started us, or it cannot be watched.
        Nobody,
    }

    pub(super) enum Unwatched {
        Gone,
        Nobody(String),
    }

    /// Watches any process of this user: the descriptor becomes readable when it ends.
    pub(crate) fn watch(process: Pid) -> io::Result<AsyncFd<OwnedFd>> {
        register(system::watch(process)?)
    }

    fn register(process: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        // SAFETY: an `OwnedFd` stays open and the same until the `AsyncFd`, which owns it, is dropped.
        let watched = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) };
        watched.map_err(|error| error.into_parts().1)
    }

    impl OsParent {
        pub(super) fn watch() -> Self {
            match Self::open() {
                Ok(process) => register(process).map_or(Self::Nobody, Self::Watched),
                Err(Unwatched::Gone) => Self::Gone,
                Err(Unwatched::Nobody(_)) => Self::Nobody,
            }
        }

        pub(super) fn open() -> Result<OwnedFd, Unwatched> {
            // We are an orphan, the first process of a container, or our parent is outside it.
            let nobody = || Unwatched::Nobody("there is no parent process to watch".into());
            let parent = first().filter(|parent| *parent != Pid::INIT).ok_or_else(nobody)?;
            let process = system::watch(parent);
            // Checked after the watch is set up: a parent that ended before leaves us with another parent.
            if getppid() != Some(parent) {
                return Err(Unwatched::Gone);
            }
            process.map_err(|error| Unwatched::Nobody(error.to_string()))
        }

        pub(super) async fn gone(&mut self) {
            match self {
                Self::Watched(process) if process.readable().await.is_ok() => {}
                Self::Gone => {}
                // A failed watch means that the runtime is shutting down, and this future with it.
                Self::Watched(_) | Self::Nobody => std::future::pending().await,
            }
        }
    }
}

/// The number of a parent may pass to another process once it has ended; a handle prevents that.
#[cfg(windows)]
mod os {
    use crate::awaited::Awaited;
    use crate::family;
    use std::os::windows::io::{AsHandle, OwnedHandle};
    use std::sync::OnceLock;
    use windows_sys::Win32::System::Threading::{
        GetCurrentProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    };

    static FIRST: OnceLock<Option<OwnedHandle>> = OnceLock::new();

    pub(super) fn remember() {
        first();
    }

    fn first() -> Option<&'static OwnedHandle> {
        FIRST.get_or_init(open).as_ref()
    }

    fn open() -> Option<OwnedHandle> {
        let parent = family::parent(std::process::id()).filter(|parent| *parent != 0)?;
        let parent = family::open(parent, PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION)?;
        // SAFETY: no arguments, and the result is a constant that stands for this process.
        let us = unsafe { std::os::windows::io::BorrowedHandle::borrow_raw(GetCurrentProcess()) };
        // A younger process is not our parent, but has its number.
        (family::created(parent.as_handle()) <= family::created(us)).then_some(parent)
    }

    /// `None`: it had ended before we looked, or belongs to somebody else.
    pub(super) struct OsParent(Option<Awaited>);

    impl OsParent {
        pub(super) fn watch() -> Self {
            Self(first().and_then(|parent| Awaited::new(parent.try_clone().ok()?).ok()))
        }

        pub(super) async fn gone(&mut self) {
            match &self.0 {
                Some(parent) => parent.ended().await,
                None => std::future::pending().await,
            }
        }
    }
}
