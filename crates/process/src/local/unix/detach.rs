//! The start of a detached program: not our child, and in no group or session that ends with us.

use crate::{core_dumps, inherit};
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
    // Made absolute, since the program starts in another folder.
    let mut command = Command::new(std::path::absolute(program)?);
    command.args(args).current_dir("/");
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    let stderr = match log {
        None => Stdio::null(),
        Some(log) => OpenOptions::new().append(true).create(true).mode(0o600).open(log)?.into(),
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    // SAFETY: only system calls between fork and exec; no allocation.
    unsafe { command.pre_exec(leave) };
    // We wait for the intermediate process, so it must become a zombie.
    inherit::keep_children_as_zombies();
    inherit::close_descriptors_on_exec();
    #[expect(clippy::disallowed_methods, reason = "this is the one room that starts processes")]
    let mut between = command.spawn()?;
    // The intermediate process ends before the program runs, and does nothing that could fail.
    let _ = between.wait();
    Ok(())
}

/// Creates a session without a terminal and continues in a second process that is not its leader, so that it
/// can never acquire one. The first process exits here, and init adopts the second.
fn leave() -> io::Result<()> {
    core_dumps::restore();
    rustix::process::setsid()?;
    // SAFETY: this process has one thread, and both sides make only system calls until exec or exit.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {}
        // SAFETY: does not return, and runs no code of ours.
        _ => unsafe { libc::_exit(0) },
    }
    // The group from `setsid` bears the number of the intermediate process, which ends.
    rustix::process::setpgid(None, None)?;
    // Ignored signals are inherited (a shell ignores some for its background jobs), so all are reset.
    for signal in 1..32 {
        // SAFETY: no handler is installed; the call fails for signals that cannot be changed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}
