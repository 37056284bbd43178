//! Sandbox of the demo: one temporary folder for its config, state, logs and socket, and an environment that
//! points to it. The user's own daemon, settings and logs are not touched.

use super::client::Client;
use super::{CALL_TIMEOUT, SHUTDOWN_TIMEOUT};
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use switchboard_gateway::config::real;
use switchboard_gateway::runtime::peer::Conversation;
use switchboard_gateway::{Ended, make_private_folder};

/// Time limit for a line to reach the log.
const LOG_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const NAMES_TRIED: u32 = 100;
const REMOVALS_TRIED: u32 = 50;

pub(super) struct Sandbox {
    program: OsString,
    folder: Folder,
    config: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl Sandbox {
    /// Creates the folder and a config file with the example server.
    pub(super) fn make(program: &Path) -> anyhow::Result<Self> {
        let folder = Folder::make().context("cannot make a temporary folder (hint: set TMPDIR)")?;
        // The path must not be expanded like a variable.
        let command = program
            .to_str()
            .context("the path of Switchboard's own program is not UTF-8")?
            .replace("${", "$${");
        let server = json!({ "command": command, "args": ["example-server"], "timeout": CALL_TIMEOUT });
        // Without linger, the daemon ends soon by itself, even if the demo is killed.
        let text = json!({ "linger": 0, "mcpServers": { "example": server } });
        let config = folder.0.join("demo.json");
        std::fs::write(&config, text.to_string()).context("cannot write the demo's config file")?;
        let env = environment(&folder.0);
        Ok(Self { program: program.into(), folder, config, env })
    }

    /// Starts the gateway as an IDE does for each window.
    pub(super) fn open_window(&self) -> anyhow::Result<Client> {
        let words = ["stdio", "--server", "example", "--config"].map(OsString::from);
        let args = words.into_iter().chain([self.config.clone().into()]).collect();
        Client::start(self.program.clone(), args, self.env.clone()).context("cannot start switchboard")
    }

    /// Pid of the daemon that serves the windows, if there is one.
    pub(super) async fn daemon(&self) -> anyhow::Result<Option<u32>> {
        let status = self.run(&["status".into(), "--json".into()]).await?;
        let status: Value = serde_json::from_str(&status).context("`switchboard status` is not JSON")?;
        // If our folder's path is too long for a socket, the user's daemons share its place.
        let folder = real(&self.folder.0)?;
        let is_ours = |daemon: &&Value| {
            daemon["config"].as_str().is_some_and(|config| Path::new(config).starts_with(&folder))
        };
        let ours = status["daemons"].as_array().into_iter().flatten().find(is_ours);
        Ok(ours.and_then(|daemon| u32::try_from(daemon["pid"].as_u64()?).ok()))
    }

    /// Ends the daemon. Returns its pid, if there was one.
    pub(super) async fn stop_daemon(&self) -> anyhow::Result<Option<u32>> {
        let daemon = self.daemon().await?;
        if daemon.is_some() {
            let words = ["daemon", "--config"].map(OsString::from);
            let args: Vec<_> =
                words.into_iter().chain([self.config.clone().into(), OsString::from("stop")]).collect();
            self.run(&args).await?;
        }
        Ok(daemon)
    }

    /// Line of the daemon's log that contains `text`, once it is written.
    pub(super) async fn log_line(&self, text: &str) -> anyhow::Result<String> {
        let deadline = Instant::now() + LOG_TIMEOUT;
        loop {
            // Before the first line there is no log, which the command reports as an error.
            let log = self.run(&["logs".into()]).await.unwrap_or_default();
            if let Some(line) = log.lines().find(|line| line.contains(text)) {
                return Ok(line.to_owned());
            }
            if Instant::now() > deadline {
                bail!("the log does not mention `{text}`");
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Runs one of our own commands and returns its output.
    async fn run(&self, args: &[OsString]) -> anyhow::Result<String> {
        let shown: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        let shown = shown.join(" ");
        let mut command = Conversation::start(self.program.clone(), args.to_vec(), self.env.clone())
            .with_context(|| format!("cannot run `switchboard {shown}`"))?;
        let mut output = String::new();
        while let Ok(line) = command.hear_line().await {
            output.push_str(&String::from_utf8_lossy(&line));
            output.push('\n');
        }
        let (ended, said) = command.end(SHUTDOWN_TIMEOUT).await;
        ensure!(ended == Ended::Exited(0), "`switchboard {shown}` failed with {ended}: {said}");
        Ok(output)
    }
}

/// The user's environment without Switchboard's variables, and with the demo's folders.
fn environment(folder: &Path) -> Vec<(OsString, OsString)> {
    let is_foreign = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("SWITCHBOARD_") || name == "MCP_PROXY_LOG"
    };
    let mut env: Vec<_> = std::env::vars_os().filter(|(name, _)| !is_foreign(name)).collect();
    env.push(("SWITCHBOARD_STATE_DIR".into(), folder.join("state").into()));
    // The socket lies here, apart from the user's own daemons.
    env.push(("XDG_RUNTIME_DIR".into(), folder.into()));
    env
}

/// Folder that only this user can enter, removed on drop.
struct Folder(PathBuf);

impl Folder {
    /// Tries the next name if one is taken, by a killed demo or another user.
    fn make() -> std::io::Result<Self> {
        let names =
            (0..NAMES_TRIED).map(|number| format!("switchboard-demo-{}-{number}", std::process::id()));
        let mut made = Err(std::io::ErrorKind::AlreadyExists.into());
        for path in names.map(|name| std::env::temp_dir().join(name)) {
            made = make_private_folder(&path).map(|()| Self(path));
            if !matches!(&made, Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        made
    }
}

impl Drop for Folder {
    /// Retries: a process that is ending may remove one of its files at the same time,
    /// which makes an attempt fail.
    fn drop(&mut self) {
        for _ in 0..REMOVALS_TRIED {
            if std::fs::remove_dir_all(&self.0).is_ok() || !self.0.exists() {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
