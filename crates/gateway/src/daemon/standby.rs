//! Servers that run without a client: those with `lazy: false`, if the daemon was started to stay,
//! and those that `switchboard start` named. The names are stored by a daemon that stays, so that
//! the next run starts them too.

use super::DaemonState;
use crate::environments::environment;
use crate::fronts::local::hello::Reply;
use crate::stored_file;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use switchboard_core::{Done, Order, ServerId, StandbyState, Surroundings};
use switchboard_process::lock::{Lock, LockGuard};

/// Time that `switchboard start` waits for the server, whose start continues after that.
const START_WAIT: Duration = Duration::from_secs(8);
const START_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A server started without a client, and its root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StartedServer {
    server: String,
    root: Option<String>,
}

/// Servers that `switchboard start` named.
pub(crate) struct StartedServers {
    named: Lock<Vec<StartedServer>>,
    /// File that stores them, and the config's key in it; `None` if they are not stored.
    store: Option<(PathBuf, String)>,
}

type StoredStarts = BTreeMap<String, Vec<StartedServer>>;

impl StartedServers {
    /// Loads the stored servers. `config` is the file whose servers we stay for;
    /// `None` if we end with our clients.
    pub(crate) fn load(state_folder: &Path, config: Option<&Path>) -> Self {
        let store = config.map(|config| (state_folder.join("started.json"), config.display().to_string()));
        // A file that cannot be read counts as empty: a lost list must not keep the daemon from starting.
        let named = store.as_ref().and_then(|(file, config)| read(file).remove(config));
        Self { named: Lock::new(named.unwrap_or_default()), store }
    }

    fn lock(&self) -> LockGuard<'_, Vec<StartedServer>> {
        self.named.lock()
    }

    fn all(&self) -> Vec<StartedServer> {
        self.lock().clone()
    }

    fn note(&self, started: StartedServer) {
        let mut named = self.lock();
        if !named.contains(&started) {
            named.push(started);
            self.write(&named);
        }
    }

    fn forget(&self, server: &str, root: Option<&str>) {
        let mut named = self.lock();
        let before = named.len();
        // Without a root, all instances of the server are meant.
        named.retain(|it| it.server != server || (root.is_some() && it.root.as_deref() != root));
        if named.len() != before {
            self.write(&named);
        }
    }

    /// Stores the servers. A failed write is ignored: the daemon can serve without it.
    fn write(&self, named: &[StartedServer]) {
        let Some((file, config)) = &self.store else { return };
        // Read again: daemons of other configs store their servers in the same file.
        let mut all = read(file);
        match named.is_empty() {
            true => all.remove(config),
            false => all.insert(config.clone(), named.to_vec()),
        };
        if let Ok(text) = serde_json::to_vec(&all) {
            let _ = stored_file::replace(file, &[&text]);
        }
    }
}

fn read(file: &Path) -> StoredStarts {
    std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

impl DaemonState {
    /// Starts all servers that should run without a client, except those that already do.
    pub(crate) fn start_wanted(&self) {
        if self.stays_without_clients {
            let eager = self.servers.listed().into_iter().filter(|(_, server)| !server.lazy);
            for (id, _) in eager {
                // A failure is in the log.
                let _ = self.stand_by(id, None);
            }
        }
        for StartedServer { server, root } in self.started.all() {
            // A server that left the config stays in the list, and starts again if it comes back.
            if let Some((id, _)) = self.servers.find(&server) {
                let _ = self.stand_by(id, root);
            }
        }
    }

    fn stand_by(&self, id: ServerId, root: Option<String>) -> Result<(), &'static str> {
        let server = self.servers.server(id).ok_or("it is no longer in the config")?;
        let surroundings = Surroundings {
            environment: environment(&server, &self.vars),
            pinned: root,
            default: self.default_root.clone(),
            ..Surroundings::default()
        };
        self.hub.turn().stand_by(id, surroundings)
    }

    /// `switchboard start`: re-enables stopped instances and starts one without a client.
    pub(crate) async fn start(&self, name: &str, id: ServerId, root: Option<&str>) -> Reply {
        let Done { instances: restarted, is_enabled_again } = self.hub.turn().order(id, root, Order::Start);
        if let Err(why) = self.stand_by(id, root.map(str::to_owned)) {
            let note = format!("{name} cannot be started without a client: {why}");
            // Its clients can use it again, even if it cannot run without them.
            return match (restarted, is_enabled_again) {
                (0, false) => Reply::refusal(note),
                (0, true) => Reply::with(json!({ "instances": 0, "note": note })),
                (_, _) => Reply::with(json!({ "instances": restarted })),
            };
        }
        // Recorded only after the core has accepted it, so that the next run does not repeat a refusal.
        self.started.note(StartedServer { server: name.to_owned(), root: root.map(str::to_owned) });
        let deadline = Instant::now() + START_WAIT;
        while self.hub.turn().standby_state(id) == StandbyState::Starting && Instant::now() < deadline {
            tokio::time::sleep(START_CHECK_INTERVAL).await;
        }
        match self.hub.turn().standby_state(id) {
            StandbyState::Failed => Reply::refusal(format!(
                "{name} could not be started; `switchboard status` and `switchboard logs {name}` say why"
            )),
            StandbyState::None | StandbyState::Starting | StandbyState::Ready => {
                // At least one: the standby instance counts even if no stopped one was restarted.
                Reply::with(json!({ "instances": restarted.max(1) }))
            }
        }
    }

    /// `switchboard stop`.
    pub(crate) fn stop_server(&self, name: &str, id: ServerId, root: Option<&str>) -> Reply {
        self.started.forget(name, root);
        let done = self.hub.turn().order(id, root, Order::Stop);
        Reply::with(json!({ "instances": done.instances }))
    }

    /// Removes stored facts about a server.
    pub(crate) fn forget_stored(&self, server: &crate::config::ServerConfig) {
        self.backends.stores().shelf.forget(server);
    }
}
