//! `switchboard token create`: a new token, printed once.

use super::{failed, file, words};
use crate::cli::CreateArgs;
use crate::commands::{complain, print, vars};
use crate::exit::Exit;
use switchboard_gateway::config::Config;
use switchboard_gateway::config::discover::discover;
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::nearest_name;
use switchboard_gateway::tokens::{NewToken, RightsEntry, TOKEN_VARIABLE};

pub(super) fn run(args: &CreateArgs) -> anyhow::Result<Exit> {
    for warning in doubts(args) {
        complain(&format!("warning: {warning}"));
    }
    let new = NewToken {
        name: args.name.clone(),
        lifetime: args.expires,
        rights: RightsEntry {
            servers: args.servers.clone(),
            tools: args.tools.clone(),
            prompts: args.prompts.clone(),
            resources: args.resources.clone(),
            methods: args.methods.clone(),
        },
        profile: args.profile.clone(),
        rate: args.rate.clone(),
        burst: args.burst,
        concurrent: args.concurrent,
    };
    let (entry, token) = file().create(new).map_err(|error| failed(&error))?;
    print(&format!(
        "Created the token `{}`: {}.\n\
         It is not shown again. Over HTTP it goes into the header `Authorization: Bearer TOKEN`,\n\
         for `switchboard stdio` into the variable {TOKEN_VARIABLE}.\n\
         {}\n",
        entry.name,
        words::rights(&entry),
        token.expose(),
    ))?;
    Ok(Exit::Ok)
}

/// Names that the config file does not have. Not an error: the token may be for another config.
fn doubts(args: &CreateArgs) -> Vec<String> {
    let Some(config) = config() else { return Vec::new() };
    let servers: Vec<String> = config.servers.iter().map(|server| server.name.clone()).collect();
    let profiles: Vec<String> = config.profiles.iter().map(|(name, _)| name.clone()).collect();
    let unknown = |what: &str, name: &str, known: &[String]| {
        let near = nearest_name(name, known).map(|near| format!("; did you mean `{near}`?"));
        (!known.iter().any(|known| known == name))
            .then(|| format!("the config file has no {what} `{name}`{}", near.unwrap_or_default()))
    };
    let is_plain = |pattern: &&String| !pattern.contains(['*', '?']);
    let named = args.servers.iter().filter(is_plain).map(|name| name.strip_prefix('!').unwrap_or(name));
    let servers = named.filter_map(|name| unknown("server", name, &servers));
    let profile = args.profile.iter().filter_map(|name| unknown("profile", name, &profiles));
    servers.chain(profile).collect()
}

/// The config file that `serve` would use here, if it can be loaded.
fn config() -> Option<Config> {
    let project = std::env::current_dir().ok();
    discover(None, project.as_deref(), Owners::default(), &vars).ok()?.file?.load().config
}
