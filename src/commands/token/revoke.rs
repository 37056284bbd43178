//! `switchboard token revoke`: the end of a token and of its sessions.

use super::{failed, file};
use crate::commands::print;
use crate::exit::Exit;

pub(super) fn run(name: &str) -> anyhow::Result<Exit> {
    let revoked = file().revoke(name).map_err(|error| failed(&error))?;
    print(&format!("Revoked the token `{}`; its open sessions end within a second.\n", revoked.name))?;
    Ok(Exit::Ok)
}
