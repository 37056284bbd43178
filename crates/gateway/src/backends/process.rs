//! A backend that is a local process: start, reading, stop. Must not know the config's other servers.

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

/// Time limit for output after a process's end. A grandchild may hold the pipe open for ever.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// Grace period for a process that closed its stdin or stdout.
const CUT_OFF_GRACE: Duration = Duration::from_secs(1);

/// Framing and size limit of messages on a process's pipes.
pub(crate) struct Wire {
    /// Framing of our output. The process's own framing is detected from its first bytes.
    pub(crate) framing: Framing,
    pub(crate) max_message_bytes: usize,
}

/// Governs one process from start to end.
pub(crate) async fn run(
    hub: Arc<Hub>,
    launch: Launch,
    warden: &Warden,
    filled: LaunchPlan,
    wire: Wire,
    mut orders: BackendOrders,
) {
    let name = filled.server.name.clone();
    // Before the start: the first words of the process may hold one.
    hub.learn_secrets(filled.secrets());
    let spawned = match start(warden, &filled).await {
        Ok(spawned) => spawned,
        Err((reason, hint)) => {
            let mut turn = hub.turn();
            turn.forget(launch);
            return turn.handle(Event::SpawnFailed { launch, reason, hint });
        }
    };
    let Spawned { mut child, stdin, stdout, stderr } = spawned;
    // The outbox must exist before the core hears of the start, since it answers with messages to write.
    hub.open_outbox(Peer::Backend(launch), stdin, wire.framing);
    hub.turn().note_tree(launch, child.tree());
    hub.handle(Event::Spawned { launch, pid: child.pid() });
    // Guards may turn out not to work only when the first one is used.
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
            // Without stdout the server cannot answer any more, even if its process lives on.
            hub.turn().cut_off(launch);
        })
    };
    let how = govern(&mut child, &mut orders).await;
    // Descendants of the process are being ended, and may hold the pipes open until then.
    let gone = tokio::time::timeout(LAST_OUTPUT_TIMEOUT, child.gone());
    // Concurrently, within the same timeout: the same descendant may hold up all three.
    let (gone, (), ()) = tokio::join!(gone, last_output(reading), last_output(words));
    match gone {
        Ok(remains) => report(&hub, launch, remains),
        // Descendants that need longer are waited for in the background.
        Err(_) => drop(task::spawn("remains", see_off(hub.clone(), launch, child))),
    }
    let stderr = tail.lock().text();
    let mut turn = hub.turn();
    turn.forget(launch);
    turn.handle(Event::BackendEnded { launch, how, stderr, hint: filled.hint() });
}

/// Waits for descendants that outlive the process, or for our own end.
async fn see_off(hub: Arc<Hub>, launch: Launch, mut child: Child) {
    tokio::select! {
        remains = child.gone() => report(&hub, launch, remains),
        // At our own end the guard goes on without us.
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

/// Waits for the process's end, or brings it about. Returns how it ended.
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
                // On a second request to stop, closing stdin has had its chance.
                Some(BackendOrder::Stop(StopHow::Gently { grace })) if !asked => {
                    child.stop(grace).await.ended.to_string()
                }
                Some(BackendOrder::Stop(StopHow::Gently { grace } | StopHow::Terminate { grace })) => {
                    child.terminate(grace).await.ended.to_string()
                }
                // Without a sender no further order can come, so the process must not stay.
                Some(BackendOrder::Stop(StopHow::Kill)) | None => {
                    child.kill_now();
                    child.wait().await.to_string()
                }
            }
        };
        order = tokio::select! {
            ended = ending => return ended,
            // A stricter order interrupts the one that is being carried out.
            Some(order) = orders.recv() => Some(order),
        };
        asked = true;
    }
}

/// Handles a process that closed its stdin or stdout. Most have exited at that point, or are about to.
async fn cut_off(child: &mut Child) -> String {
    if let Ok(ended) = tokio::time::timeout(CUT_OFF_GRACE, child.wait()).await {
        return ended.to_string();
    }
    let ended = child.terminate(CUT_OFF_GRACE).await.ended;
    format!("it closed its stdin or stdout, and was stopped ({ended})")
}

async fn last_output(task: JoinHandle<()>) {
    // Taken first, since `timeout` consumes the task.
    let abort = task.abort_handle();
    if tokio::time::timeout(LAST_OUTPUT_TIMEOUT, task).await.is_err() {
        abort.abort();
    }
}
