//! The protocol between the main process, the warden and the guards, and the names of these processes. Must
//! not know what a message causes.
//!
//! # Layout
//! - `frame`: length-prefixed frames and the values in them.
//! - `message`: the messages, encoded as frames.
//! - `socket`: frames with descriptors, sent through a Unix socket.

mod frame;
mod message;
pub(crate) mod socket;

use std::ffi::CStr;

pub(crate) use frame::{read_frame, take_frame};
pub(crate) use message::{Assignment, EndedBy, GuardRequest, Order, Report, Stage};

/// First argument of a warden. This and the names below differ from `switchboard`, so that killing all
/// processes of that name spares those that clean up.
pub(crate) const WARDEN_ROLE: &str = "sb-warden";
/// First argument of a process that probes namespaces.
#[cfg(target_os = "linux")]
pub(crate) const PROBE_ROLE: &str = "sb-probe";
pub(crate) const WARDEN_NAME: &CStr = c"sb-warden";
pub(crate) const GUARD_NAME: &CStr = c"sb-guard";
/// Names of the processes between a guard and a program in a namespace.
pub(crate) const NAMESPACE_PROCESS_NAMES: [&str; 2] = ["sb-init", "sb-parent"];
/// Release of the program. A warden of another release is refused, since its encoding may differ.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
