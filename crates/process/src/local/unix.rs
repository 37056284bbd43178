//! A socket in a folder of this user; `folder` chooses the folder.

#[path = "unix/detach.rs"]
mod detach;
#[path = "unix/folder.rs"]
mod folder;
#[path = "unix/peer.rs"]
mod peer;

use super::{Address, BindError, Connection, RETRY_INTERVAL, SOCKET_EXTENSION};
use crate::file_lock::FileLock;
use crate::{path_socket, pipe, private};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::time::sleep;

pub(super) use detach::start_detached;
pub(super) use folder::{folder, world};
pub(super) use peer::PeerProcess;

/// Pause after an accept failed for lack of resources. Connections queue meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Attempts to connect while the accept queue is full.
const MAX_CONNECT_ATTEMPTS: u32 = 400;

pub(super) fn path(address: &Address) -> PathBuf {
    address.file(SOCKET_EXTENSION)
}

pub(super) struct OsListener {
    socket: AsyncFd<UnixListener>,
    address: Address,
    /// Identity of the socket file that we created.
    file: FileId,
    /// Held while we listen. Released last, since fields drop in order.
    _lock: FileLock,
}

type FileId = (u64, u64);

impl OsListener {
    pub(super) fn bind(address: &Address) -> Result<Self, BindError> {
        // The registration would panic outside a runtime.
        Handle::try_current().map_err(io::Error::other)?;
        // In a folder that others can write to, the socket could be replaced by theirs.
        private::is_closed(&address.folder)?;
        // The lock comes first: only its holder may remove an old socket.
        let lock = FileLock::try_take(&address.file("lock"))?.ok_or(BindError::Taken)?;
        let path = path(address);
        clear(&path)?;
        // The description of a dead daemon must not pass for ours.
        let _ = fs::remove_file(address.file("json"));
        let socket = path_socket::listen_privately(&path)?;
        socket.set_nonblocking(true)?;
        // SAFETY: a `UnixListener` owns its descriptor, never exchanges it, and closes it when it is dropped, which
        // the `AsyncFd` does after it has deregistered.
        let socket = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }
            .map_err(|error| error.into_parts().1)?;
        let file = id(&path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Self { socket, address: address.clone(), file, _lock: lock })
    }

    pub(super) async fn accept(&mut self) -> io::Result<Connection> {
        loop {
            let mut ready = self.socket.readable().await?;
            match ready.try_io(|socket| socket.get_ref().accept()) {
                Ok(Ok((socket, _))) => {
                    // Another user's process, or one that has disconnected already.
                    let Ok(peer) = peer::same_user(&socket) else { continue };
                    return connection(socket.into(), peer, PeerProcess::none());
                }
                Ok(Err(error)) => match Errno::from_io_error(&error) {
                    // The second one: the client hung up while it was queued.
                    Some(Errno::INTR | Errno::CONNABORTED) => {}
                    // The connection is still queued, so a retry without a pause would be a busy loop.
                    _ => {
                        sleep(ACCEPT_PAUSE).await;
                        return Err(error);
                    }
                },
                Err(_would_block) => {}
            }
        }
    }

    pub(super) fn is_found(&self) -> bool {
        id(&path(&self.address)) == Some(self.file)
    }
}

impl Drop for OsListener {
    fn drop(&mut self) {
        // Only our own socket: a successor may have bound the same path.
        if self.is_found() {
            let _ = fs::remove_file(self.address.file("json"));
            let _ = fs::remove_file(path(&self.address));
        }
    }
}

/// Removes the socket of a dead listener. Only the holder of the lock does this; but a live listener may have
/// lost its lock file to a cleanup by others, so the socket is tried first.
fn clear(path: &Path) -> Result<(), BindError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
        // Not a listener; and the folder is ours alone, so nobody else needs the file.
        Ok(meta) if !meta.file_type().is_socket() => {}
        Ok(_) => {
            if UnixStream::connect(path).is_ok() {
                return Err(BindError::Taken);
            }
        }
    }
    Ok(fs::remove_file(path)?)
}

fn id(path: &Path) -> Option<FileId> {
    fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

pub(super) async fn connect(address: &Address) -> io::Result<Connection> {
    private::is_closed(&address.folder)?;
    let path = path(address);
    let mut attempts = MAX_CONNECT_ATTEMPTS;
    let socket = loop {
        match tokio::net::UnixStream::connect(&path).await {
            // The accept queue is full.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && attempts > 0 => attempts -= 1,
            result => break result?.into_std()?,
        }
        sleep(RETRY_INTERVAL).await;
    };
    let peer = peer::same_user(&socket)?;
    let process = PeerProcess::of(&socket, peer);
    connection(socket.into(), peer, process)
}

fn connection(socket: OwnedFd, peer: u32, process: PeerProcess) -> io::Result<Connection> {
    let (reader, writer) = pipe::both_ways(socket)?;
    Ok(Connection { reader, writer, peer, process })
}
