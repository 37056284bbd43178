//! Starts a program that is nobody's: not our child, and in no group or session that ends with us.

use crate::inherit;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

pub(in crate::local) fn start_detached(
    program: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
    log: Option<&Path>,
) -> io::Result<()> {
    // Its own folder is another one.
    let mut command = Command::new(std::path::absolute(program)?);
    command.args(args).current_dir("/");
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    let stderr = match log {
        None => Stdio::null(),
        Some(log) => OpenOptions::new().append(true).create(true).mode(0o600).open(log)?.into(),
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    // SAFETY: between fork and exec only system calls are made; nothing is allocated.
    unsafe { command.pre_exec(leave) };
    // We wait for the process in between.
    inherit::keep_children_as_zombies();
    inherit::close_descriptors_on_exec();
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    let mut between = command.spawn()?;
    // It has ended before the program ran. It did nothing that could fail.
    let _ = between.wait();
    Ok(())
}

/// A session without a terminal, left to a second process that does not lead it and so can get none; the first ends
/// here, and the second is taken over by the system.
fn leave() -> io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: this process has one thread, and both sides only make system calls until they are another program.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {}
        // SAFETY: it does not return, and runs nothing of ours.
        _ => unsafe { libc::_exit(0) },
    }
    rustix::process::setpgid(None, None)?;
    // What our starter chose to ignore (as a shell does for what runs in its background) is inherited.
    for signal in 1..32 {
        // SAFETY: no handler is installed; for signals that cannot be ignored the call fails.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}
