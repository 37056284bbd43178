//! The start of a detached program: outside our job, without a console, and with no handle except its three streams.

use crate::command_line;
use crate::suspended;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::path::{Component, Path, PathBuf};
use windows_sys::Win32::System::JobObjects::IsProcessInJob;
use windows_sys::Win32::System::Threading::{
    CREATE_BREAKAWAY_FROM_JOB, CREATE_NEW_PROCESS_GROUP, DETACHED_PROCESS,
};

pub(in crate::local) fn start_detached(
    program: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
    log: Option<&Path>,
) -> io::Result<()> {
    let program = std::path::absolute(program)?;
    let args: Vec<Vec<u16>> = args.iter().map(|arg| wide(arg)).collect();
    let line = command_line::for_program(&wide(program.as_os_str()), args.iter().map(Vec::as_slice));
    let stderr = match log {
        None => nowhere()?,
        Some(log) => OpenOptions::new().append(true).create(true).open(log)?.into(),
    };
    let streams = [nowhere()?, nowhere()?, stderr];
    // A job that allows no breakaway refuses.
    let flags = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP | CREATE_BREAKAWAY_FROM_JOB;
    let started = suspended::create(&program, line, env, Some(&root_of(&program)), streams, flags)?;
    // The breakaway ends at the first outer job that does not allow it. Inside that job the program could end with our
    // client, so it does not run there.
    match is_in_job(&started)? {
        true => Err(io::Error::new(io::ErrorKind::PermissionDenied, "an outer job allows no breakaway")),
        false => started.resume(),
    }
}

fn is_in_job(process: &suspended::Suspended) -> io::Result<bool> {
    let mut is_in_job = 0;
    // SAFETY: the handle is open; without a job, the call asks about any.
    let asked =
        unsafe { IsProcessInJob(process.handle().as_raw_handle(), std::ptr::null_mut(), &raw mut is_in_job) };
    if asked == 0 { Err(io::Error::last_os_error()) } else { Ok(is_in_job != 0) }
}

/// The null device, for reading and writing.
fn nowhere() -> io::Result<OwnedHandle> {
    let file: File = OpenOptions::new().read(true).write(true).open("NUL")?;
    Ok(file.into())
}

/// The root of the drive, so that no other folder is kept in use.
fn root_of(program: &Path) -> PathBuf {
    program
        .components()
        .take_while(|part| matches!(part, Component::Prefix(_) | Component::RootDir))
        .collect()
}

fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().collect()
}
