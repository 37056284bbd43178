//! `switchboard token`: the tokens of clients.
//!
//! - `create`, `list`, `revoke`, `show`: one subcommand each. `words`: rights and limits for people.

mod create;
mod list;
mod revoke;
mod show;
mod words;

use crate::cli::{TokenArgs, TokenCommand};
use crate::exit::{Exit, fatal};
use switchboard_gateway::tokens::{TokenFile, TokensError};

pub(crate) fn run(args: &TokenArgs) -> anyhow::Result<Exit> {
    match &args.command {
        TokenCommand::Create(args) => create::run(args),
        TokenCommand::List { json } => list::run(*json),
        TokenCommand::Revoke { name } => revoke::run(name),
        TokenCommand::Show => show::run(),
    }
}

fn file() -> TokenFile {
    TokenFile::new(&super::state_folder())
}

/// The error with its exit code: a wrong name is wrong usage.
fn failed(error: &TokensError) -> anyhow::Error {
    let exit = match error {
        TokensError::Exists { .. } | TokensError::Unknown { .. } => Exit::Usage,
        _ => Exit::Failure,
    };
    fatal(exit, error.to_string())
}
