//! MCP 2026-07-28, the modern era.
//!
//! - `peers`: the scripted client and the fake server of this era, without the program between them.

mod peers;
