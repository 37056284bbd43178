//! The standard streams on Windows. They are not yet moved away: the standard handles would have to be
//! replaced with `SetStdHandle`, and the C runtime's descriptors with them.

use super::OwnStdio;
use crate::pipe::{ByteReader, ByteWriter};
use std::{
    io::{self, stdin, stdout},
    os::windows::io::AsHandle,
};

pub(super) fn take() -> io::Result<OwnStdio> {
    Ok(OwnStdio {
        input: ByteReader::from_handle(stdin().as_handle().try_clone_to_owned()?)?,
        output: ByteWriter::from_handle(stdout().as_handle().try_clone_to_owned()?)?,
    })
}
