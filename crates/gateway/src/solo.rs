//! One client on our standard streams, and its backend, in one process.

use crate::backends::launch::LaunchPlan;
use crate::backends::process::Plan;
use crate::config::{Config, Dialect, Framing, Guard, LogLevel, OnTimeout, RetryAfterCrash, ServerConfig};
use crate::fronts;
use crate::hub::Hub;
use crate::task;
use crate::telemetry::verdicts::Verdicts;
use crate::telemetry::{LogOptions, Telemetry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_core::{ClientId, Core, Event, Fact, FramingChoice, Limits, ServerSettings, Settings};
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
    pub root: Option<PathBuf>,
    pub state_folder: PathBuf,
    pub log: LogOptions,
    /// The end of the process that started us is not the client's.
    pub ignore_parent: bool,
}

/// Serves the client until it, or a signal, ends it. Must be called within a tokio runtime.
pub async fn run(solo: Solo, stdio: OwnStdio) -> std::io::Result<()> {
    let parent = Parent::watch();
    let signals = Signals::new()?;
    let verdicts = Verdicts::new(&solo.state_folder, &solo.server);
    let wants_routes = matches!(solo.log.level, LogLevel::Debug | LogLevel::Trace);
    let plan = LaunchPlan { server: solo.server, root: solo.root };
    let settings = settings(&solo.config, &plan, &verdicts, wants_routes);
    let telemetry = Telemetry::start(solo.log, verdicts);
    let warden = plan.warden(&solo.state_folder);
    telemetry.desk().take(layers(&warden, plan.server.guard));
    let plan = Plan { launch: plan, max_message_bytes: solo.config.max_message_bytes, warden };
    let hub = Hub::new(Core::new(settings), plan, telemetry.clone());

    let client = ClientId(1);
    let framing = fixed(solo.config.framing);
    let time = task::spawn("time", hub.clone().keep_time());
    let ending = task::spawn("ending", obey(hub.clone(), signals));
    let limit = solo.config.max_message_bytes;
    let serving = task::spawn("serving", fronts::stdio::serve(hub.clone(), client, stdio, framing, limit));
    let sweeping = task::spawn("sweeping", sweep(hub.clone()));
    let following = task::spawn("following", follow(hub.clone(), client, parent, solo.ignore_parent));
    hub.finished(client, PATIENCE).await;
    for task in [time, ending, serving, sweeping, following] {
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

fn settings(config: &Config, plan: &LaunchPlan, verdicts: &Verdicts, report_routes: bool) -> Settings {
    let server = &plan.server;
    let framing = fixed(server.framing).map_or_else(|| verdicts.choice(), FramingChoice::Fixed);
    let dialect = match config.dialect {
        Dialect::Auto => Ear::Open,
        Dialect::Standard => Ear::Fixed(switchboard_protocol::Dialect::Standard),
        Dialect::Bare => Ear::Fixed(switchboard_protocol::Dialect::Bare),
    };
    Settings {
        server: ServerSettings {
            name: server.name.clone(),
            root: plan.root.as_ref().map(|root| root.display().to_string()),
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
