//! The owner of a process, and security attributes for objects that only this user can open.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::{ffi::c_void, ptr};
use windows_sys::Win32::Foundation::{HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo,
    SDDL_REVISION_1, SE_KERNEL_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACL, DACL_SECURITY_INFORMATION, GetAce, GetTokenInformation,
    LABEL_SECURITY_INFORMATION, OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES,
    TOKEN_ELEVATION, TOKEN_INFORMATION_CLASS, TOKEN_QUERY, TOKEN_USER, TokenElevation, TokenUser,
};
use windows_sys::Win32::System::SystemServices::{ACCESS_ALLOWED_ACE_TYPE, SYSTEM_MANDATORY_LABEL_ACE_TYPE};
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
    // SAFETY: the system has put a `TOKEN_USER` at the start, which points to an identifier behind itself.
    // `user` has not moved since.
    unsafe { text_of((*user.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}

/// An identifier as text.
///
/// # Safety
/// It must be valid.
unsafe fn text_of(sid: PSID) -> io::Result<String> {
    let mut text = ptr::null_mut();
    // SAFETY: the caller says that it is valid, and there is room for a pointer.
    ok(unsafe { ConvertSidToStringSidW(sid, &mut text) })?;
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
        // All rights for one user, none inherited. With administrator rights, unprivileged processes may not write,
        // and the owner would be a group if it was not named.
        let (own, label) = (own_id()?, if is_elevated() { "S:(ML;;NW;;;HI)" } else { "" });
        Self::of(&format!("O:{own}D:P(A;;GA;;;{own}){label}"))
    }

    pub(super) fn of(description: &str) -> io::Result<Self> {
        let text: Vec<u16> = description.encode_utf16().chain([0]).collect();
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

/// Label of objects that unprivileged processes may not write to.
const HIGH_LABEL: &str = "S-1-16-12288";

/// Checks that a pipe was made by this user, for this user only: nobody else can name us as the owner, and no
/// unprivileged process can give it the label of a privileged one.
pub(super) fn check_is_private(pipe: HANDLE) -> io::Result<()> {
    let (mut owner, mut list, mut labels) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
    // SAFETY: the handle is open, and there is room for the pointers, which lead into the descriptor.
    let failure = unsafe {
        GetSecurityInfo(
            pipe,
            SE_KERNEL_OBJECT,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION | LABEL_SECURITY_INFORMATION,
            &mut owner,
            ptr::null_mut(),
            &mut list,
            &mut labels,
            &mut descriptor,
        )
    };
    if failure != 0 {
        return Err(io::Error::from_raw_os_error(failure.cast_signed()));
    }
    let _freed = Local(descriptor);
    let own = Some(own_id()?);
    // SAFETY: the call has made all three, or left them null, and they live until the descriptor is freed.
    let (owner, admitted, label) = unsafe {
        let owner = if owner.is_null() { None } else { Some(text_of(owner)?) };
        let admitted = only_entry(list, ACCESS_ALLOWED_ACE_TYPE)?;
        (owner, admitted, only_entry(labels, SYSTEM_MANDATORY_LABEL_ACE_TYPE)?)
    };
    match owner == own && admitted == own && (!is_elevated() || label.as_deref() == Some(HIGH_LABEL)) {
        true => Ok(()),
        false => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "another program has created this pipe"))
        }
    }
}

/// The identifier in the only entry of a list, if there is one entry and it is of this kind.
///
/// # Safety
/// The list must be valid or null.
unsafe fn only_entry(list: *const ACL, kind: u32) -> io::Result<Option<String>> {
    // SAFETY: the caller says that it is valid.
    if list.is_null() || unsafe { (*list).AceCount } != 1 {
        return Ok(None);
    }
    let mut entry = ptr::null_mut();
    // SAFETY: the list is valid and has one entry, and there is room for a pointer.
    ok(unsafe { GetAce(list, 0, &mut entry) })?;
    let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
    // SAFETY: every entry begins with this header.
    if u32::from(unsafe { (*entry).Header.AceType }) != kind {
        return Ok(None);
    }
    // SAFETY: entries of both kinds that are asked for have the identifier at this place.
    unsafe { text_of((&raw mut (*entry).SidStart).cast()) }.map(Some)
}

/// The access list of a pipe, as text.
#[cfg(test)]
pub(super) fn access_list(pipe: HANDLE) -> io::Result<String> {
    use windows_sys::Win32::Security::Authorization::ConvertSecurityDescriptorToStringSecurityDescriptorW;
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();

    // SAFETY: the handle is open, and there is room for a pointer.
    let failure = unsafe {
        GetSecurityInfo(
            pipe,
            SE_KERNEL_OBJECT,
            DACL_SECURITY_INFORMATION,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &mut descriptor,
        )
    };
    if failure != 0 {
        return Err(io::Error::from_raw_os_error(failure.cast_signed()));
    }
    let _freed = Local(descriptor);
    let (mut text, mut length) = (ptr::null_mut(), 0);
    // SAFETY: the descriptor was just made, and there is room for a pointer and a number.
    ok(unsafe {
        ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor,
            SDDL_REVISION_1,
            DACL_SECURITY_INFORMATION,
            &mut text,
            &mut length,
        )
    })?;
    let _text = Local(text.cast());
    // SAFETY: the call has reported the length, which includes the zero.
    let text = unsafe { std::slice::from_raw_parts(text, length as usize) };
    Ok(String::from_utf16_lossy(text).trim_end_matches('\0').to_owned())
}
