//! The kinds of process that a server may leave behind, each started on demand (`--with KIND`).
//!
//! A member is this same binary, called with `--member KIND FOLDER`. While it lives it holds a lock on
//! the file `FOLDER/KIND`, which identifies it even if it changes its parent, its session, its
//! environment and its pid (inside a PID namespace it does not know the pid that we see).
//! No member holds a pipe of the server's, `stubborn` excepted.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Upper limit of a member's life, even if the test fails.
const LIFETIME: Duration = Duration::from_secs(120);
/// Upper limit for the member that keeps a processor busy.
const REFORKER_LIFETIME: Duration = Duration::from_secs(30);
const GENERATION: Duration = Duration::from_millis(1);
/// Time limit for a member to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Child,
    /// Leads its own session.
    Session,
    /// Its parent ended at once.
    Daemon,
    /// The same, with an empty environment.
    BareDaemon,
    /// Ignores termination signals, and keeps the server's stdout and stderr open.
    Stubborn,
    /// Adopts orphans, and has one.
    Subreaper,
    SubreapersDaemon,
    /// A daemon that is another process every millisecond.
    Reforker,
    /// A daemon from a file of this name, which a user may want to keep.
    Adb,
}

const NAMES: &[(&str, Kind)] = &[
    ("child", Kind::Child),
    ("session", Kind::Session),
    ("daemon", Kind::Daemon),
    ("bare-daemon", Kind::BareDaemon),
    ("stubborn", Kind::Stubborn),
    ("subreaper", Kind::Subreaper),
    ("subreapers-daemon", Kind::SubreapersDaemon),
    ("reforker", Kind::Reforker),
    ("adb", Kind::Adb),
];

impl Kind {
    pub(crate) fn named(word: &str) -> Option<Self> {
        NAMES.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }

    pub(crate) fn all_named(words: &[String]) -> Result<Vec<Self>, String> {
        words.iter().map(|word| Self::named(word).ok_or_else(|| format!("no such kind: {word}"))).collect()
    }

    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    fn is_daemon(self) -> bool {
        match self {
            Self::Daemon | Self::BareDaemon | Self::SubreapersDaemon | Self::Reforker | Self::Adb => true,
            Self::Child | Self::Session | Self::Stubborn | Self::Subreaper => false,
        }
    }
}

/// Starts members for a server, and returns when each is in its final state. The lock of the server itself is
/// held as long as the returned value.
pub(crate) fn open(record: &Path, launch: u32, kinds: &[Kind]) -> File {
    let folder = record.join(format!("{launch}.zoo"));
    let _ = fs::create_dir_all(&folder);
    let lock = hold(&folder.join("server"));
    for kind in kinds {
        start(*kind, &folder);
    }
    for kind in kinds {
        wait_for(&folder.join(kind.name()));
    }
    lock
}

/// Starts a daemon through a process that ends at once (`--parent KIND`), and waits for that process.
fn start(kind: Kind, folder: &Path) {
    let role = if kind.is_daemon() { "--parent" } else { "--member" };
    let mut command = member(&program(kind, folder), role, kind, folder);
    if kind != Kind::Stubborn {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    if kind == Kind::BareDaemon {
        command.env_clear();
    }
    let child = spawn(&mut command);
    if kind.is_daemon()
        && let Some(mut child) = child
    {
        let _ = child.wait();
    }
}

fn member(program: &Path, role: &str, kind: Kind, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(role).arg(kind.name()).arg(folder).stdin(Stdio::null());
    command
}

fn spawn(command: &mut Command) -> Option<std::process::Child> {
    #[expect(clippy::disallowed_methods, reason = "a process that somebody has to clean up is the point")]
    command.spawn().ok()
}

fn program(kind: Kind, folder: &Path) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    if kind != Kind::Adb {
        return own;
    }
    let file = folder.join("bin").join("adb");
    let _ = fs::create_dir_all(folder.join("bin"));
    if !file.exists() && fs::hard_link(&own, &file).is_err() {
        let _ = fs::copy(&own, &file);
    }
    file
}

/// The life of `--parent KIND FOLDER` and `--member KIND FOLDER`.
pub(crate) fn live(role: &str, kind: Kind, folder: &Path) {
    if role == "--parent" {
        let _ = rustix::process::setsid();
        let own = std::env::current_exe().unwrap_or_default();
        spawn(&mut member(&own, "--member", kind, folder));
        return;
    }
    match kind {
        Kind::Session => drop(rustix::process::setsid()),
        Kind::Stubborn => ignore_requests_to_end(),
        Kind::Subreaper => {
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            start(Kind::SubreapersDaemon, folder);
            wait_for(&folder.join(Kind::SubreapersDaemon.name()));
        }
        Kind::Child | Kind::Daemon | Kind::BareDaemon | Kind::SubreapersDaemon => {}
        Kind::Reforker | Kind::Adb => {}
    }
    let path = folder.join(kind.name());
    let _lock = hold(&path);
    if kind == Kind::Reforker {
        return refork(&path);
    }
    std::thread::sleep(LIFETIME);
}

/// A process that forks again and again, each parent ending at once. The lock passes on with the
/// descriptor. It ends when the test's folder is gone: nobody could find it to kill it.
#[expect(
    unsafe_code,
    reason = "a fork has no safe function, and a program of its own would be another process"
)]
fn refork(path: &Path) {
    let end = Instant::now() + REFORKER_LIFETIME;
    while Instant::now() < end && path.exists() {
        std::thread::sleep(GENERATION);
        // SAFETY: this process has one thread, so the child has all that the parent had.
        if unsafe { libc::fork() } > 0 {
            return;
        }
    }
}

#[expect(unsafe_code, reason = "no safe function ignores a signal")]
pub(crate) fn ignore_requests_to_end() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Takes the lock that marks a living member. Others take it for a moment to check, so this waits.
fn hold(path: &Path) -> File {
    let file = File::options().create(true).append(true).open(path);
    let file = file.expect("the folder of a zoo can be written to");
    let _ = flock(&file, FlockOperation::LockExclusive);
    file
}

fn wait_for(path: &Path) {
    let end = Instant::now() + START_TIMEOUT;
    let held = || File::open(path).is_ok_and(|f| flock(&f, FlockOperation::NonBlockingLockShared).is_err());
    while !held() && Instant::now() < end {
        std::thread::sleep(GENERATION);
    }
}
