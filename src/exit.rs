//! Exit codes, by name. Users may rely on them: `docs/cli.md` lists them.

use std::process::ExitCode;

/// Outcome of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    /// A failure without a code of its own.
    Failure,
    /// The command line is wrong. `clap` uses this number too.
    Usage,
    /// A config file is missing, wrong or not trusted.
    Config,
    /// Ctrl-C during a wait; the number that shells use.
    Interrupted,
    /// `--raw`: the command could not be executed, or was not found; the numbers that shells use.
    CannotExecute,
    NotFound,
    /// `--raw`: the command's own exit code.
    Command(u8),
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Config => 3,
            Self::CannotExecute => 126,
            Self::NotFound => 127,
            Self::Interrupted => 130,
            Self::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// An error with the exit code of the program.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Fatal {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// Message for a client, where `message` refers to earlier output.
    pub(crate) told: Option<String>,
}

/// Exit code of an error.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Fatal>().map_or(Exit::Failure, |fatal| fatal.exit)
}

pub(crate) fn fatal(exit: Exit, message: impl Into<String>) -> anyhow::Error {
    Fatal { exit, message: message.into(), told: None }.into()
}

/// Like [`fatal`], with another message for a client.
pub(crate) fn fatal_told(exit: Exit, message: impl Into<String>, told: Option<String>) -> anyhow::Error {
    Fatal { exit, message: message.into(), told }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_code() {
        let docs = include_str!("../docs/cli.md");
        let (_, table) = docs.split_once("\n## Exit codes\n").expect("a heading for exit codes");
        for exit in [
            Exit::Ok,
            Exit::Failure,
            Exit::Usage,
            Exit::Config,
            Exit::CannotExecute,
            Exit::NotFound,
            Exit::Interrupted,
        ] {
            let row = format!("| {} | `{exit:?}` |", exit.code());
            assert!(table.contains(&row), "docs/cli.md: {row} is missing");
        }
        assert!(table.contains("| any | `Command` |"));
        assert_eq!(Exit::Command(7).code(), 7);
    }
}
