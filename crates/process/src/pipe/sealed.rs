//! Immutable bytes held by the kernel: their pages go into a pipe without a copy. Must not know what the bytes mean.

use std::io;

/// Linux only; never created elsewhere.
pub struct Sealed(os::Memory);

impl Sealed {
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        os::Memory::new(bytes).map(Self)
    }

    /// Fails for streams that cannot take the pages.
    pub(super) fn copied_only(&self, _at: usize, _length: usize) -> io::Result<usize> {
        let Self(_) = self;
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(unix)]
    pub(super) fn give(&self, at: usize, length: usize, to: &super::Descriptor) -> io::Result<usize> {
        self.0.give(at, length, to)
    }
}

#[cfg(target_os = "linux")]
mod os {
    use crate::pipe::Descriptor;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use rustix::io::retry_on_intr;
    use rustix::pipe::{SpliceFlags, splice};
    use std::fs::File;
    use std::io::{self, Write};

    pub(super) struct Memory(File);

    impl Memory {
        pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
            let file = memfd_create("prepared", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
            let mut file = File::from(file);
            file.write_all(bytes)?;
            // The seals keep the bytes constant: bytes in a pipe are the file's own pages.
            fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW)?;
            Ok(Self(file))
        }

        pub(super) fn give(&self, at: usize, length: usize, to: &Descriptor) -> io::Result<usize> {
            // An offset of its own per call: all receivers share the file and its position.
            let given = retry_on_intr(|| {
                splice(&self.0, Some(&mut (at as u64)), to.fd(), None, length, SpliceFlags::NONBLOCK)
            });
            Ok(given?)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::io;

    pub(super) enum Memory {}

    impl Memory {
        pub(super) fn new(_: &[u8]) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        #[cfg(unix)]
        pub(super) fn give(&self, _: usize, _: usize, _: &crate::pipe::Descriptor) -> io::Result<usize> {
            match *self {}
        }
    }
}
