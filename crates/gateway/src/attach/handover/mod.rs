//! Handover of a client's own streams to a daemon, and from one daemon to the next. Lower layers know it only
//! as a [`StoredOutput`](crate::io::output::StoredOutput), an [`InputTap`](crate::io::reader::tap::InputTap)
//! and a [`StreamHolder`](crate::daemon::StreamHolder).
//!
//! # Layout
//! - `entry`: entries of a client's journal; `state`: the state they add up to;
//!   `entries`: conversion from messages.
//! - `own_ids`: ids of repeated messages; `journal`: the journal and its input tap;
//!   `output`: output through the journal.
//! - `settle`: answers owed after a daemon's death; `watchdog`: detection of a hung daemon.
//! - `serve`: one client from arrival to departure; `hold`: the daemon's side; `lend`: the attachment's
//!   side, which outlives all daemons.

mod entry;
mod state;
mod entries;
mod own_ids;
mod journal;
mod output;
mod settle;
mod watchdog;
mod serve;
mod hold;
mod lend;

pub(crate) use hold::Handover;
pub(crate) use journal::HoldState;
pub(crate) use lend::{Lent, Lookout, lend, streams_of};
pub(crate) use serve::serve;
