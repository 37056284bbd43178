//! Frames with descriptors, through the sockets between our processes. Must not know what a frame says.

use super::frame::read_frame;
use crate::fd_passing;
use rustix::io::retry_on_intr;
use rustix::net::{RecvFlags, SendFlags};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use tokio::io::Interest;

/// Sends as many of the bytes as fit.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    Ok(fd_passing::send(socket, bytes, fds, SendFlags::empty())?)
}

/// Sends all bytes, waiting while the socket is full.
pub(crate) async fn send_all(
    socket: &tokio::net::UnixStream,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        // The descriptors travel with the first byte, and only once.
        let with = if sent == 0 { fds } else { &[] };
        sent += socket.async_io(Interest::WRITABLE, || send(socket, &bytes[sent..], with)).await?;
    }
    Ok(())
}

/// Waits for a frame and the descriptors that came with its first bytes; `None` at the end of the stream.
pub(crate) fn receive(socket: &mut UnixStream) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut head = [0; 4];
    let mut fds = Vec::new();
    let mut filled = 0;
    // Descriptors come with the first bytes, so the head needs `recvmsg`.
    while filled < head.len() {
        let rest = &mut head[filled..];
        match retry_on_intr(|| fd_passing::receive(&*socket, rest, &mut fds, RecvFlags::empty()))? {
            0 => return Ok(None),
            count => filled += count,
        }
    }
    // `read_frame` expects the length as well, so the head goes in front again.
    let mut whole = head.as_slice().chain(socket);
    Ok(read_frame(&mut whole)?.map(|body| (body, fds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Order;
    use std::io::Write;

    #[test]
    fn frame_arrives_with_its_descriptors() {
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
