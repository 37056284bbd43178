//! `switchboard completions`: completions for a shell.

use crate::cli::Cli;
use crate::exit::Exit;
use clap::CommandFactory;

pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "switchboard", &mut script);
    super::print(&String::from_utf8(script)?)?;
    Ok(Exit::Ok)
}
