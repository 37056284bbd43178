//! MCP 2026-07-28, the modern era.
//!
//! - `peers`: the scripted client and the fake server of this era, without the program between them.
//! - `http_refusals`: requests over HTTP that break the rules of the transport.

mod peers;
#[cfg(target_os = "linux")]
mod http_refusals;
