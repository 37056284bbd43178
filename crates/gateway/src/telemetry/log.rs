//! Facts as log lines: the only code that logs. All lines go to the file at the chosen level; warnings and
//! errors also go to our stderr, where an IDE shows them. Message bodies are logged only on request.

use super::audit::AuditTrouble;
use super::rolling::{Name, Rolling};
use super::{Crowd, LogOptions, MAX_BODY_BYTES};
use crate::config::{LogFormat, LogLevel, STDERR};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_core::redact::Secrets;
use switchboard_core::text::dates::Timestamp;
use switchboard_core::{BackendId, Fact, Outcome};
use switchboard_process::lock::Lock;
use switchboard_process::stderr::{self, StderrFile};
use switchboard_protocol::Method;
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, debug, error, info, warn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, fmt};

pub(super) struct Log {
    dispatch: Dispatch,
    /// Whether requests are shown with their ids. `tracing::enabled!` does not help: with several logs in one
    /// process it answers for any of them.
    with_ids: bool,
    time: FactTime,
    to_file: Gathered,
    to_stderr: Gathered,
    /// `None` logs to our stderr.
    file: Option<Rolling>,
    /// A daemon's own stderr.
    own_stderr: Option<StderrFile>,
    /// Stderr of the servers, in one file each.
    words: BTreeMap<String, (Rolling, Vec<u8>)>,
    folder: PathBuf,
    server: String,
    root: String,
    /// Server and root of each backend.
    backends: BTreeMap<BackendId, (String, String)>,
    secrets: Secrets,
}

impl Log {
    pub(super) fn open(options: LogOptions) -> Self {
        let (to_file, to_stderr, time) = (Gathered::default(), Gathered::default(), FactTime::default());
        let plain = || fmt::layer().with_ansi(false).with_target(false).with_timer(time.clone());
        let level = level_filter(options.level);
        let file_layer = match options.format {
            LogFormat::Human => plain().with_writer(to_file.clone()).with_filter(level).boxed(),
            LogFormat::Json => {
                plain().json().flatten_event(true).with_writer(to_file.clone()).with_filter(level).boxed()
            }
        };
        let is_stderr = options.file.as_deref().is_some_and(|file| file == Path::new(STDERR));
        // A log on stderr has these lines already.
        let warnings = if is_stderr { LevelFilter::OFF } else { level.min(LevelFilter::WARN) };
        let stderr_layer = plain().with_writer(to_stderr.clone()).with_filter(warnings).boxed();
        let dispatch = Dispatch::new(Registry::default().with(vec![file_layer, stderr_layer]));
        let daily = |stem: String| Name::Daily { folder: options.folder.clone(), stem };
        let name = options.file.clone().map_or_else(|| daily("switchboard".into()), Name::Fixed);
        Self {
            dispatch,
            with_ids: level >= LevelFilter::DEBUG,
            time,
            to_file,
            to_stderr,
            file: (!is_stderr).then(|| Rolling::new(name)),
            own_stderr: StderrFile::at(&options.folder.join(super::DAEMON_STDERR_FILE)),
            words: BTreeMap::new(),
            folder: options.folder.clone(),
            root: options.root.map(|root| root.display().to_string()).unwrap_or_default(),
            backends: BTreeMap::new(),
            secrets: Secrets::NONE,
            server: options.server,
        }
    }

    /// Values to mask from now on.
    pub(super) fn set_secrets(&mut self, secrets: &Secrets) {
        self.secrets.clone_from(secrets);
    }

    /// Remembers names for later lines.
    pub(super) fn know(&mut self, fact: &Fact) {
        if let Fact::Starting { backend, server, root, .. } = fact {
            self.backends.insert(*backend, (server.clone(), root.clone().unwrap_or_default()));
        }
    }

    pub(super) fn know_backends_of(&mut self, other: &Self) {
        self.backends.clone_from(&other.backends);
    }

    pub(super) fn fact(&mut self, time: SystemTime, fact: &Fact) {
        self.time.set(time);
        self.know(fact);
        let known = fact.backend().and_then(|backend| self.backends.get(&backend));
        let (server, root) = known.map_or((&self.server, &self.root), |(server, root)| (server, root));
        tracing::dispatcher::with_default(&self.dispatch, || tell(fact, server, root, self.with_ids));
    }

    pub(super) fn crowd(&mut self, time: SystemTime, crowd: &Crowd) {
        self.time.set(time);
        let Crowd { method, outcome, requests, longest } = crowd;
        let (server, root) = (&*self.server, &*self.root);
        tracing::dispatcher::with_default(&self.dispatch, || {
            info!(%method, server, root, longest_ms = ms(*longest), outcome = word(*outcome), requests, "answered");
        });
    }

    pub(super) fn bad(&mut self, time: SystemTime, messages: u64) {
        self.time.set(time);
        tracing::dispatcher::with_default(&self.dispatch, || warn!(messages, "more bad messages"));
    }

    /// Reports that the audit cannot be written, or can be written again.
    pub(super) fn audit(&mut self, time: SystemTime, trouble: &AuditTrouble, file: &Path) {
        self.time.set(time);
        let file = file.display();
        tracing::dispatcher::with_default(&self.dispatch, || match trouble {
            AuditTrouble::Began(why) => error!(%file, why, "audit cannot be written; its lines are lost"),
            AuditTrouble::Over(lost) => warn!(%file, lost, "audit is written again"),
        });
    }

    pub(super) fn body(&mut self, time: SystemTime, from: &str, text: &[u8]) {
        self.time.set(time);
        let body = self.secrets.redact_cut(text, MAX_BODY_BYTES);
        tracing::dispatcher::with_default(&self.dispatch, || info!(from, body, "message"));
    }

    pub(super) fn stderr(&mut self, time: SystemTime, server: &str, line: &str) {
        if !self.words.contains_key(server) {
            let stem = format!("{}.stderr", file_name(server));
            let rolling = Rolling::new(Name::Daily { folder: self.folder.clone(), stem });
            self.words.insert(server.to_owned(), (rolling, Vec::new()));
        }
        if let Some((_, gathered)) = self.words.get_mut(server) {
            let line = self.secrets.redact(line);
            gathered.extend_from_slice(format!("{} {line}\n", Timestamp(time)).as_bytes());
        }
    }

    /// Writes the collected lines.
    pub(super) fn flush(&mut self, dropped: u64) {
        if dropped > 0 {
            self.time.set(SystemTime::now());
            tracing::dispatcher::with_default(&self.dispatch, || warn!(dropped, "log lines were dropped"));
        }
        // All lines, whatever they quote: the last place where a secret can be held back.
        let [lines, warnings] = [&self.to_file, &self.to_stderr].map(|gathered| {
            let lines = gathered.take();
            self.secrets.redact(&String::from_utf8_lossy(&lines)).into_bytes()
        });
        match &mut self.file {
            Some(file) => file.write(&lines),
            None => switchboard_process::stderr::write_if_it_goes(&lines),
        }
        for (rolling, gathered) in self.words.values_mut() {
            rolling.write(&std::mem::take(gathered));
        }
        stderr::write_if_it_goes(&warnings);
        self.keep_stderr_short();
    }

    fn keep_stderr_short(&self) {
        if let Some(file) = &self.own_stderr {
            file.keep_below(super::MAX_STDERR_BYTES);
        }
    }
}

/// One line per fact. Long on purpose: a table of all facts, without a catch-all arm.
fn tell(fact: &Fact, server: &str, root: &str, with_ids: bool) {
    match fact {
        Fact::Layers { text, are_wanting: true } => {
            warn!(layers = text, "some protections against leftover processes are not active");
        }
        Fact::Layers { text, .. } => info!(layers = text, "protections against leftover processes"),
        Fact::Swept { names, left: 0 } => {
            warn!(ended = names.join(", "), "ended processes left by a killed run");
        }
        Fact::Swept { names, left } => {
            error!(ended = names.join(", "), left, "cannot end some processes left by a killed run");
        }
        Fact::ParentGone => info!("parent process has ended"),
        Fact::PlainHttp { address } => warn!(
            address,
            hint = "give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that has TLS",
            "other machines can reach this address without TLS: the token and all messages can be read on the way"
        ),
        Fact::ConfigApplied { changed, added, removed, needs_restart } => {
            let (changed, added, removed) = (changed.join(", "), added.join(", "), removed.join(", "));
            info!(changed, added, removed, "config reloaded");
            if !needs_restart.is_empty() {
                warn!(
                    settings = needs_restart.join(", "),
                    "these settings take effect after `switchboard daemon stop`"
                );
            }
        }
        Fact::NotStarted { server, why } => warn!(server, why, "cannot run without a client"),
        Fact::ConfigRejected { why } => {
            warn!(why, "config file rejected; keeping the previous config")
        }
        Fact::TokensRejected { why } => warn!(why, "tokens rejected: only their owner is recognised"),
        Fact::LeftBehind { ended, left: 0, .. } => {
            info!(server, root, ended = ended.join(", "), "leftover processes ended");
        }
        Fact::LeftBehind { ended, left, .. } => {
            error!(server, root, ended = ended.join(", "), left, "cannot end some leftover processes");
        }
        Fact::ClientConnected { client, identity: Some(identity) } => {
            debug!(%client, identity = &**identity, "client connected");
        }
        Fact::ClientConnected { client, identity: None } => {
            debug!(%client, "client connected; it has not shown a valid token");
        }
        Fact::Expelled { client, identity } => {
            info!(%client, identity = &**identity, "client disconnected: its token is no longer valid");
        }
        Fact::ClientInputEnded { client } => debug!(%client, "client closed its input"),
        Fact::ClientLost { client } => debug!(%client, "client disconnected"),
        Fact::RootsKnown { client, roots } => info!(%client, roots = roots.join(", "), "client roots"),
        Fact::RootChosen { client, root: Some(root), why } => {
            info!(%client, server, root, why, "root chosen")
        }
        Fact::RootChosen { client, root: None, why } => info!(%client, server, why, "no root chosen"),
        Fact::Fallback { client } => warn!(
            %client,
            server, "no workspace known for this client; serving it without one"
        ),
        Fact::NoRoom { running, limit: Some(limit), .. } => {
            info!(server, root, running, setting = limit.setting(), "waiting: instance limit reached");
        }
        Fact::NoRoom { running, limit: None, .. } => {
            info!(server, root, running, "waiting: too many servers are starting");
        }
        Fact::Crowded { crowding, .. } => {
            warn!(server, root, hint = crowding.hint, "{}", crowding.message);
        }
        Fact::RateLimited { identity, server, limit, refused, hint } => {
            warn!(%identity, server, limit = limit.name(), refused, hint, "calls refused: over the limit");
        }
        Fact::AskDenied { server, method, identity, total, .. } => {
            let identity = identity.as_deref().unwrap_or_default();
            // A warning once; a server may ask again and again.
            match total {
                1 => warn!(server, root, %method, identity, "request to the client denied"),
                _ => debug!(server, root, %method, identity, total, "request to the client denied"),
            }
        }
        Fact::KeepsState { tool, .. } => {
            info!(
                server,
                tool, "keeps client state, judging by this tool; each client gets its own instance"
            );
        }
        Fact::ToolsChanged { tools, are_held: true, .. } => {
            let hint =
                format!("`switchboard approve tools {server}` shows what has changed, and approves it");
            warn!(
                server,
                tools = listed(tools),
                hint,
                "tools have changed; held back until they are approved"
            );
        }
        Fact::ToolsChanged { tools, .. } => {
            let hint =
                format!("`switchboard approve tools {server}` shows what has changed, and approves it");
            warn!(server, tools = listed(tools), hint, "tools have changed since they were approved");
        }
        Fact::ToolVariants { tools, .. } => {
            info!(
                server,
                tools = listed(tools),
                "tools are defined otherwise for clients with other capabilities"
            );
        }
        Fact::ToolsRestored { tools, .. } => {
            info!(server, tools = listed(tools), "tools are defined as approved again");
        }
        Fact::ToolsApproved { server, tools } => {
            info!(server, tools = listed(tools), "changed tools approved")
        }
        Fact::TooManyTools { are_held: true, .. } => {
            warn!(server, "too many tools to pin, or too long names; the rest is held back");
        }
        Fact::TooManyTools { .. } => {
            warn!(server, "too many tools to pin, or too long names; the rest is not compared")
        }
        Fact::PinsLost { server, why, are_held: true } => {
            let hint = format!(
                "`switchboard approve tools {server}` approves its tools, once the server has listed them"
            );
            warn!(server, why, hint, "approved tools are unknown; all tools are held back");
        }
        Fact::PinsLost { server, why, .. } => {
            warn!(server, why, "approved tools are unknown; the next definitions are approved");
        }
        Fact::Separated { clients, why, .. } => {
            info!(server, root, clients, why, "clients get separate processes");
        }
        Fact::Unheard { method, text, .. } if text.is_empty() => {
            debug!(server, root, %method, "not delivered: several clients use this server");
        }
        Fact::Unheard { text, .. } => {
            info!(server, root, message = text, "log message from the server")
        }
        Fact::StateLost { why, .. } => warn!(server, root, why, "stopped; its state is lost"),
        Fact::Heavy { bytes, limit, .. } => {
            warn!(server, root, bytes, limit, "memory limit exceeded")
        }
        Fact::PoolHeavy { bytes, limit } => {
            warn!(bytes, limit, "memory limit of all servers exceeded");
        }
        Fact::Starting { framing, .. } => debug!(server, root, framing = framing.name(), "starting"),
        Fact::Spawned { pid: Some(pid), .. } => info!(server, root, pid, "spawned"),
        Fact::Spawned { pid: None, .. } => info!(server, root, "connecting to remote server"),
        Fact::SpawnFailed { reason, .. } => error!(server, root, reason, "could not be started"),
        Fact::NotReached { reason, .. } => error!(server, root, reason, "remote server unavailable"),
        Fact::Ready { after, restarted, .. } => info!(server, root, ms = ms(*after), restarted, "ready"),
        Fact::Crashed { how, pending, stderr, .. } => {
            error!(server, root, how, pending, stderr, "crashed");
        }
        Fact::RestartIn { delay, crashes, .. } => {
            info!(server, root, delay_ms = ms(*delay), crashes, "restart scheduled");
        }
        Fact::BreakerOpened { cooldown, crashes, .. } => {
            error!(server, root, cooldown_ms = ms(*cooldown), crashes, "crashes too often; restarts paused");
        }
        Fact::Stopping { why, .. } => info!(server, root, why, "stopping"),
        Fact::Stopped { how, .. } => info!(server, root, how, "stopped"),
        Fact::FramingDoubted { framing, .. } => {
            warn!(server, root, framing = framing.name(), "no answer in this framing");
        }
        Fact::FramingLearnt { framing, .. } => debug!(server, framing = framing.name(), "framing detected"),
        Fact::Probing { is_regular: true, .. } => debug!(server, root, "health check sent"),
        Fact::Probing { .. } => warn!(server, root, "health check sent after a timeout"),
        Fact::Routed { client, backend, method, id, minted } => {
            debug!(%client, %backend, server, root, %method, %id, minted, "routed");
        }
        Fact::Answered { method, took, outcome, id, .. } => {
            let (ms, outcome) = (ms(*took), word(*outcome));
            if with_ids {
                debug!(method = &**method, server, root, ms, outcome, %id, "answered");
            } else if Method::Servers.name() == Some(&**method) {
                // Our own commands poll this method while they wait.
                debug!(method = &**method, server, root, ms, outcome, "answered");
            } else {
                info!(method = &**method, server, root, ms, outcome, "answered");
            }
        }
        // The audit has lines of its own.
        Fact::Called(_) | Fact::AccessRefused { .. } => {}
        Fact::Asked { method, took, outcome, .. } => {
            info!(%method, server, root, ms = ms(*took), outcome = word(*outcome), "server asked its client");
        }
        Fact::Quarantined { text, bytes, total, .. } => {
            // A warning once; a chatty server would fill the IDE's log.
            match total {
                1 => warn!(server, text, bytes, total, "stdout line is not a message; quarantined"),
                _ => info!(server, text, bytes, total, "quarantined"),
            }
        }
        Fact::BadMessage { from, what } => warn!(%from, what, "bad message"),
        Fact::TooLong { from, bytes } => warn!(%from, bytes, "oversized message dropped"),
        Fact::LateAnswer { total, .. } => info!(server, total, "late answer dropped"),
        Fact::DroppedNotification { to, total } => {
            warn!(%to, total, "notifications dropped: the receiver does not read")
        }
        Fact::Retried { method, .. } => info!(server, %method, "request sent again"),
        Fact::Draining { why, pending } => info!(why, pending, "draining"),
        Fact::Finished => info!("finished"),
    }
}

/// Names of tools, not too many.
fn listed(tools: &[Arc<str>]) -> String {
    const MAX_LISTED: usize = 20;
    let first = tools[..tools.len().min(MAX_LISTED)].join(", ");
    match tools.len().saturating_sub(MAX_LISTED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::ServerError => "error",
        Outcome::Refused(kind) => kind.name(),
        Outcome::Cancelled => "cancelled",
    }
}

pub(super) fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// A server's name as part of a file name.
fn file_name(server: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = server.chars().map(safe).take(60).collect();
    // `..` and the like would be other folders.
    if name.chars().all(|c| c == '.') { "server".into() } else { name }
}

/// Time of the fact, not of the write.
#[derive(Clone, Default)]
struct FactTime(Arc<AtomicU64>);

impl FactTime {
    fn set(&self, time: SystemTime) {
        let micros = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        self.0.store(micros as u64, Ordering::Relaxed);
    }
}

impl FormatTime for FactTime {
    fn format_time(&self, w: &mut Writer<'_>) -> std::fmt::Result {
        let time = UNIX_EPOCH + Duration::from_micros(self.0.load(Ordering::Relaxed));
        write!(w, "{}", Timestamp(time))
    }
}

/// Lines that wait to be written together.
#[derive(Clone, Default)]
struct Gathered(Arc<Lock<Vec<u8>>>);

impl Gathered {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl io::Write for Gathered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Gathered {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
