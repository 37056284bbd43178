//! The standard streams on Unix: three descriptors that any code may use by number.

use super::OwnStdio;
use crate::pipe::{ByteReader, ByteWriter, Inherited};
use rustix::{
    fs::{Mode, OFlags, open},
    io::{Errno, fcntl_dupfd_cloexec, fcntl_getfd},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout},
};
use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

/// The first number without a fixed meaning.
const FIRST_PRIVATE_FD: i32 = 3;

pub(super) fn take() -> io::Result<OwnStdio> {
    let null = null_device()?;
    // Copies first: the descriptors 0 and 1 are overwritten below.
    let input = private_copy(stdin(), &null)?;
    let output = private_copy(stdout(), &null)?;
    dup2_stdin(&null)?;
    if fcntl_getfd(stderr()).is_err() {
        // If left closed, the next opened file would become stderr and receive prints.
        dup2_stderr(&null)?;
    }
    dup2_stdout(stderr())?;
    let (input, output) = Inherited::pair(input, output)?;
    Ok(OwnStdio { input: ByteReader::inherited(input)?, output: ByteWriter::inherited(output)? })
}

/// `/dev/null`, on a number above the standard three even if those are free.
fn null_device() -> io::Result<OwnedFd> {
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    Ok(fcntl_dupfd_cloexec(&null, FIRST_PRIVATE_FD)?)
}

fn private_copy(fd: BorrowedFd<'_>, null: &OwnedFd) -> io::Result<OwnedFd> {
    match fcntl_dupfd_cloexec(fd, FIRST_PRIVATE_FD) {
        Err(Errno::BADF) => Ok(fcntl_dupfd_cloexec(null, FIRST_PRIVATE_FD)?),
        copy => Ok(copy?),
    }
}
