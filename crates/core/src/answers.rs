//! Wording of all error answers: what happened, which server it concerns, and what to do next. No other
//! module words an error that a client or its user reads. Must not change any state.
//!
//! # Layout
//! - `limited`: calls beyond a limit.
//! - `access`: refusals of access.
//! - `eras`: requests that do not fit the era of their client or server.

mod limited;
mod access;
mod eras;

pub(crate) use access::Asked;

use crate::backends::Backend;
use crate::catalogue::{List, Naming};
use crate::core::Core;
use crate::ids::{BackendId, ClientId};
use crate::servers::{LastWords, Limit};
use serde_json::json;
use std::fmt;
use std::time::Duration;
use switchboard_protocol::{ErrorAnswer, ErrorKind};

/// Ways to say which workspace a client works in.
pub const NO_ROOT_HINT: &str = "open a folder in the IDE, start it in a project folder, or give `--root DIR`, `--pin-root DIR` \
                                or `defaultRoot`";

/// Reason why a backend cannot serve a request.
#[derive(Debug, Clone)]
pub(crate) enum Cause {
    /// The process could not be started.
    Spawn {
        reason: String,
        hint: Option<String>,
    },
    /// A remote server could not be reached, or refused the handshake.
    NotReached {
        reason: String,
        hint: Option<String>,
        retryable: bool,
        after: Option<Duration>,
    },
    /// The process was not started in time.
    SpawnTimeout {
        within: Duration,
    },
    /// The process ended before it answered the handshake.
    DiedAtStart {
        how: String,
        said: LastWords,
        hint: Option<String>,
    },
    /// The process did not answer `initialize`.
    Silent {
        within: Duration,
        said: LastWords,
    },
    /// The process answered `initialize` with an error.
    Refused {
        message: String,
    },
    Died {
        how: String,
        said: LastWords,
    },
    /// Too many crashes: no start is attempted for a while.
    BreakerOpen {
        why: String,
        wait: Duration,
    },
    Restarted {
        why: &'static str,
    },
    Stopped,
    /// The request waits for a process that no handshake of its client can be made for.
    Ungreeted,
    /// Stopped by its owner.
    Held,
    /// Removed from the config.
    Removed,
}

/// A limit that a request would exceed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Overload {
    /// Open requests of one client, by number.
    OpenRequests(usize),
    /// Open requests of one client, by bytes.
    OpenBytes(usize),
    /// Requests queued for a turn at a backend that already works on `at_work`.
    Turns { at_work: usize },
    /// Messages queued until a backend is ready.
    Start,
    /// Bytes that a server has not read.
    ServerUnread,
    /// Bytes that a client has not read.
    ClientUnread,
    /// Open requests from servers to one client.
    Questions,
    /// Kinds of modern clients at work, by their capabilities.
    Profiles(usize),
    /// Resources and tasks in one subscription.
    Wishes(usize),
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenRequests(count) => write!(f, "{count} requests are still unanswered"),
            Self::OpenBytes(bytes) => write!(f, "unanswered requests hold {bytes} bytes"),
            Self::Turns { at_work } => {
                write!(
                    f,
                    "the server is at its limit of {at_work} concurrent requests, and its queue is full"
                )
            }
            Self::Start => f.write_str("too many messages are queued until the server is ready"),
            Self::ServerUnread => f.write_str("the server does not read its input"),
            Self::ClientUnread => f.write_str("the client does not read its input"),
            Self::Profiles(most) => {
                write!(f, "requests with {most} different sets of client capabilities are at work there")
            }
            Self::Wishes(most) => write!(f, "a subscription can name {most} resources and tasks"),
            Self::Questions => f.write_str("too many requests to the client are still unanswered"),
        }
    }
}

/// Reason why a server is not started without a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoStandby {
    Private,
    AsksRoots,
    NoRoot,
    Held,
    Removed,
}

impl NoStandby {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Private => "each client gets its own instance, which starts when the client connects",
            Self::AsksRoots => "it asks its client for roots, so it starts when a client connects",
            Self::NoRoot => {
                "it runs once per workspace, and no workspace was given: write NAME@FOLDER, set `defaultRoot`, or \
                 set `scope` to `global` if it does not depend on the workspace"
            }
            Self::Held => "it is stopped; `switchboard start NAME` re-enables it",
            Self::Removed => "it is no longer in the config",
        }
    }
}

/// Key in a daemon's refusal for the mark of the attachment that it is addressed to.
pub(crate) const MARK_KEY: &str = "mark";

impl Core {
    /// The name of a backend's server; without a backend, the name of the only server, if there is just one.
    fn name_of(&self, of: Option<BackendId>) -> &str {
        match (of.and_then(|backend| self.backends.get(&backend)), self.servers.only()) {
            (Some(b), _) => &b.settings().name,
            (None, Some(only)) => only.name(),
            (None, None) => "",
        }
    }

    fn relays(&self, of: Option<BackendId>) -> bool {
        of.is_some_and(|backend| self.settings_of(backend).relays)
    }

    pub(crate) fn cause(&self, of: Option<BackendId>, cause: &Cause) -> ErrorAnswer {
        let server = self.name_of(of);
        match cause {
            Cause::Spawn { reason, hint } => {
                let text = format!("the server `{server}` could not be started: {reason}");
                self.not_started(of, text, false, hint.as_deref())
            }
            Cause::NotReached { reason, hint, retryable, after } => {
                let text = format!("the server `{server}`: {reason}");
                let answer = self.not_started(of, text, *retryable, hint.as_deref());
                match after {
                    Some(after) => answer.with("retryAfterMs", json!(after.as_millis() as u64)),
                    None => answer,
                }
            }
            Cause::SpawnTimeout { within } => self.spawn_timed_out(of, *within),
            Cause::DiedAtStart { how, said, hint } => self.died_at_start(of, how, said, hint.as_deref()),
            Cause::Silent { within, said } => self.silent_at_start(of, *within, said),
            Cause::Refused { message } => {
                let text = format!("the server `{server}` refused `initialize`: {message}");
                ErrorAnswer::new(ErrorKind::BackendSpawnFailed, text)
                    .concerning(self, of)
                    .retryable(true)
                    .hint(format!("`switchboard tools {server}` shows how it answers another client"))
            }
            Cause::Died { how, said } => self.died(of, how, said),
            Cause::BreakerOpen { why, wait } => {
                // "Next try in 0 s" would read like a mistake.
                let seconds = wait.as_secs().max(1);
                let text = format!("the server `{server}` keeps crashing ({why}); next try in {seconds} s");
                self.backend_unavailable(of, text)
                    .retryable(true)
                    .hint("its stderr is in the log folder; fix what makes it crash, then try again")
                    .with("retryAfterMs", json!(wait.as_millis() as u64))
            }
            Cause::Restarted { why } => self
                .backend_unavailable(of, format!("the server `{server}` was restarted: {why}"))
                .retryable(true)
                .hint("whether this request took effect is unknown"),
            Cause::Stopped => self.shutting_down(),
            Cause::Ungreeted => self
                .backend_unavailable(of, format!("the server `{server}` was not told `initialize`"))
                .retryable(true)
                .hint("repeat `initialize`, which has failed, and then this request"),
            Cause::Held => self
                .backend_unavailable(of, format!("the server `{server}` was stopped by its owner"))
                .retryable(false)
                .hint(format!("`switchboard start {server}` starts it again")),
            Cause::Removed => self
                .backend_unavailable(of, format!("the server `{server}` is no longer in the config"))
                .retryable(false)
                .hint("put it back into the config file, or take it out of the IDE's settings"),
        }
    }

    fn backend_unavailable(&self, of: Option<BackendId>, text: impl Into<String>) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::BackendUnavailable, text).concerning(self, of)
    }

    fn not_started(
        &self,
        of: Option<BackendId>,
        text: String,
        retryable: bool,
        hint: Option<&str>,
    ) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::BackendSpawnFailed, text)
            .concerning(self, of)
            .retryable(retryable)
            .hint(hint.unwrap_or("run `switchboard check` to see what is wrong with its entry"))
    }

    fn spawn_timed_out(&self, of: Option<BackendId>, within: Duration) -> ErrorAnswer {
        let (server, seconds) = (self.name_of(of), within.as_secs_f64());
        let text = format!("the process of the server `{server}` did not start within {seconds:.1} s");
        ErrorAnswer::new(ErrorKind::BackendSpawnFailed, text)
            .concerning(self, of)
            .retryable(true)
            .hint("the machine may be overloaded; raise `startTimeout` for this server if it needs longer")
    }

    fn died_at_start(
        &self,
        of: Option<BackendId>,
        how: &str,
        said: &LastWords,
        hint: Option<&str>,
    ) -> ErrorAnswer {
        let server = self.name_of(of);
        let more = hint.unwrap_or("run its command in a terminal to see more");
        let text = format!("the server `{server}` ended before it answered `initialize`: {how}");
        ErrorAnswer::new(ErrorKind::BackendSpawnFailed, said.after(text))
            .concerning(self, of)
            .retryable(true)
            .hint(format!("the end of its stderr is in `data.stderr`; {more}"))
            .with("stderr", json!(said.stderr()))
            .with_text("stdout", said.stdout())
    }

    fn silent_at_start(&self, of: Option<BackendId>, within: Duration, said: &LastWords) -> ErrorAnswer {
        let (server, seconds) = (self.name_of(of), within.as_secs_f64());
        let text = format!("the server `{server}` did not answer `initialize` within {seconds:.1} s");
        ErrorAnswer::new(ErrorKind::BackendTimeout, said.after(text))
            .concerning(self, of)
            .retryable(true)
            .hint(format!(
                "raise `startTimeout` for this server if it needs longer; `switchboard logs {server}` shows its stderr"
            ))
            .with("timeoutMs", json!(within.as_millis() as u64))
            .with_text("stderr", said.stderr())
            .with_text("stdout", said.stdout())
    }

    fn died(&self, of: Option<BackendId>, how: &str, said: &LastWords) -> ErrorAnswer {
        // Behind a relay stands the daemon, which the client's user never configured as a server.
        if self.relays(of) {
            return self
                .backend_unavailable(of, format!("the Switchboard daemon died during this request: {how}"))
                .retryable(true)
                .hint("a new one is being started; whether this request took effect is unknown");
        }
        let server = self.name_of(of);
        let text = format!("the server `{server}` died during this request: {how}");
        self.backend_unavailable(of, said.after(text))
            .retryable(true)
            .hint("it is being restarted; whether this request took effect is unknown")
            .with("stderr", json!(said.stderr()))
            .with_text("stdout", said.stdout())
    }

    pub(crate) fn timed_out(&self, of: BackendId, waited: Duration, was_sent: bool) -> ErrorAnswer {
        let server = self.name_of(Some(of));
        let seconds = waited.as_secs_f64();
        let is_greeted = self.backends.get(&of).is_some_and(Backend::is_short_of_handshake);
        let (text, hint) = if !was_sent && is_greeted {
            (
                format!("the server `{server}` did not answer the handshake within {seconds:.1} s"),
                "its stderr is in the log folder; raise `startTimeout` for this server if it needs longer",
            )
        } else if was_sent {
            (
                format!("the server `{server}` did not answer within {seconds:.1} s"),
                "raise `timeout` (calls) or `startTimeout` (handshake) for this server if it needs longer",
            )
        } else {
            (
                format!("the server `{server}` was not ready within {seconds:.1} s"),
                "it is still starting or restarting; its stderr is in the log folder",
            )
        };
        ErrorAnswer::new(ErrorKind::BackendTimeout, text)
            .concerning(self, Some(of))
            .retryable(true)
            .hint(hint)
            .with("timeoutMs", json!(waited.as_millis() as u64))
    }

    /// A request did not get its turn in time.
    pub(crate) fn no_turn(&self, of: BackendId, waited: Duration, at_work: usize) -> ErrorAnswer {
        let (server, seconds) = (self.name_of(Some(of)), waited.as_secs_f64());
        let text = format!(
            "queued for {seconds:.1} s: the server `{server}` is at its limit of {at_work} concurrent requests"
        );
        ErrorAnswer::new(ErrorKind::BackendTimeout, text)
            .concerning(self, Some(of))
            .retryable(true)
            .hint("raise `maxInFlight` for this server if it can handle more at once")
            .with("timeoutMs", json!(waited.as_millis() as u64))
    }

    /// A start did not get room in time: all running backends were needed.
    pub(crate) fn no_room(&self, of: BackendId, waited: Duration) -> ErrorAnswer {
        let (server, seconds, most) = (self.name_of(Some(of)), waited.as_secs_f64(), self.max_instances(of));
        let own =
            if most < self.settings.pool.max_backends { Limit::Server(most) } else { Limit::Pool(most) };
        // There may be room again by now; the error still names the limit that the request waited for.
        let limit = self.limit_of(of).unwrap_or(own);
        let allowed = match limit {
            Limit::Server(most) => format!("the limit is {most}"),
            Limit::Pool(most) => format!("the limit for all servers is {most}"),
            Limit::Memory(bytes) => format!("the memory limit for all servers is {} MiB", bytes >> 20),
        };
        let running = self.backends.values().filter(|b| b.is_ready());
        let shown = |b: &Backend| {
            let open = self.pending.wanted_at(b.id()).count();
            let root = b.root().unwrap_or("no workspace");
            format!("{root} ({open} open)")
        };
        let busy: Vec<String> = running.map(shown).collect();
        let text = format!(
            "no room for another instance of `{server}` within {seconds:.1} s: {allowed}, and all are in use"
        );
        ErrorAnswer::new(ErrorKind::BackendTimeout, text)
            .concerning(self, Some(of))
            .retryable(true)
            .hint(format!("wait for earlier answers, or {}", limit.cure(server)))
            .with("running", json!(busy))
            .with("timeoutMs", json!(waited.as_millis() as u64))
    }

    /// The workspace of a request is unknown, and the server needs one.
    pub(crate) fn no_root(&self, client: ClientId) -> ErrorAnswer {
        let server = self.clients.get(&client).map_or("?", |c| &c.settings().name);
        let text = format!("no workspace is known for this request, and the server `{server}` needs one");
        ErrorAnswer::new(ErrorKind::RoutingFailed, text)
            .concerning(self, None)
            .server(server)
            .retryable(true)
            .hint(format!("{NO_ROOT_HINT}; `switchboard explain` shows how the workspace is chosen"))
    }

    /// A backend's request does not say which of its several clients it is for.
    pub(crate) fn whose_question(&self, of: BackendId) -> ErrorAnswer {
        ErrorAnswer::new(
            ErrorKind::RoutingFailed,
            "several clients use this server, and the request does not say which one it is for",
        )
        .concerning(self, Some(of))
        .retryable(false)
        .hint("from now on each client gets its own process, where this request works")
    }

    pub(crate) fn overloaded(&self, of: Option<BackendId>, overload: Overload) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::Overloaded, format!("overloaded: {overload}"))
            .concerning(self, of)
            .retryable(true)
            .hint("wait for earlier answers before sending more")
    }

    pub(crate) fn too_many_subscriptions(&self) -> ErrorAnswer {
        let limits = &self.settings.limits;
        let (count, bytes) = (limits.subscriptions_per_client, limits.subscription_bytes);
        let text =
            format!("too many subscriptions: the limit per client is {count}, and {bytes} bytes of URIs");
        ErrorAnswer::new(ErrorKind::Overloaded, text)
            .concerning(self, None)
            .retryable(false)
            .hint("unsubscribe from other resources first")
    }

    pub(crate) fn shutting_down(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::ShuttingDown, "switchboard is shutting down")
            .concerning(self, None)
            .retryable(false)
            .hint("start it again")
    }

    /// For a request that arrives during shutdown and was not acted upon. When a daemon ends, another one
    /// follows. `mark` shows an attachment that this is not a server's answer.
    pub(crate) fn turned_away(&self, mark: Option<&str>) -> ErrorAnswer {
        if !self.is_succeeded() {
            return self.shutting_down();
        }
        let answer = self.shutting_down().retryable(true).hint("try again: a new daemon is starting");
        match mark {
            Some(mark) => answer.with(MARK_KEY, json!(mark)),
            None => answer,
        }
    }

    pub(crate) fn client_too_slow(&self, bytes: usize) -> ErrorAnswer {
        let text = format!("the answer ({bytes} bytes) was dropped: too many earlier answers are unread");
        ErrorAnswer::new(ErrorKind::ClientTooSlow, text)
            .concerning(self, None)
            .retryable(true)
            .hint("the client must read its answers")
    }

    pub(crate) fn too_large(&self, whose: &str, bytes: u64) -> ErrorAnswer {
        let text = format!("the {whose} has {bytes} bytes, which is over the limit");
        ErrorAnswer::new(ErrorKind::MessageTooLarge, text)
            .concerning(self, None)
            .retryable(false)
            .hint("raise `maxMessageBytes` in the config, or ask for less")
    }

    pub(crate) fn bad_answer(&self, of: BackendId, what: &str) -> ErrorAnswer {
        let server = self.name_of(Some(of));
        ErrorAnswer::new(ErrorKind::BadAnswer, format!("the server `{server}` sent a broken answer: {what}"))
            .concerning(self, Some(of))
            .retryable(false)
            .hint("this is a bug in that server; report it there")
    }

    pub(crate) fn not_offered(&self, method: &str) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::MethodNotFound, format!("the method `{method}` is not offered"))
            .concerning(self, None)
            .retryable(false)
            .hint("send `initialize` instead")
    }

    /// No server of an aggregate is known to offer the method.
    pub(crate) fn nobodys_method(&self, method: &str) -> ErrorAnswer {
        let text = format!("no server is known to offer the method `{method}`");
        ErrorAnswer::new(ErrorKind::MethodNotFound, text)
            .retryable(false)
            .hint("`--server NAME` connects to one server only and passes every method on")
    }

    /// A method to which filters cannot be applied.
    pub(crate) fn filtered_method(&self, method: &str, naming: &Naming) -> ErrorAnswer {
        let answer = |text: String| ErrorAnswer::new(ErrorKind::MethodNotFound, text).retryable(false);
        let server = &naming.server;
        match naming.holding(None).is_open() {
            true => answer(format!("the method `{method}` cannot be filtered, and tools of this server are held back"))
                .hint(format!("`switchboard approve tools {server}` shows what has changed, and approves it")),
            false => answer(format!("the method `{method}` cannot be filtered, and this server has filters"))
                .hint("remove `allow`, `deny` and `rename` from the server's entry to let unknown methods through"),
        }
    }

    pub(crate) fn unknown_name(&self, list: List, name: &str, nearest: Vec<String>) -> ErrorAnswer {
        let what = if list == List::Prompts { "prompt" } else { "tool" };
        let hint = match nearest.first() {
            Some(first) => format!("did you mean `{first}`? `{what}s/list` lists all {what}s"),
            None => format!("`{what}s/list` lists all {what}s"),
        };
        ErrorAnswer::new(ErrorKind::UnknownName, format!("Unknown {what}: {name}"))
            .retryable(false)
            .hint(hint)
            .with("nearest", json!(nearest))
    }

    /// The client gave a task an id that another client's task for the same process has.
    pub(crate) fn unusable_task(&self, of: BackendId) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::RoutingFailed, "the client's task cannot be told from another client's")
            .concerning(self, Some(of))
            .retryable(true)
            .hint("ask again without a task")
    }

    pub(crate) fn unknown_task(&self, task: &str) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::UnknownName, format!("Unknown task: {task}"))
            .retryable(false)
            .hint("the task has ended, or was not started here")
    }

    /// No server has the resource, or several may have it.
    pub(crate) fn unknown_resource(&self, uri: &str, owners: &[&str]) -> ErrorAnswer {
        let answer = match owners {
            [] => ErrorAnswer::new(ErrorKind::UnknownResource, format!("Resource not found: {uri}"))
                .hint("`resources/list` lists all resources"),
            _ => {
                let text = format!("Resource not found: {uri} could belong to several servers");
                ErrorAnswer::new(ErrorKind::UnknownResource, text)
                    .hint("use the URI from `resources/list`, which names the server")
                    .with("servers", json!(owners))
            }
        };
        answer.retryable(false).with("uri", json!(uri))
    }

    pub(crate) fn greeted_again(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::BadMessage, "another `initialize` arrived before this one was answered")
            .retryable(false)
            .hint("wait for the answer to the last one")
    }

    pub(crate) fn no_handshake(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::NotInitialized, "this client has not sent `initialize` yet")
            .retryable(false)
            .hint(
                "send `initialize` first; clients that speak MCP without a handshake (2026-07-28) \
                 are not supported yet",
            )
    }

    pub(crate) fn stale_cursor(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::StaleCursor, "this cursor is invalid or has expired")
            .retryable(false)
            .hint("request the list again, without a cursor")
    }

    pub(crate) fn client_silent(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::ClientTimeout, "the client did not answer in time")
            .concerning(self, None)
            .retryable(true)
            .hint("ask again, or raise `hardTimeout` for this server")
    }

    pub(crate) fn client_gone(&self) -> ErrorAnswer {
        ErrorAnswer::new(ErrorKind::ShuttingDown, "the client has disconnected and cannot answer")
            .concerning(self, None)
            .retryable(false)
            .hint("continue without its answer")
    }
}

/// Data in the same form for all our answers.
trait AnswerDetails {
    fn concerning(self, core: &Core, of: Option<BackendId>) -> Self;
    fn with_text(self, key: &str, text: &str) -> Self;
}

impl AnswerDetails for ErrorAnswer {
    fn concerning(self, core: &Core, of: Option<BackendId>) -> Self {
        let root = of.and_then(|backend| core.backends.get(&backend)).and_then(|b| b.key().root.as_ref());
        // Errors of an aggregate as a whole concern no single server.
        let answer = match core.name_of(of) {
            "" => self,
            name => self.server(name),
        };
        answer.with("root", json!(root))
    }

    fn with_text(self, key: &str, text: &str) -> Self {
        if text.is_empty() { self } else { self.with(key, json!(text)) }
    }
}
