//! The user's one daemon: all windows, one set of backends. Clients come through attachments on a local socket; when the
//! last has gone, so do the backends, and then it does itself.

mod standby;

use standby::StartedServers;

use crate::backends::Plan;
use crate::backends::launch;
use crate::backends::process::Processes;
use crate::catalogue::Shelf;
use crate::config::discover::ConfigOrigin;
use crate::config::{self, Config, Guard, LogLevel, ServerConfig};
use crate::control;
use crate::environments::{Vars, environment};
use crate::fronts::http::{Front, Guests, HttpOptions, listen};
use crate::fronts::{Arrival, Wanted};
use crate::handed::ledger::State;
use crate::handed::serve::Manner;
use crate::handed::{hold, lend};
use crate::hello::{self, Envelope, Hello, Newcomer, OrderWord, Reply, Wants};
use crate::hub::Hub;
use crate::intake::{self, ClientReader};
use crate::launches::Launches;
use crate::paths as places;
use crate::place::Place;
use crate::register::Register;
use crate::reload::{Applied, Overrides, Source, Standing};
use crate::solo;
use crate::task;
use crate::telemetry::{LogOptions, Telemetry};
use crate::wiring;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use switchboard_core::{
    ClientId, Core, Environment, Event, Fact, Order, Peer, Principal, ServerId, Surroundings,
};
use switchboard_process::handover::Streams;
use switchboard_process::local::{Address, BindError, Connection, Listener};
use switchboard_process::signals::Signals;
use switchboard_protocol::{Framer, Framing};
use tokio::sync::Notify;

/// How often is looked whether those who come still find us, where the system does not report changes and where it does.
const LOOK_FOR_SOCKET: Duration = Duration::from_secs(5);
const LOOK_FOR_REPORTED_SOCKET: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a killed daemon may take to be gone, and how often is looked for that.
const DYING: Duration = Duration::from_secs(5);
const LOOK_FOR_PLACE: Duration = Duration::from_millis(5);

/// What to serve, and where.
pub struct Daemon {
    pub config: Config,
    /// The file that is watched.
    pub source: Option<Source>,
    /// Those that are enabled.
    pub servers: Vec<ServerConfig>,
    pub overrides: Overrides,
    pub address: Address,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    /// Called with what we listen at, once we do.
    pub on_listening: fn(&[listen::Address]),
    /// For clients over HTTP.
    pub http: Option<HttpOptions>,
    /// The root of clients that name none.
    pub default_root: Option<PathBuf>,
    /// It was started to stay, and not by a window: servers with `lazy: false` run without a client.
    pub stays_without_clients: bool,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    ToTheEnd,
    /// Another one is there.
    Taken,
}

/// A client's server, if it wants one alone, and the variables that it brought.
type Brought = (Option<ServerId>, Arc<Vars>);

/// What every connection needs.
pub(crate) struct Household {
    pub(crate) hub: Arc<Hub>,
    pub(crate) register: Arc<Register>,
    pub(crate) standing: Standing,
    /// Our own.
    pub(crate) vars: Arc<Vars>,
    /// The clients that are here, with what they brought along.
    clients: Mutex<BTreeMap<ClientId, Brought>>,
    framing: config::Framing,
    grace: Duration,
    pub(crate) limit: usize,
    /// We serve over HTTP.
    stays: bool,
    pub(crate) default_root: Option<String>,
    pub(crate) stays_without_clients: bool,
    pub(crate) started: StartedServers,
    /// Selections of servers, by name.
    profiles: Mutex<Vec<(String, Vec<String>)>>,
    next_client: AtomicU32,
    /// Clients that were let in and whose streams are on their way.
    arriving: AtomicUsize,
    retired: Notify,
}

/// Serves until nobody needs it, or it is told to end. Must be called within a tokio runtime.
pub async fn run(daemon: Daemon) -> io::Result<Served> {
    let signals = Signals::new()?;
    let listener = match listen_at(&daemon.address).await {
        Ok(listener) => listener,
        Err(BindError::Taken) => return Ok(Served::Taken),
        Err(BindError::Io(error)) => return Err(error),
    };
    let file = daemon.source.as_ref().map(|source| source.path.clone());
    let described = json!({ "pid": std::process::id(), "version": hello::version(), "config": file });
    daemon.address.describe(&described.to_string())?;
    let launches = Launches::new(&daemon.state_folder);
    let wants_routes = matches!(daemon.log.level, LogLevel::Debug | LogLevel::Trace);
    let vars = Arc::new(Vars::own());
    let linger = Some(daemon.config.linger);
    let shelf = Shelf::new(&daemon.state_folder);
    let mut settings =
        wiring::settings(&daemon.config, &daemon.servers, &vars, &launches, &shelf, linger, wants_routes);
    settings.stays = daemon.http.is_some();
    let (listening, listen_addresses, tls) = match &daemon.http {
        None => (Vec::new(), Vec::new(), None),
        Some(options) => {
            let tls = options.tls.clone().map(listen::Tls::load).transpose()?;
            let (listening, addresses) = listen::bind(options).await?;
            (daemon.on_listening)(&addresses);
            (listening, addresses, tls)
        }
    };
    let telemetry = Telemetry::start(daemon.log);
    if tls.is_none() {
        for address in listen_addresses.iter().filter(|address| !address.is_local()) {
            telemetry.desk().take(Fact::PlainHttp { address: address.to_string() });
        }
    }
    let warden = launch::warden_for(&daemon.servers, &daemon.state_folder);
    telemetry.desk().take(solo::layers(&warden, Guard::Auto));
    let limit = daemon.config.max_message_bytes;
    let (framing, grace) = (daemon.config.framing, daemon.config.shutdown_grace);
    let register = Register::new(daemon.servers, vars.clone());
    let processes = Processes::new(register.clone(), limit, warden, (shelf, launches));
    let hub = Hub::new(Core::new(settings), Plan::Processes(Box::new(processes)), telemetry.clone());
    let default_root = daemon.default_root.as_deref().and_then(places::canonical);
    let profiles = Mutex::new(daemon.config.profiles.clone());
    let kept_for = file.as_deref().filter(|_| daemon.stays_without_clients);
    let started = StartedServers::load(&daemon.state_folder, kept_for);
    let household = Arc::new(Household {
        hub: hub.clone(),
        register,
        standing: Standing::new(daemon.config, daemon.source, daemon.overrides),
        vars,
        clients: Mutex::default(),
        limit,
        framing,
        grace,
        stays: daemon.http.is_some(),
        default_root,
        stays_without_clients: daemon.stays_without_clients,
        started,
        profiles,
        next_client: AtomicU32::new(1),
        arriving: AtomicUsize::new(0),
        retired: Notify::new(),
    });
    // Whether anybody comes is a question of time from now on.
    hub.handle(Event::Tick);
    household.start_wanted();
    let guests = Guests::new();
    let (mut visits, mut clerks) = (Vec::new(), Vec::new());
    if let Some(options) = daemon.http {
        let (front, left) = Front::new(household.clone(), options);
        visits.push(task::spawn("parting", front.clone().part(left)));
        visits.push(task::spawn("tidying", front.clone().tidy()));
        clerks.push(task::spawn("slow", front.clone().look_after_slow()));
        clerks.push(task::spawn("accounting", front.clone().account()));
        for listening in listening {
            let welcome = listen::welcome(front.clone(), listening, tls.clone(), guests.clone());
            visits.push(task::spawn("welcoming", welcome));
        }
    }
    let (watched, measuring) = (household.clone(), household.hub.clone().keep_measuring());
    let tasks = [
        task::spawn("time", hub.clone().keep_time()),
        task::spawn("ending", solo::obey(hub.clone(), signals)),
        task::spawn("accepting", accept(household, daemon.address, listener)),
        task::spawn("watching", async move { watched.watch().await }),
        task::spawn("measuring", measuring),
        task::spawn("sweeping", solo::sweep(hub.clone())),
    ];
    hub.over().await;
    tasks.iter().chain(&visits).for_each(|task| task.abort());
    guests.see_off(PATIENCE).await;
    // What those who stayed to the end said was heard.
    clerks.iter().for_each(|clerk| clerk.abort());
    hub.all_kept(PATIENCE).await;
    hub.close_warden().await;
    telemetry.close(PATIENCE);
    Ok(Served::ToTheEnd)
}

/// Listens, if nobody does. A daemon that was killed holds its place until the system has taken it apart, which takes a
/// while on a busy machine: whoever had us started would wait for us in vain if we gave up at once.
async fn listen_at(address: &Address) -> Result<Listener, BindError> {
    let deadline = Instant::now() + DYING;
    loop {
        match Listener::bind(address) {
            Err(BindError::Taken) if Instant::now() < deadline && !is_served(address).await => {
                tokio::time::sleep(LOOK_FOR_PLACE).await;
            }
            bound => return bound,
        }
    }
}

/// Whether the one who has the place answers. One that hangs has it too.
async fn is_served(address: &Address) -> bool {
    !matches!(control::ask(address, control::Request::Status).await, Ok(None))
}

/// Lets clients in, until we end or a newer daemon takes over: then another may listen in our place.
async fn accept(household: Arc<Household>, address: Address, mut listener: Listener) {
    let mut reports = address.watch().await;
    loop {
        let time = if reports.reports_all() { LOOK_FOR_REPORTED_SOCKET } else { LOOK_FOR_SOCKET };
        let disturbed = async {
            tokio::select! {
                () = reports.changed() => {}
                () = tokio::time::sleep(time) => {}
            }
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = household.retired.notified() => return,
            () = household.hub.draining() => return,
            () = disturbed => {
                if listener.is_found() {
                    continue;
                }
                // Somebody has cleaned up the folder.
                drop(listener);
                match Listener::bind(&address) {
                    Ok(again) => listener = again,
                    Err(_) => return,
                }
                reports = address.watch().await;
                continue;
            }
        };
        // Without a descriptor for one more, the next may have more luck.
        if let Ok(connection) = accepted {
            task::spawn("attachment", attend(household.clone(), connection));
        }
    }
}

/// One connection, from its first word to its end.
async fn attend(household: Arc<Household>, mut connection: Connection) {
    let Ok(Envelope { protocol, version, wants }) = hello::hear(&mut connection.reader).await else { return };
    // What is asked of every daemon, whatever its age, is understood by every daemon.
    let Ok(wants) = serde_json::from_value::<Wants>(wants) else {
        let why = format!("the daemon (pid {}) does not know what is wanted; stop it", std::process::id());
        let _ = hello::say(&connection.writer, &Reply::refusal(why)).await;
        return;
    };
    let reply = match (Hello { protocol, version, wants }) {
        Hello { protocol, wants: Wants::Client(_) | Wants::Order { .. }, .. }
            if protocol != hello::PROTOCOL =>
        {
            Reply::refusal(format!(
                "the daemon (pid {}) speaks another protocol; stop it",
                std::process::id()
            ))
        }
        // It will ask us to make room. Nothing is to be started for it here.
        Hello { ref version, wants: Wants::Client(_), .. } if hello::is_newer(version, &hello::version()) => {
            Reply::refusal("a newer version of the daemon is wanted")
        }
        Hello { wants: Wants::Client(newcomer), .. } => {
            return household.receive(connection, *newcomer).await;
        }
        Hello { wants: Wants::Status, .. } => Reply::with(household.status().await),
        Hello { wants: Wants::Order { order, server, root }, .. } => {
            household.order(order, &server, root.as_deref()).await
        }
        Hello { wants: Wants::Reload, .. } => {
            let applied = household.reload().await;
            let file = household.standing.source.as_ref().map(|(path, _)| path);
            let told = |applied: Applied| Reply::with(json!({ "config": file, "applied": applied.shown() }));
            applied.map_or_else(Reply::refusal, told)
        }
        Hello { wants: Wants::Stop, .. } => {
            household.hub.handle(Event::Drain { why: "it was told to stop" });
            Reply::with(Value::Null)
        }
        // Meant for one before us, whose place we have taken since.
        Hello { version, wants: Wants::Retire, .. } if !hello::is_newer(&version, &hello::version()) => {
            Reply::refusal("only a newer one is made room for")
        }
        // One that serves over HTTP is there for those who come.
        Hello { wants: Wants::GiveWay, .. } if household.stays => {
            Reply::refusal("it serves over HTTP itself")
        }
        Hello { wants: Wants::Retire | Wants::GiveWay, .. } => {
            household.retired.notify_one();
            if !household.stays {
                household.hub.turn().end_all_standbys();
            }
            Reply::with(Value::Null)
        }
    };
    let _ = hello::say(&connection.writer, &reply).await;
}

impl Household {
    /// A client, from its coming to its going.
    async fn receive(&self, connection: Connection, newcomer: Newcomer) {
        if !self.hub.is_serving() {
            // It hears nothing, and looks for another.
            return;
        }
        let offers_streams = newcomer.handover == hello::HANDOVER;
        let place = match Place::take(&self.arriving, offers_streams) {
            Ok(place) => place,
            Err(why) => {
                let _ = hello::say(&connection.writer, &Reply::refusal(why)).await;
                return;
            }
        };
        let found = self.server_for(&newcomer).await;
        let result = if offers_streams { json!({ "streams": true }) } else { Value::Null };
        let reply = found.as_ref().map_or_else(Reply::refusal, |_| Reply::with(result));
        let is_told = hello::say(&connection.writer, &reply).await.is_ok();
        let (Ok(id), true) = (found, is_told) else { return };
        let habit = match id {
            Some(id) => self.register.habit(id),
            None => Some(self.register.every_habit()),
        };
        let (Some(habit), Plan::Processes(processes)) = (habit, self.hub.plan()) else { return };
        let client = self.next_client();
        let vars = Arc::new(newcomer.vars());
        let name = newcomer.shown().to_owned();
        if let Some(log) = newcomer.log.clone() {
            self.hub.telemetry().open_window(client, log);
            self.hub.turn().report_routes(self.hub.telemetry().wants_routes());
        }
        let server = id.and_then(|id| self.register.server(id));
        let environment = server.map(|server| environment(&server, &vars)).unwrap_or_default();
        let wants = match id {
            Some(id) => Wanted::One(id),
            None => Wanted::All(processes.environments_of(&vars)),
        };
        let surroundings = surroundings(environment, newcomer, &vars);
        self.clients().insert(client, (id, vars));
        let hub = &self.hub;
        if offers_streams {
            let here = Arrival { client, wants, surroundings, reader: ClientReader::new(habit) };
            return self.hold(connection, here, name, place).await;
        }
        drop(place);
        let Connection { reader, writer, .. } = connection;
        hub.open_outbox(Peer::Client(client), writer, Framing::Newline);
        hub.handle(wants.event(client, surroundings));
        let framer = Framer::new(Some(Framing::Newline), self.limit);
        intake::read_client(hub, client, reader, framer, ClientReader::new(habit)).await;
        // An attachment closes when it is done, or it is gone: nobody reads any more.
        self.part_with(client);
    }

    /// The same for one whose own streams we get. The attachment only says when that is to end.
    async fn hold(&self, mut connection: Connection, here: Arrival, server: String, place: Place<'_>) {
        let client = here.client;
        let framing = wiring::fixed(self.framing);
        let manner = Manner { framing, limit: self.limit, grace: self.grace, server };
        let received = Streams::receive(&mut connection).await;
        drop(place);
        let held = match received {
            Ok(streams) => hold::hold(&self.hub, here, &streams, manner, &mut connection).await,
            Err(_) => State::LetGo,
        };
        self.part_with(client);
        let last_word = match held {
            State::Over => lend::OVER,
            State::Exited => lend::EXITED,
            State::Serving | State::LetGo => return,
        };
        let _ = lend::say(&connection.writer, last_word).await;
    }

    fn part_with(&self, client: ClientId) {
        self.clients().remove(&client);
        let mut turn = self.hub.turn();
        turn.handle(Event::ClientLost { client });
        turn.forget_client(client);
        drop(turn);
        if self.hub.telemetry().close_window(client) {
            self.hub.turn().report_routes(self.hub.telemetry().wants_routes());
        }
    }

    /// All servers (nothing), the config's server of that name, or the one that a command line gave: only if our own config says that we start
    /// such. Otherwise whoever can reach the socket could have us run what it likes.
    async fn server_for(&self, newcomer: &Newcomer) -> Result<Option<ServerId>, String> {
        if newcomer.everything {
            return Ok(None);
        }
        let Some(ad_hoc) = newcomer.ad_hoc.clone() else {
            let found = self.register.find(&newcomer.server).map(|(id, _)| Some(id));
            return found.ok_or_else(|| self.register.there_is_no(&newcomer.server));
        };
        self.bring(&newcomer.server, ad_hoc).await.map(Some)
    }

    pub(crate) fn next_client(&self) -> ClientId {
        ClientId(self.next_client.fetch_add(1, Ordering::Relaxed))
    }

    /// The servers of a selection.
    pub(crate) fn profile(&self, name: &str) -> Option<Vec<ServerId>> {
        let profiles = self.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, servers) = profiles.iter().find(|(known, _)| known == name)?;
        Some(servers.iter().filter_map(|server| self.register.find(server)).map(|(id, _)| id).collect())
    }

    pub(crate) fn set_profiles(&self, new: Vec<(String, Vec<String>)>) {
        *self.profiles.lock().unwrap_or_else(PoisonError::into_inner) = new;
    }

    pub(crate) fn clients(&self) -> MutexGuard<'_, BTreeMap<ClientId, Brought>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn status(&self) -> Value {
        self.hub.measure().await;
        let status = self.hub.turn().status();
        let (file, origin) = self.standing.source.as_ref().map(|(path, origin)| (path, *origin)).unzip();
        let (is_project, owner) = (origin == Some(ConfigOrigin::Project), self.standing.owners.also);
        json!({ "config": file, "isProject": is_project, "configOwner": owner, "status": status })
    }

    async fn order(&self, order: OrderWord, server: &str, root: Option<&str>) -> Reply {
        let Some((id, config)) = self.register.find(server) else {
            return Reply::refusal(self.register.there_is_no(server));
        };
        let order = match order {
            OrderWord::Start => return self.start(server, id, root).await,
            OrderWord::Stop => return self.stop_server(server, id, root),
            OrderWord::Restart => Order::Restart,
            OrderWord::Forget => {
                self.forget_stored(&config);
                Order::Forget
            }
        };
        let done = self.hub.turn().order(id, root, order);
        Reply::with(json!({ "instances": done.instances }))
    }
}

/// Where a client that came through an attachment comes from.
fn surroundings(environment: Environment, newcomer: Newcomer, vars: &Arc<Vars>) -> Surroundings {
    Surroundings {
        principal: Principal::OWNER,
        environment,
        pinned: newcomer.pinned,
        given: newcomer.given,
        default: newcomer.default,
        named: places::of_environment(&|name| vars.get(name)),
        working_folder: newcomer.working_folder,
        goes_by_request: false,
        is_elsewhere: false,
        refusal_mark: newcomer.refusal_mark.map(Into::into),
    }
}
