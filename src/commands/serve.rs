//! `switchboard serve`: the daemon with an HTTP listener.

use super::daemon::{self as command, Identity};
use super::{complain, logging};
use crate::cli::{DaemonArgs, ServeArgs};
use crate::exit::{Exit, fatal};
use anyhow::Context;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use switchboard_gateway::allow_many_files;
use switchboard_gateway::config::expand;
use switchboard_gateway::config::{Config, ServeConfig};
use switchboard_gateway::control::{self, Request};
use switchboard_gateway::fronts::http::HttpOptions;
use switchboard_gateway::fronts::http::listen::{Address, TlsFiles};
use switchboard_gateway::runtime::daemon::{self, Daemon, Served};
use switchboard_gateway::tokens::owner;

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Exit> {
    let plan = command::plan(&DaemonArgs::for_serving(args), Default::default())?;
    let command::Plan { what, config, servers, source } = plan;
    let state_folder = super::state_folder();
    let http = options(args, &config)?;
    let address = Identity { what, overrides: Default::default() }.socket()?;
    super::check_can_serve()?;
    allow_many_files();
    let path = source.as_ref().map(|source| &*source.path);
    let log = logging::options((&args.log).into(), &config, path, &state_folder)?;
    let default_root = path.and_then(|path| expand::default_root(&config, path, &super::vars).ok().flatten());
    announce(&http, &state_folder)?;
    make_room(&address)?;
    let daemon = Daemon {
        config,
        source,
        servers,
        overrides: Default::default(),
        address,
        state_folder,
        log,
        http: Some(http),
        on_listening: told,
        default_root,
        stays_without_clients: true,
    };
    match super::on_runtime(daemon::run(daemon))?.context("cannot serve")? {
        Served::ToTheEnd => Ok(Exit::Ok),
        Served::Taken => Err(fatal(
            Exit::Failure,
            "another daemon serves this config already\n  hint: `switchboard status` shows it, `switchboard daemon stop` ends it",
        )),
    }
}

/// Asks a daemon that a window started to give way: its windows stay with it, new ones connect to us.
fn make_room(address: &switchboard_gateway::Address) -> anyhow::Result<()> {
    if let Ok(Some(answer)) = super::on_runtime(control::ask(address, Request::GiveWay))?
        && answer.result.is_ok()
    {
        complain(&format!(
            "switchboard: the daemon (pid {}) keeps its windows until they close; new windows use this one",
            answer.pid
        ));
    }
    Ok(())
}

fn options(args: &ServeArgs, config: &Config) -> anyhow::Result<HttpOptions> {
    let serve = &config.serve;
    let texts = if args.listen.is_empty() { &serve.listen } else { &args.listen };
    let listen: Result<Vec<Address>, String> = texts.iter().map(|text| Address::read(text)).collect();
    let listen = listen.map_err(|why| fatal(Exit::Usage, why))?;
    // Judged by the resolved address, not by a name.
    let elsewhere = listen.iter().find(|address| !address.is_local());
    if let (true, Some(address)) = (args.no_auth, elsewhere) {
        let text = format!(
            "--no-auth is only for addresses of this machine, and other machines can reach {address}\n  hint: \
             leave it out, or listen on 127.0.0.1"
        );
        return Err(fatal(Exit::Usage, text));
    }
    let mut hosts = serve.allowed_hosts.clone();
    // Clients may use the address they connect to as the host.
    for address in &listen {
        // `0.0.0.0` is not a host that clients address, and foreign pages can use it.
        if let Address::Tcp(at) = address
            && !at.ip().is_unspecified()
        {
            hosts.push(at.ip().to_string());
        }
    }
    Ok(HttpOptions {
        listen,
        tls: tls(args, serve),
        needs_token: !args.no_auth,
        token_in_body: serve.token_in_body,
        hosts,
        origins: serve.allowed_origins.clone(),
        session_ttl: serve.session_ttl,
        max_sessions: serve.max_sessions,
        event_bytes: serve.event_bytes,
        root_map: serve.root_map.clone(),
    })
}

fn tls(args: &ServeArgs, serve: &ServeConfig) -> Option<TlsFiles> {
    let cert = args.tls_cert.clone().or_else(|| serve.tls_cert.as_ref().map(PathBuf::from))?;
    let key = args.tls_key.clone().or_else(|| serve.tls_key.as_ref().map(PathBuf::from))?;
    Some(TlsFiles { cert, key })
}

fn announce(http: &HttpOptions, state_folder: &Path) -> anyhow::Result<()> {
    if !http.needs_token {
        complain(
            "switchboard: WARNING: --no-auth: every program and every user on this machine can use all servers and call all \
             their tools",
        );
        return Ok(());
    }
    // Made here, so that there is one before the first client comes.
    let token = owner::get(state_folder).context("cannot read or create the token")?;
    // A service's stderr is a log, which others may read.
    let shown = if std::io::stderr().is_terminal() { token.expose() } else { "TOKEN" };
    complain(&format!(
        "switchboard: clients need this header:\n  Authorization: Bearer {shown}\n  (`switchboard token show` prints the owner's token)"
    ));
    Ok(())
}

fn told(addresses: &[Address]) {
    for address in addresses {
        complain(&format!(
            "switchboard: listening at {address} (/mcp, /servers/NAME/mcp, /profiles/NAME/mcp, /sse)"
        ));
    }
}
