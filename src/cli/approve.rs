//! `switchboard approve`: its arguments.

use super::owner::OwnerArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(subcommand)]
    pub(crate) command: ApproveCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApproveCommand {
    /// Show the changed tools of a server, and approve them as they are now.
    ///
    /// A tool has changed if its server defines it otherwise than when it was first seen or approved. With `pinning:
    /// "hold"` it is hidden until it is approved; connected clients see it at once.
    Tools(ApproveToolsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ApproveToolsArgs {
    /// The server's name.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,

    /// The server's own names of the tools. Default: all that have changed.
    #[arg(value_name = "TOOL")]
    pub(crate) tools: Vec<String>,

    /// Only show what has changed.
    #[arg(long)]
    pub(crate) list: bool,

    /// Print a JSON object, with the definitions in full.
    #[arg(long)]
    pub(crate) json: bool,

    /// The config file. Default: the one that `stdio` would use.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,
}
