//! The local socket between the processes of one user: finding the daemon, preventing a second one, and
//! starting it so that it outlives the process that started it. Must not know what is sent over it.
//!
//! On Unix a socket in a folder that only this user can enter; on Windows a named pipe that only this user
//! can open. Both sides check the other's identity. Next to the socket lie small files of the same name:
//! `.json` for people, `.lock` while a daemon listens, `.start` while a daemon is being started.

mod name;
#[cfg(unix)]
#[path = "local/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "local/windows.rs"]
mod os;

use crate::file_lock::FileLock;
use crate::file_watch::FileWatch;
use crate::pipe::{ByteReader, ByteWriter};
use crate::private;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, process};
use thiserror::Error;

/// Time between two attempts to take a lock, or to reach a busy listener.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// Limit on the length of a description.
const MAX_DESCRIPTION_BYTES: u64 = 64 * 1024;
/// Extension of the files that represent a daemon.
const SOCKET_EXTENSION: &str = "sock";

/// The address of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    folder: PathBuf,
    name: String,
}

impl Address {
    /// The daemon of this user, in this world (on Linux the mount and PID namespace), for this identity.
    ///
    /// The same user in the same world gets the same address, from any program of ours and in any
    /// environment; only `XDG_RUNTIME_DIR` can change it.
    pub fn of(identity: &[u8]) -> io::Result<Self> {
        Ok(Self { folder: os::folder()?, name: name::of(&os::world(), identity) })
    }

    /// The existing addresses of this user and world, with or without a listener.
    pub fn all() -> io::Result<Vec<Self>> {
        let (folder, world) = (os::folder()?, os::world());
        let mut all = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let path = PathBuf::from(entry?.file_name());
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            if let (Some(name), true) =
                (stem, path.extension().is_some_and(|extension| extension == SOCKET_EXTENSION))
                && name::is_of(name, &world)
            {
                all.push(Self { folder: folder.clone(), name: name.to_owned() });
            }
        }
        // `read_dir` returns names in no order, and listings should be stable.
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Sixteen hexadecimal digits.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stores a text next to the socket, for people and for listings. Removed with the listener.
    pub fn describe(&self, text: &str) -> io::Result<()> {
        // A rename, so that readers see either the old text or the new one.
        let new = self.file(&format!("json.{}", process::id()));
        private::write(&new, text.as_bytes()).and_then(|()| fs::rename(&new, self.file("json"))).inspect_err(
            |_| {
                let _ = fs::remove_file(&new);
            },
        )
    }

    /// The text stored by [`describe`](Self::describe).
    pub fn description(&self) -> Option<String> {
        String::from_utf8(private::read(&self.file("json"), MAX_DESCRIPTION_BYTES).ok()?).ok()
    }

    /// Reports changes of the socket's file, after which [`Listener::is_found`] may give another answer.
    pub async fn watch(&self) -> FileWatch {
        let mut watch = FileWatch::new();
        watch.aim(&os::path(self)).await;
        watch
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }
}

/// The path, for people.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        os::path(self).display().fmt(f)
    }
}

/// Reason why we cannot listen.
#[derive(Debug, Error)]
pub enum BindError {
    #[error("the address is already in use")]
    Taken,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The listener at an address. Dropping it removes the socket, if it is still its own.
pub struct Listener(os::OsListener);

impl Listener {
    /// Listens, unless another process does: of several concurrent attempts one succeeds. The socket of a
    /// dead listener is replaced. Must be called in the context of a tokio runtime.
    pub fn bind(address: &Address) -> Result<Self, BindError> {
        os::OsListener::bind(address).map(Self)
    }

    /// The next connection. Other users are rejected silently. Returns errors (such as no free descriptor)
    /// after a short delay, so that the caller may retry at once. Cancel-safe.
    pub async fn accept(&mut self) -> io::Result<Connection> {
        self.0.accept().await
    }

    /// Whether new connections reach us. The folder may have been cleaned up.
    pub fn is_found(&self) -> bool {
        self.0.is_found()
    }
}

/// A connection between two processes of one user. Dropping the writer signals the end to the other side,
/// even while the reader is still open.
pub struct Connection {
    pub reader: ByteReader,
    pub writer: ByteWriter,
    /// The peer's process id; 0 if unknown (it may be in another world).
    pub peer: u32,
    process: os::PeerProcess,
}

impl Connection {
    /// Kills the process that we connected to, at once. Safe on Linux, where the number cannot be mistaken;
    /// elsewhere only if the peer is known to exist still, because the connection is open. Never kills a
    /// process that connected to us.
    pub fn kill_peer(&self) {
        self.process.kill();
    }
}

/// Connects to the listener. `NotFound` and `ConnectionRefused` mean that there is none; `PermissionDenied`
/// means that it belongs to another user, or that others could have written to the folder.
///
/// Does not wait for the listener to accept, so the connection may be closed before anything is sent.
pub async fn connect(address: &Address) -> io::Result<Connection> {
    os::connect(address).await
}

/// Held while a daemon is started, so that concurrent clients start only one: take the lock, check again
/// whether a daemon exists, start one if not, and release the lock once it answers. The lock ends with its
/// process, however that ends.
#[derive(Debug)]
pub struct StartLock(#[expect(dead_code, reason = "its drop is what it is for")] FileLock);

impl StartLock {
    /// Waits for the lock. Cancel-safe.
    pub async fn take(address: &Address) -> io::Result<Self> {
        let path = address.file("start");
        loop {
            if let Some(lock) = FileLock::try_take(&path)? {
                return Ok(Self(lock));
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

/// Starts a detached program that outlives us and our parent: in its own session and process group (on
/// Windows outside our job, and without a console), with the null device as standard streams (stderr is
/// appended to `log`, if given), in the root folder, with exactly this environment. It is not our child.
///
/// On Windows `PermissionDenied` means that the job around us allows no process to leave: a program started
/// there would end with our own client.
pub fn start_detached(
    program: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
    log: Option<&Path>,
) -> io::Result<()> {
    os::start_detached(program, args, env, log)
}
