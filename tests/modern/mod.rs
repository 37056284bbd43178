//! MCP 2026-07-28, the modern era.
//!
//! - `peers`: the scripted client and the fake server of this era, without the program between them.
//! - `remote`: modern servers over HTTP; `remote_real`: those of two SDKs.

mod peers;
mod remote;
mod remote_real;
