//! `switchboard token`: the bearer token for HTTP clients.

use crate::cli::{TokenArgs, TokenCommand};
use crate::exit::Exit;
use anyhow::Context;
use switchboard_gateway::fronts::http::token;

pub(crate) fn run(args: &TokenArgs) -> anyhow::Result<Exit> {
    match args.command {
        TokenCommand::Show => {
            let token = token::get(&super::state_folder()).context("cannot read or create the token")?;
            super::print(&format!("{token}\n"))?;
            Ok(Exit::Ok)
        }
    }
}
