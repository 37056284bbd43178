//! `switchboard restart`, `stop` and `start`: orders to the daemons.

use crate::cli::OrderArgs;
use crate::exit::{Exit, fatal};
use anyhow::Context;
use switchboard_gateway::Address;
use switchboard_gateway::control::{self, Request};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Word {
    Restart,
    Stop,
    Start,
}

/// Sends the order to all daemons that know the server.
pub(crate) fn run(args: &OrderArgs, word: Word) -> anyhow::Result<Exit> {
    let (server, root) = match args.server.split_once('@') {
        Some((server, root)) => (server, Some(super::folder("the root", root.as_ref())?)),
        None => (args.server.as_str(), None),
    };
    let root = root.map(|root| root.display().to_string());
    let request = || {
        let (server, root) = (server.to_owned(), root.clone());
        match word {
            Word::Restart => Request::Restart { server, root },
            Word::Stop => Request::StopServer { server, root },
            Word::Start => Request::StartServer { server, root },
        }
    };
    let addresses = Address::all().context("cannot look for daemons")?;
    let (mut told, mut instances, mut refusal, mut notes) = (0, 0, None, String::new());
    for address in addresses {
        let answer = super::on_runtime(control::ask(&address, request()))?;
        let Some(answer) = answer.with_context(|| format!("the daemon at {address} does not answer"))? else {
            // A socket without a daemon is left over from a killed one.
            continue;
        };
        match answer.result {
            Ok(done) => {
                told += 1;
                instances += done["instances"].as_u64().unwrap_or(0);
                notes.extend(done["note"].as_str().map(|note| format!("  note: {note}\n")));
            }
            Err(why) => refusal = Some(why),
        }
    }
    match (told, refusal) {
        (0, Some(why)) => Err(fatal(Exit::Failure, why)),
        (0, None) => Err(fatal(Exit::Failure, "no daemon is running; there is nothing to do".to_owned())),
        (_, _) => {
            let what = match word {
                Word::Restart => "restarted",
                Word::Stop => "stopped",
                Word::Start => "started",
            };
            let plural = if instances == 1 { "" } else { "s" };
            super::print(&format!("{server}: {instances} instance{plural} {what}\n{notes}"))?;
            Ok(Exit::Ok)
        }
    }
}
