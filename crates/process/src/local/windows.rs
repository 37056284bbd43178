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
    private::temporary("switchboard-local")
}

/// Our user and privilege level: a daemon started as administrator is not for unprivileged processes of the same user.
pub(super) fn world() -> Vec<u8> {
    let user = user::own_id().unwrap_or_default();
    format!("{user} {}", user::is_elevated()).into_bytes()
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
        let mut security = Security::own_user()?;
        let waiting = match instance(address, &mut security, true) {
            // Another process owns the first instance.
            Err(error) if is(&error, ERROR_ACCESS_DENIED) => return Err(BindError::Taken),
            result => result?,
        };
        let mark = FileLock::try_take(&address.file(SOCKET_EXTENSION))?.ok_or(BindError::Taken)?;
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
