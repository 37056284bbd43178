//! Resolves a launch into the program and command line for the system: the part of [`invocation`] that reads the disk. Must
//! not know how a process is created.

use super::super::invocation::{
    batch::{self, Shim, World},
    extensions::Kind,
    power_shell, unwrap,
};
use super::super::{Launch, SpawnError, resolve};
use crate::command_line::{self, NotForBatch, ShellWord};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use windows_sys::Win32::System::SystemInformation::GetSystemDirectoryW;

/// Limit on the size of a shim. Those of npm have about 1 KiB.
const MAX_SHIM_BYTES: u64 = 64 * 1024;

/// Finds the file of a command.
type Find<'a> = &'a dyn Fn(&OsStr) -> Result<PathBuf, SpawnError>;

/// Arguments of `CreateProcessW`.
pub(super) struct Invocation {
    pub(super) program: PathBuf,
    pub(super) line: Vec<u16>,
    pub(super) env: Vec<(OsString, OsString)>,
}

pub(super) fn of(launch: &Launch) -> Result<Invocation, SpawnError> {
    let find = |program: &OsStr| resolve(program, launch.path_var(), launch.cwd.as_deref());
    let (path, args) = match inner_command(launch, &find) {
        Some(inner) => inner,
        None => {
            let path = find(&launch.program)?;
            if let Some(line) = shell_line(launch, &path, &find) {
                return invocation(path.clone(), line, &path, launch.env.clone());
            }
            (path, &launch.args[..])
        }
    };
    let kind = |path: &Path| Kind::of(&path.to_string_lossy());
    let shim = match kind(&path) {
        Kind::Program => return Ok(program(path, &[], args, launch.env.clone())),
        Kind::Batch => shim_at(&path, launch, batch::read),
        // Package managers write a batch file beside each `.ps1` file.
        Kind::PowerShell => shim_at(&path.with_extension("cmd"), launch, batch::read)
            .or_else(|| shim_at(&path, launch, power_shell::read)),
    };
    if let Some(Shim { program: named, args: first, env }) = shim
        && let Ok(found) = find(named.as_ref())
        && kind(&found) == Kind::Program
    {
        let mut all = launch.env.clone();
        for (name, value) in env {
            all.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            if !value.is_empty() {
                all.push((name.into(), value.into()));
            }
        }
        let first: Vec<OsString> = first.into_iter().map(OsString::from).collect();
        return Ok(program(found, &first, args, all));
    }
    match kind(&path) {
        Kind::PowerShell => {
            let shell = system_file(r"WindowsPowerShell\v1.0\powershell.exe");
            let mut first: Vec<OsString> =
                ["-NoLogo", "-NoProfile", "-NonInteractive", "-File"].map(OsString::from).to_vec();
            first.push(path.into());
            Ok(program(shell, &first, args, launch.env.clone()))
        }
        Kind::Program | Kind::Batch => by_cmd(path, args, launch.env.clone()),
    }
}

/// The command inside `cmd /c …`, if it is a program or a batch file.
fn inner_command<'a>(launch: &'a Launch, find: Find<'_>) -> Option<(PathBuf, &'a [OsString])> {
    let args: Option<Vec<&str>> = launch.args.iter().map(|arg| arg.to_str()).collect();
    let at = unwrap::inner_command(launch.program.to_str()?, &args?)?;
    Some((find(&launch.args[at]).ok()?, &launch.args[at + 1..]))
}

/// The command line for `cmd /c` with several words.
fn shell_line(launch: &Launch, cmd: &Path, find: Find<'_>) -> Option<Result<Vec<u16>, NotForBatch>> {
    let texts: Option<Vec<&str>> = launch.args.iter().map(|arg| arg.to_str()).collect();
    let texts = texts?;
    let at = unwrap::words(launch.program.to_str()?, &texts)?;
    let args: Vec<Vec<u16>> = launch.args.iter().map(|arg| wide(arg)).collect();
    let words = (at..args.len()).map(|place| {
        // A first word that is no program may be the start of a command line.
        let is_syntax = match place == at {
            true => find(&launch.args[at]).is_err(),
            false => unwrap::is_syntax(texts[place]),
        };
        if is_syntax { ShellWord::Syntax(&args[place]) } else { ShellWord::Argument(&args[place]) }
    });
    let flags = args[..at - 1].iter().map(Vec::as_slice);
    Some(command_line::for_shell(&wide(cmd.as_os_str()), flags, words))
}

/// `named`: the command in error messages.
fn invocation(
    program: PathBuf,
    line: Result<Vec<u16>, NotForBatch>,
    named: &Path,
    env: Vec<(OsString, OsString)>,
) -> Result<Invocation, SpawnError> {
    line.map(|line| Invocation { program, line, env }).map_err(|reason| {
        let source = io::Error::new(io::ErrorKind::InvalidInput, reason);
        SpawnError::Other { path: named.to_owned(), source }
    })
}

fn program(
    program: PathBuf,
    first: &[OsString],
    args: &[OsString],
    env: Vec<(OsString, OsString)>,
) -> Invocation {
    let first = first.iter().map(|arg| wide(arg));
    let args: Vec<Vec<u16>> = first.chain(args.iter().map(|arg| wide(arg))).collect();
    let line = command_line::for_program(&wide(program.as_os_str()), args.iter().map(Vec::as_slice));
    Invocation { program, line, env }
}

fn by_cmd(
    script: PathBuf,
    args: &[OsString],
    env: Vec<(OsString, OsString)>,
) -> Result<Invocation, SpawnError> {
    let cmd = system_file("cmd.exe");
    let args: Vec<Vec<u16>> = args.iter().map(|arg| wide(arg)).collect();
    let args = args.iter().map(Vec::as_slice);
    let line = command_line::for_batch(&wide(cmd.as_os_str()), &wide(script.as_os_str()), args);
    invocation(cmd, line, &script, env)
}

fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().collect()
}

fn shim_at(path: &Path, launch: &Launch, read: impl Fn(&str, &World<'_>) -> Option<Shim>) -> Option<Shim> {
    let is_small = std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_SHIM_BYTES);
    let text = is_small.then(|| std::fs::read_to_string(path).ok()).flatten()?;
    let variable = |name: &str| {
        let found = launch.env.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
    };
    let npm_prefix = variable("npm_config_prefix")
        .or_else(|| variable("APPDATA").map(|folder| format!(r"{}\npm", folder.trim_end_matches('\\'))));
    let world = World {
        folder: path.parent()?.to_str()?,
        is_file: &|path| Path::new(path).is_file(),
        variable: &variable,
        npm_prefix: npm_prefix.as_deref(),
    };
    read(&text, &world)
}

/// A file in the system's own folder, which no variable can redirect.
fn system_file(name: &str) -> PathBuf {
    let mut folder = [0_u16; 260];
    // SAFETY: the buffer has the given length.
    let length = unsafe { GetSystemDirectoryW(folder.as_mut_ptr(), folder.len() as u32) } as usize;
    match folder.get(..length).filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(OsString::from_wide(folder)).join(name),
        None => Path::new(r"C:\Windows\System32").join(name),
    }
}

/// Candidate names for a command's file.
pub(in crate::child) fn spellings(path: &Path) -> Vec<Cow<'_, Path>> {
    // The extensions belong to the machine, like the folders of the system.
    let listed = std::env::var("PATHEXT").ok();
    let Some(name) = path.to_str() else { return vec![Cow::Borrowed(path)] };
    let names = super::super::invocation::extensions::spellings(name, listed.as_deref());
    names.into_iter().map(|name| Cow::Owned(PathBuf::from(name))).collect()
}
