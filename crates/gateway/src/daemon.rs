//! The user's one daemon: all windows, one set of backends. Clients come through attachments on a local socket; when the
//! last has gone, so do the backends, and then it does itself.

use crate::backends::Plan;
use crate::backends::launch;
use crate::backends::process::Processes;
use crate::config::{Config, Guard, LogLevel, ServerConfig};
use crate::environments::Vars;
use crate::hello::{self, Hello, Newcomer, OrderWord, Reply, Wants};
use crate::hub::Hub;
use crate::intake::{self, ClientReader};
use crate::places;
use crate::solo;
use crate::task;
use crate::telemetry::verdicts::Verdicts;
use crate::telemetry::{LogOptions, Telemetry};
use crate::wiring;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use switchboard_core::{ClientId, Core, Event, Order, Peer, ServerId, Surroundings};
use switchboard_process::local::{Address, BindError, Connection, Listener};
use switchboard_process::signals::Signals;
use switchboard_protocol::{Framer, Framing};
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(1);

/// What to serve, and where.
pub struct Daemon {
    pub config: Config,
    pub config_file: Option<PathBuf>,
    /// Those that are enabled.
    pub servers: Vec<ServerConfig>,
    pub address: Address,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    pub linger: Duration,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    ToTheEnd,
    /// Another one is there.
    Taken,
}

/// What every connection needs.
struct Household {
    hub: Arc<Hub>,
    servers: Vec<ServerConfig>,
    splits: Vec<bool>,
    limit: usize,
    next_client: AtomicU32,
    retired: Notify,
    config_file: Option<PathBuf>,
}

/// Serves until nobody needs it, or it is told to end. Must be called within a tokio runtime.
pub async fn run(daemon: Daemon) -> io::Result<Served> {
    let signals = Signals::new()?;
    let listener = match Listener::bind(&daemon.address) {
        Ok(listener) => listener,
        Err(BindError::Taken) => return Ok(Served::Taken),
        Err(BindError::Io(error)) => return Err(error),
    };
    let described = json!({ "pid": std::process::id(), "version": hello::version(), "config": daemon.config_file });
    daemon.address.describe(&described.to_string())?;
    let verdicts = Verdicts::new(&daemon.state_folder, &daemon.servers);
    let wants_routes = matches!(daemon.log.level, LogLevel::Debug | LogLevel::Trace);
    let vars = Arc::new(Vars::own());
    let linger = Some(daemon.linger);
    let settings = wiring::settings(&daemon.config, &daemon.servers, &vars, &verdicts, linger, wants_routes);
    let splits = settings.servers.iter().map(|server| server.splits).collect();
    let telemetry = Telemetry::start(daemon.log, verdicts);
    let warden = launch::warden_for(&daemon.servers, &daemon.state_folder);
    telemetry.desk().take(solo::layers(&warden, Guard::Auto));
    let limit = daemon.config.max_message_bytes;
    let has_limit = |server: &ServerConfig| server.memory_limit.is_some();
    let is_limited = daemon.config.pool.memory_limit.is_some() || daemon.servers.iter().any(has_limit);
    let processes = Processes::new(daemon.servers.clone(), vars, limit, warden);
    let hub = Hub::new(Core::new(settings), Plan::Processes(processes), telemetry.clone());
    let household = Arc::new(Household {
        hub: hub.clone(),
        servers: daemon.servers,
        splits,
        limit,
        next_client: AtomicU32::new(1),
        retired: Notify::new(),
        config_file: daemon.config_file,
    });
    // Whether anybody comes is a question of time from now on.
    hub.handle(Event::Tick);
    let measuring = is_limited.then(|| task::spawn("measuring", hub.clone().keep_measuring()));
    let tasks = [
        task::spawn("time", hub.clone().keep_time()),
        task::spawn("ending", solo::obey(hub.clone(), signals)),
        task::spawn("accepting", accept(household, listener)),
        task::spawn("sweeping", solo::sweep(hub.clone())),
    ];
    hub.over().await;
    tasks.iter().chain(&measuring).for_each(|task| task.abort());
    hub.close_warden().await;
    telemetry.close(PATIENCE);
    Ok(Served::ToTheEnd)
}

/// Lets clients in, until a newer daemon takes over.
async fn accept(household: Arc<Household>, mut listener: Listener) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = household.retired.notified() => return,
        };
        // Without a descriptor for one more, the next may have more luck.
        if let Ok(connection) = accepted {
            task::spawn("attachment", attend(household.clone(), connection));
        }
    }
}

/// One connection, from its first word to its end.
async fn attend(household: Arc<Household>, mut connection: Connection) {
    let Ok(hello) = hello::hear::<Hello>(&mut connection.reader).await else { return };
    let reply = match hello {
        Hello { protocol, .. } if protocol != hello::PROTOCOL => {
            Reply::refusal(format!("the daemon (pid {}) speaks another protocol; stop it", std::process::id()))
        }
        // It will ask us to make room. Nothing is to be started for it here.
        Hello { ref version, wants: Wants::Client(_), .. } if hello::is_newer(version, &hello::version()) => {
            Reply::refusal("a newer version of the daemon is wanted")
        }
        Hello { wants: Wants::Client(newcomer), .. } => return household.receive(connection, *newcomer).await,
        Hello { wants: Wants::Status, .. } => Reply::with(household.status().await),
        Hello { wants: Wants::Order { order, server, root }, .. } => household.order(order, &server, root.as_deref()),
        Hello { wants: Wants::Reload, .. } => Reply::refusal("this version does not reload"),
        Hello { wants: Wants::Stop, .. } => {
            household.hub.handle(Event::Drain { why: "it was told to stop" });
            Reply::with(Value::Null)
        }
        // Meant for one before us, whose place we have taken since.
        Hello { version, wants: Wants::Retire, .. } if !hello::is_newer(&version, &hello::version()) => {
            Reply::refusal("only a newer one is made room for")
        }
        Hello { wants: Wants::Retire, .. } => {
            household.retired.notify_one();
            Reply::with(Value::Null)
        }
    };
    let _ = hello::say(&connection.writer, &reply).await;
}

impl Household {
    /// A client, from its coming to its going.
    async fn receive(&self, connection: Connection, newcomer: Newcomer) {
        let Connection { reader, writer, .. } = connection;
        let Some(at) = self.servers.iter().position(|server| server.name == newcomer.server) else {
            let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
            let why = format!("there is no server `{}`; there are: {}", newcomer.server, names.join(", "));
            let _ = hello::say(&writer, &Reply::refusal(why)).await;
            return;
        };
        if hello::say(&writer, &Reply::with(Value::Null)).await.is_err() {
            return;
        }
        let server = &self.servers[at];
        let client = ClientId(self.next_client.fetch_add(1, Ordering::Relaxed));
        let surroundings = self.surroundings(server, &newcomer);
        let hub = &self.hub;
        hub.open_outbox(Peer::Client(client), writer, Framing::Newline);
        hub.handle(Event::ClientConnected { client, server: ServerId(at as u32), surroundings });
        let own = ClientReader::new(self.splits[at], &server.root_arguments);
        let framer = Framer::new(Some(Framing::Newline), self.limit);
        intake::read_client(hub, client, reader, framer, own).await;
        // An attachment closes when it is done, or it is gone: nobody reads any more.
        let mut turn = hub.turn();
        turn.handle(Event::ClientLost { client });
        turn.forget_client(client);
    }

    fn surroundings(&self, server: &ServerConfig, newcomer: &Newcomer) -> Surroundings {
        let vars = Arc::new(newcomer.vars());
        let Plan::Processes(processes) = self.hub.plan() else { return Surroundings::default() };
        Surroundings {
            environment: processes.environments.number(server, &vars),
            pinned: newcomer.pinned.clone(),
            given: newcomer.given.clone(),
            default: newcomer.default.clone(),
            named: places::of_environment(&|name| vars.get(name)),
            working_folder: newcomer.working_folder.clone(),
        }
    }

    async fn status(&self) -> Value {
        self.hub.measure().await;
        let status = self.hub.turn().status();
        json!({ "config": self.config_file, "status": status })
    }

    fn order(&self, order: OrderWord, server: &str, root: Option<&str>) -> Reply {
        let Some(at) = self.servers.iter().position(|known| known.name == server) else {
            let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
            return Reply::refusal(format!("there is no server `{server}`; there are: {}", names.join(", ")));
        };
        let order = match order {
            OrderWord::Restart => Order::Restart,
            OrderWord::Stop => Order::Stop,
            OrderWord::Start => Order::Start,
        };
        let done = self.hub.turn().order(ServerId(at as u32), root, order);
        Reply::with(json!({ "instances": done.instances }))
    }
}
