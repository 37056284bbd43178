//! Reasons why a process could not be started, with a hint for its owner. Must not know how the start was attempted.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

/// The message names the problem; [`hint`](Self::hint) names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// `searched` is the PATH that was searched or, for a program given with its folder, that file.
    #[error("`{}` was not found (searched: {})", .program.display(), .searched.display())]
    NotFound { program: OsString, searched: OsString, hint: String },
    #[error("no permission to execute `{}`", .path.display())]
    NotExecutable { path: PathBuf },
    #[error("`{}` needs {:?}, which was not found", .path.display(), .interpreter)]
    NoInterpreter { path: PathBuf, interpreter: OsString },
    #[error("the folder `{}` does not exist or cannot be entered", .cwd.display())]
    NoFolder { cwd: PathBuf },
    #[error("the system cannot start another process: {source}")]
    Limits { source: io::Error },
    #[error("its guard process could not be started: {source}")]
    NoGuard { source: io::Error },
    #[error("it could not be put into a PID namespace: {source}")]
    NoNamespace { source: io::Error },
    #[error("`{}` could not be started: {source}", .path.display())]
    Other { path: PathBuf, source: io::Error },
}

impl SpawnError {
    pub(super) fn not_found_in_path(program: &OsStr, path_var: Option<&OsStr>) -> Self {
        let hint = match path_var {
            None => {
                "no PATH is set in the server's environment; give the full path of the command, or set PATH in the server's env"
            }
            Some(path_var) if looks_short(path_var) => {
                "the program that started switchboard has a short PATH (dock or launcher); give the full path of the command, or set PATH in the server's env"
            }
            Some(_) => "check the spelling and that it is installed, or give the full path of the command",
        };
        Self::NotFound {
            program: program.to_owned(),
            searched: path_var.unwrap_or_default().to_owned(),
            hint: hint.to_owned(),
        }
    }

    pub(super) fn no_such_file(program: &OsStr, path: PathBuf) -> Self {
        let hint = if Path::new(program).is_absolute() {
            "check the path of the command"
        } else {
            "check the path of the command; a relative path starts at the server's cwd"
        };
        Self::NotFound { program: program.to_owned(), searched: path.into(), hint: hint.to_owned() }
    }

    /// The remedy, in a sentence for people.
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound { hint, .. } => hint.clone(),
            Self::NotExecutable { path } => format!(
                "if it is a program, run `chmod +x {}`; a script can also be given as an argument to its interpreter",
                path.display()
            ),
            Self::NoInterpreter { interpreter, .. } if interpreter.as_encoded_bytes().ends_with(b"\r") => {
                "the script has Windows line endings; save it with Unix ones".to_owned()
            }
            Self::NoInterpreter { interpreter, .. } => {
                format!("install {}, or add its folder to PATH in the server's env", interpreter.display())
            }
            Self::NoFolder { .. } => "create the folder, or correct cwd in the server's entry".to_owned(),
            Self::Limits { source } => limit_hint(source).to_owned(),
            Self::NoGuard { .. } => {
                "try again; `\"guard\": \"off\"` in the server's entry starts it unguarded".to_owned()
            }
            Self::NoNamespace { .. } => {
                "`switchboard check` shows what works here; `\"guard\": \"auto\"` needs no namespace"
                    .to_owned()
            }
            Self::Other { .. } => "try the command in a terminal".to_owned(),
        }
    }
}

/// Whether PATH has only system folders and none of the user's, as passed on by a desktop launcher or dock.
fn looks_short(path_var: &OsStr) -> bool {
    const SYSTEM: [&str; 9] = [
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
        "/usr/games",
        "/usr/local/games",
        "/snap/bin",
    ];
    cfg!(unix)
        && std::env::split_paths(path_var).all(|folder| SYSTEM.iter().any(|known| folder == Path::new(known)))
}

fn limit_hint(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::OutOfMemory {
        "the machine is out of memory; stop other programs or lower the number of servers"
    } else if source.kind() == io::ErrorKind::WouldBlock {
        "the limit of processes is reached; stop other programs or raise it (`ulimit -u`)"
    } else {
        "the limit of open files is reached; raise it (`ulimit -n`)"
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn path_of_system_folders_looks_short() {
        assert!(looks_short(OsStr::new("/usr/bin:/bin:/usr/sbin:/sbin")));
        assert!(looks_short(OsStr::new("/usr/local/bin:/usr/bin:/bin:/usr/games")));
        assert!(!looks_short(OsStr::new("/home/me/.local/bin:/usr/bin:/bin")));
        assert!(!looks_short(OsStr::new("/opt/homebrew/bin:/usr/bin:/bin")));
    }
}
