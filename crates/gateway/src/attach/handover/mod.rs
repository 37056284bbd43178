//! Handover of a client's own streams to the daemon that serves it, and from one daemon to the next. Lower layers know it only
//! as a [`StoredOutput`](crate::io::output::StoredOutput), an [`InputTap`](crate::io::reader::tap::InputTap) and a
//! [`StreamHolder`](crate::daemon::StreamHolder).
//!
//! # Layout
//! - `entry`: entries of a client's journal; `state`: what they add up to; `entries`: from messages to entries.
//! - `own_ids`: ids of repeated messages; `journal`: the journal and its input tap; `output`: its output.
//! - `settle`: answers that are owed after a daemon's end; `watchdog`: tells a daemon that hangs.
//! - `serve`: one client from its coming to its going; `hold`: the daemon's side; `lend`: the attachment's side, which
//!   outlives all daemons.

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
