//! Creates a suspended process on Windows that inherits three handles and no others. Must not know which program it runs.

use std::ffi::{OsStr, OsString, c_void};
use std::io;
use std::mem::{size_of, size_of_val};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::path::{Component, Path, Prefix};
use std::ptr;
use windows_sys::Win32::Foundation::{HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::Storage::FileSystem::GetShortPathNameW;
use windows_sys::Win32::System::Threading::{
    CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessW, DeleteProcThreadAttributeList,
    EXTENDED_STARTUPINFO_PRESENT, InitializeProcThreadAttributeList, LPPROC_THREAD_ATTRIBUTE_LIST,
    PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROCESS_CREATION_FLAGS, PROCESS_INFORMATION, ResumeThread,
    STARTF_USESTDHANDLES, STARTUPINFOEXW, TerminateProcess, UpdateProcThreadAttribute,
};

/// Exit code of a process that we kill, as in Rust's standard library.
pub(crate) const KILLED_EXIT_CODE: u32 = 1;
/// Length from which a path needs the verbatim prefix.
const MAX_PLAIN_PATH: usize = 248;
/// Limit on any path, in UTF-16 units.
const MAX_PATH_UNITS: usize = 32 * 1024;

/// A process that has not run yet. Dropping the value kills the process.
pub(crate) struct Suspended {
    process: OwnedHandle,
    thread: OwnedHandle,
    is_running: bool,
    pub(crate) pid: u32,
}

/// Stdin, stdout and stderr of the new process.
pub(crate) type Streams = [OwnedHandle; 3];

/// `line`: the whole command line, starting with the program. `flags`: creation flags for console and job.
pub(crate) fn create(
    program: &Path,
    mut line: Vec<u16>,
    env: &[(OsString, OsString)],
    cwd: Option<&Path>,
    streams: Streams,
    flags: PROCESS_CREATION_FLAGS,
) -> io::Result<Suspended> {
    let program = terminated(&verbatim_if_long(program))?;
    check_zeros(&line)?;
    line.push(0);
    let env = environment_block(env)?;
    // A working folder cannot have a long path, not even with the verbatim prefix.
    let cwd = cwd.map(|cwd| terminated(&short_if_long(cwd))).transpose()?;

    for stream in &streams {
        // SAFETY: the handle is open, and only its flag changes.
        if unsafe { SetHandleInformation(stream.as_raw_handle(), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) }
            == 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    let handles: [HANDLE; 3] = [0, 1, 2].map(|number: usize| streams[number].as_raw_handle());
    let mut attributes = Attributes::inheriting(&handles)?;
    let mut startup = STARTUPINFOEXW::default();
    startup.StartupInfo.cb = size_of_val(&startup) as u32;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    [startup.StartupInfo.hStdInput, startup.StartupInfo.hStdOutput, startup.StartupInfo.hStdError] = handles;
    startup.lpAttributeList = attributes.list();
    let mut created = PROCESS_INFORMATION::default();
    // SAFETY: all texts end with a zero, and `line` may be written to; the attribute list, the handles in it and
    // the structures live until the call returns.
    let is_created = unsafe {
        CreateProcessW(
            program.as_ptr(),
            line.as_mut_ptr(),
            ptr::null(),
            ptr::null(),
            1,
            flags | CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT,
            env.as_ptr().cast(),
            cwd.as_ref().map_or(ptr::null(), |cwd| cwd.as_ptr()),
            (&raw const startup).cast(),
            &raw mut created,
        )
    };
    if is_created == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just opened for us, and have no other owner.
    let (process, thread) = unsafe {
        (OwnedHandle::from_raw_handle(created.hProcess), OwnedHandle::from_raw_handle(created.hThread))
    };
    Ok(Suspended { process, thread, is_running: false, pid: created.dwProcessId })
}

impl Suspended {
    pub(crate) fn handle(&self) -> BorrowedHandle<'_> {
        self.process.as_handle()
    }

    /// Lets the process run.
    pub(crate) fn resume(mut self) -> io::Result<()> {
        // SAFETY: the thread's handle is open, and has all rights since we created the thread.
        if unsafe { ResumeThread(self.thread.as_raw_handle()) } == u32::MAX {
            return Err(io::Error::last_os_error());
        }
        self.is_running = true;
        Ok(())
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if !self.is_running {
            // SAFETY: the handle is open, and the process has not run.
            unsafe { TerminateProcess(self.process.as_raw_handle(), KILLED_EXIT_CODE) };
        }
    }
}

/// An attribute list with the handles to inherit. A buffer of words gives the required alignment.
struct Attributes<'a> {
    list: Vec<usize>,
    _handles: &'a [HANDLE; 3],
}

impl<'a> Attributes<'a> {
    fn inheriting(handles: &'a [HANDLE; 3]) -> io::Result<Self> {
        let mut bytes = 0;
        // SAFETY: without a list, the call only reports the size.
        unsafe { InitializeProcThreadAttributeList(ptr::null_mut(), 1, 0, &raw mut bytes) };
        let mut attributes =
            Self { list: vec![0; bytes.div_ceil(size_of::<usize>()).max(1)], _handles: handles };
        // SAFETY: the list has the size that was asked for.
        ok(unsafe { InitializeProcThreadAttributeList(attributes.list(), 1, 0, &raw mut bytes) })?;
        // SAFETY: the list is initialised, and the handles outlive it by the lifetime of `self`.
        ok(unsafe {
            UpdateProcThreadAttribute(
                attributes.list(),
                0,
                PROC_THREAD_ATTRIBUTE_HANDLE_LIST as usize,
                handles.as_ptr().cast::<c_void>(),
                size_of_val(handles),
                ptr::null_mut(),
                ptr::null(),
            )
        })?;
        Ok(attributes)
    }

    fn list(&mut self) -> LPPROC_THREAD_ATTRIBUTE_LIST {
        self.list.as_mut_ptr().cast()
    }
}

impl Drop for Attributes<'_> {
    fn drop(&mut self) {
        // SAFETY: a list that was initialised, or is all zeros, which the system takes for an empty one.
        unsafe { DeleteProcThreadAttributeList(self.list()) };
    }
}

fn ok(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The variables, sorted by name as the system expects; the last value of a name counts.
fn environment_block(env: &[(OsString, OsString)]) -> io::Result<Vec<u16>> {
    let mut sorted = std::collections::BTreeMap::new();
    for (name, value) in env {
        // The system compares names without regard to case.
        sorted.insert(name.to_string_lossy().to_uppercase(), (name, value));
    }
    let mut block = Vec::new();
    for (name, value) in sorted.values() {
        let start = block.len();
        block.extend(name.encode_wide());
        block.push(b'='.into());
        block.extend(value.encode_wide());
        check_zeros(&block[start..])?;
        block.push(0);
    }
    // An empty block has two zeros.
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    Ok(block)
}

fn terminated(text: &OsStr) -> io::Result<Vec<u16>> {
    let mut wide: Vec<u16> = text.encode_wide().collect();
    check_zeros(&wide)?;
    wide.push(0);
    Ok(wide)
}

fn check_zeros(text: &[u16]) -> io::Result<()> {
    match text.contains(&0) {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "a zero in the command or its environment")),
        false => Ok(()),
    }
}

fn verbatim_if_long(path: &Path) -> OsString {
    let plain = || path.as_os_str().to_owned();
    if path.as_os_str().len() < MAX_PLAIN_PATH {
        return plain();
    }
    // After the prefix, the system interprets neither `..` nor slashes.
    let Ok(whole) = std::path::absolute(path) else { return plain() };
    let mut parts = whole.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return plain() };
    let mut verbatim = OsString::from(r"\\?\");
    match prefix.kind() {
        Prefix::Disk(_) => verbatim.push(prefix.as_os_str()),
        Prefix::UNC(machine, share) => {
            for part in [OsStr::new("UNC"), OsStr::new(r"\"), machine, OsStr::new(r"\"), share] {
                verbatim.push(part);
            }
        }
        _ => return plain(),
    }
    verbatim.push(parts.as_path());
    verbatim
}

/// The short name (`PROJEC~1`) of a folder with a long path. Unchanged if the disk has no short names.
fn short_if_long(folder: &Path) -> OsString {
    let plain = || folder.as_os_str().to_owned();
    if folder.as_os_str().len() < MAX_PLAIN_PATH {
        return plain();
    }
    let Ok(verbatim) = terminated(&verbatim_if_long(folder)) else { return plain() };
    let mut short = vec![0_u16; MAX_PATH_UNITS];
    // SAFETY: the name ends with a zero, and the buffer has the given length.
    let length = unsafe { GetShortPathNameW(verbatim.as_ptr(), short.as_mut_ptr(), short.len() as u32) };
    match short.get(..length as usize).filter(|short| !short.is_empty()) {
        Some(short) => crate::real_path::plain(OsString::from_wide(short).into()).into_os_string(),
        None => plain(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_get_a_prefix() {
        let (long, check) = ("x".repeat(MAX_PLAIN_PATH), |given: String, expect: String| {
            assert_eq!(verbatim_if_long(Path::new(&given)), OsString::from(expect), "{given}");
        });
        check(r"C:\short\..\a".into(), r"C:\short\..\a".into());
        check(format!(r"C:\{long}\a"), format!(r"\\?\C:\{long}\a"));
        check(format!(r"C:/{long}/../{long}/a"), format!(r"\\?\C:\{long}\a"));
        check(format!(r"\\host\share\{long}"), format!(r"\\?\UNC\host\share\{long}"));
        check(format!(r"\\?\C:\{long}"), format!(r"\\?\C:\{long}"));
    }
}
