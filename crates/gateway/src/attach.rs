//! A client on our standard streams, carried to the user's one daemon. What the daemon is to us a server's process is to
//! a gateway: if it ends, what was open gets an error, another one is started, and hears the client's handshake again. So
//! the core does here what it does there.

use crate::backends::{Plan, launch};
use crate::config::Config;
use crate::environments::Vars;
use crate::fronts::http::token;
use crate::fronts::{self, Arrival, Wanted};
use crate::handed::ledger::State;
use crate::handed::lend::{self, Lent, Watch};
use crate::handed::serve::{Manner, serve};
use crate::hello::{AdHoc, Newcomer};
use crate::hub::Hub;
use crate::intake::ClientReader;
use crate::link::{DaemonCommand, Link};
use crate::solo;
use crate::sweeps::Sweeps;
use crate::task;
use crate::telemetry::{Telemetry, WindowLog};
use crate::wiring::{self, RootOptions, fixed};
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;
use switchboard_core::{
    Aggregates, ClientId, Core, Event, FramingChoice, Limits, OnTimeout, Pool, Roots, ServerId,
    ServerSettings, Settings, Surroundings,
};
use switchboard_process::handover::Streams;
use switchboard_process::local::Address;
use switchboard_process::memory::forget_the_start;
use switchboard_process::parent::Parent;
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;
use switchboard_protocol::Framing;

/// The daemon has the deadlines; ours only keep the books from growing for ever.
const FOR_EVER: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// By then a client has been greeted, and has its lists.
const STARTED: Duration = Duration::from_secs(2);
/// How often a daemon that is at work for us is asked whether it lives. With the ten seconds that it has for an answer, one
/// that hangs is given up within fifteen.
const SIGN_OF_LIFE: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(1);

/// What to attach, and where to.
pub struct Attach {
    pub config: Config,
    /// The server's name; nothing for all of the config's, as one.
    pub server: Option<String>,
    /// How to start it, if it is not the config's.
    pub ad_hoc: Option<AdHoc>,
    pub roots: RootOptions,
    pub address: Address,
    pub state_folder: PathBuf,
    pub command: DaemonCommand,
    pub log: WindowLog,
    pub ignore_parent: bool,
}

/// Where the client's streams are while we carry every message ourselves.
enum Streamed {
    Own(OwnStdio),
    /// They were another's before.
    Handed(Streams),
}

/// No daemon can be had: the streams are given back.
pub struct Alone {
    pub stdio: OwnStdio,
    pub why: io::Error,
}

/// Serves the client until it, or a signal, ends it. Must be called within a tokio runtime.
pub async fn run(attach: Attach, stdio: OwnStdio) -> Result<(), Alone> {
    let parent = Parent::watch();
    let sweeps = Sweeps::new(launch::runs_folder(&attach.state_folder));
    let mut link = Link {
        address: attach.address,
        command: attach.command,
        newcomer: Newcomer {
            log: Some(attach.log).filter(|log| !log.is_default()),
            ..newcomer(attach.server.as_deref(), attach.ad_hoc, &attach.roots)
        },
        max_message_bytes: attach.config.max_message_bytes,
        sweeps: sweeps.clone(),
        first: Mutex::new(None),
    };
    let signals = match Signals::new() {
        Ok(signals) => signals,
        Err(why) => return Err(Alone { stdio, why }),
    };
    let streams = lend::streams_of(&stdio);
    let (connection, takes_streams) = match link.open(streams.is_some()).await {
        Ok(opened) => opened,
        Err(why) => return Err(Alone { stdio, why }),
    };
    let forgetting = task::spawn("forgetting", async {
        tokio::time::sleep(STARTED).await;
        forget_the_start();
    });
    let (streamed, signals, parent) = match streams.filter(|_| takes_streams) {
        Some(streams) => {
            // Nobody here is woken by what the client says.
            drop(stdio);
            let grace = attach.config.shutdown_grace;
            let watch = Watch { signals, parent, ignore_parent: attach.ignore_parent, grace };
            let lending = task::spawn("lending", async move {
                let lent = lend::lend(&link, connection, streams, watch).await;
                (link, lent)
            });
            let Ok((back, lent)) = lending.await else { return Ok(()) };
            let Lent::Back(streams, watch) = lent else {
                sweeps.finished().await;
                return Ok(());
            };
            link = back;
            (Streamed::Handed(streams), watch.signals, watch.parent)
        }
        None => {
            *link.first.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(connection);
            (Streamed::Own(stdio), signals, parent)
        }
    };
    let name = link.newcomer.shown().to_owned();
    let telemetry = Telemetry::silent();
    let settings = settings(&attach.config, &name, link.newcomer.refusal_mark.as_deref());
    let hub = Hub::new(Core::new(settings), Plan::Daemon(Box::new(link)), telemetry);
    let client = ClientId(1);
    let time = task::spawn("time", hub.clone().keep_time());
    let ending = task::spawn("ending", solo::obey(hub.clone(), signals));
    let reader = ClientReader::default();
    let surroundings = Surroundings::default();
    let here = Arrival { client, wants: Wanted::One(ServerId(0)), surroundings, reader };
    let (framing, limit) = (fixed(attach.config.framing), attach.config.max_message_bytes);
    let serving = match streamed {
        Streamed::Own(stdio) => {
            task::spawn("serving", fronts::stdio::serve(hub.clone(), here, stdio, framing, limit))
        }
        Streamed::Handed(streams) => {
            let manner = Manner { framing, limit, grace: attach.config.shutdown_grace, server: name };
            let hub = hub.clone();
            task::spawn("serving", async move {
                let served = serve(&hub, here, &streams, manner, std::future::pending()).await;
                // Nobody reads any more.
                if served.is_err() || matches!(served, Ok(State::Over)) {
                    hub.handle(Event::ClientLost { client });
                }
            })
        }
    };
    let following = task::spawn("following", solo::follow(hub.clone(), client, parent, attach.ignore_parent));
    hub.finished(client, PATIENCE).await;
    for task in [time, ending, serving, following, forgetting] {
        task.abort();
    }
    sweeps.finished().await;
    Ok(())
}

fn newcomer(server: Option<&str>, ad_hoc: Option<AdHoc>, roots: &RootOptions) -> Newcomer {
    let own = wiring::own_surroundings(roots);
    let text = |pair: (std::ffi::OsString, std::ffi::OsString)| {
        Some((pair.0.into_string().ok()?, pair.1.into_string().ok()?))
    };
    Newcomer {
        server: server.unwrap_or_default().to_owned(),
        everything: server.is_none(),
        ad_hoc,
        working_folder: own.working_folder,
        pinned: own.pinned,
        given: own.given,
        default: own.default,
        env: Vars::own().all().filter_map(text).collect(),
        handover: 0,
        // Without random numbers a request that is turned away is answered with an error.
        refusal_mark: token::random().ok(),
        log: None,
    }
}

/// Everything passes: limits and deadlines are the daemon's.
fn settings(config: &Config, server: &str, refusal_mark: Option<&str>) -> Settings {
    let relay = ServerSettings {
        relays: true,
        refusal_mark: refusal_mark.map(Into::into),
        framing: FramingChoice::Fixed(Framing::Newline),
        start_timeout: FOR_EVER,
        timeout: FOR_EVER,
        on_timeout: OnTimeout::Keep,
        health: Some(SIGN_OF_LIFE),
        shutdown_grace: PATIENCE,
        max_in_flight: usize::MAX,
        max_queue: Limits::default().pending_per_client,
        ..ServerSettings::new(server)
    };
    Settings {
        servers: vec![relay],
        pool: Pool::default(),
        roots: Roots::default(),
        dialect: wiring::learnt_dialect(config.dialect),
        shutdown_grace: config.shutdown_grace,
        limits: wiring::limits(config),
        linger: None,
        aggregates: Aggregates::default(),
        stays: false,
        first_question: 1,
        seed: u64::from(std::process::id()),
        report_routes: false,
    }
}
