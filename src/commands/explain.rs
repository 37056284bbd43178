//! `switchboard explain`: the workspace that a request would be routed to, and the reason.

use super::FoundConfig;
use crate::cli::ExplainArgs;
use crate::exit::{Exit, fatal};
use switchboard_gateway::config::Config;
use switchboard_gateway::explain::{Question, explain};
use switchboard_gateway::secrets::mask_values;

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    check_params(&args.params)?;
    let (config, file) =
        match (super::find_config(args.config.as_deref(), args.owner.owners())?, &args.server) {
            (FoundConfig::File(config, source), _) => (*config, Some(source.path)),
            // Routing can be explored before there is a config file.
            (FoundConfig::Nothing { .. }, None) => (Config::default(), None),
            (FoundConfig::Nothing { .. }, Some(name)) => {
                let hint = "hint: give it with `--config FILE`, or leave out `--server`";
                return Err(fatal(
                    Exit::Config,
                    format!("there is no config file to find `{name}` in\n  {hint}"),
                ));
            }
        };
    let servers = match (&args.server, &file) {
        (Some(name), Some(file)) => vec![super::server_called(&config, name, file)?],
        // With `--server`, a missing file was refused above.
        (Some(_), None) | (None, _) => super::enabled(&config),
    };
    let explained = explain(&Question {
        method: &args.method,
        params: &args.params,
        roots: &super::root_options(&args.roots, &config, file.as_deref())?,
        client_roots: &args.client_root,
        root_arguments: &args.root_argument,
        config: &config,
        servers: &servers,
        vars: &super::vars,
        state_folder: &super::state_folder(),
    });
    match args.json {
        true => super::print(&mask_values(&format!("{}\n", serde_json::to_string_pretty(&explained)?)))?,
        false => super::print(&mask_values(&explained.to_string()))?,
    }
    Ok(Exit::Ok)
}

fn check_params(params: &str) -> anyhow::Result<()> {
    let hint = r#"hint: as in --params '{"name":"search","arguments":{"path":"/work/app"}}'"#;
    match serde_json::from_str(params) {
        Ok(serde_json::Value::Object(_)) => Ok(()),
        Ok(_) => Err(fatal(Exit::Usage, format!("--params is not a JSON object\n  {hint}"))),
        Err(error) => Err(fatal(Exit::Usage, format!("--params is not JSON: {error}\n  {hint}"))),
    }
}
