//! The start of a detached program: outside our job, without a console, and with no handle of ours except its
//! three streams.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::windows::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Console::{
    GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE,
};
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
    let mut command = Command::new(&program);
    command.args(args).current_dir(root_of(&program));
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    let stderr = match log {
        None => Stdio::null(),
        Some(log) => OpenOptions::new().append(true).create(true).open(log)?.into(),
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP | CREATE_BREAKAWAY_FROM_JOB);
    keep_own_streams();
    // A job that allows no breakaway refuses. Inside it the program would end with our client, so it is not
    // started there.
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    command.spawn().map(drop)
}

/// Makes our standard streams non-inheritable; they were inherited themselves, so they still have the flag.
/// Our other handles lack it.
fn keep_own_streams() {
    for which in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: only a flag changes; the call fails for a value that is not a handle.
        unsafe { SetHandleInformation(GetStdHandle(which), HANDLE_FLAG_INHERIT, 0) };
    }
}

/// The root of the drive, so that no other folder is kept in use.
fn root_of(program: &Path) -> PathBuf {
    program
        .components()
        .take_while(|part| matches!(part, Component::Prefix(_) | Component::RootDir))
        .collect()
}
