//! The user's one daemon. Clients connect through attachments on a local socket, and over HTTP on request.
//! After the last client has left, the backends end, and then the daemon.

use super::gateway::{Gateway, Lifetime};
use super::tasks::{LAST_WRITES_TIMEOUT, Tasks};
use crate::attach::handover::Handover;
use crate::config::{Config, LogLevel, ServerConfig};
use crate::daemon::reload::{Overrides, Source};
use crate::daemon::{DaemonSetup, DaemonState, socket};
use crate::fronts::http::{Front, Guests, HttpOptions, listen};
use crate::fronts::local::hello;
use crate::telemetry::{LogOptions, Telemetry};
use serde_json::json;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use switchboard_core::{Event, Fact};
use switchboard_process::local::{Address, BindError};
use switchboard_process::signals::Signals;

/// Servers, and addresses to serve them at.
pub struct Daemon {
    pub config: Config,
    /// Config file to watch.
    pub source: Option<Source>,
    /// Enabled servers.
    pub servers: Vec<ServerConfig>,
    pub overrides: Overrides,
    pub address: Address,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    /// Called with the bound HTTP addresses.
    pub on_listening: fn(&[listen::Address]),
    /// Options of the HTTP front.
    pub http: Option<HttpOptions>,
    /// Root of clients that name none.
    pub default_root: Option<PathBuf>,
    /// Started to stay, not by a window: servers with `lazy: false` run without a client.
    pub stays_without_clients: bool,
}

/// Outcome of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    ToTheEnd,
    /// Another daemon has the socket.
    Taken,
}

/// Serves until no client needs it, or until it is told to end. Must be called within a tokio runtime.
pub async fn run(daemon: Daemon) -> io::Result<Served> {
    // Installed first: a signal during the start must end in order.
    let signals = Signals::new()?;
    let listener = match socket::bind(&daemon.address).await {
        Ok(listener) => listener,
        Err(BindError::Taken) => return Ok(Served::Taken),
        Err(BindError::Io(error)) => return Err(error),
    };
    let file = daemon.source.as_ref().map(|source| &source.path);
    let described = json!({ "pid": std::process::id(), "version": hello::version(), "config": file });
    daemon.address.describe(&described.to_string())?;
    // Bound before anything is started: a taken port must fail the whole command.
    let http = match daemon.http {
        None => None,
        Some(options) => Some(HttpListening::begin(options, daemon.on_listening).await?),
    };
    let reports_routes = matches!(daemon.log.level, LogLevel::Debug | LogLevel::Trace);
    let telemetry = Telemetry::start(daemon.log);
    for address in http.iter().flat_map(HttpListening::plain) {
        telemetry.desk().take(Fact::PlainHttp { address: address.to_string() });
    }
    let lifetime = Lifetime::Daemon { linger: daemon.config.linger, stays: http.is_some() };
    let (config, folder) = (&daemon.config, &daemon.state_folder);
    let gateway = Gateway::new(config, daemon.servers, folder, lifetime, telemetry, reports_routes);
    let hub = &gateway.hub;
    let state = DaemonState::new(DaemonSetup {
        hub: hub.clone(),
        backends: gateway.backends.clone(),
        servers: gateway.servers.clone(),
        vars: gateway.vars.clone(),
        config: daemon.config,
        source: daemon.source,
        overrides: daemon.overrides,
        state_folder: daemon.state_folder,
        stays: http.is_some(),
        default_root: daemon.default_root,
        stays_without_clients: daemon.stays_without_clients,
        streams: Box::new(Handover),
        tokens: gateway.tokens.clone(),
    });
    // Starts the linger time: without clients, the daemon ends after it.
    hub.handle(Event::Tick);
    state.start_wanted();
    let visits = http.map(|http| http.serve(&state));
    let mut tasks = gateway.start_upkeep();
    tasks.obey(hub, signals);
    tasks.spawn("accepting", socket::accept(state.clone(), daemon.address, listener));
    tasks.spawn("watching", async move { state.watch().await });
    hub.over().await;
    // No new clients from here on; the present ones are seen off next.
    tasks.end();
    if let Some(visits) = visits {
        visits.end().await;
    }
    gateway.close().await;
    Ok(Served::ToTheEnd)
}

/// Bound HTTP addresses, before any client is served.
struct HttpListening {
    options: HttpOptions,
    sockets: Vec<listen::Listening>,
    addresses: Vec<listen::Address>,
    tls: Option<Arc<listen::Tls>>,
}

impl HttpListening {
    async fn begin(options: HttpOptions, on_listening: fn(&[listen::Address])) -> io::Result<Self> {
        let tls = options.tls.clone().map(listen::Tls::load).transpose()?;
        let (sockets, addresses) = listen::bind(&options).await?;
        on_listening(&addresses);
        Ok(Self { options, sockets, addresses, tls })
    }

    /// Addresses that other machines can reach without encryption.
    fn plain(&self) -> impl Iterator<Item = &listen::Address> {
        let is_plain = |address: &&listen::Address| self.tls.is_none() && !address.is_local();
        self.addresses.iter().filter(is_plain)
    }

    fn serve(self, state: &Arc<DaemonState>) -> HttpVisits {
        let guests = Guests::new();
        let (mut visits, mut clerks) = (Tasks::default(), Tasks::default());
        let (front, left) = Front::new(state.clone(), self.options);
        visits.spawn("parting", front.clone().part(left));
        visits.spawn("tidying", front.clone().tidy());
        clerks.spawn("slow", front.clone().look_after_slow());
        clerks.spawn("accounting", front.clone().account());
        for socket in self.sockets {
            let welcome = listen::welcome(front.clone(), socket, self.tls.clone(), guests.clone());
            visits.spawn("welcoming", welcome);
        }
        HttpVisits { guests, visits, clerks }
    }
}

/// HTTP clients, and the tasks that serve them.
struct HttpVisits {
    guests: Arc<Guests>,
    visits: Tasks,
    clerks: Tasks,
}

impl HttpVisits {
    async fn end(self) {
        self.visits.end();
        self.guests.see_off(LAST_WRITES_TIMEOUT).await;
        // The inbox must be emptied until the last connection has closed.
        self.clerks.end();
    }
}
