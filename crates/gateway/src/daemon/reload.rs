//! A changed config file, applied while serving. It is validated first: a file with errors, or a project's
//! file that is not trusted with its present content, changes nothing and is reported.

use super::DaemonState;
use crate::backends::servers::{AdHocServer, Changes};
use crate::config::discover::{ConfigFile, ConfigOrigin, reread};
use crate::config::owners::Owners;
use crate::config::preset;
use crate::config::{Config, Guard, ServerConfig};
use crate::environments::environment;
use crate::fronts::local::hello;
use crate::secrets;
use crate::settings;
use crate::telemetry::AuditOptions;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use switchboard_core::catalogue::Naming;
use switchboard_core::{Change, ClientId, Environment, Fact, Record, ServerId, ServerSettings};
use switchboard_process::aside;
use switchboard_process::file_watch::FileWatch;
use tokio::sync::Mutex;

/// Interval of checks where the system does not report every change, and the shortest interval otherwise.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of checks where the system reports changes: a parent folder may still be replaced unnoticed.
const REPORTED_CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Time for a writer to finish after the first report.
const WRITE_TIME: Duration = Duration::from_millis(100);
/// Age below which a file may change again without a new modification time: some file systems have a
/// resolution of one or two seconds.
const FRESH_FILE_AGE: Duration = Duration::from_secs(4);

/// Origin of the config.
#[derive(Debug, Clone)]
pub struct Source {
    pub path: PathBuf,
    pub origin: ConfigOrigin,
    /// Accepted owners.
    pub owners: Owners,
    /// Content that was loaded.
    pub text: String,
}

/// Settings of the command line that override the config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overrides {
    pub max_backends: Option<usize>,
    /// `0` is never.
    pub idle_ttl_seconds: Option<u64>,
    pub start_timeout: Option<Duration>,
    pub timeout: Option<Duration>,
}

impl Overrides {
    pub fn apply(&self, server: &mut ServerConfig) {
        server.max_backends = self.max_backends.unwrap_or(server.max_backends);
        if let Some(seconds) = self.idle_ttl_seconds {
            server.idle_ttl = Some(Duration::from_secs(seconds)).filter(|time| !time.is_zero());
        }
        server.start_timeout = self.start_timeout.unwrap_or(server.start_timeout);
        server.timeout = self.timeout.unwrap_or(server.timeout);
    }

    /// Enabled servers of a config, with the overrides applied.
    pub fn servers(&self, config: &Config) -> Vec<ServerConfig> {
        // A disabled server has no number, so clients cannot ask for it at all.
        let mut servers: Vec<ServerConfig> =
            config.servers.iter().filter(|server| !server.disabled).cloned().collect();
        servers.iter_mut().for_each(|server| self.apply(server));
        servers
    }
}

type ContentDigest = [u8; 32];

/// Active config, and its file.
pub(crate) struct CurrentConfig {
    state: Mutex<ConfigState>,
    pub(crate) source: Option<(PathBuf, ConfigOrigin)>,
    pub(crate) owners: Owners,
}

struct ConfigState {
    config: Config,
    overrides: Overrides,
    /// Digest of the active content.
    applied: ContentDigest,
    /// The file's stamp at the last check.
    seen: Option<FileStamp>,
    /// Reason why the last content was rejected, and whether it was reported.
    doubt: Option<(String, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    written: Option<SystemTime>,
}

/// Result of applying a config.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    changes: Changes,
    /// Settings that take effect only after a restart.
    waiting: Vec<&'static str>,
}

impl Applied {
    pub(crate) fn shown(&self) -> Value {
        let Changes { changed, added, removed, .. } = &self.changes;
        json!({ "changed": changed, "added": added, "removed": removed, "needsRestart": self.waiting })
    }
}

impl CurrentConfig {
    pub(crate) fn new(config: Config, source: Option<Source>, overrides: Overrides) -> Self {
        let applied = source.as_ref().map(|source| digest_of(&source.text)).unwrap_or_default();
        let state = ConfigState { config, overrides, applied, seen: None, doubt: None };
        let owners = source.as_ref().map(|source| source.owners).unwrap_or_default();
        Self { state: Mutex::new(state), owners, source: source.map(|source| (source.path, source.origin)) }
    }
}

impl DaemonState {
    /// Reads and applies the file on request.
    pub(crate) async fn reload(&self) -> Result<Applied, String> {
        let Some((path, origin)) = self.current.source.clone() else {
            return Err("this daemon has no config file".to_owned());
        };
        let owners = self.current.owners;
        // Held while reading, so that two reloads cannot be applied in the wrong order.
        let mut state = self.current.state.lock().await;
        // File access may block, so it runs off the event loop.
        let file = aside::run(move || reread(&path, origin, owners, &|name| std::env::var_os(name))).await;
        self.settle_writes().await;
        let result = file.and_then(|file| self.take_over(&mut state, &file));
        if let Err(why) = &result {
            // Marked as reported: the caller gets the reason, and the next check need not log it again.
            state.doubt = Some((why.clone(), true));
            self.report(Fact::ConfigRejected { why: why.clone() });
        }
        result
    }

    /// Checks the file whenever it may have changed.
    pub(crate) async fn watch(&self) {
        let Some((path, origin)) = self.current.source.clone() else { return };
        let owners = self.current.owners;
        let mut reports = FileWatch::new();
        reports.aim(&path).await;
        loop {
            self.next_look(&path, &mut reports).await;
            let mut state = self.current.state.lock().await;
            let (file, seen, is_doubted) = (path.clone(), state.seen, state.doubt.is_some());
            // A rejected file is read again even if unchanged: it may be trusted by now.
            let look = move || {
                let stamp = stamp(&file);
                let is_same = stamp.is_some() && stamp == seen && !stamp.is_some_and(is_fresh);
                let file = (!is_same || is_doubted)
                    .then(|| reread(&file, origin, owners, &|name| std::env::var_os(name)));
                (stamp, file)
            };
            let (stamp, file) = aside::run(look).await;
            if stamp != seen {
                // The file may have been moved, or created again.
                reports.aim(&path).await;
            }
            state.seen = stamp;
            let Some(file) = file else { continue };
            // Touched, but not changed.
            if file.as_ref().is_ok_and(|file| digest_of(&file.source) == state.applied) {
                state.doubt = None;
                continue;
            }
            self.settle_writes().await;
            if let Err(why) = file.and_then(|file| self.take_over(&mut state, &file)) {
                self.doubt(&mut state, why);
            }
        }
    }

    /// Waits for the next check: after a report, or after the interval.
    async fn next_look(&self, path: &Path, reports: &mut FileWatch) {
        let is_settled = {
            let state = self.current.state.lock().await;
            // Fresh files are looked at often, since a second change may leave the same stamp.
            state.doubt.is_none() && state.seen.is_some_and(|stamp| !is_fresh(stamp))
        };
        let soon = tokio::time::Instant::now() + CHECK_INTERVAL;
        let time = if is_settled && reports.reports_all() { REPORTED_CHECK_INTERVAL } else { CHECK_INTERVAL };
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = reports.changed() => {
                tokio::time::sleep(WRITE_TIME).await;
                // A file that changes all the time is read at most once per interval.
                if !is_settled {
                    tokio::time::sleep_until(soon).await;
                }
                reports.aim(path).await;
            }
        }
    }

    /// Records a rejection and reports it at the second check: an editor may still be writing the file.
    fn doubt(&self, state: &mut ConfigState, why: String) {
        let is_told = match state.doubt.take() {
            // Logged once, however often the file is read in this state.
            Some((before, true)) if before == why => true,
            Some((before, false)) if before == why => {
                self.report(Fact::ConfigRejected { why: why.clone() });
                true
            }
            Some(_) | None => false,
        };
        state.doubt = Some((why, is_told));
    }

    fn take_over(&self, state: &mut ConfigState, file: &ConfigFile) -> Result<Applied, String> {
        let loaded = preset::load(file, &|name| self.vars.get(name));
        let Some(config) = loaded.config else {
            let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
            return Err(format!("{} has errors\n{}", file.path.display(), problems.join("\n")));
        };
        let audit = AuditOptions::of(&config.audit, Some(&file.path), &|name| self.vars.get(name))
            .map_err(|error| error.to_string())?;
        // Only a valid file counts as applied: one that returns to the old content after an
        // error changes nothing.
        state.applied = digest_of(&file.source);
        state.doubt = None;
        let before = std::mem::replace(&mut state.config, config);
        if before.audit != state.config.audit {
            self.hub.telemetry().change_audit(audit);
        }
        let applied = self.apply(&before, &state.config, state.overrides);
        let Changes { changed, added, removed, .. } = &applied.changes;
        self.report(Fact::ConfigApplied {
            changed: changed.clone(),
            added: added.clone(),
            removed: removed.clone(),
            needs_restart: applied.waiting.clone(),
        });
        Ok(applied)
    }

    fn apply(&self, before: &Config, config: &Config, overrides: Overrides) -> Applied {
        // Compared with the servers before they are replaced.
        let waiting = needs_restart(before, config, |server| self.servers.any(server));
        self.set_access(config);
        let changes = self.servers.replace(overrides.servers(config), config.share_ad_hoc);
        let settings = changes.servers.iter().map(|(id, server)| {
            let settings = server.as_ref().map(|server| self.settings_for(config, server));
            (*id, settings)
        });
        let shown =
            changes.shown.iter().map(|(id, server)| (*id, settings::naming(config, server))).collect();
        let limits = changes.shown.iter().map(|(id, server)| (*id, settings::call_limits(server)));
        let environments = self.environments(&changes);
        let change = Change {
            call_limits: limits.collect(),
            ..change(config, settings.collect(), shown, environments)
        };
        secrets::learn_config(config, &|name| self.vars.get(name));
        self.hub.learn_secrets(Vec::new());
        self.hub.turn().reconfigure(change);
        // A new server with `lazy: false` starts now.
        self.start_wanted();
        Applied { changes, waiting }
    }

    /// Registers the server of a command line, if our own config, which is not a project's, allows it. The
    /// lock stays held, so that concurrent registrations get different numbers.
    pub(crate) async fn bring(&self, name: &str, launch: hello::AdHoc) -> Result<ServerId, String> {
        let state = self.current.state.lock().await;
        let config = &state.config;
        let is_users =
            self.current.source.as_ref().is_some_and(|(_, origin)| *origin != ConfigOrigin::Project);
        if !config.share_ad_hoc || !is_users {
            return Err(
                "its config does not set `shareAdHoc: true`, so it runs no servers given after `--`".into()
            );
        }
        let server = launch.server(name, config);
        let found = self.servers.ad_hoc(server);
        let AdHocServer { id, server, is_new } =
            found.ok_or("it already has too many servers given after `--`")?;
        // A command line that was seen before has its settings in the core already.
        if is_new {
            let settings =
                settings::server_settings(&server, &|name| self.vars.get(name), self.record_of(&server));
            let naming = settings::naming(config, &server);
            let settings = ServerSettings { is_listed: false, naming, ..settings };
            let settings =
                settings::with_pins(settings, &server, self.backends.stores(), &|fact| self.report(fact));
            self.hub.turn().reconfigure(change(config, vec![(id, Some(settings))], Vec::new(), Vec::new()));
        }
        Ok(id)
    }

    /// Environments of connected clients at the changed servers, whose settings decide which variables count.
    fn environments(&self, changes: &Changes) -> Vec<(ClientId, ServerId, Environment)> {
        let clients = self.clients();
        let mut brought = Vec::new();
        for (id, server) in &changes.servers {
            // A removed server needs no environments.
            let Some(server) = server else { continue };
            let has_it = |wanted: &Option<ServerId>| wanted.is_none_or(|wanted| wanted == *id);
            for (client, (_, vars)) in clients.iter().filter(|(_, (wanted, _))| has_it(wanted)) {
                brought.push((*client, *id, environment(server, vars)));
            }
        }
        brought
    }

    /// Settings of a server, with its stored record and lists.
    fn settings_for(&self, config: &Config, server: &ServerConfig) -> ServerSettings {
        let settings = settings::server_settings(server, &|name| self.vars.get(name), self.record_of(server));
        let settings = ServerSettings { naming: settings::naming(config, server), ..settings };
        let settings =
            settings::with_pins(settings, server, self.backends.stores(), &|fact| self.report(fact));
        settings::with_offers(settings, self.backends.stores().shelf.load(server))
    }

    fn record_of(&self, server: &ServerConfig) -> Record {
        self.backends.stores().launches.load(server)
    }

    fn report(&self, fact: Fact) {
        self.hub.telemetry().desk().take(fact);
    }
}

fn change(
    config: &Config,
    servers: Vec<(ServerId, Option<ServerSettings>)>,
    shown: Vec<(ServerId, Arc<Naming>)>,
    environments: Vec<(ClientId, ServerId, Environment)>,
) -> Change {
    Change {
        servers,
        shown,
        call_limits: Vec::new(),
        identity_limits: config.limits,
        environments,
        pool: settings::pool(config),
        policy: settings::policy(config),
        dialect: settings::learnt_dialect(config.dialect),
        client_era: settings::client_era(config),
        shutdown_grace: config.shutdown_grace,
        linger: Some(config.linger),
        aggregates: settings::aggregates(config),
        profiles: config.profiles.clone(),
        audit: settings::audit(config),
    }
}

/// Names of changed settings that need a restart.
fn needs_restart(
    before: &Config,
    config: &Config,
    any: impl Fn(&dyn Fn(&ServerConfig) -> bool) -> bool,
) -> Vec<&'static str> {
    let is_strict = |server: &ServerConfig| server.guard == Guard::Strict;
    let wants_strict = config.servers.iter().any(|server| !server.disabled && is_strict(server));
    [
        ("maxMessageBytes", before.max_message_bytes != config.max_message_bytes),
        ("log", before.log != config.log),
        ("names", before.names != config.names),
        ("serve", before.serve != config.serve),
        ("guard: strict", wants_strict && !any(&is_strict)),
    ]
    .into_iter()
    .filter_map(|(what, is_it)| is_it.then_some(what))
    .collect()
}

fn digest_of(text: &str) -> ContentDigest {
    Sha256::digest(text).into()
}

fn stamp(path: &std::path::Path) -> Option<FileStamp> {
    let data = fs::metadata(path).ok()?;
    Some(FileStamp { length: data.len(), written: data.modified().ok() })
}

fn is_fresh(stamp: FileStamp) -> bool {
    let age = stamp.written.and_then(|written| SystemTime::now().duration_since(written).ok());
    age.is_none_or(|age| age < FRESH_FILE_AGE)
}
