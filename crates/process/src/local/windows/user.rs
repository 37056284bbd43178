//! The owner of a process, and security attributes for objects that only this user can open.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::{ffi::c_void, ptr};
use windows_sys::Win32::Foundation::{HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    GetTokenInformation, PSECURITY_DESCRIPTOR, SECURITY_ATTRIBUTES, TOKEN_ELEVATION, TOKEN_INFORMATION_CLASS,
    TOKEN_QUERY, TOKEN_USER, TokenElevation, TokenUser,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, OpenProcess, OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION,
};

/// Size in words of a `TOKEN_USER` with the longest identifier.
const TOKEN_USER_WORDS: usize = 32;

/// This user's identifier, as text.
pub(super) fn own_id() -> io::Result<String> {
    // SAFETY: no arguments, and the result is a constant that stands for this process.
    id_of(unsafe { GetCurrentProcess() })
}

/// Whether a process belongs to this user.
pub(super) fn is_own(pid: u32) -> bool {
    // SAFETY: three integers; a null handle, the only failure, is checked for.
    let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if handle.is_null() {
        return false;
    }
    // SAFETY: the handle was just opened and has no other owner.
    let process = unsafe { OwnedHandle::from_raw_handle(handle) };
    matches!((id_of(process.as_raw_handle()), own_id()), (Ok(its), Ok(ours)) if its == ours)
}

/// Whether this process runs with administrator rights.
pub(super) fn is_elevated() -> bool {
    // SAFETY: as above.
    let us = unsafe { GetCurrentProcess() };
    let mut elevation = TOKEN_ELEVATION { TokenIsElevated: 0 };
    fill(us, TokenElevation, &mut elevation).is_ok() && elevation.TokenIsElevated != 0
}

fn id_of(process: HANDLE) -> io::Result<String> {
    // Words, for the alignment of the structure at its start.
    let mut user = [0_usize; TOKEN_USER_WORDS];
    fill(process, TokenUser, &mut user)?;
    let mut text = ptr::null_mut();
    // SAFETY: the system has put a `TOKEN_USER` at the start, which points to an identifier behind itself.
    // `user` has not moved since.
    let is_made =
        unsafe { ConvertSidToStringSidW((*user.as_ptr().cast::<TOKEN_USER>()).User.Sid, &mut text) };
    if is_made == 0 {
        return Err(io::Error::last_os_error());
    }
    let _freed = Local(text.cast());
    // SAFETY: the text ends with a zero, and lives until it is freed at the end of this function.
    let length = (0..).take_while(|at| unsafe { *text.add(*at) } != 0).count();
    // SAFETY: the loop above has read that many units.
    Ok(String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(text, length) }))
}

/// Reads information from a process's token. Only for plain numbers and structures of plain numbers.
fn fill<T: Copy>(process: HANDLE, class: TOKEN_INFORMATION_CLASS, into: &mut T) -> io::Result<()> {
    let mut token = ptr::null_mut();
    // SAFETY: the process is open, and there is room for a handle.
    ok(unsafe { OpenProcessToken(process, TOKEN_QUERY, &mut token) })?;
    // SAFETY: the handle was just opened and has no other owner.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    let (size, mut filled) = (size_of::<T>() as u32, 0);
    // SAFETY: the token is open, and the size limits what is written.
    ok(unsafe {
        GetTokenInformation(token.as_raw_handle(), class, (&raw mut *into).cast(), size, &mut filled)
    })
}

fn ok(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Memory to be freed with `LocalFree`.
struct Local(*mut c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: allocated by a call that requires `LocalFree`, and has no other owner.
        unsafe { LocalFree(self.0) };
    }
}

/// Security attributes that admit only this user.
pub(super) struct Security {
    attributes: SECURITY_ATTRIBUTES,
    /// The descriptor to which the attributes point.
    _descriptor: Local,
}

// SAFETY: plain memory that is only read once it is set up.
unsafe impl Send for Security {}

impl Security {
    pub(super) fn own_user() -> io::Result<Self> {
        // All rights for one user, none inherited. With administrator rights, unprivileged processes may not write.
        let label = if is_elevated() { "S:(ML;;NW;;;HI)" } else { "" };
        let text: Vec<u16> = format!("D:P(A;;GA;;;{}){label}\0", own_id()?).encode_utf16().collect();
        let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
        // SAFETY: the text ends with a zero, and there is room for a pointer.
        ok(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &mut descriptor,
                ptr::null_mut(),
            )
        })?;
        let attributes = SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
            lpSecurityDescriptor: descriptor,
            bInheritHandle: 0,
        };
        Ok(Self { attributes, _descriptor: Local(descriptor) })
    }

    /// Pointer for system calls, valid as long as `self`.
    pub(super) fn attributes(&mut self) -> *mut c_void {
        (&raw mut self.attributes).cast()
    }
}
