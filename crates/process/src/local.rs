//! The local socket between the processes of one user: how the one is found that serves the others, how they are
//! kept from starting two of it, and how it is started so that it does not end with any of them. Must not know
//! what they say to each other.
//!
//! On Unix a socket in a folder that only this user can enter; on Windows a named pipe that only this user can
//! open. Both sides look at who the other is. Beside the socket lie small files of the same name: `.json` for
//! people, `.lock` while somebody listens, `.start` while somebody starts one.

mod name;
#[cfg(unix)]
#[path = "local/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "local/windows.rs"]
mod os;

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

/// Time between two attempts to take a lock, or to reach a listener that is busy.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// Part of a description that is read.
const MAX_DESCRIPTION_BYTES: u64 = 64 * 1024;
/// Extension of the files that stand for a daemon.
const SOCKET_EXTENSION: &str = "sock";

/// Where a daemon is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    folder: PathBuf,
    name: String,
}

impl Address {
    /// The daemon of this user, in this world (on Linux the mount and PID namespace), for this identity.
    ///
    /// What is asked for by the same user in the same world is the same, whatever program of ours asks and in
    /// whatever environment; only `XDG_RUNTIME_DIR` may lead elsewhere.
    pub fn of(identity: &[u8]) -> io::Result<Self> {
        Ok(Self { folder: os::folder()?, name: name::of(&os::world(), identity) })
    }

    /// Those of this user and world that are there now, whether or not somebody listens.
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
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Sixteen hexadecimal digits.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Leaves a text beside the socket, for people and for those who list all. It goes with the listener.
    pub fn describe(&self, text: &str) -> io::Result<()> {
        // Whoever reads sees the old one or the new one.
        let new = self.file(&format!("json.{}", process::id()));
        private::write(&new, text.as_bytes()).and_then(|()| fs::rename(&new, self.file("json"))).inspect_err(
            |_| {
                let _ = fs::remove_file(&new);
            },
        )
    }

    /// What was left there.
    pub fn description(&self) -> Option<String> {
        String::from_utf8(private::read(&self.file("json"), MAX_DESCRIPTION_BYTES).ok()?).ok()
    }

    /// Reports changes of the socket's file: whether a listener [is found](Listener::is_found) may be another question then.
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

/// Why nobody listens here.
#[derive(Debug, Error)]
pub enum BindError {
    #[error("somebody listens there already")]
    Taken,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The one who listens at an address. Dropping it takes the socket away, if it is still its own.
pub struct Listener(os::OsListener);

impl Listener {
    /// Listens, if nobody does: of several that try at once one gets it. What a dead one left is replaced. Must be
    /// called in the context of a tokio runtime.
    pub fn bind(address: &Address) -> Result<Self, BindError> {
        os::OsListener::bind(address).map(Self)
    }

    /// The next who comes. Another user is turned away without a word. After an error (no descriptor is free) it
    /// has waited for a moment, and may be called again. Cancel-safe.
    pub async fn accept(&mut self) -> io::Result<Connection> {
        self.0.accept().await
    }

    /// Whether those who come now find us. Somebody may have cleaned up the folder.
    pub fn is_found(&self) -> bool {
        self.0.is_found()
    }
}

/// Two processes of one user, connected. Dropping the writer lets the other side read the end, also while the reader
/// is still there.
pub struct Connection {
    pub reader: ByteReader,
    pub writer: ByteWriter,
    /// The other's process; 0 if it is not known (it may be in another world).
    pub peer: u32,
    process: os::PeerProcess,
}

impl Connection {
    /// Ends the process that we went to at once. On Linux nobody else can be hit, whoever has its number by now;
    /// elsewhere only for one that is known to be there still: it has not hung up. Nobody who came to us is ended.
    pub fn kill_peer(&self) {
        self.process.kill();
    }
}

/// Goes to the one who listens there. `NotFound` and `ConnectionRefused` say that nobody does;
/// `PermissionDenied` that it is another user, or that others could have put something into the folder.
///
/// It does not wait for whoever listens to accept, so that a connection may be closed before a word was said.
pub async fn connect(address: &Address) -> io::Result<Connection> {
    os::connect(address).await
}

/// Held by whoever starts a daemon, so that many who want one at once start one: take it, look again whether one
/// is there, start it if not, and let go when it answers. Ends with its process, whatever ends that.
#[derive(Debug)]
pub struct StartLock(#[expect(dead_code, reason = "its drop is what it is for")] os::FileLock);

impl StartLock {
    /// Waits for its turn. Cancel-safe.
    pub async fn take(address: &Address) -> io::Result<Self> {
        let path = address.file("start");
        loop {
            if let Some(lock) = os::FileLock::try_take(&path)? {
                return Ok(Self(lock));
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

/// Starts a program that does not belong to us, and outlives us and whoever started us: in a session and process group
/// of its own (on Windows outside our job, and without a console), with the null device as standard streams (stderr is
/// appended to `log`, if that is given), in the root folder, with this environment and nothing else of ours. It is
/// not our child.
///
/// On Windows `PermissionDenied` says that the job around us lets nobody out: what is started there would end with
/// our own client.
pub fn start_detached(
    program: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
    log: Option<&Path>,
) -> io::Result<()> {
    os::start_detached(program, args, env, log)
}
