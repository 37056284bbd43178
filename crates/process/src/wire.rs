//! The language of our processes: what we, the warden and the guards say to each other, and the names by which they go.
//! Must not know what is done because of a message.
//!
//! # Layout
//! - `frame`: bodies behind their length, and the values in them.
//! - `message`: the messages, as frames.
//! - `socket`: frames with descriptors, through a Unix socket.

mod frame;
mod message;
pub(crate) mod socket;

use std::ffi::CStr;

pub(crate) use frame::{read_frame, take_frame};
pub(crate) use message::{Assignment, EndedBy, GuardRequest, Order, Report, Stage};

/// The first argument of a warden. It and the names below differ from `switchboard`, so that whoever kills all processes
/// of that name leaves those that clean up.
pub(crate) const WARDEN_ROLE: &str = "sb-warden";
/// The first argument of a process that tries out namespaces.
#[cfg(target_os = "linux")]
pub(crate) const PROBE_ROLE: &str = "sb-probe";
pub(crate) const WARDEN_NAME: &CStr = c"sb-warden";
pub(crate) const GUARD_NAME: &CStr = c"sb-guard";
/// Names of the processes between a guard and a program in a namespace.
pub(crate) const NAMESPACE_PROCESS_NAMES: [&str; 2] = ["sb-init", "sb-parent"];
/// A warden of another release is refused: it may encode messages otherwise.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
