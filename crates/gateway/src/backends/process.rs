//! A backend that is a process on this machine: started, read, stopped. Must not know of the config's other servers.

use super::launch::LaunchPlan;
use super::stderr::{self, Tail};
use super::{BackendOrder, BackendOrders};
use crate::hub::Hub;
use crate::hub::reading::read_backend;
use crate::io::task;
use std::sync::Arc;
use std::time::Duration;
use switchboard_core::{Event, Fact, Launch, Peer, StopHow};
use switchboard_process::child::{Child, Remains, Spawned};
use switchboard_process::lock::Lock;
use switchboard_process::warden::Warden;
use switchboard_protocol::{Framer, Framing};
use tokio::task::JoinHandle;

/// How long after a process's end its last output is waited for. A grandchild may hold the pipe open for ever.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a process that closed its input or output may take to end by itself.
const CUT_OFF_GRACE: Duration = Duration::from_secs(1);

/// Messages on a process's pipes.
pub(crate) struct Wire {
    /// How it is written to; how it writes is told from its first bytes.
    pub(crate) framing: Framing,
    pub(crate) max_message_bytes: usize,
}

/// One process, from its start to its end.
pub(crate) async fn run(
    hub: Arc<Hub>,
    launch: Launch,
    warden: &Warden,
    filled: LaunchPlan,
    wire: Wire,
    mut orders: BackendOrders,
) {
    let name = filled.server.name.clone();
    let spawned = match start(warden, &filled).await {
        Ok(spawned) => spawned,
        Err((reason, hint)) => {
            let mut turn = hub.turn();
            turn.forget(launch);
            return turn.handle(Event::SpawnFailed { launch, reason, hint });
        }
    };
    let Spawned { mut child, stdin, stdout, stderr } = spawned;
    hub.open_outbox(Peer::Backend(launch), stdin, wire.framing);
    hub.turn().note_tree(launch, child.tree());
    hub.handle(Event::Spawned { launch, pid: child.pid() });
    if warden.has_failed() {
        let layers = warden.layers().to_string();
        hub.telemetry().desk().take(Fact::Layers { text: layers, are_wanting: true });
    }

    let tail = Arc::new(Lock::new(Tail::default()));
    let words = task::spawn("stderr", stderr::follow(name, stderr, tail.clone(), hub.telemetry().clone()));
    let reading = {
        let framer = Framer::new(None, wire.max_message_bytes);
        let hub = hub.clone();
        task::spawn("reading", async move {
            read_backend(&hub, launch, stdout, framer).await;
            hub.turn().cut_off(launch);
        })
    };
    let how = govern(&mut child, &mut orders).await;
    // What it left behind is told to go, and may hold the pipes open until then.
    let gone = tokio::time::timeout(LAST_OUTPUT_TIMEOUT, child.gone());
    let (gone, (), ()) = tokio::join!(gone, last_output(reading), last_output(words));
    match gone {
        Ok(remains) => report(&hub, launch, remains),
        // It has its time, and nobody waits for it.
        Err(_) => drop(task::spawn("remains", see_off(hub.clone(), launch, child))),
    }
    let stderr = tail.lock().text();
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
    let spawned = warden.spawn(&launch.launch, &plan.guard_options()).await;
    spawned.map_err(|error| (error.to_string(), Some(launch.explain(&error))))
}

/// Waits for the process's end, or brings it about. Says how it ended.
async fn govern(child: &mut Child, orders: &mut BackendOrders) -> String {
    let mut order = tokio::select! {
        ended = child.wait() => return ended.to_string(),
        order = orders.recv() => order,
    };
    let mut asked = false;
    loop {
        let ending = async {
            match order {
                Some(BackendOrder::CutOff) => cut_off(child).await,
                // Asked a second time, there is no use in waiting for what its closed input may do.
                Some(BackendOrder::Stop(StopHow::Gently { grace })) if !asked => {
                    child.stop(grace).await.ended.to_string()
                }
                Some(BackendOrder::Stop(StopHow::Gently { grace } | StopHow::Terminate { grace })) => {
                    child.terminate(grace).await.ended.to_string()
                }
                Some(BackendOrder::Stop(StopHow::Kill)) | None => {
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

async fn last_output(task: JoinHandle<()>) {
    let abort = task.abort_handle();
    if tokio::time::timeout(LAST_OUTPUT_TIMEOUT, task).await.is_err() {
        abort.abort();
    }
}
