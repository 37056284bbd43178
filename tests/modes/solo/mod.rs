//! The promises of `modes` for a window that serves itself.

const MODE: crate::support::Mode = crate::support::Mode::Solo;

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
