//! One client on our standard streams, and its backends, in one process.

use crate::backends::Plan;
use crate::backends::launch;
use crate::backends::process::Processes;
use crate::backends::servers::Register;
use crate::catalogue::Shelf;
use crate::config::{Config, Guard, LogLevel, ServerConfig};
use crate::environments::{Vars, environment};
use crate::fronts::{self, Arrival, Wanted};
use crate::hub::Hub;
use crate::io::reader::ClientReader;
use crate::io::task;
use crate::launches::Launches;
use crate::settings::{self, RootOptions, fixed};
use crate::telemetry::{LogOptions, Telemetry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::{ClientId, Core, Event, Fact, ServerId, Surroundings};
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;
use switchboard_process::warden::{Swept, Warden};

/// How long the last answers may take to be read, and the last log lines to be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// What to run.
pub struct Solo {
    pub config: Config,
    pub servers: Vec<ServerConfig>,
    /// The client sees all of them as one, and not the only one as it is.
    pub as_one: bool,
    pub roots: RootOptions,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    /// The end of the process that started us is not the client's.
    pub ignore_parent: bool,
}

/// Serves the client until it, or a signal, ends it. Must be called within a tokio runtime.
pub async fn run(solo: Solo, stdio: OwnStdio) -> std::io::Result<()> {
    let parent = Parent::watch();
    let signals = Signals::new()?;
    let launches = Launches::new(&solo.state_folder);
    let wants_routes = matches!(solo.log.level, LogLevel::Debug | LogLevel::Trace);
    let servers = solo.servers;
    let vars = Arc::new(Vars::own());
    let shelf = Shelf::new(&solo.state_folder);
    let settings = settings::of_config(&solo.config, &servers, &vars, &launches, &shelf, None, wants_routes);
    let telemetry = Telemetry::start(solo.log);
    let warden = launch::warden_for(&servers, &solo.state_folder);
    let is_off = !servers.is_empty() && servers.iter().all(|server| server.guard == Guard::Off);
    telemetry.desk().take(layers(&warden, if is_off { Guard::Off } else { Guard::Auto }));
    let register = Register::new(servers, vars.clone());
    let habit = if solo.as_one { Some(register.every_habit()) } else { register.habit(ServerId(0)) };
    let reader = habit.map(ClientReader::new).unwrap_or_default();
    let processes =
        Processes::new(register.clone(), solo.config.max_message_bytes, warden, (shelf, launches));
    let wants = match solo.as_one {
        true => Wanted::All(processes.environments_of(&vars)),
        false => Wanted::One(ServerId(0)),
    };
    let hub = Hub::new(Core::new(settings), Plan::Processes(Box::new(processes)), telemetry.clone());

    let client = ClientId(1);
    let framing = fixed(solo.config.framing);
    let time = task::spawn("time", hub.clone().keep_time());
    let ending = task::spawn("ending", obey(hub.clone(), signals));
    let limit = solo.config.max_message_bytes;
    let own = (!solo.as_one).then(|| register.server(ServerId(0))).flatten();
    let own = own.map(|server| environment(&server, &vars)).unwrap_or_default();
    let surroundings = Surroundings { environment: own, ..settings::own_surroundings(&solo.roots) };
    let here = Arrival { client, wants, surroundings, reader };
    let serving = task::spawn("serving", fronts::stdio::serve(hub.clone(), here, stdio, framing, limit));
    let measuring = task::spawn("measuring", hub.clone().keep_measuring());
    let sweeping = task::spawn("sweeping", sweep(hub.clone()));
    let following = task::spawn("following", follow(hub.clone(), client, parent, solo.ignore_parent));
    hub.finished(client, PATIENCE).await;
    for task in [time, ending, serving, measuring, sweeping, following] {
        task.abort();
    }
    hub.all_kept(PATIENCE).await;
    hub.close_warden().await;
    telemetry.close(PATIENCE);
    Ok(())
}

pub(crate) fn layers(warden: &Warden, guard: Guard) -> Fact {
    match guard {
        Guard::Auto | Guard::Strict => {
            let layers = warden.layers();
            Fact::Layers { text: layers.to_string(), are_wanting: layers.are_wanting() }
        }
        Guard::Off => Fact::Layers { text: "guard: off, as was asked for".to_owned(), are_wanting: false },
    }
}

/// Cleans up behind runs that were killed with all that watched over them.
pub(crate) async fn sweep(hub: Arc<Hub>) {
    for Swept { ended, left } in hub.sweep().await.into_iter().filter(|swept| *swept != Swept::default()) {
        let names = ended.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        hub.telemetry().desk().take(Fact::Swept { names, left });
    }
}

/// A client that has ended reads nothing any more, even if somebody else holds our input open.
pub(crate) async fn follow(hub: Arc<Hub>, client: ClientId, mut parent: Parent, is_ignored: bool) {
    if is_ignored {
        return;
    }
    parent.gone().await;
    hub.telemetry().desk().take(Fact::ParentGone);
    // What it has written before is still read, if that is all there is; else its input would end by itself.
    hub.handle(Event::ClientInputEnded { client });
    hub.handle(Event::ClientLost { client });
}

/// The first signal asks to end in order (and, if the client had closed its end before, in haste), the second
/// to end at once.
pub(crate) async fn obey(hub: Arc<Hub>, mut signals: Signals) {
    let why = signals.next().await;
    hub.handle(Event::Drain { why });
    signals.next().await;
    hub.handle(Event::Kill);
}
