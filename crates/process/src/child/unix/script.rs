//! Requirements of a program: a script needs its interpreter, a binary its loader. Reads the first bytes of
//! the file, as the kernel does. Must not start anything.

use super::{SpawnError, resolve};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::FileExt,
    },
    path::Path,
};

/// Length of the first line that the kernel reads.
const FIRST_LINE_BYTES: usize = 256;

/// Refuses a script whose interpreter `env` would not find.
///
/// Most servers start with `#!/usr/bin/env node`, and a launcher's short PATH makes this the most common
/// failure: `env` itself runs, so that without this check the server would seem to start and then exit with code 127.
pub(super) fn check_interpreter(
    path: &Path,
    path_var: Option<&OsStr>,
    cwd: Option<&Path>,
) -> Result<(), SpawnError> {
    let wanted = match shebang(path) {
        Some(Shebang { interpreter, argument }) if Path::new(&interpreter).ends_with("env") => argument,
        // Any other interpreter is started by the kernel, which reports one that is missing.
        _ => return Ok(()),
    };
    let Some(name) = plain_command(wanted.as_bytes()) else { return Ok(()) };
    // Without PATH, `env` falls back to default folders.
    if path_var.is_none() || !matches!(resolve(name, path_var, cwd), Err(SpawnError::NotFound { .. })) {
        return Ok(());
    }
    Err(SpawnError::NoInterpreter { path: path.to_owned(), interpreter: name.to_owned() })
}

/// The command that `env` gets, where it is certain: no options (except `-S`) and no assignments.
fn plain_command(argument: &[u8]) -> Option<&OsStr> {
    let name = match argument.strip_prefix(b"-S") {
        Some(words) => words.trim_ascii_start().split(|byte| matches!(byte, b' ' | b'\t')).next()?,
        None => argument,
    };
    let plain =
        !name.is_empty() && !name.starts_with(b"-") && !name.iter().any(|byte| b" \t='\"\\$".contains(byte));
    plain.then(|| OsStr::from_bytes(name))
}

/// The missing interpreter or loader, if `path` exists and the system still answered "no such file".
pub(super) fn missing_interpreter(path: &Path) -> Option<OsString> {
    let needed = shebang(path).map(|line| line.interpreter).or_else(|| loader(path).ok().flatten())?;
    (!Path::new(&needed).exists()).then_some(needed)
}

struct Shebang {
    interpreter: OsString,
    argument: OsString,
}

fn shebang(path: &Path) -> Option<Shebang> {
    let mut start = Vec::with_capacity(FIRST_LINE_BYTES);
    // An executable file need not be readable; then its needs stay unknown.
    File::open(path).ok()?.take(FIRST_LINE_BYTES as u64).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    // The kernel splits at spaces and tabs only: a carriage return is part of the name.
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let from = line.iter().position(|byte| !blank(byte))?;
    let to = line.iter().rposition(|byte| !blank(byte))? + 1;
    let words = &line[from..to];
    let end = words.iter().position(blank).unwrap_or(words.len());
    let after = words[end..].iter().position(|byte| !blank(byte)).map_or(words.len(), |blanks| end + blanks);
    Some(Shebang {
        interpreter: OsString::from_vec(words[..end].to_vec()),
        argument: OsString::from_vec(words[after..].to_vec()),
    })
}

/// The loader that a 64-bit little-endian ELF file asks for. It is missing if the binary was built for
/// another C library (glibc and musl, or NixOS).
fn loader(path: &Path) -> io::Result<Option<OsString>> {
    const PT_INTERP: u64 = 3;
    const ENTRY_BYTES: usize = 56;
    const MAX_NAME_BYTES: u64 = 4096;
    let file = File::open(path)?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(None);
    }
    let (table, count) = (number(&header, 32, 8), number(&header, 56, 2));
    for index in 0..count {
        let mut entry = [0; ENTRY_BYTES];
        file.read_exact_at(&mut entry, table.saturating_add(index * ENTRY_BYTES as u64))?;
        let size = number(&entry, 32, 8);
        // The size comes from the file and must not become a huge allocation.
        if number(&entry, 0, 4) == PT_INTERP && (1..MAX_NAME_BYTES).contains(&size) {
            let mut name = vec![0; size as usize];
            file.read_exact_at(&mut name, number(&entry, 8, 8))?;
            // The file stores the name with its terminating NUL.
            name.retain(|byte| *byte != 0);
            return Ok(Some(OsString::from_vec(name)));
        }
    }
    Ok(None)
}

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    bytes[at..at + width].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_command_behind_env_is_found() {
        let check = |argument: &str, expect: Option<&str>| {
            assert_eq!(plain_command(argument.as_bytes()), expect.map(OsStr::new), "{argument:?}");
        };
        check("node", Some("node"));
        check("node\r", Some("node\r"));
        check("-S node --no-warnings", Some("node"));
        check("-Suv run", Some("uv"));
        check("-S -i node", None);
        check("-i node", None);
        check("A=b", None);
        check("-S A=b node", None);
        check("node --flag", None);
        check("", None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_loader_of_a_binary_is_found() {
        // This test's own binary: whether dynamic or static, its loader exists, since it runs.
        let me = std::env::current_exe().unwrap();
        if let Some(loader) = loader(&me).unwrap() {
            assert!(Path::new(&loader).exists(), "{loader:?}");
        }
        assert_eq!(missing_interpreter(&me), None);
    }
}
