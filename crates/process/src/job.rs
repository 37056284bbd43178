//! A job object: a set of processes, including everything they start, that end together. Must not know why a
//! process is put into one.
//!
//! Every job here is *kill on close*: when its last handle closes, which the system does however we end, all
//! its members are killed. So the handle is not inheritable, or a member would keep the job open. Members
//! cannot leave: creating a process outside the job (`CREATE_BREAKAWAY_FROM_JOB`) is refused.

use crate::suspended::KILLED_EXIT_CODE;
use std::{
    io, mem,
    os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle},
    ptr,
    time::Duration,
};
use windows_sys::{
    Win32::{
        Foundation::{ERROR_MORE_DATA, HANDLE},
        System::{
            JobObjects::{
                AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_JOB_MEMORY,
                JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
                JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation,
                JobObjectBasicProcessIdList, JobObjectExtendedLimitInformation, QueryInformationJobObject,
                SetInformationJobObject, TerminateJobObject,
            },
            Threading::GetCurrentProcess,
        },
    },
    core::BOOL,
};

const MAX_MEMBERS: usize = 512;

/// `JOBOBJECT_BASIC_PROCESS_ID_LIST` with room for many ids.
#[repr(C)]
struct IdList {
    _assigned: u32,
    listed: u32,
    ids: [usize; MAX_MEMBERS],
}

#[derive(Debug)]
pub(crate) struct Job(OwnedHandle);

impl Job {
    /// An empty job.
    pub(crate) fn new() -> io::Result<Self> {
        Self::limited(None)
    }

    /// An empty job whose members together get no more memory than this.
    pub(crate) fn limited(memory: Option<u64>) -> io::Result<Self> {
        // SAFETY: no attributes, so the handle is not inheritable, and no name; null means failure.
        let handle = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was just created and has no other owner.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        if let Some(bytes) = memory.and_then(|bytes| usize::try_from(bytes).ok()) {
            limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
            limits.JobMemoryLimit = bytes;
        }
        // SAFETY: the handle is open, and pointer and size match the structure for this class.
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

    /// Adds a process and everything it starts from now on. A process that is in another job is then in both,
    /// unless that job cannot be nested.
    pub(crate) fn assign(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        // SAFETY: both handles are open for the whole call.
        ok(unsafe { AssignProcessToJobObject(self.raw(), process.as_raw_handle()) })
    }

    /// Adds ourselves, permanently: a process cannot leave a job, and closing the handle would kill us. The
    /// system closes the handle when we have ended, whatever the cause.
    pub(crate) fn enclose_us(self) -> io::Result<()> {
        // SAFETY: no arguments, and the result is a constant that stands for this process.
        let us = unsafe { GetCurrentProcess() };
        // SAFETY: both handles are open for the whole call.
        ok(unsafe { AssignProcessToJobObject(self.raw(), us) })?;
        mem::forget(self);
        Ok(())
    }

    /// Kills all members at once, so that none can start another in between.
    pub(crate) fn kill(&self) {
        // SAFETY: the handle is open. The call fails only without the right, and ours has all rights.
        unsafe { TerminateJobObject(self.raw(), KILLED_EXIT_CODE) };
    }

    /// The processes in the job, up to a limit far beyond what a server starts. A killed process is listed
    /// until it is gone.
    pub(crate) fn members(&self) -> io::Result<Vec<u32>> {
        let mut list = IdList { _assigned: 0, listed: 0, ids: [0; MAX_MEMBERS] };
        // SAFETY: the handle is open, and pointer and size match the structure for this class.
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
            // The list is then full, and the remaining ids are omitted.
            Err(error) if error.raw_os_error() != Some(ERROR_MORE_DATA.cast_signed()) => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listed = (list.listed as usize).min(MAX_MEMBERS);
        Ok(list.ids[..listed].iter().map(|id| *id as u32).collect())
    }

    /// CPU time of all processes that were ever in the job, in user and in kernel mode.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        let mut counters = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the handle is open, and pointer and size match the structure for this class.
        ok(unsafe {
            QueryInformationJobObject(
                self.raw(),
                JobObjectBasicAccountingInformation,
                (&raw mut counters).cast(),
                size_of_val(&counters) as u32,
                ptr::null_mut(),
            )
        })?;
        let total = counters.TotalUserTime.saturating_add(counters.TotalKernelTime);
        // The system counts in units of 100 ns.
        Ok(Duration::from_micros(total.max(0).cast_unsigned() / 10))
    }

    fn raw(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

fn ok(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::start_detached;
    use std::path::Path;

    const IN_JOB: &str = "SWITCHBOARD_TEST_IN_JOB";

    fn start() -> io::Result<()> {
        let env =
            ["SystemRoot", "PATH"].map(|name| (name.into(), std::env::var_os(name).unwrap_or_default()));
        let cmd = Path::new(r"C:\windows\system32\cmd.exe");
        start_detached(cmd, &["/d".into(), "/c".into(), "exit".into()], &env, None)
    }

    /// Runs itself again for the second half: a process never leaves its job.
    #[test]
    fn a_job_without_breakaway_refuses_a_daemon() {
        if std::env::var_os(IN_JOB).is_none() {
            start().unwrap();
            let name = "job::tests::a_job_without_breakaway_refuses_a_daemon";
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            #[expect(clippy::disallowed_methods, reason = "the test itself, in a process of its own")]
            let ended = again.args(["--exact", name]).env(IN_JOB, "1").output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout).into_owned();
            assert!(ended.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        Job::new().and_then(Job::enclose_us).unwrap();
        assert_eq!(start().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
