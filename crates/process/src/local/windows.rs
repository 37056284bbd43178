//! A named pipe that only this user can open. Its name is visible on the whole machine and contains the user.
//! The accompanying files are in the user's folder for temporary files; an empty one represents the pipe in listings.

#[path = "windows/detach.rs"]
mod detach;
#[path = "windows/user.rs"]
mod user;

use super::{Address, BindError, Connection, RETRY_INTERVAL, SOCKET_EXTENSION};
use crate::file_lock::FileLock;
use crate::pipe::{self, NamedPipe};
use crate::private;
use std::fs;
use std::io;
use std::os::windows::io::{AsRawHandle, RawHandle};
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeServer, PipeMode, ServerOptions};
use tokio::time::sleep;
use user::Security;
use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_PIPE_BUSY};
use windows_sys::Win32::System::Pipes::{
    GetNamedPipeClientProcessId, GetNamedPipeServerProcessId, PIPE_READMODE_BYTE, SetNamedPipeHandleState,
};

pub(super) use detach::start_detached;

/// Pause after an accept failed for lack of resources. Connections queue meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Attempts to connect while the listener is busy.
const MAX_CONNECT_ATTEMPTS: u32 = 400;

pub(super) fn folder() -> io::Result<PathBuf> {
    let Some(base) = runtime_folder() else { return private::temporary("switchboard-local") };
    let folder = base.join("switchboard");
    private::folder(&folder)?;
    Ok(folder)
}

/// As on Unix, the variable gives a separate world to those who set it.
fn runtime_folder() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Our user and privilege level: a daemon started as administrator is not for unprivileged processes of the same
/// user. The names of pipes are global, so another folder must mean other names.
pub(super) fn world() -> Vec<u8> {
    let user = user::own_id().unwrap_or_default();
    let folder = runtime_folder().unwrap_or_default();
    format!("{user} {} {}", user::is_elevated(), folder.display()).into_bytes()
}

pub(super) fn path(address: &Address) -> PathBuf {
    format!(r"\\.\pipe\switchboard-{}-{}", user::own_id().unwrap_or_default(), address.name).into()
}

pub(super) struct OsListener {
    address: Address,
    security: Security,
    /// The pipe instance that waits for the next connection.
    waiting: NamedPipeServer,
    /// The file that represents the pipe. Deleted when we end, however that happens.
    _mark: FileLock,
}

impl OsListener {
    pub(super) fn bind(address: &Address) -> Result<Self, BindError> {
        // The registration would panic outside a runtime.
        tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        // The file, not the pipe, excludes a second listener: connections of a former one are instances of the same
        // pipe, and may last.
        let mark = FileLock::try_take(&address.file(SOCKET_EXTENSION))?.ok_or(BindError::Taken)?;
        let mut security = Security::own_user()?;
        let waiting = match instance(address, &mut security, true) {
            // Connections are left, or it is another user's pipe, whose access list would hold for our instance.
            Err(error) if is(&error, ERROR_ACCESS_DENIED) => {
                let waiting = instance(address, &mut security, false)?;
                user::check_is_private(waiting.as_raw_handle())?;
                waiting
            }
            result => result?,
        };
        let _ = fs::remove_file(address.file("json"));
        Ok(Self { address: address.clone(), security, waiting, _mark: mark })
    }

    pub(super) async fn accept(&mut self) -> io::Result<Connection> {
        loop {
            // A client that has connected and left again causes an error.
            let has_come = self.waiting.connect().await.is_ok();
            // The next instance exists before this one is handed out, so that clients always find one.
            let next = match instance(&self.address, &mut self.security, false) {
                Ok(next) => next,
                Err(error) => {
                    sleep(ACCEPT_PAUSE).await;
                    return Err(error);
                }
            };
            let pipe = std::mem::replace(&mut self.waiting, next);
            if !has_come {
                continue;
            }
            // SAFETY: the handle is open as long as `pipe` exists, and the number is valid for writing.
            let peer =
                process(pipe.as_raw_handle(), |pipe, pid| unsafe { GetNamedPipeClientProcessId(pipe, pid) });
            // 0 means unknown. The pipe's own permissions have admitted only this user anyway.
            if peer == 0 || user::is_own(peer) {
                return Ok(connection(NamedPipe::Server(pipe), peer));
            }
        }
    }

    pub(super) fn is_found(&self) -> bool {
        // The name lives as long as the handle: no cleanup can remove it.
        true
    }
}

impl Drop for OsListener {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.address.file("json"));
    }
}

/// Whether a process listens. The file exists as long as its listener.
fn is_listened_to(address: &Address) -> bool {
    address.file(SOCKET_EXTENSION).try_exists().unwrap_or(true)
}

fn instance(address: &Address, security: &mut Security, is_first: bool) -> io::Result<NamedPipeServer> {
    let mut options = ServerOptions::new();
    options.first_pipe_instance(is_first).reject_remote_clients(true).pipe_mode(PipeMode::Message);
    // SAFETY: the pointer is to valid security attributes that live until the call returns.
    let pipe = unsafe { options.create_with_security_attributes_raw(path(address), security.attributes()) }?;
    // Written as messages, so that an empty one can mark the end; read as bytes. See `pipe::named`.
    // SAFETY: the handle is open, and the mode is only read.
    let is_set = unsafe {
        SetNamedPipeHandleState(pipe.as_raw_handle(), &PIPE_READMODE_BYTE, std::ptr::null(), std::ptr::null())
    };
    if is_set == 0 { Err(io::Error::last_os_error()) } else { Ok(pipe) }
}

pub(super) async fn connect(address: &Address) -> io::Result<Connection> {
    let path = path(address);
    let mut attempts = MAX_CONNECT_ATTEMPTS;
    let pipe = loop {
        match ClientOptions::new().open(&path) {
            // Only connections of a listener that has ended are left.
            Err(error) if is(&error, ERROR_PIPE_BUSY) && !is_listened_to(address) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(error) if is(&error, ERROR_PIPE_BUSY) && attempts > 0 => attempts -= 1,
            result => break result?,
        }
        sleep(RETRY_INTERVAL).await;
    };
    // SAFETY: the handle is open as long as `pipe` exists, and the number is valid for writing.
    let peer = process(pipe.as_raw_handle(), |pipe, pid| unsafe { GetNamedPipeServerProcessId(pipe, pid) });
    // Any user can create a pipe with this name while ours does not exist.
    if user::is_own(peer) {
        Ok(connection(NamedPipe::Client(pipe), peer))
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"))
    }
}

fn process(pipe: RawHandle, ask: impl Fn(RawHandle, *mut u32) -> i32) -> u32 {
    let mut pid = 0;
    if ask(pipe, &mut pid) == 0 { 0 } else { pid }
}

fn connection(pipe: NamedPipe, peer: u32) -> Connection {
    let (reader, writer) = pipe::both_ways(pipe);
    Connection { reader, writer, peer, process: PeerProcess }
}

fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == Some(code.cast_signed())
}

/// Never kills: no streams are handed over on Windows.
pub(super) struct PeerProcess;

impl PeerProcess {
    pub(super) fn kill(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use std::io::IoSlice;

    fn address(name: &str) -> Address {
        Address::of(format!("{name} {}", std::process::id()).as_bytes()).unwrap()
    }

    #[tokio::test]
    async fn pipe_admits_only_this_user() {
        let listener = OsListener::bind(&address("acl")).unwrap();
        let found = user::access_list(listener.waiting.as_raw_handle()).unwrap();
        let own = user::own_id().unwrap();
        // One entry, which allows this user; `P`: none is inherited.
        assert!(found.starts_with("D:P(A;;") && found.ends_with(&format!(";;;{own})")), "{found}");
        assert_eq!(found.matches('(').count(), 1, "{found}");
    }

    #[tokio::test]
    async fn second_listener_is_refused_until_the_first_ends() {
        let address = address("second");
        let first = OsListener::bind(&address).unwrap();
        assert!(matches!(OsListener::bind(&address), Err(BindError::Taken)));
        drop(first);
        assert!(OsListener::bind(&address).is_ok());
    }

    /// Says something to the server of a connection.
    async fn say(client: &Connection, server: &mut Connection, text: &str) {
        client.writer.writable().await.unwrap();
        client.writer.try_write(&[IoSlice::new(text.as_bytes())]).unwrap();
        let mut heard = BytesMut::new();
        assert_eq!(server.reader.read(&mut heard).await.unwrap(), text.len());
        assert_eq!(heard, text);
    }

    /// As in an upgrade: the old daemon's clients stay with it.
    #[tokio::test]
    async fn connections_outlive_their_listener() {
        let address = address("upgrade");
        let mut first = OsListener::bind(&address).unwrap();
        let (old, peer) = tokio::join!(connect(&address), first.accept());
        let (old, mut old_peer) = (old.unwrap(), peer.unwrap());
        drop(first);
        assert_eq!(connect(&address).await.err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
        let mut second = OsListener::bind(&address).unwrap();
        assert!(matches!(OsListener::bind(&address), Err(BindError::Taken)));
        let (new, peer) = tokio::join!(connect(&address), second.accept());
        let (new, mut new_peer) = (new.unwrap(), peer.unwrap());
        say(&new, &mut new_peer, "new").await;
        say(&old, &mut old_peer, "old").await;
    }

    /// Wine accepts every instance as the first one, so `bind` does not come to this check there.
    #[tokio::test]
    async fn foreign_pipe_is_recognised() {
        let (ours, foreign) = (address("ours"), address("foreign"));
        let check = |pipe: &NamedPipeServer| user::check_is_private(pipe.as_raw_handle());
        let mut own = Security::own_user().unwrap();
        let first = instance(&ours, &mut own, true).unwrap();
        let second = instance(&ours, &mut own, false).unwrap();
        assert!(check(&first).is_ok() && check(&second).is_ok(), "{:?}", check(&second));
        let id = user::own_id().unwrap();
        for description in [
            "D:(A;;GA;;;WD)".to_owned(),
            format!("D:P(A;;GA;;;{id})(A;;GR;;;WD)"),
            format!("O:BAD:P(A;;GA;;;{id})"),
            format!("O:{id}D:NO_ACCESS_CONTROL"),
        ] {
            let Ok(mut security) = Security::of(&description) else { continue };
            let _theirs = instance(&foreign, &mut security, true).unwrap();
            let instance = instance(&foreign, &mut own, false).unwrap();
            assert_eq!(
                check(&instance).unwrap_err().kind(),
                io::ErrorKind::PermissionDenied,
                "{description}"
            );
        }
    }

    #[tokio::test]
    async fn both_sides_know_each_other() {
        let address = address("talk");
        let mut listener = OsListener::bind(&address).unwrap();
        let (client, server) = tokio::join!(connect(&address), listener.accept());
        let (client, mut server) = (client.unwrap(), server.unwrap());
        assert_eq!((client.peer, server.peer), (std::process::id(), std::process::id()));
        say(&client, &mut server, "hello").await;
        // One direction ends; the other goes on.
        drop(client.writer);
        assert_eq!(server.reader.read(&mut BytesMut::new()).await.unwrap(), 0);
        server.writer.writable().await.unwrap();
        server.writer.try_write(&[IoSlice::new(b"bye")]).unwrap();
        let (mut reader, mut answer) = (client.reader, BytesMut::new());
        assert_eq!(reader.read(&mut answer).await.unwrap(), 3);
    }
}
