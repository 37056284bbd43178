//! The promises of `modes` for a window that the daemon serves, which is the default.

const MODE: crate::support::Mode = crate::support::Mode::Daemon;

#[path = "../transparency.rs"]
mod transparency;
#[path = "../framing.rs"]
mod framing;
#[path = "../envelope.rs"]
mod envelope;
#[path = "../batch.rs"]
mod batch;
#[path = "../firewall.rs"]
mod firewall;
#[path = "../cancel_progress.rs"]
mod cancel_progress;
#[path = "../server_requests.rs"]
mod server_requests;
#[path = "../deadlines.rs"]
mod deadlines;
#[path = "../limits.rs"]
mod limits;
#[path = "../crash.rs"]
mod crash;
