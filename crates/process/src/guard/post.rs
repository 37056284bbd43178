//! Bytes with descriptors through a Unix socket. Must not know what they mean.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use tokio::io::Interest;

/// No message carries more: the three standard streams.
const MOST: usize = 3;

/// Sends as many of the bytes as fit; the descriptors go with the first.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, no_signal())?)
}

/// Sends all of the bytes, and waits where that takes a while.
pub(crate) async fn send_all(
    socket: &tokio::net::UnixStream,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        let with = if sent == 0 { fds } else { &[] };
        sent += socket.async_io(Interest::WRITABLE, || send(socket, &bytes[sent..], with)).await?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn no_signal() -> SendFlags {
    SendFlags::NOSIGNAL
}

/// SIGPIPE is ignored in a Rust program.
#[cfg(not(target_os = "linux"))]
fn no_signal() -> SendFlags {
    SendFlags::empty()
}

/// Waits for a frame (see `wire`) and the descriptors that came with its beginning; nothing at the end.
pub(crate) fn receive(socket: &mut UnixStream) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut head = [0; 4];
    let mut fds = Vec::new();
    let mut filled = 0;
    while filled < head.len() {
        match receive_some(socket, &mut head[filled..], &mut fds)? {
            0 => return Ok(None),
            count => filled += count,
        }
    }
    let mut whole = head.as_slice().chain(socket);
    Ok(super::wire::read_frame(&mut whole)?.map(|body| (body, fds)))
}

fn receive_some(socket: &UnixStream, bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, close_on_exec()) {
            Err(rustix::io::Errno::INTR) => {}
            result => break result?,
        }
    };
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    Ok(received.bytes)
}

#[cfg(target_os = "linux")]
fn close_on_exec() -> RecvFlags {
    RecvFlags::CMSG_CLOEXEC
}

/// Those who exec close what they do not pass on.
#[cfg(not(target_os = "linux"))]
fn close_on_exec() -> RecvFlags {
    RecvFlags::empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::wire::Order;
    use std::io::Write;

    #[test]
    fn a_frame_arrives_with_its_descriptors() {
        let (us, mut guard) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let frame = Order::Kill.frame();
        assert_eq!(send(&us, &frame, &[writer.as_fd()]).unwrap(), frame.len());
        drop(writer);
        let (body, mut fds) = receive(&mut guard).unwrap().unwrap();
        assert_eq!(Order::parse(&body).unwrap(), Order::Kill);
        let mut writer = std::fs::File::from(fds.pop().unwrap());
        assert!(fds.is_empty());
        writer.write_all(b"through").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
        drop(us);
        assert!(receive(&mut guard).unwrap().is_none());
    }
}
