//! `switchboard forget SERVER`: removes stored facts about a server, and tells the daemons that know it.

use crate::cli::ForgetArgs;
use crate::exit::{Exit, fatal};
use anyhow::Context;
use switchboard_gateway::Address;
use switchboard_gateway::control::{self, Request};

pub(crate) fn run(args: &ForgetArgs) -> anyhow::Result<Exit> {
    let name = &args.server;
    let servers = super::configured_servers(args.config.as_deref(), args.owner.owners())?;
    let configured = servers.iter().find(|server| server.name == *name);
    if let Some(server) = configured {
        switchboard_gateway::forget(server, &super::state_folder())
            .context("cannot remove the stored facts")?;
    }
    let mut told = 0;
    // Daemons of other configs may know the server too.
    for address in Address::all().context("cannot look for daemons")? {
        let request = Request::Forget { server: name.clone() };
        let answer = super::on_runtime(control::ask(&address, request))?;
        let answer = answer.with_context(|| format!("the daemon at {address} does not answer"))?;
        told += usize::from(answer.is_some_and(|answer| answer.result.is_ok()));
    }
    if configured.is_none() && told == 0 {
        let text = format!(
            "there is no server `{name}` in the config file, and no daemon knows it\n  hint: `switchboard check` lists \
             the servers"
        );
        return Err(fatal(Exit::Failure, text));
    }
    super::print(&format!("{name}: forgotten; its next start learns it again\n"))?;
    Ok(Exit::Ok)
}
