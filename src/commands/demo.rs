//! `switchboard demo`: the real gateway before the built-in example server, and this program in the place of the
//! IDE. It shows what Switchboard is for, and is a test: a step that does not behave as it says fails the run.
//!
//! # Layout
//! - this file: what is set up, told and cleared away.
//! - `story`: the steps, one function each.
//! - `client`: a small MCP client.
//! - `screen`: how it looks.
//! - `connect`: what to put into an IDE's settings.

mod story;
mod client;
mod screen;
mod connect;

use crate::exit::Exit;
use anyhow::{Context, anyhow, ensure};
use client::Client;
use screen::Screen;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use switchboard_gateway::{Ended, is_alive};

/// What the demo's server is given for a call; the default is ten minutes.
const TIMEOUT: &str = "1s";
/// How long the gateway has to end when its input is closed, and the system to forget its processes.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) fn run() -> anyhow::Result<Exit> {
    let program = std::env::current_exe().context("cannot find our own program")?;
    let folder = Folder::make().context("cannot make a temporary folder")?;
    let screen = Screen::for_stdout();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    screen.intro();
    let told = runtime.block_on(tell(&screen, &program, &folder.0));
    runtime.shutdown_background();
    if let Err(error) = told {
        screen.failed(&format!("{error:#}"));
        return Ok(Exit::Failure);
    }
    screen.outro(&connect::text(&program));
    Ok(Exit::Ok)
}

/// The whole story. Whatever goes wrong in it, the gateway is ended and what it said is shown.
async fn tell(screen: &Screen, program: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut client = start(program, folder)?;
    let mut pids = vec![client.pid()];
    let told = tokio::select! {
        told = story::tell(screen, &mut client, &mut pids) => told,
        // Clear up behind us all the same.
        _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted")),
    };
    let running = pids.iter().filter(|&&pid| is_alive(pid)).count();
    let closed = Instant::now();
    let (ended, words) = client.end(GRACE).await;
    told.map_err(|error| anyhow!("{error:#}\n{words}"))?;
    let left = wait_until_gone(&pids).await;
    let took = closed.elapsed();
    screen.step(5, "When the IDE goes, everything goes");
    screen.ask("(the IDE quits)", &format!("switchboard ended with {ended}"), Some(took));
    screen.ask("processes", &format!("before: {running}, after: {}", left.len()), None);
    ensure!(ended == Ended::Exited(0), "switchboard should have ended with exit code 0, not with {ended}");
    ensure!(running == 2, "there should have been two processes before, not {running}");
    ensure!(left.is_empty(), "these processes are left: {left:?}");
    screen.good("Nothing is left running.");
    Ok(())
}

/// Starts the gateway as an IDE would, with a config file that names the example server.
fn start(program: &Path, folder: &Path) -> anyhow::Result<Client> {
    let config = folder.join("demo.json");
    let command = program.to_str().context("the path of our own program is not UTF-8")?.replace("${", "$${");
    let server = json!({ "command": command, "args": ["example-server"], "timeout": TIMEOUT });
    let text = json!({ "mcpServers": { "example": server } });
    std::fs::write(&config, text.to_string()).context("cannot write the demo's config file")?;
    // The user's own settings and logs are neither used nor touched.
    let foreign = ["SWITCHBOARD_CONFIG", "SWITCHBOARD_LOG", "SWITCHBOARD_STATE_DIR"];
    let mut env: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| !foreign.iter().any(|known| name == known)).collect();
    env.push(("SWITCHBOARD_STATE_DIR".into(), folder.into()));
    let args = vec!["stdio".into(), "--server".into(), "example".into(), "--config".into(), config.into()];
    Client::start(program.into(), args, env).context("cannot start switchboard")
}

/// Gives those back that are still there when the grace is over.
async fn wait_until_gone(pids: &[u32]) -> Vec<u32> {
    let deadline = Instant::now() + GRACE;
    loop {
        let left: Vec<u32> = pids.iter().copied().filter(|&pid| is_alive(pid)).collect();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A folder that goes when the demo does.
struct Folder(PathBuf);

impl Folder {
    fn make() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("switchboard-demo-{}", std::process::id()));
        // One that is there already is not ours.
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
