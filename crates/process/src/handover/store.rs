//! The file in memory: the offsets of its parts, and their return to the system.

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

/// Offsets of the parts. Each has room for more than a client could ever say.
pub(super) const JOURNAL_HALVES: [u64; 2] = [0, 1 << 48];
pub(super) const INPUT: u64 = 1 << 49;
pub(super) const OUTPUT: u64 = 1 << 50;
pub(super) const CONTROL: u64 = 1 << 51;
/// The empty page at the end tells this layout from the one before it, which was a page shorter.
const FILE_BYTES: u64 = CONTROL + 2 * PAGE_BYTES;
pub(super) const PAGE_BYTES: u64 = 4096;

/// Nobody who holds it can make it shorter: that would end whoever has it mapped.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

pub(super) struct Store {
    pub(super) file: OwnedFd,
    control: Mapping,
}

/// What the system itself writes while it sends, and what is looked at from both sides. All zero at first. It holds
/// numbers only: whoever gave us the file can write here at any moment, so that no address may be taken from it and no
/// number believed beyond what it may be.
#[repr(C)]
pub(super) struct Control {
    /// For a socket: how much the last call sent, which the system writes, and behind it which of the two `before`
    /// counts. It is the first, since the system writes right behind the [header](Store::header).
    pub(super) last: AtomicU64,
    /// How much had gone before that call.
    pub(super) before: [u64; 2],
    /// For a pipe: where in the file the next byte to be sent lies; the system moves it on.
    pub(super) sent: u64,
    /// How many requests are open.
    pub(super) open: AtomicU32,
}

/// Where in a header of `sendmmsg` the system writes the count.
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

    /// One that came from another process of ours.
    pub(super) fn over(file: OwnedFd) -> io::Result<Self> {
        let is_ours = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS))
            && u64::try_from(fstat(&file)?.st_size) == Ok(FILE_BYTES);
        if !is_ours {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a file of ours"));
        }
        let control = Mapping::behind_a_private_page(&file, CONTROL)?;
        Ok(Self { file, control })
    }

    pub(super) fn control(&self) -> *mut Control {
        self.control.at(PAGE_BYTES as usize).cast()
    }

    /// What `sendmmsg` is to send. The addresses in it lie in a page of our own, and the count behind them in the file,
    /// as the first of [`Control`]: the system writes it there in the call that sends, and nobody else can say what of
    /// our memory is sent. Only its `msg_hdr` may be written as a whole.
    pub(super) fn header(&self) -> *mut libc::mmsghdr {
        self.control.at(PAGE_BYTES as usize - COUNT_OFFSET).cast()
    }

    pub(super) fn map(&self, at: u64, length: usize) -> io::Result<Mapping> {
        Mapping::new(&self.file, at, length)
    }

    /// Gives whole pages back; they read as zeros from then on. A page that is still under way in a pipe stays what it
    /// is for whoever reads it there.
    pub(super) fn give_back(&self, from: u64, to: u64) {
        let (from, to) = (from.next_multiple_of(PAGE_BYTES), to / PAGE_BYTES * PAGE_BYTES);
        if from < to {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Memory is held for longer then, and nothing else.
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

    /// Up to so many bytes from there.
    pub(super) fn read_at(&self, length: usize, at: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(&self.file, &mut bytes, at))?;
        bytes.truncate(read);
        Ok(bytes)
    }
}

/// A stretch of the file in our address space.
pub(super) struct Mapping {
    start: NonNull<c_void>,
    length: usize,
}

// SAFETY: it is memory that stays where it is until it is dropped, whichever thread looks at it.
unsafe impl Send for Mapping {}
// SAFETY: as above; it hands out nothing but the address.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &OwnedFd, at: u64, length: usize) -> io::Result<Self> {
        // SAFETY: a new mapping, at an address of the system's choice.
        let start = unsafe {
            mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, at)?
        };
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// A page of the file, right behind a page that is nobody's but ours.
    fn behind_a_private_page(file: &OwnedFd, at: u64) -> io::Result<Self> {
        let (page, access) = (PAGE_BYTES as usize, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, at an address of the system's choice.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), 2 * page, access, MapFlags::PRIVATE)? };
        let both = Self { start: NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?, length: 2 * page };
        // SAFETY: it takes the place of the second page, which we have just made and nobody uses.
        unsafe { mmap(both.at(page).cast(), page, access, MapFlags::SHARED | MapFlags::FIXED, file, at)? };
        Ok(both)
    }

    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.length);
        // SAFETY: within the mapping, or right behind it.
        unsafe { self.start.as_ptr().cast::<u8>().add(offset) }
    }

    /// Copies bytes to there, the last one last: whoever is killed on the way has not written it.
    pub(super) fn put(&self, offset: usize, bytes: &[u8]) {
        assert!(offset <= self.length && bytes.len() <= self.length - offset);
        let Some((last, most)) = bytes.split_last() else { return };
        // SAFETY: within the mapping, of which nobody holds a reference.
        unsafe {
            let to = self.at(offset);
            ptr::copy_nonoverlapping(most.as_ptr(), to, most.len());
            compiler_fence(Ordering::SeqCst);
            to.add(most.len()).write_volatile(*last);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and nobody has kept an address.
        let _ = unsafe { munmap(self.start.as_ptr(), self.length) };
    }
}
