//! Waits for the end of processes on Windows without a thread for each: the system's thread pool waits for all of them.
//! Must not know why a caller waits.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle};
use tokio::sync::watch;
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEINWAITTHREAD,
    WT_EXECUTEONLYONCE,
};

/// A process that a caller waits for. Keeps the handle open, so that the process id cannot be reused.
#[derive(Debug)]
pub(crate) struct Awaited {
    process: OwnedHandle,
    has_ended: watch::Receiver<bool>,
    wait: HANDLE,
    /// Owned by the pool until the wait is unregistered, then freed.
    sender: *mut watch::Sender<bool>,
}

// SAFETY: the wait handle may be used from any thread, and the pointer is only freed, by the owner.
unsafe impl Send for Awaited {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Awaited {}

impl Awaited {
    /// Takes over a handle, which must have the right to wait.
    pub(crate) fn new(process: OwnedHandle) -> io::Result<Self> {
        let (sender, has_ended) = watch::channel(false);
        let sender = Box::into_raw(Box::new(sender));
        let mut wait = std::ptr::null_mut();
        // SAFETY: the process handle stays open, and `sender` allocated, until the wait is unregistered in `drop`.
        let registered = unsafe {
            RegisterWaitForSingleObject(
                &raw mut wait,
                process.as_raw_handle(),
                Some(ended),
                sender.cast(),
                INFINITE,
                WT_EXECUTEINWAITTHREAD | WT_EXECUTEONLYONCE,
            )
        };
        if registered == 0 {
            let error = io::Error::last_os_error();
            // SAFETY: the pool did not take it.
            drop(unsafe { Box::from_raw(sender) });
            return Err(error);
        }
        Ok(Self { process, has_ended, wait, sender })
    }

    pub(crate) fn handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
        self.process.as_handle()
    }

    /// Waits for the end. Cancel-safe.
    pub(crate) async fn ended(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.has_ended.clone().wait_for(|has_ended| *has_ended).await;
    }

    /// The exit code of an ended process.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        let mut code = 0;
        // SAFETY: the handle is open, and there is room for the number.
        let known = unsafe { GetExitCodeProcess(self.process.as_raw_handle(), &raw mut code) };
        (known != 0).then_some(code.cast_signed())
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // SAFETY: registered in `new`, and unregistered only here.
        let unregistered = unsafe { UnregisterWaitEx(self.wait, INVALID_HANDLE_VALUE) };
        // If unregistering fails, the pool might still use `sender`, so it is leaked.
        if unregistered != 0 {
            // SAFETY: the call has waited for a callback that was just running, so nobody uses `sender` any more.
            drop(unsafe { Box::from_raw(self.sender) });
        }
    }
}

unsafe extern "system" fn ended(sender: *mut c_void, _: bool) {
    // SAFETY: the pointer that `new` registered; `drop` frees it only after this call.
    let sender = unsafe { &*sender.cast::<watch::Sender<bool>>() };
    sender.send_replace(true);
}
