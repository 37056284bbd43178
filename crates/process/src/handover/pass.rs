//! Descriptors on their way from one process to another.

use crate::local::Connection;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// They come with one byte, since they cannot come alone.
const WITH: &[u8] = b"s";
/// Whoever offers them sends them at once.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn send(connection: &Connection, fds: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    let socket = connection.writer.socket().ok_or(Errno::NOTSOCK)?;
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut along = SendAncillaryBuffer::new(&mut space);
        if !along.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(Errno::NOMEM.into());
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match sendmsg(socket, &[IoSlice::new(WITH)], &mut along, flags) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => connection.writer.writable().await?,
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) async fn receive(connection: &mut Connection) -> io::Result<[OwnedFd; 3]> {
    let receiving = async {
        loop {
            connection.reader.readable().await?;
            let socket = connection.writer.socket().ok_or(Errno::NOTSOCK)?;
            match receive_now(socket) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => connection.reader.wait_anew(),
                result => return Ok(result?),
            }
        }
    };
    tokio::time::timeout(PATIENCE, receiving).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

fn receive_now(socket: BorrowedFd<'_>) -> rustix::io::Result<[OwnedFd; 3]> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut byte)], &mut along, flags)?;
    let mut fds = Vec::new();
    for message in along.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.bytes == 0 || byte != WITH {
        return Err(Errno::PROTO);
    }
    // Fewer than were sent: there was no room for them here.
    fds.try_into().map_err(|_| Errno::MFILE)
}
