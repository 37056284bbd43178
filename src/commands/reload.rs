//! `switchboard reload`: applies the present config files in all daemons, and shows the results.

use crate::exit::{Exit, fatal};
use anyhow::Context;
use serde_json::Value;
use std::fmt::Write;
use switchboard_gateway::Address;
use switchboard_gateway::control::{self, Request};

pub(crate) fn run() -> anyhow::Result<Exit> {
    let (mut told, mut refused) = (0, 0);
    for address in Address::all().context("cannot look for daemons")? {
        let answer = super::on_runtime(control::ask(&address, Request::Reload))?;
        let Some(answer) = answer.with_context(|| format!("the daemon at {address} does not answer"))? else {
            // A socket without a daemon is left over from a killed one.
            continue;
        };
        told += 1;
        match answer.result {
            Ok(done) => super::print(&shown(&done)?)?,
            Err(why) => {
                refused += 1;
                super::complain(&format!("the daemon (pid {}) keeps its previous config: {why}", answer.pid));
            }
        }
    }
    match (told, refused) {
        (0, _) => Err(fatal(
            Exit::Failure,
            "no daemon is running; the next one will read the config file".to_owned(),
        )),
        (_, 0) => Ok(Exit::Ok),
        (_, _) => Ok(Exit::Failure),
    }
}

fn shown(done: &Value) -> anyhow::Result<String> {
    let mut text = format!("{}:", done["config"].as_str().unwrap_or("?"));
    let before = text.len();
    for (what, key) in [("changed", "changed"), ("added", "added"), ("removed", "removed")] {
        let names: Vec<&str> = words(&done["applied"][key]);
        if !names.is_empty() {
            write!(text, "{} {what}: {}", if text.len() > before { ";" } else { "" }, names.join(", "))?;
        }
    }
    if text.len() == before {
        text.push_str(" no server has changed");
    }
    text.push('\n');
    let waiting = words(&done["applied"]["needsRestart"]);
    if !waiting.is_empty() {
        writeln!(text, "  {}: takes effect after `switchboard daemon stop`", waiting.join(", "))?;
    }
    Ok(text)
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}
