//! `switchboard token show`: the owner's token.

use crate::commands::{print, state_folder};
use crate::exit::Exit;
use anyhow::Context;
use switchboard_gateway::tokens::owner;

pub(super) fn run() -> anyhow::Result<Exit> {
    let token = owner::get(&state_folder()).context("cannot read or create the token")?;
    print(&format!("{}\n", token.expose()))?;
    Ok(Exit::Ok)
}
