//! Policies and limits, as the config gives them.

use std::time::Duration;
use switchboard_protocol::Framing;
use switchboard_protocol::dialect::Ear;

/// Lists and other short questions, whatever time a server's calls are given.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// What is done with a backend after one of its requests timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTimeout {
    /// Ask it for a sign of life; restart it if none comes.
    Probe,
    Restart,
    Keep,
}

/// What is sent once more after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfterCrash {
    /// Lists and reads; never a call.
    Safe,
    Off,
}

/// How we speak to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramingChoice {
    /// By the config, or by an earlier verdict.
    Fixed(Framing),
    /// Newline first; if nothing comes back, `Content-Length` on a fresh process.
    Try,
    /// The other way round: at an earlier start nothing came back to newline, and the client did not wait
    /// for the second try.
    Doubt,
}

/// One entry of the config, as far as the routing of messages needs it.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub name: String,
    /// The workspace it works in, for people to read.
    pub root: Option<String>,
    pub framing: FramingChoice,
    /// For the handshake.
    pub start_timeout: Duration,
    /// For calls; restarted by progress.
    pub timeout: Duration,
    /// The end of a request whatever its progress; `None` for never.
    pub hard_timeout: Option<Duration>,
    pub on_timeout: OnTimeout,
    pub retry_after_crash: RetryAfterCrash,
    pub shutdown_grace: Duration,
    /// How many requests a backend works on at a time; the others wait their turn.
    pub max_in_flight: usize,
    /// How many messages may wait, for their turn or for the backend to be ready.
    pub max_queue: usize,
}

/// A limit on everything that could grow.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes that may wait in a client's outbox before an answer becomes `client_too_slow`.
    pub client_bytes: usize,
    /// Bytes that may wait in a backend's outbox before a request becomes `overloaded`.
    pub backend_bytes: usize,
    /// Requests of one client without an answer.
    pub pending_per_client: usize,
    /// Requests of one backend to its client without an answer.
    pub asked_per_backend: usize,
    /// Restarts after crashes within a minute, before the breaker opens.
    pub restarts_per_minute: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            client_bytes: 64 << 20,
            backend_bytes: 64 << 20,
            pending_per_client: 4096,
            asked_per_backend: 256,
            restarts_per_minute: 5,
        }
    }
}

/// Everything the core is made with.
#[derive(Debug, Clone)]
pub struct Settings {
    pub server: ServerSettings,
    /// What is known of the client's dialect before it speaks.
    pub dialect: Ear,
    /// How long requests in flight may go on once we are asked to end.
    pub shutdown_grace: Duration,
    pub limits: Limits,
    /// For the jitter of restarts.
    pub seed: u64,
    /// Whether anyone wants to see [`crate::Fact::Routed`] for every request.
    pub report_routes: bool,
}
