//! The memory file: the offsets of its parts, and the return of pages to the system.

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate,
    memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Offsets of the parts. Each part has room for more than a client could ever send.
pub(super) const JOURNAL_HALVES: [u64; 2] = [0, 1 << 48];
pub(super) const INPUT: u64 = 1 << 49;
pub(super) const OUTPUT: u64 = 1 << 50;
pub(super) const CONTROL: u64 = 1 << 51;
/// The empty page at the end distinguishes this layout from its predecessor, which was a page shorter.
const FILE_BYTES: u64 = CONTROL + 2 * PAGE_BYTES;
pub(super) const PAGE_BYTES: u64 = 4096;

/// The file cannot be truncated by any holder: that would crash every process that has it mapped.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

pub(super) struct Store {
    pub(super) file: OwnedFd,
    control: Mapping,
}

/// State that the kernel writes while it sends, or that both sides read. All zero at first. Numbers only: the
/// giver of the file can write here at any moment, so no address is taken from it and every number is range-checked.
#[repr(C)]
pub(super) struct Control {
    /// For a socket: the count of the last send, written by the kernel, and after it the index of the valid
    /// `before`. The first field, since the kernel writes directly behind the [header](Store::header).
    pub(super) last: AtomicU64,
    /// Bytes sent before the last call.
    pub(super) before: [u64; 2],
    /// For a pipe: the file offset of the next byte to send, advanced by the kernel.
    pub(super) sent: u64,
    /// Number of open requests.
    pub(super) open: AtomicU32,
}

/// Offset in a `sendmmsg` header at which the kernel writes the count.
const COUNT_OFFSET: usize = offset_of!(libc::mmsghdr, msg_len);

const _: () = assert!(size_of::<Control>() <= PAGE_BYTES as usize);
const _: () = assert!((PAGE_BYTES as usize - COUNT_OFFSET).is_multiple_of(align_of::<libc::mmsghdr>()));
const _: () = assert!(size_of::<libc::mmsghdr>() - COUNT_OFFSET <= size_of::<u64>());

impl Store {
    pub(super) fn new() -> io::Result<Self> {
        let file = memfd_create("switchboard", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, FILE_BYTES)?;
        fcntl_add_seals(&file, SEALS)?;
        Self::over(file)
    }

    /// Opens a file that came from another process of ours.
    pub(super) fn over(file: OwnedFd) -> io::Result<Self> {
        // Without the seals a truncation could crash us; another size means another layout.
        let is_ours = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS))
            && u64::try_from(fstat(&file)?.st_size) == Ok(FILE_BYTES);
        if !is_ours {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a file of this program"));
        }
        let control = Mapping::behind_a_private_page(&file, CONTROL)?;
        Ok(Self { file, control })
    }

    pub(super) fn control(&self) -> *mut Control {
        self.control.at(PAGE_BYTES as usize).cast()
    }

    /// The header for `sendmmsg`. Its addresses lie in a private page, and the count behind them in the file,
    /// as the first field of [`Control`]: the kernel writes it there within the send, and no other process
    /// can choose which of our memory is sent. Only its `msg_hdr` may be written as a whole.
    pub(super) fn header(&self) -> *mut libc::mmsghdr {
        self.control.at(PAGE_BYTES as usize - COUNT_OFFSET).cast()
    }

    pub(super) fn map(&self, at: u64, length: usize) -> io::Result<Mapping> {
        Mapping::new(&self.file, at, length)
    }

    /// Returns whole pages to the system; they read as zeros afterwards. A page that is still in a pipe stays
    /// intact for the reader of the pipe.
    pub(super) fn give_back(&self, from: u64, to: u64) {
        // Rounded inwards: a page that is only partly done must stay.
        let (from, to) = (from.next_multiple_of(PAGE_BYTES), to / PAGE_BYTES * PAGE_BYTES);
        if from < to {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // On failure memory is held for longer, with no other effect.
            let _ = fallocate(&self.file, flags, from, to - from);
        }
    }

    pub(super) fn write_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(&self.file, bytes, at))?;
            bytes = &bytes[written..];
            at += written as u64;
        }
        Ok(())
    }

    /// Reads up to `length` bytes.
    pub(super) fn read_at(&self, length: usize, at: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(&self.file, &mut bytes, at))?;
        bytes.truncate(read);
        Ok(bytes)
    }
}

/// A range of the file in our address space.
pub(super) struct Mapping {
    start: NonNull<c_void>,
    length: usize,
}

// SAFETY: the memory stays in place until it is dropped, whichever thread uses it.
unsafe impl Send for Mapping {}
// SAFETY: as above; only the address is handed out.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &OwnedFd, at: u64, length: usize) -> io::Result<Self> {
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let start = unsafe {
            mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, at)?
        };
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// A page of the file, mapped directly behind a private page.
    fn behind_a_private_page(file: &OwnedFd, at: u64) -> io::Result<Self> {
        let (page, access) = (PAGE_BYTES as usize, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), 2 * page, access, MapFlags::PRIVATE)? };
        let both = Self { start: NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?, length: 2 * page };
        // SAFETY: replaces the second page, which was just created and is unused.
        unsafe { mmap(both.at(page).cast(), page, access, MapFlags::SHARED | MapFlags::FIXED, file, at)? };
        Ok(both)
    }

    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.length);
        // SAFETY: within the mapping, or directly behind it.
        unsafe { self.start.as_ptr().cast::<u8>().add(offset) }
    }

    /// Copies bytes into the mapping, the last byte last: after a kill half way, the last byte is missing.
    pub(super) fn put(&self, offset: usize, bytes: &[u8]) {
        assert!(offset <= self.length && bytes.len() <= self.length - offset);
        let Some((last, most)) = bytes.split_last() else { return };
        // SAFETY: within the mapping, to which no reference exists.
        unsafe {
            let to = self.at(offset);
            ptr::copy_nonoverlapping(most.as_ptr(), to, most.len());
            // No CPU fence: the reader is another process that looks after this one has died.
            compiler_fence(Ordering::SeqCst);
            to.add(most.len()).write_volatile(*last);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: created by `new`, and no address is kept elsewhere.
        let _ = unsafe { munmap(self.start.as_ptr(), self.length) };
    }
}
