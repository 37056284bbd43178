//! One client on our standard streams, and its backend, in one process.

use crate::backends::launch;
use crate::backends::process::Plan;
use crate::config::{
    Capabilities, Config, Dialect, Framing, Guard, LogLevel, OnTimeout, RetryAfterCrash, Scope, ServerConfig,
    expand,
};
use crate::fronts::{self, Arrival};
use crate::hub::Hub;
use crate::intake::ClientReader;
use crate::known;
use crate::places;
use crate::task;
use crate::telemetry::verdicts::Verdicts;
use crate::telemetry::{LogOptions, Telemetry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_core::roots::Policy;
use switchboard_core::roots::path::Style;
use switchboard_core::{
    ClientId, Core, Event, Fact, FramingChoice, Limits, Pool, Roots, ServerSettings, Settings, Surroundings,
};
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;
use switchboard_process::warden::{Swept, Warden};
use switchboard_protocol::dialect::Ear;

/// How long the last answers may take to be read, and the last log lines to be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// What to run.
pub struct Solo {
    pub config: Config,
    pub server: ServerConfig,
    pub roots: RootOptions,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    /// The end of the process that started us is not the client's.
    pub ignore_parent: bool,
}

/// The workspaces that the command line and the config name, as canonical paths.
#[derive(Debug, Default, Clone)]
pub struct RootOptions {
    pub pinned: Option<PathBuf>,
    pub given: Vec<PathBuf>,
    pub default: Option<PathBuf>,
}

/// Serves the client until it, or a signal, ends it. Must be called within a tokio runtime.
pub async fn run(solo: Solo, stdio: OwnStdio) -> std::io::Result<()> {
    let parent = Parent::watch();
    let signals = Signals::new()?;
    let verdicts = Verdicts::new(&solo.state_folder, &solo.server);
    let wants_routes = matches!(solo.log.level, LogLevel::Debug | LogLevel::Trace);
    let server = solo.server;
    let settings = settings(&solo.config, &server, &solo.roots, &verdicts, wants_routes);
    let reader = ClientReader::new(settings.server.splits, &server.root_arguments);
    let is_limited = server.memory_limit.is_some() || solo.config.pool.memory_limit.is_some();
    let telemetry = Telemetry::start(solo.log, verdicts);
    let warden = launch::warden(&server, &solo.state_folder);
    telemetry.desk().take(layers(&warden, server.guard));
    let plan = Plan { server, max_message_bytes: solo.config.max_message_bytes, warden };
    let hub = Hub::new(Core::new(settings), plan, telemetry.clone());

    let client = ClientId(1);
    let framing = fixed(solo.config.framing);
    let time = task::spawn("time", hub.clone().keep_time());
    let ending = task::spawn("ending", obey(hub.clone(), signals));
    let limit = solo.config.max_message_bytes;
    let here = Arrival { client, surroundings: surroundings(solo.roots.pinned), reader };
    let serving = task::spawn("serving", fronts::stdio::serve(hub.clone(), here, stdio, framing, limit));
    let measuring = is_limited.then(|| task::spawn("measuring", hub.clone().keep_measuring()));
    let sweeping = task::spawn("sweeping", sweep(hub.clone()));
    let following = task::spawn("following", follow(hub.clone(), client, parent, solo.ignore_parent));
    hub.finished(client, PATIENCE).await;
    for task in [time, ending, serving, sweeping, following].into_iter().chain(measuring) {
        task.abort();
    }
    hub.warden().close().await;
    telemetry.close(PATIENCE);
    Ok(())
}

fn layers(warden: &Warden, guard: Guard) -> Fact {
    match guard {
        Guard::Auto | Guard::Strict => {
            let layers = warden.layers();
            Fact::Layers { text: layers.to_string(), are_wanting: layers.are_wanting() }
        }
        Guard::Off => Fact::Layers { text: "guard: off, as was asked for".to_owned(), are_wanting: false },
    }
}

/// Cleans up behind runs that were killed with all that watched over them.
async fn sweep(hub: Arc<Hub>) {
    for Swept { ended, left } in
        hub.warden().sweep().await.into_iter().filter(|swept| *swept != Swept::default())
    {
        let names = ended.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        hub.telemetry().desk().take(Fact::Swept { names, left });
    }
}

/// A client that has ended reads nothing any more, even if somebody else holds our input open.
async fn follow(hub: Arc<Hub>, client: ClientId, mut parent: Parent, is_ignored: bool) {
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
async fn obey(hub: Arc<Hub>, mut signals: Signals) {
    let why = signals.next().await;
    hub.handle(Event::Drain { why });
    signals.next().await;
    hub.handle(Event::Kill);
}

/// Where our one client comes from: it started us, so our surroundings are its own.
fn surroundings(pinned: Option<PathBuf>) -> Surroundings {
    Surroundings {
        environment: 0,
        pinned: pinned.as_deref().and_then(places::canonical),
        named: places::of_environment(&|name| std::env::var_os(name)),
        working_folder: places::working_folder(),
    }
}

fn known_roots(config: &Config, roots: &RootOptions) -> Roots {
    Roots {
        given: roots.given.iter().filter_map(|root| places::canonical(root)).collect(),
        default: roots.default.as_deref().and_then(places::canonical),
        home: places::home(&|name| std::env::var_os(name)),
        policy: Policy { open_roots: config.open_roots, fallback: config.fallback, style: Style::OWN },
    }
}

fn settings(
    config: &Config,
    server: &ServerConfig,
    roots: &RootOptions,
    verdicts: &Verdicts,
    report_routes: bool,
) -> Settings {
    let vars = |name: &str| std::env::var_os(name);
    let framing = fixed(server.framing).map_or_else(|| verdicts.choice(), FramingChoice::Fixed);
    let dialect = match config.dialect {
        Dialect::Auto => Ear::Open,
        Dialect::Standard => Ear::Fixed(switchboard_protocol::Dialect::Standard),
        Dialect::Bare => Ear::Fixed(switchboard_protocol::Dialect::Bare),
    };
    Settings {
        server: ServerSettings {
            name: server.name.clone(),
            scope: match server.scope {
                Scope::Root => switchboard_core::Scope::Root,
                Scope::Global => switchboard_core::Scope::Global,
                Scope::Client => switchboard_core::Scope::Client,
            },
            splits: expand::uses_root(server, &vars) || !server.root_arguments.is_empty(),
            needs_root: expand::needs_root(server, &vars),
            state: known::state_of(server).0,
            capabilities: match server.capabilities {
                Capabilities::Auto => switchboard_core::Capabilities::Auto,
                Capabilities::Exact => switchboard_core::Capabilities::Exact,
                Capabilities::Shared => switchboard_core::Capabilities::Shared,
            },
            max_backends: server.max_backends,
            idle_ttl: server.idle_ttl,
            memory_limit: server.memory_limit,
            health: server.health,
            debounce: server.debounce.clone(),
            framing,
            start_timeout: server.start_timeout,
            timeout: server.timeout,
            hard_timeout: server.hard_timeout,
            on_timeout: match server.on_timeout {
                OnTimeout::Probe => switchboard_core::OnTimeout::Probe,
                OnTimeout::Restart => switchboard_core::OnTimeout::Restart,
                OnTimeout::Keep => switchboard_core::OnTimeout::Keep,
            },
            retry_after_crash: match server.retry_after_crash {
                RetryAfterCrash::Safe => switchboard_core::RetryAfterCrash::Safe,
                RetryAfterCrash::Off => switchboard_core::RetryAfterCrash::Off,
            },
            shutdown_grace: server.shutdown_grace,
            max_in_flight: server.max_in_flight,
            max_queue: server.max_queue,
        },
        pool: Pool { max_backends: config.pool.max_backends, memory_limit: config.pool.memory_limit },
        roots: known_roots(config, roots),
        dialect,
        shutdown_grace: config.shutdown_grace,
        limits: Limits {
            // Whatever is accepted as one message must have room, and a few more behind it.
            client_bytes: Limits::default().client_bytes.max(4 * config.max_message_bytes),
            backend_bytes: Limits::default().backend_bytes.max(4 * config.max_message_bytes),
            ..Limits::default()
        },
        seed: SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |elapsed| elapsed.as_nanos() as u64),
        report_routes,
    }
}

fn fixed(framing: Framing) -> Option<switchboard_protocol::Framing> {
    match framing {
        Framing::Auto => None,
        Framing::Newline => Some(switchboard_protocol::Framing::Newline),
        Framing::ContentLength => Some(switchboard_protocol::Framing::ContentLength),
    }
}
