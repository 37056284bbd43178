//! MCP 2026-07-28: requests that stand alone, without a handshake or a session.
//!
//! - `http_posts`: modern requests over HTTP, each header and member of which can be changed.
//! - `http_refusals`: requests that break the rules of the transport.

#[cfg(target_os = "linux")]
pub(crate) mod http_posts;
#[cfg(target_os = "linux")]
mod http_refusals;
