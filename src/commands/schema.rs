//! `switchboard schema`: the config file's JSON Schema.

use crate::exit::Exit;
use switchboard_gateway::config;

pub(crate) fn run() -> anyhow::Result<Exit> {
    super::print(&format!("{}\n", serde_json::to_string_pretty(&config::schema())?))?;
    Ok(Exit::Ok)
}
