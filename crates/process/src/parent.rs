//! The end of our parent, the process that started us. The end of our input says the same in most cases; but the other end
//! of that pipe may have been inherited by a process that lives on. Must not know who the parent is.

#[cfg(target_os = "linux")]
#[path = "parent/linux.rs"]
mod system;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "parent/macos.rs"]
mod system;

/// The process that started us.
pub struct Parent(os::OsParent);

impl Parent {
    /// Remembers the process that started us. To be called first of all: a parent that ends before this is unknown.
    pub fn remember() {
        os::remember();
    }

    /// Begins to watch. Must be called in the context of a tokio runtime.
    pub fn watch() -> Self {
        Self(os::OsParent::watch())
    }

    /// Waits until the process that started us has ended; for ever if that cannot be told.
    pub async fn gone(&mut self) {
        self.0.gone().await;
    }
}

/// Whether the parent's end can be seen, or why not.
#[cfg(unix)]
pub(crate) fn can_be_watched() -> Result<(), String> {
    match os::OsParent::open() {
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
        /// Becomes readable when it ends.
        Watched(AsyncFd<OwnedFd>),
        Gone,
        /// Nobody in particular started us, or it cannot be watched.
        Nobody,
    }

    pub(super) enum Unwatched {
        Gone,
        Nobody(String),
    }

    /// Any process of this user: it becomes readable when that ends.
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
            // An orphan, the first process of a container, or one whose parent is outside of it.
            let nobody = || Unwatched::Nobody("no process that could end has started us".into());
            let parent = first().filter(|parent| *parent != Pid::INIT).ok_or_else(nobody)?;
            let process = system::watch(parent);
            if getppid() != Some(parent) {
                return Err(Unwatched::Gone);
            }
            process.map_err(|error| Unwatched::Nobody(error.to_string()))
        }

        pub(super) async fn gone(&mut self) {
            match self {
                Self::Watched(process) if process.readable().await.is_ok() => {}
                Self::Gone => {}
                // If it was watched, the runtime is shutting down, and this future with it.
                Self::Watched(_) | Self::Nobody => std::future::pending().await,
            }
        }
    }
}

/// There is no notion of an orphan; the job of the client ends us with it.
#[cfg(windows)]
mod os {
    pub(super) struct OsParent;

    pub(super) fn remember() {}

    impl OsParent {
        pub(super) fn watch() -> Self {
            Self
        }

        pub(super) async fn gone(&mut self) {
            std::future::pending().await
        }
    }
}
