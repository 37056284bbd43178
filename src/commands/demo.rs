//! `switchboard demo`: this program acts as an IDE with two windows, using the built-in example
//! server through the real gateway in its default mode. It is also a test: a step that does not
//! behave as described fails the run.
//!
//! # Layout
//! - this file: the story's start, and the end of every process, whatever the outcome.
//! - `story`: the steps, one function each.
//! - `sandbox`: the temporary folder and environment, and the daemon in it.
//! - `client`: a small MCP client.
//! - `screen`: the output.
//! - `connect`: snippets for an IDE's settings.

mod story;
mod sandbox;
mod client;
mod screen;
mod connect;

use crate::exit::Exit;
use anyhow::{Context, ensure};
use client::Client;
use sandbox::Sandbox;
use screen::Screen;
use std::path::Path;
use std::time::{Duration, Instant};
use switchboard_gateway::{Ended, Signals, is_alive};

/// Time limit for calls to the example server; the default is ten minutes.
const CALL_TIMEOUT: &str = "2s";
/// Time limit for processes to end. Longer than an attachment waits for a new daemon, so that none can appear
/// after the demo has looked for it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(12);

pub(crate) fn run() -> anyhow::Result<Exit> {
    let program = std::env::current_exe().context("cannot find Switchboard's own program")?;
    let screen = Screen::for_stdout();
    match super::on_runtime(play(&screen, &program))?? {
        Outcome::Told => {
            screen.outro(&connect::text(&program));
            Ok(Exit::Ok)
        }
        Outcome::Failed(why) => {
            screen.failed(&why);
            Ok(Exit::Failure)
        }
        Outcome::Interrupted(signal) => {
            screen.failed(&format!("interrupted by {signal}; everything that was started has ended"));
            Ok(Exit::Interrupted)
        }
    }
}

enum Outcome {
    Told,
    Failed(String),
    Interrupted(&'static str),
}

/// The IDE's windows, and the processes that must be gone at the end.
#[derive(Default)]
struct Cast {
    windows: Vec<Client>,
    pids: Vec<u32>,
}

/// Runs the story and cleans up, whatever its outcome.
async fn play(screen: &Screen, program: &Path) -> anyhow::Result<Outcome> {
    // Installed before anything exists that a signal could leave behind.
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let sandbox = Sandbox::make(program)?;
    screen.intro();
    let mut cast = Cast::default();
    let told = tokio::select! {
        told = tell(screen, &sandbox, &mut cast) => told,
        signal = signals.next() => {
            clear_up(&sandbox, cast).await?;
            return Ok(Outcome::Interrupted(signal));
        }
    };
    // Read before `clear_up` consumes the windows.
    let said: String = cast.windows.iter().map(Client::stderr).collect();
    let cleared = clear_up(&sandbox, cast).await;
    Ok(match told.and(cleared) {
        Ok(()) => Outcome::Told,
        Err(error) => Outcome::Failed(format!("{error:#}\n{said}")),
    })
}

async fn tell(screen: &Screen, sandbox: &Sandbox, cast: &mut Cast) -> anyhow::Result<()> {
    story::tell(screen, sandbox, cast).await?;
    let running = cast.pids.iter().filter(|&&pid| is_alive(pid)).count();
    let closed = Instant::now();
    for window in cast.windows.drain(..) {
        let (ended, said) = window.end(SHUTDOWN_TIMEOUT).await;
        ensure!(ended == Ended::Exited(0), "switchboard should exit with code 0, not {ended}\n{said}");
    }
    let left = wait_until_gone(&cast.pids).await;
    screen.step(6, "When the last window closes, everything ends");
    screen.ask("(the IDE quits)", "exit code 0 for each window", Some(closed.elapsed()));
    screen.ask("processes", &format!("before: {running}, after: {}", left.len()), None);
    ensure!(running == 4, "two windows, the daemon and the server should have been running, not {running}");
    ensure!(left.is_empty(), "these processes are still running: {left:?}");
    screen.good(
        "The daemon ends its servers and then itself. By default it waits 30 s first, for another window.",
    );
    Ok(())
}

/// Closes the remaining windows, ends the daemon and waits until all processes are gone.
async fn clear_up(sandbox: &Sandbox, mut cast: Cast) -> anyhow::Result<()> {
    for window in cast.windows.drain(..) {
        window.end(SHUTDOWN_TIMEOUT).await;
    }
    cast.pids.extend(sandbox.stop_daemon().await?);
    let left = wait_until_gone(&cast.pids).await;
    ensure!(left.is_empty(), "these processes are still running: {left:?}");
    Ok(())
}

/// Processes that are still running after the time limit.
async fn wait_until_gone(pids: &[u32]) -> Vec<u32> {
    let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
    loop {
        let left: Vec<u32> = pids.iter().copied().filter(|&pid| is_alive(pid)).collect();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
