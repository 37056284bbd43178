//! A backend that is a process on this machine: started, read, stopped.

use crate::backends::Plan;
use crate::backends::launch::LaunchPlan;
use crate::backends::packages::PackagesFolder;
use crate::backends::remote;
use crate::backends::stderr::{self, Tail};
use crate::catalogue::Shelf;
use crate::config::ServerConfig;
use crate::environments::{self, Vars};
use crate::hub::Hub;
use crate::intake;
use crate::launches::Launches;
use crate::register::Register;
use crate::task;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use switchboard_core::{Environment, Event, Fact, Launch, Peer, ServerId, StopHow};
use switchboard_process::child::{Child, Remains, Spawned};
use switchboard_process::warden::Warden;
use switchboard_protocol::{Framer, Framing};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long after a process's end its last words are waited for. A grandchild may hold the pipe open for ever.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long a process that closed its input or output may take to end by itself.
const CUT_OFF_GRACE: Duration = Duration::from_secs(1);

/// What a process's keeper is told.
pub(crate) enum Order {
    Stop(StopHow),
    /// It closed its input or its output: it can serve nobody any more.
    CutOff,
}

impl Order {
    /// How long it may take to stop by itself.
    pub(crate) fn grace(&self) -> Option<Duration> {
        match self {
            Self::Stop(how) => how.grace(),
            Self::CutOff => None,
        }
    }
}

/// How to make processes of the servers, and how to read them.
pub(crate) struct Processes {
    pub(crate) register: Arc<Register>,
    pub(crate) max_message_bytes: usize,
    pub(crate) warden: Warden,
    /// For servers that are no processes of ours.
    pub(crate) clients: remote::Clients,
    /// What servers offer is stored there.
    pub(crate) shelf: Shelf,
    /// What was learnt about launches is stored there.
    pub(crate) launches: Launches,
}

impl Processes {
    pub(crate) fn new(
        register: Arc<Register>,
        max_message_bytes: usize,
        warden: Warden,
        (shelf, launches): (Shelf, Launches),
    ) -> Self {
        let clients = remote::Clients::default();
        Self { register, max_message_bytes, warden, clients, shelf, launches }
    }

    /// What a client with these variables brings along for each server, if it has all of them.
    pub(crate) fn environments_of(&self, vars: &Arc<Vars>) -> Vec<(ServerId, Environment)> {
        let mut last = Environment::default();
        let brought = |(id, server): (ServerId, Arc<ServerConfig>)| {
            last = environments::environment(&server, vars).or_same(&last);
            (id, last.clone())
        };
        self.register.listed().into_iter().map(brought).collect()
    }
}

/// What differs from one process of the server to the next.
pub(crate) struct Setting {
    pub(crate) server: ServerId,
    /// It runs in the user's home folder.
    pub(crate) in_home: bool,
    pub(crate) environment: Environment,
    pub(crate) framing: Framing,
    pub(crate) root: Option<PathBuf>,
}

/// One process, from its start to its end.
pub(crate) async fn run(
    hub: Arc<Hub>,
    launch: Launch,
    Setting { server, in_home, environment, framing, root }: Setting,
    mut orders: mpsc::Receiver<Order>,
) {
    let Plan::Processes(plan) = hub.plan() else { return };
    let Some(server) = plan.register.server(server) else { return };
    let name = server.name.clone();
    if server.remote.is_some() {
        let vars = Vars::of(&environment);
        let surroundings = (&*vars, &plan.clients, plan.max_message_bytes);
        return remote::run(hub.clone(), launch, &server, root.as_deref(), surroundings, orders).await;
    }
    let filled = LaunchPlan {
        server: (*server).clone(),
        root,
        in_home,
        vars: Vars::of(&environment),
        packages: PackagesFolder::new(plan.launches.state_folder()),
    };
    let spawned = match start(&plan.warden, &filled).await {
        Ok(spawned) => spawned,
        Err((reason, hint)) => {
            let mut turn = hub.turn();
            turn.forget(launch);
            return turn.handle(Event::SpawnFailed { launch, reason, hint });
        }
    };
    let Spawned { mut child, stdin, stdout, stderr } = spawned;
    hub.open_outbox(Peer::Backend(launch), stdin, framing);
    hub.turn().note_tree(launch, child.tree());
    hub.handle(Event::Spawned { launch, pid: child.pid() });
    if plan.warden.has_failed() {
        let layers = plan.warden.layers().to_string();
        hub.telemetry().desk().take(Fact::Layers { text: layers, are_wanting: true });
    }

    let tail = Arc::new(Mutex::new(Tail::default()));
    let words = task::spawn("stderr", stderr::follow(name, stderr, tail.clone(), hub.telemetry().clone()));
    let reading = {
        // Whatever the process's own manner of writing is, it is told from its first bytes.
        let framer = Framer::new(None, plan.max_message_bytes);
        let hub = hub.clone();
        task::spawn("reading", async move {
            intake::read_backend(&hub, launch, stdout, framer).await;
            hub.turn().cut_off(launch);
        })
    };
    let how = govern(&mut child, &mut orders).await;
    // What it left behind is told to go, and may hold the pipes open until then.
    let gone = tokio::time::timeout(LAST_WORDS, child.gone());
    let (gone, (), ()) = tokio::join!(gone, last_words(reading), last_words(words));
    match gone {
        Ok(remains) => report(&hub, launch, remains),
        // It has its time, and nobody waits for it.
        Err(_) => drop(task::spawn("remains", see_off(hub.clone(), launch, child))),
    }
    let stderr = tail.lock().unwrap_or_else(PoisonError::into_inner).text();
    let mut turn = hub.turn();
    turn.forget(launch);
    turn.handle(Event::BackendEnded { launch, how, stderr, hint: filled.hint() });
}

/// Waits for those that outlive the process, or for our own end.
async fn see_off(hub: Arc<Hub>, launch: Launch, mut child: Child) {
    tokio::select! {
        remains = child.gone() => report(&hub, launch, remains),
        () = hub.over() => {}
    }
}

fn report(hub: &Arc<Hub>, launch: Launch, Remains { ended, left }: Remains) {
    if !ended.is_empty() || left > 0 {
        hub.telemetry().desk().take(Fact::LeftBehind { backend: launch.backend, ended, left });
    }
}

async fn start(warden: &Warden, plan: &LaunchPlan) -> Result<Spawned, (String, Option<String>)> {
    let launch = plan.prepare().map_err(|failure| (failure.reason, failure.hint))?;
    let spawned = warden.spawn(&launch.launch, &plan.care()).await;
    spawned.map_err(|error| (error.to_string(), Some(launch.explain(&error))))
}

/// Waits for the process's end, or brings it about. Says how it ended.
async fn govern(child: &mut Child, orders: &mut mpsc::Receiver<Order>) -> String {
    let mut order = tokio::select! {
        ended = child.wait() => return ended.to_string(),
        order = orders.recv() => order,
    };
    let mut asked = false;
    loop {
        let ending = async {
            match order {
                Some(Order::CutOff) => cut_off(child).await,
                // Asked a second time, there is no use in waiting for what its closed input may do.
                Some(Order::Stop(StopHow::Gently { grace })) if !asked => {
                    child.stop(grace).await.ended.to_string()
                }
                Some(Order::Stop(StopHow::Gently { grace } | StopHow::Terminate { grace })) => {
                    child.terminate(grace).await.ended.to_string()
                }
                Some(Order::Stop(StopHow::Kill)) | None => {
                    child.kill_now();
                    child.wait().await.to_string()
                }
            }
        };
        order = tokio::select! {
            ended = ending => return ended,
            Some(order) = orders.recv() => Some(order),
        };
        asked = true;
    }
}

/// It closed its stdin or stdout. Most have ended with that, or are about to.
async fn cut_off(child: &mut Child) -> String {
    if let Ok(ended) = tokio::time::timeout(CUT_OFF_GRACE, child.wait()).await {
        return ended.to_string();
    }
    let ended = child.terminate(CUT_OFF_GRACE).await.ended;
    format!("it closed its stdin or stdout, and was ended ({ended})")
}

async fn last_words(task: JoinHandle<()>) {
    let abort = task.abort_handle();
    if tokio::time::timeout(LAST_WORDS, task).await.is_err() {
        abort.abort();
    }
}
