//! Nothing was asked for, by a person: say what there is.

use crate::cli::Cli;
use crate::exit::Exit;
use clap::CommandFactory;

pub(crate) fn run() -> anyhow::Result<Exit> {
    super::print(&Cli::command().render_help().to_string())?;
    Ok(Exit::Ok)
}
