//! The log, and the audit. Facts are handed over without waiting, and wake the log's thread at most a few times a second;
//! that thread turns them into lines. A full disk or a stalled reader of our stderr holds up only that
//! thread: beyond a limit, facts are dropped and counted. Must not influence anything else.
//!
//! # Layout
//! - `windows`: the daemon's log, and the logs of windows with settings of their own.
//! - `log`: facts as log lines, the only code that logs.
//! - `audit`: records of calls.
//! - `rolling`: a log file per day, limited in size.
//! - `bad_messages`: the rate limit for lines about bad messages.

mod audit;
mod bad_messages;
mod log;
mod rolling;
mod windows;

pub use audit::AuditOptions;
pub use windows::WindowLog;

use audit::{Audit, AuditQueue, AuditState};

use crate::config::{LogFormat, LogLevel, os};
use crate::secrets;
use bad_messages::BadMessages;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use switchboard_core::redact::CUT_SLACK_BYTES;
use switchboard_core::{ClientId, Fact, Outcome};
use switchboard_process::lock::{Condition, Lock, LockGuard};
use switchboard_process::stderr;

/// Facts that may wait to be written; further ones are dropped.
const MAX_WAITING_FACTS: usize = 20_000;
/// Requests with a line of their own per write; the rest are summed up.
const MAX_REQUEST_LINES: usize = 500;
/// Kinds of requests that are summed up separately.
const MAX_CROWDS: usize = 64;
/// Bytes of a body that are logged.
const MAX_BODY_BYTES: usize = 4096;
/// Time for which facts are collected before a write.
const GATHER_TIME: Duration = Duration::from_millis(100);

/// The daemon's own stderr, in the folder of the logs.
const DAEMON_STDERR_FILE: &str = "daemon.stderr.log";
/// Size at which a new file begins; one old file is kept.
const MAX_STDERR_BYTES: u64 = 1 << 20;

/// Creates the folder and path for a new daemon's stderr. `None` if that is not possible.
pub fn stderr_for_daemon(folder: &Path) -> Option<PathBuf> {
    os::create_private_dir(folder).ok()?;
    let path = folder.join(DAEMON_STDERR_FILE);
    stderr::begin_anew_if_long(&path, MAX_STDERR_BYTES);
    Some(path)
}

/// Checks that a log file can be written. Done before serving: later, lost lines go unnoticed.
pub fn try_log_file(path: &Path) -> io::Result<()> {
    // Opening a named pipe would block until it has a reader.
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return Ok(());
    }
    rolling::open(path).map(drop)
}

/// Destination and format of the log.
#[derive(Debug, Clone)]
pub struct LogOptions {
    pub level: LogLevel,
    pub format: LogFormat,
    /// File to use instead of the daily one in `folder`.
    pub file: Option<PathBuf>,
    pub folder: PathBuf,
    pub bodies: bool,
    /// Name of the server, for lines about no backend; empty with several servers.
    pub server: String,
    pub root: Option<PathBuf>,
    pub audit: AuditOptions,
}

/// Input of the log's thread.
enum Item {
    Fact(SystemTime, Fact),
    /// Requests beyond those with a line each.
    Crowd(SystemTime, Crowd),
    Body {
        time: SystemTime,
        /// Window whose log gets it; `None` for the main log.
        window: Option<ClientId>,
        from: String,
        text: Vec<u8>,
    },
    /// Number of bad messages without a line of their own.
    Bad(SystemTime, u64),
    WindowOpened(ClientId, WindowLog),
    WindowClosed(ClientId),
    /// With the server's name.
    Stderr(SystemTime, String, String),
    /// Another file for the audit.
    AuditChanged(AuditOptions),
}

/// Requests of one kind that share a line: under a flood, one line each would cost more than the requests.
struct Crowd {
    method: Cow<'static, str>,
    outcome: Outcome,
    requests: u64,
    longest: Duration,
}

#[derive(Default)]
struct Queue {
    items: Vec<Item>,
    dropped: u64,
    /// Request lines since the last write.
    requests: usize,
    crowds: Vec<Crowd>,
    bad: BadMessages,
    audit: AuditQueue,
    /// The thread waits to be woken. While it collects, it needs no notice.
    asleep: bool,
    is_silent: bool,
    closing: bool,
    closed: bool,
}

/// Entry point for all facts.
pub struct Telemetry {
    queue: Arc<(Lock<Queue>, Condition)>,
    thread: Lock<Option<JoinHandle<()>>>,
    bodies: bool,
    level: LogLevel,
    /// Windows with log settings of their own.
    windows: Lock<BTreeMap<ClientId, WindowLog>>,
    /// Number of them that log bodies; read for each message, so it avoids the lock.
    body_windows: AtomicUsize,
    /// State of the audit, as of the last write.
    audit: Arc<Lock<AuditState>>,
}

impl Telemetry {
    pub(crate) fn start(options: LogOptions) -> Arc<Self> {
        let mut queue = Queue::default();
        queue.audit.set_on(options.audit.is_on);
        let queue = Arc::new((Lock::new(queue), Condition::new()));
        let (bodies, level) = (options.bodies, options.level);
        let audit = Arc::new(Lock::new(AuditState::default()));
        let shared = (queue.clone(), audit.clone());
        let thread = std::thread::Builder::new()
            .name("telemetry".into())
            .stack_size(256 << 10)
            .spawn(move || listen(&shared.0, &shared.1, options))
            .ok();
        let (windows, body_windows) = Default::default();
        Arc::new(Self { queue, thread: Lock::new(thread), bodies, level, windows, body_windows, audit })
    }

    /// Opens the queue for one or more facts. Never waits for a disk or a reader.
    pub(crate) fn desk(&self) -> Desk<'_> {
        Desk { telemetry: self, queue: self.lock(), time: SystemTime::now() }
    }

    /// Telemetry for a process that does not log.
    pub(crate) fn silent() -> Arc<Self> {
        let queue = Queue { is_silent: true, closed: true, ..Queue::default() };
        Arc::new(Self {
            queue: Arc::new((Lock::new(queue), Condition::new())),
            thread: Lock::new(None),
            bodies: false,
            level: LogLevel::Error,
            windows: Lock::default(),
            body_windows: AtomicUsize::new(0),
            audit: Arc::default(),
        })
    }

    /// Registers a window with log settings of its own.
    pub(crate) fn open_window(&self, client: ClientId, wanted: WindowLog) {
        self.change_windows(|windows| windows.insert(client, wanted.clone()));
        self.desk().queue.push(Item::WindowOpened(client, wanted));
    }

    /// Removes a window. `true` if it had settings of its own.
    pub(crate) fn close_window(&self, client: ClientId) -> bool {
        let had_own = self.change_windows(|windows| windows.remove(&client)).is_some();
        if had_own {
            self.desk().queue.push(Item::WindowClosed(client));
        }
        had_own
    }

    fn change_windows<T>(&self, change: impl FnOnce(&mut BTreeMap<ClientId, WindowLog>) -> T) -> T {
        let mut windows = self.windows.lock();
        let changed = change(&mut windows);
        let with_bodies = windows.values().filter(|window| window.bodies).count();
        self.body_windows.store(with_bodies, Ordering::Relaxed);
        changed
    }

    /// Whether this client's window logs bodies.
    pub(crate) fn wants_bodies_of(&self, client: ClientId) -> bool {
        self.body_windows.load(Ordering::Relaxed) > 0
            && self.change_windows(|windows| windows.get(&client).is_some_and(|window| window.bodies))
    }

    /// Whether any log shows the route of each request.
    pub(crate) fn wants_routes(&self) -> bool {
        let shows = |level: LogLevel| matches!(level, LogLevel::Debug | LogLevel::Trace);
        shows(self.level)
            || self.change_windows(|windows| windows.values().any(|window| window.level.is_some_and(shows)))
    }

    pub(crate) fn stderr(&self, server: &str, line: String) {
        let mut desk = self.desk();
        let time = desk.time;
        desk.queue.push(Item::Stderr(time, server.to_owned(), line));
    }

    /// Writes the audit to another file, or with other limits, from now on.
    pub(crate) fn change_audit(&self, options: AuditOptions) {
        let mut desk = self.desk();
        desk.queue.audit.set_on(options.is_on);
        desk.queue.push(Item::AuditChanged(options));
    }

    /// State of the audit, for `status`.
    pub(crate) fn audit_state(&self) -> AuditState {
        self.audit.lock().clone()
    }

    pub(crate) fn wants_bodies(&self) -> bool {
        self.bodies
    }

    /// Writes the rest, within `timeout`: a stalled reader must not delay the end of the program.
    pub(crate) fn close(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut queue = self.lock();
        queue.closing = true;
        self.queue.1.notify_all();
        while !queue.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            queue = self.queue.1.wait_timeout(queue, left);
        }
        drop(queue);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }

    fn lock(&self) -> LockGuard<'_, Queue> {
        self.queue.0.lock()
    }
}

/// Access to the queue. Dropping it wakes the thread, if it sleeps.
pub(crate) struct Desk<'a> {
    telemetry: &'a Telemetry,
    queue: LockGuard<'a, Queue>,
    time: SystemTime,
}

impl Desk<'_> {
    pub(crate) fn take(&mut self, fact: Fact) {
        self.queue.push_fact(self.time, fact);
    }

    pub(crate) fn take_body(&mut self, window: Option<ClientId>, from: String, text: &[u8]) {
        // More than is shown: a secret at the limit must be seen whole to be masked.
        let text = text[..text.len().min(MAX_BODY_BYTES + CUT_SLACK_BYTES)].to_vec();
        self.queue.push(Item::Body { time: self.time, window, from, text });
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        // Only the first fact after a rest wakes the thread.
        if std::mem::take(&mut self.queue.asleep) {
            self.telemetry.queue.1.notify_all();
        }
    }
}

impl Queue {
    fn push_fact(&mut self, time: SystemTime, fact: Fact) {
        if self.is_silent {
            return;
        }
        let Some(fact) = self.audit.take_fact(time, fact) else { return };
        match fact {
            Fact::Answered { method, took, outcome, .. } if self.requests == MAX_REQUEST_LINES => {
                self.join_crowd(method, took, outcome);
            }
            // Counted by `take`, and reported later as a number.
            Fact::BadMessage { .. } | Fact::TooLong { .. } if !self.bad.take(time) => {}
            fact => {
                self.requests += usize::from(matches!(fact, Fact::Answered { .. }));
                self.push(Item::Fact(time, fact));
            }
        }
    }

    fn join_crowd(&mut self, method: Cow<'static, str>, took: Duration, outcome: Outcome) {
        let known = self.crowds.iter().position(|crowd| crowd.outcome == outcome && crowd.method == method);
        match known {
            Some(at) => {
                let crowd = &mut self.crowds[at];
                crowd.requests += 1;
                crowd.longest = crowd.longest.max(took);
            }
            None if self.crowds.len() < MAX_CROWDS => {
                self.crowds.push(Crowd { method, outcome, requests: 1, longest: took });
            }
            None => self.dropped += 1,
        }
    }

    fn take(&mut self) -> Vec<Item> {
        self.requests = 0;
        let now = SystemTime::now();
        let mut items = std::mem::take(&mut self.items);
        items.extend(self.crowds.drain(..).map(|crowd| Item::Crowd(now, crowd)));
        items.extend(Some(self.bad.untold()).filter(|count| *count > 0).map(|count| Item::Bad(now, count)));
        items
    }

    fn push(&mut self, item: Item) {
        if self.items.len() < MAX_WAITING_FACTS {
            self.items.push(item);
        } else {
            self.dropped += 1;
        }
    }
}

/// The log's thread: collects, then writes.
fn listen(shared: &(Lock<Queue>, Condition), state: &Lock<AuditState>, options: LogOptions) {
    let (queue, changed) = shared;
    let folder = options.folder.clone();
    let mut audit = Audit::open(&options.audit, &folder);
    state.lock().clone_from(audit.state());
    let mut log = windows::Logs::open(options);
    loop {
        let mut waiting = queue.lock();
        while waiting.items.is_empty() && waiting.audit.is_empty() && !waiting.closing {
            // Set under the lock that `wait` releases, so that no notice is lost.
            waiting.asleep = true;
            waiting = changed.wait(waiting);
        }
        // Waiting a moment collects many facts into one write.
        let gathered = Instant::now() + GATHER_TIME;
        while !waiting.closing && Instant::now() < gathered {
            let left = gathered.saturating_duration_since(Instant::now());
            waiting = changed.wait_timeout(waiting, left);
        }
        let items = waiting.take();
        let dropped = std::mem::take(&mut waiting.dropped);
        let (records, lost) = waiting.audit.take();
        let closing = waiting.closing;
        // Released before writing, which may block on a full disk.
        drop(waiting);
        log.set_secrets(&secrets::known());
        for item in &items {
            match item {
                Item::Fact(time, fact) => {
                    log.fact(*time, fact);
                }
                Item::Crowd(time, crowd) => log.crowd(*time, crowd),
                Item::Bad(time, count) => log.bad(*time, *count),
                Item::Body { time, window, from, text } => log.body(*time, *window, from, text),
                Item::WindowOpened(client, wanted) => log.open_window(*client, wanted),
                Item::WindowClosed(client) => log.close_window(*client),
                Item::Stderr(time, server, line) => log.stderr(*time, server, line),
                Item::AuditChanged(options) => audit.change(options, &folder),
            }
        }
        if let Some(trouble) = audit.write(records, lost) {
            log.audit(SystemTime::now(), &trouble, &audit.state().file);
        }
        state.lock().clone_from(audit.state());
        log.flush(dropped);
        if closing {
            queue.lock().closed = true;
            changed.notify_all();
            return;
        }
    }
}
