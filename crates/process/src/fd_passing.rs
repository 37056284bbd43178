//! Descriptors sent between processes through a Unix socket, along with bytes. Must not know what they are for.

use rustix::io::{Errno, Result};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Limit on descriptors per message: three streams.
pub(crate) const MAX_FDS: usize = 3;

/// Sends as many bytes as fit. The descriptors travel with the first byte.
pub(crate) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::TOOBIG);
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags | no_signal())
}

/// Receives the available bytes and the descriptors that came with them. Returns the number of bytes; 0 means
/// end of stream.
pub(crate) fn receive(
    socket: impl AsFd,
    bytes: &mut [u8],
    fds: &mut Vec<OwnedFd>,
    flags: RecvFlags,
) -> Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, flags | close_on_exec())?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    Ok(received.bytes)
}

#[cfg(target_os = "linux")]
fn no_signal() -> SendFlags {
    SendFlags::NOSIGNAL
}

/// Rust programs ignore SIGPIPE, so no flag is needed.
#[cfg(not(target_os = "linux"))]
fn no_signal() -> SendFlags {
    SendFlags::empty()
}

#[cfg(target_os = "linux")]
fn close_on_exec() -> RecvFlags {
    RecvFlags::CMSG_CLOEXEC
}

/// No such flag here: code that starts a program closes all other descriptors first.
#[cfg(not(target_os = "linux"))]
fn close_on_exec() -> RecvFlags {
    RecvFlags::empty()
}
