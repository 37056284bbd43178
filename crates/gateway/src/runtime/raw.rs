//! The launcher: bytes pass untouched, only the process is governed. For a server that must be started in
//! order and leave nothing behind, but whose messages nobody should read.

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

/// How long a command has after SIGTERM when a client that is done sends us a signal as well.
const HASTY_GRACE: Duration = Duration::from_millis(800);

/// It could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{reason}\n  hint: {hint}")]
pub struct NotStarted {
    pub reason: String,
    pub hint: String,
    /// There is no such program.
    pub is_missing: bool,
}

/// What to run.
pub struct Raw {
    pub server: ServerConfig,
    pub root: Option<PathBuf>,
    pub state_folder: PathBuf,
    /// The end of the process that started us is not the client's.
    pub ignore_parent: bool,
}

/// Runs the command until it ends, or is ended with us; says how it ended.
pub async fn run(raw: Raw, stdio: OwnStdio) -> Result<Ended, NotStarted> {
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
    let mut signals = Signals::new().map_err(|error| failure(error.to_string(), String::new()))?;
    let Spawned { mut child, stdin, stdout, stderr } = spawned;

    let mut input = task::spawn("input", copy(stdio.input, stdin));
    let output = task::spawn("output", copy(stdout, stdio.output));
    let words = task::spawn("words", follow(stderr));
    let sweeping = task::spawn("sweeping", sweep(warden.clone()));
    let why = tokio::select! {
        _ = child.wait() => Why::Ended,
        // The client is done: so is the command, in order.
        _ = &mut input => Why::ClientGone,
        () = parent.gone(), if !ignore_parent => Why::ClientGone,
        _ = signals.next() => Why::Signal,
    };
    // Its input is closed, if it was not before.
    input.abort();
    let ended = end(&mut child, &mut signals, grace, why).await;
    // What it left goes, and with it whoever holds the pipes open.
    let _ = tokio::time::timeout(grace, child.gone()).await;
    drop(child);
    sweeping.abort();
    let _ = tokio::time::timeout(grace, output).await;
    words.abort();
    warden.close().await;
    Ok(ended)
}

/// Why the command is to end, or has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Ended,
    ClientGone,
    Signal,
}

/// Asks first, if the client is done. A signal means haste: SIGTERM if it is the first one, else SIGKILL.
async fn end(child: &mut Child, signals: &mut Signals, grace: Duration, why: Why) -> Ended {
    if why == Why::Ended {
        return child.wait().await;
    }
    let mut grace = grace;
    if why == Why::ClientGone {
        tokio::select! {
            stopped = child.stop(grace) => return stopped.ended,
            _ = signals.next() => grace = grace.min(HASTY_GRACE),
        }
    }
    tokio::select! {
        stopped = child.terminate(grace) => return stopped.ended,
        _ = signals.next() => {}
    }
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
    to.drained().await;
    Ok(())
}

async fn follow(mut words: ByteReader) {
    let mut buffer = BytesMut::new();
    while let Ok(1..) = words.read(&mut buffer).await {
        switchboard_process::stderr::write_if_it_goes(&buffer.split());
    }
}
