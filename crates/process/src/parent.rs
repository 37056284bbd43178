//! The end of whoever started us. The end of our input says the same in most cases; but the other end of that
//! pipe may have been inherited by a process that lives on. Must not know who the parent is.

/// Waits until the process that started us has ended; for ever if that cannot be told.
///
/// To be made early: a parent that has ended before is not missed.
pub struct Parent(os::Parent);

impl Parent {
    pub fn watch() -> Self {
        Self(os::Parent::watch())
    }

    pub async fn gone(&mut self) {
        self.0.gone().await;
    }
}

/// Whether the parent's end can be seen, or why not.
#[cfg(unix)]
pub(crate) fn can_be_watched() -> Result<(), String> {
    os::Parent::can_be_watched()
}

#[cfg(target_os = "linux")]
mod os {
    use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};
    use std::os::fd::OwnedFd;
    use tokio::io::{Interest, unix::AsyncFd};

    pub(super) enum Parent {
        Watched(AsyncFd<OwnedFd>),
        /// Nobody in particular started us, or it cannot be watched.
        Nobody,
    }

    impl Parent {
        pub(super) fn watch() -> Self {
            open()
                .ok()
                .and_then(|process| {
                    // SAFETY: an `OwnedFd` stays open and the same until the `AsyncFd`, which owns it, is dropped.
                    unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) }.ok()
                })
                .map_or(Self::Nobody, Self::Watched)
        }

        pub(super) fn can_be_watched() -> Result<(), String> {
            open().map(drop)
        }

        pub(super) async fn gone(&mut self) {
            match self {
                Self::Watched(process) => match process.readable().await {
                    Ok(_) => {}
                    // The runtime is shutting down, and this future with it.
                    Err(_) => std::future::pending().await,
                },
                Self::Nobody => std::future::pending().await,
            }
        }
    }

    fn open() -> Result<OwnedFd, String> {
        let parent = getppid().filter(|parent| *parent != Pid::INIT);
        // An orphan, the first process of a container, or one whose parent is outside of it.
        let parent = parent.ok_or("no process that could end has started us")?;
        let process = pidfd_open(parent, PidfdFlags::NONBLOCK).map_err(|error| error.to_string())?;
        if getppid() == Some(parent) {
            Ok(process)
        } else {
            Err("the process that started us has ended".into())
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod os {
    use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
    use rustix::process::{Pid, getppid};
    use std::os::fd::OwnedFd;
    use std::time::Duration;
    use tokio::io::{Interest, unix::AsyncFd};

    pub(super) enum Parent {
        Watched(AsyncFd<OwnedFd>),
        Nobody,
    }

    impl Parent {
        pub(super) fn watch() -> Self {
            open()
                .ok()
                .and_then(|queue| {
                    // SAFETY: an `OwnedFd` stays open and the same until the `AsyncFd`, which owns it, is dropped.
                    unsafe { AsyncFd::register_with_interest(queue, Interest::READABLE) }.ok()
                })
                .map_or(Self::Nobody, Self::Watched)
        }

        pub(super) fn can_be_watched() -> Result<(), String> {
            open().map(drop)
        }

        pub(super) async fn gone(&mut self) {
            match self {
                Self::Watched(queue) => match queue.readable().await {
                    Ok(_) => {}
                    Err(_) => std::future::pending().await,
                },
                Self::Nobody => std::future::pending().await,
            }
        }
    }

    /// A queue is readable when something is in it.
    fn open() -> Result<OwnedFd, String> {
        let parent = getppid().filter(|parent| *parent != Pid::INIT);
        let parent = parent.ok_or("no process that could end has started us")?;
        let queue = kqueue().map_err(|error| error.to_string())?;
        let filter = EventFilter::Proc { pid: parent, flags: ProcessEvents::EXIT };
        let wanted = [Event::new(filter, EventFlags::ADD, std::ptr::null_mut())];
        let mut none: Vec<Event> = Vec::new();
        // SAFETY: no descriptor is named in this filter.
        unsafe { kevent(&queue, &wanted, &mut none, Some(Duration::ZERO)) }
            .map_err(|error| error.to_string())?;
        if getppid() == Some(parent) {
            Ok(queue)
        } else {
            Err("the process that started us has ended".into())
        }
    }
}

/// There is no notion of an orphan; the job of the client ends us with it.
#[cfg(windows)]
mod os {
    pub(super) struct Parent;

    impl Parent {
        pub(super) fn watch() -> Self {
            Self
        }

        pub(super) async fn gone(&mut self) {
            std::future::pending().await
        }
    }
}
