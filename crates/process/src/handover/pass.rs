//! The transfer of descriptors between two processes, through the socket between them.

use crate::fd_passing;
use crate::local::Connection;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// The byte that accompanies the descriptors, since they cannot be sent without data.
const COMPANION_BYTE: &[u8] = b"s";
/// Time limit for receiving the descriptors: an honest sender sends them at once.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn send(connection: &Connection, fds: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    let socket = connection.writer.socket().ok_or(Errno::NOTSOCK)?;
    loop {
        match fd_passing::send(socket, COMPANION_BYTE, &fds, SendFlags::DONTWAIT) {
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
    let received = tokio::time::timeout(RECEIVE_TIMEOUT, receiving).await;
    received.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

fn receive_now(socket: BorrowedFd<'_>) -> rustix::io::Result<[OwnedFd; 3]> {
    let (mut byte, mut fds) = ([0], Vec::new());
    let count = fd_passing::receive(socket, &mut byte, &mut fds, RecvFlags::DONTWAIT)?;
    if count == 0 || byte != COMPANION_BYTE {
        return Err(Errno::PROTO);
    }
    // Fewer than were sent: our limit on open descriptors is reached.
    fds.try_into().map_err(|_| Errno::MFILE)
}
