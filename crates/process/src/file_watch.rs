//! Change notifications for files, instead of polling. Must not know what is in the files.
//!
//! Linux uses inotify on every folder that the path passes through by name, symbolic links included. Polling
//! is still needed on other systems, and on file systems that other machines can change: see
//! [`FileWatch::reports_all`].

use crate::aside;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pause after a change of some other file in the folder, which limits wake-ups by a busy folder.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// Watches one or more paths for changes.
pub struct FileWatch(os::FileWatch);

impl FileWatch {
    /// A watch without a path; reports nothing before [`aim`](Self::aim). Must be called in the context of a
    /// tokio runtime.
    pub fn new() -> Self {
        Self::with_pause(BUSY_PAUSE)
    }

    /// The same with another pause after a change of some other file in the folder, which limits wake-ups by a
    /// busy folder and delays reports by as much.
    pub fn with_pause(pause: Duration) -> Self {
        Self(os::FileWatch::new(pause))
    }

    /// Watches this path from now on, following links. Must be called again after a change: a folder or a
    /// link on the way may have been replaced.
    pub async fn aim(&mut self, path: &Path) {
        self.aim_all(vec![path.to_owned()]).await;
    }

    /// The same for several paths.
    pub async fn aim_all(&mut self, paths: Vec<PathBuf>) {
        let aim = self.0.aim();
        let watched = aside::run(move || aim.take(&paths)).await;
        self.0.set(watched);
    }

    /// Whether every change is reported promptly. If not, the caller must poll as well.
    pub fn reports_all(&self) -> bool {
        self.0.reports_all()
    }

    /// Waits until the file may have changed; forever if the system cannot tell. Cancel-safe.
    pub async fn changed(&mut self) {
        self.0.changed().await;
    }
}

impl Default for FileWatch {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_os = "linux")]
mod os {
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;
    use std::ffi::{OsStr, OsString};
    use std::fs;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Component, Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// Limit on symbolic links, the same as the kernel's.
    const MAX_LINKS: usize = 40;
    /// Buffer for several events with their names.
    const EVENT_BYTES: usize = 4096;

    /// File systems that only this machine's kernel can change, by `f_type`: ext4, xfs, btrfs, tmpfs, ramfs,
    /// f2fs, zfs, overlayfs, bcachefs.
    const LOCAL: [i128; 9] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0x0102_1994,
        0x8584_58F6,
        0xF2F5_2010,
        0x2FC1_2FC1,
        0x794C_7630,
        0xCA45_1A4E,
    ];

    pub(super) struct FileWatch {
        /// `None` if the system has no inotify instance left.
        fd: Option<AsyncFd<Arc<OwnedFd>>>,
        /// Pause after a change of some other file in the folder.
        pause: Duration,
        watched: Watched,
    }

    /// Folders and names to watch.
    #[derive(Default)]
    pub(super) struct Watched {
        /// Watch number of a folder, and a relevant name in it.
        names: Vec<(i32, OsString)>,
        reports_all: bool,
    }

    /// Everything needed to watch a path from another thread.
    pub(super) struct Aim {
        fd: Option<Arc<OwnedFd>>,
        before: Vec<i32>,
    }

    impl FileWatch {
        pub(super) fn new(pause: Duration) -> Self {
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok().map(Arc::new);
            // SAFETY: an `OwnedFd` stays open and the same until the last `Arc` of it is dropped, and the `AsyncFd` has one.
            let fd =
                fd.and_then(|fd| unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.ok());
            Self { fd, pause, watched: Watched::default() }
        }

        pub(super) fn aim(&self) -> Aim {
            let fd = self.fd.as_ref().map(|fd| fd.get_ref().clone());
            Aim { fd, before: self.watched.names.iter().map(|(folder, _)| *folder).collect() }
        }

        pub(super) fn set(&mut self, watched: Watched) {
            self.watched = watched;
        }

        pub(super) fn reports_all(&self) -> bool {
            self.watched.reports_all
        }

        pub(super) async fn changed(&mut self) {
            let Some(fd) = &self.fd else { return std::future::pending().await };
            loop {
                // An error means that the runtime is shutting down.
                let Ok(mut ready) = fd.readable().await else { return std::future::pending().await };
                match read(fd.get_ref(), &self.watched.names) {
                    Ok(true) => return,
                    Ok(false) => tokio::time::sleep(self.pause).await,
                    Err(Errno::AGAIN) => ready.clear_ready(),
                    Err(_) => return std::future::pending().await,
                }
            }
        }
    }

    /// Reads the pending events and returns whether any of them is relevant.
    fn read(fd: &OwnedFd, names: &[(i32, OsString)]) -> rustix::io::Result<bool> {
        // Events without a name: another folder may stand at this path now, or events were lost.
        let of_folder = ReadFlags::DELETE_SELF
            | ReadFlags::MOVE_SELF
            | ReadFlags::IGNORED
            | ReadFlags::UNMOUNT
            | ReadFlags::QUEUE_OVERFLOW;
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut events = inotify::Reader::new(fd, &mut buffer);
        let (mut is_empty, mut counts) = (true, false);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                // All pending events were read. If there was none, the caller waits for readiness.
                Err(Errno::AGAIN) if !is_empty => return Ok(counts),
                Err(error) => return Err(error),
            };
            is_empty = false;
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            counts |= event.events().intersects(of_folder)
                || names.iter().any(|(folder, known)| *folder == event.wd() && Some(&**known) == name);
        }
    }

    impl Aim {
        pub(super) fn take(self, paths: &[PathBuf]) -> Watched {
            let Some(fd) = self.fd else { return Watched::default() };
            let flags = WatchFlags::CREATE
                | WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::MOVED_TO
                | WatchFlags::MOVED_FROM
                | WatchFlags::DELETE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            let mut watched = Watched { names: Vec::new(), reports_all: true };
            for (folder, name) in paths.iter().flat_map(|path| steps(path)) {
                // A folder that is already watched keeps its number.
                match inotify::add_watch(&fd, &folder, flags) {
                    Ok(number) => watched.names.push((number, name)),
                    // A missing folder or an exhausted watch limit leaves changes that only polling finds.
                    Err(_) => watched.reports_all = false,
                }
                watched.reports_all &= is_local(&folder);
            }
            // After the additions: a folder that stays watched has no gap.
            for old in self.before {
                if !watched.names.iter().any(|(number, _)| *number == old) {
                    let _ = inotify::remove_watch(&fd, old);
                }
            }
            watched
        }
    }

    fn is_local(folder: &Path) -> bool {
        rustix::fs::statfs(folder).is_ok_and(|stat| LOCAL.contains(&i128::from(stat.f_type)))
    }

    /// The file and every symbolic link on the way to it, each as folder and name.
    pub(super) fn steps(path: &Path) -> Vec<(PathBuf, OsString)> {
        let mut steps = Vec::new();
        let mut at = PathBuf::from("/");
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut ahead: Vec<OsString> = parts(&absolute);
        while let Some(part) = ahead.pop() {
            let next = at.join(&part);
            let is_last = ahead.is_empty();
            // A loop of links ends at the limit, where the kernel would give up too.
            match fs::read_link(&next).ok().filter(|_| steps.len() < MAX_LINKS) {
                Some(target) => {
                    steps.push((at.clone(), part));
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    // In reverse order, like the rest: the link's target is walked before the remaining path.
                    ahead.extend(parts(&target));
                }
                None if is_last => steps.push((at.clone(), part)),
                None if part == ".." => {
                    at.pop();
                }
                None => at = next,
            }
        }
        steps
    }

    /// Path components in reverse order.
    fn parts(path: &Path) -> Vec<OsString> {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        });
        let mut parts: Vec<OsString> = parts.collect();
        parts.reverse();
        parts
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::path::PathBuf;
    use std::time::Duration;

    pub(super) struct FileWatch;
    pub(super) struct Watched;
    pub(super) struct Aim;

    impl FileWatch {
        pub(super) fn new(_: Duration) -> Self {
            Self
        }

        pub(super) fn aim(&self) -> Aim {
            Aim
        }

        pub(super) fn set(&mut self, _: Watched) {}

        pub(super) fn reports_all(&self) -> bool {
            false
        }

        pub(super) async fn changed(&mut self) {
            std::future::pending().await
        }
    }

    impl Aim {
        pub(super) fn take(self, _: &[PathBuf]) -> Watched {
            Watched
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::FileWatch;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sb-file-watch-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    #[tokio::test]
    async fn writes_and_replacements_are_reported() {
        let folder = scratch("writes");
        let file = folder.join("config.json");
        fs::write(&file, "one").unwrap();
        let mut watch = FileWatch::new();
        watch.aim(&file).await;
        fs::write(&file, "two").unwrap();
        watch.changed().await;
        fs::write(folder.join("draft"), "three").unwrap();
        fs::rename(folder.join("draft"), &file).unwrap();
        watch.changed().await;
        fs::remove_file(&file).unwrap();
        watch.changed().await;
        fs::remove_dir_all(folder).unwrap();
    }

    /// As with a mounted ConfigMap: `config.json` goes through a link that is replaced.
    #[tokio::test]
    async fn replaced_link_on_the_way_is_reported() {
        let folder = scratch("links");
        for version in ["v1", "v2"] {
            fs::create_dir(folder.join(version)).unwrap();
            fs::write(folder.join(version).join("config.json"), version).unwrap();
        }
        symlink("v1", folder.join("data")).unwrap();
        symlink("data/config.json", folder.join("config.json")).unwrap();
        let mut watch = FileWatch::new();
        watch.aim(&folder.join("config.json")).await;
        symlink("v2", folder.join("new")).unwrap();
        fs::rename(folder.join("new"), folder.join("data")).unwrap();
        watch.changed().await;
        watch.aim(&folder.join("config.json")).await;
        fs::write(folder.join("v2/config.json"), "other").unwrap();
        watch.changed().await;
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn steps_are_links_and_the_file() {
        let folder = scratch("steps");
        fs::create_dir(folder.join("real")).unwrap();
        symlink("real", folder.join("link")).unwrap();
        symlink("../real/b", folder.join("real/a")).unwrap();
        let seen = super::os::steps(&folder.join("link/a"));
        let expected = [(folder.clone(), "link"), (folder.join("real"), "a"), (folder.join("real"), "b")];
        assert_eq!(seen, expected.map(|(folder, name)| (folder, name.into())));
        fs::remove_dir_all(folder).unwrap();
    }
}
