//! A job object: a set of processes that whatever they start belongs to as well, and that end together. Must
//! not know why anyone is put into one.
//!
//! Every job here is *kill on close*: when its last handle goes, and the system closes ours however we end,
//! all its members are killed. So the handle is not inheritable, or a member would keep the job open. No member
//! may leave: a process that asks to be created outside (`CREATE_BREAKAWAY_FROM_JOB`) is refused.

use std::{
    io, mem,
    os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle},
    ptr,
};
use windows_sys::{
    Win32::{
        Foundation::{ERROR_MORE_DATA, HANDLE},
        System::{
            JobObjects::{
                AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
                JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicProcessIdList,
                JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject,
                TerminateJobObject,
            },
            Threading::GetCurrentProcess,
        },
    },
    core::BOOL,
};

/// What a process that we kill gives as its exit code; the same as with `TerminateProcess` by Rust's library.
const KILLED_EXIT_CODE: u32 = 1;

const MAX_MEMBERS: usize = 512;

/// `JOBOBJECT_BASIC_PROCESS_ID_LIST` with room for more than one.
#[repr(C)]
struct IdList {
    _assigned: u32,
    listed: u32,
    ids: [usize; MAX_MEMBERS],
}

#[derive(Debug)]
pub(crate) struct Job(OwnedHandle);

impl Job {
    /// An empty one.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no attributes, which makes the handle not inheritable, and no name; null is the failure.
        let handle = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was just made and belongs to nobody else.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the handle is open, and the pointer and size are those of the structure that the class wants.
        ok(unsafe {
            SetInformationJobObject(
                job.raw(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        })?;
        Ok(job)
    }

    /// Puts a process in, and all that it starts from now on. One that is in a job already is then in both,
    /// unless that other job cannot be nested.
    pub(crate) fn assign(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        // SAFETY: both handles are open for the whole call.
        ok(unsafe { AssignProcessToJobObject(self.raw(), process.as_raw_handle()) })
    }

    /// Puts ourselves in, for good: a process cannot leave a job, and closing the handle would be our end. So it
    /// is left to the system to close when we have ended, whatever ended us.
    pub(crate) fn enclose_us(self) -> io::Result<()> {
        // SAFETY: the call has no arguments, and its answer is a constant that stands for this process.
        let us = unsafe { GetCurrentProcess() };
        // SAFETY: both handles are open for the whole call.
        ok(unsafe { AssignProcessToJobObject(self.raw(), us) })?;
        mem::forget(self);
        Ok(())
    }

    /// Kills all members, at once and together: none can start another in between.
    pub(crate) fn kill(&self) {
        // SAFETY: the handle is open. It fails only for a handle without the right, and ours has all rights.
        unsafe { TerminateJobObject(self.raw(), KILLED_EXIT_CODE) };
    }

    /// The processes in it, up to a limit far beyond what a server starts; one that was killed is among them
    /// until it is gone.
    pub(crate) fn members(&self) -> io::Result<Vec<u32>> {
        let mut list = IdList { _assigned: 0, listed: 0, ids: [0; MAX_MEMBERS] };
        // SAFETY: the handle is open, and the pointer and size are those of the structure that the class fills.
        let filled = ok(unsafe {
            QueryInformationJobObject(
                self.raw(),
                JobObjectBasicProcessIdList,
                (&raw mut list).cast(),
                size_of_val(&list) as u32,
                ptr::null_mut(),
            )
        });
        match filled {
            // The list is then full, and the rest left out.
            Err(error) if error.raw_os_error() != Some(ERROR_MORE_DATA.cast_signed()) => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listed = (list.listed as usize).min(MAX_MEMBERS);
        Ok(list.ids[..listed].iter().map(|id| *id as u32).collect())
    }

    fn raw(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

fn ok(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
