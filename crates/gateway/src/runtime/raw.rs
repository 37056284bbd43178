//! Launcher: bytes pass untouched, only the process is governed. For a server that must start in order and
//! leave nothing behind, but whose messages must not be read.

use crate::backends::launch::{self, LaunchPlan};
use crate::backends::packages::PackagesFolder;
use crate::config::ServerConfig;
use crate::environments::Vars;
use crate::io::task;
use bytes::{Buf, BytesMut};
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use switchboard_process::child::{Child, Ended, SpawnError, Spawned};
use switchboard_process::parent::Parent;
use switchboard_process::pipe::{ByteReader, ByteWriter};
use switchboard_process::signals::Signals;
use switchboard_process::stdio::OwnStdio;
use switchboard_process::warden::Warden;

/// Grace period after SIGTERM when a client that has closed its end also sends a signal.
const HASTY_GRACE: Duration = Duration::from_millis(800);

/// The command could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{reason}\n  hint: {hint}")]
pub struct NotStarted {
    pub reason: String,
    pub hint: String,
    /// The program does not exist.
    pub is_missing: bool,
}

/// Command to run.
pub struct Raw {
    pub server: ServerConfig,
    pub root: Option<PathBuf>,
    pub state_folder: PathBuf,
    /// The end of our parent process does not mean the client's end.
    pub ignore_parent: bool,
}

/// Runs the command until it ends or is ended with us. Returns how it ended.
pub async fn run(raw: Raw, stdio: OwnStdio) -> Result<Ended, NotStarted> {
    // Watched from the start: the parent may end while the command is prepared.
    let mut parent = Parent::watch();
    let Raw { server, root, state_folder, ignore_parent } = raw;
    let grace = server.shutdown_grace;
    let packages = PackagesFolder::new(&state_folder);
    let plan = LaunchPlan { server, root, in_home: false, vars: Arc::new(Vars::own()), packages };
    let prepared =
        plan.prepare().map_err(|unready| failure(unready.reason, unready.hint.unwrap_or_default()))?;
    let warden = Arc::new(launch::warden(&plan.server, &state_folder));
    let spawned =
        warden.spawn(&prepared.launch, &plan.guard_options()).await.map_err(|error| NotStarted {
            is_missing: matches!(error, SpawnError::NotFound { .. }),
            ..failure(error.to_string(), prepared.explain(&error))
        })?;
    // After the start: a signal before this line ends us in the default way, and the guard
    // ends the command.
    let mut signals = Signals::new().map_err(|error| failure(error.to_string(), String::new()))?;
    let Spawned { mut child, stdin, stdout, stderr } = spawned;

    let mut input = task::spawn("input", copy(stdio.input, stdin));
    let output = task::spawn("output", copy(stdout, stdio.output));
    let words = task::spawn("words", follow(stderr));
    // Removes processes that earlier runs left behind, beside the command's own work.
    let sweeping = task::spawn("sweeping", sweep(warden.clone()));
    let why = tokio::select! {
        _ = child.wait() => Why::Ended,
        // The client has closed its end, so the command is ended in order.
        _ = &mut input => Why::ClientGone,
        () = parent.gone(), if !ignore_parent => Why::ClientGone,
        _ = signals.next() => Why::Signal,
    };
    // Closes the command's input, if it is still open.
    input.abort();
    let ended = end(&mut child, &mut signals, grace, why).await;
    // Descendants are ended, including those that hold the pipes open.
    let _ = tokio::time::timeout(grace, child.gone()).await;
    drop(child);
    sweeping.abort();
    let _ = tokio::time::timeout(grace, output).await;
    words.abort();
    warden.close().await;
    Ok(ended)
}

/// Reason for the command's end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Ended,
    ClientGone,
    Signal,
}

/// Closes the input first, if the client has left. A first signal sends SIGTERM, a second one SIGKILL.
async fn end(child: &mut Child, signals: &mut Signals, grace: Duration, why: Why) -> Ended {
    if why == Why::Ended {
        // The status is known already; `wait` only returns it.
        return child.wait().await;
    }
    let mut grace = grace;
    if why == Why::ClientGone {
        tokio::select! {
            stopped = child.stop(grace) => return stopped.ended,
            // A client that also sends a signal is in a hurry, so less time is left after SIGTERM.
            _ = signals.next() => grace = grace.min(HASTY_GRACE),
        }
    }
    tokio::select! {
        stopped = child.terminate(grace) => return stopped.ended,
        _ = signals.next() => {}
    }
    // The second signal means that the user does not want to wait.
    child.kill_now();
    child.wait().await
}

async fn sweep(warden: Arc<Warden>) {
    warden.sweep().await;
}

fn failure(reason: String, hint: String) -> NotStarted {
    NotStarted { reason, hint, is_missing: false }
}

async fn copy(mut from: ByteReader, to: ByteWriter) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    while from.read(&mut buffer).await? > 0 {
        while !buffer.is_empty() {
            match to.try_write(&[IoSlice::new(&buffer)]) {
                Ok(written) => buffer.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
                Err(error) => return Err(error),
            }
        }
    }
    // If a thread writes, accepted bytes may still wait in its queue.
    to.drained().await;
    Ok(())
}

async fn follow(mut words: ByteReader) {
    let mut buffer = BytesMut::new();
    while let Ok(1..) = words.read(&mut buffer).await {
        // Dropped if our stderr is full: a client that does not read it must not stop the command.
        switchboard_process::stderr::write_if_it_goes(&buffer.split());
    }
}
