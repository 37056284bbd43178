//! MCP 2026-07-28, the modern era.
//!
//! - `peers`: the scripted client and the fake server of this era, without the program between them.
//! - `claude`: Claude Code, with its recorded messages, before and after.
//! - `stdio`: one server over stdio. `together`: several servers. `verdict`: the era of a server. `tasks`: the owners of tasks.
//! - `remote`: modern servers over HTTP; `remote_real`: those of two SDKs.
//! - `http_refusals`: requests over HTTP that break the rules of the transport.
//! - `http_calls`, `http_streams`: requests over HTTP, and their responses. `http_access`: the rights of their tokens.
//! - `http_plain`: requests over HTTP that declare nothing. `http_params`: headers that repeat arguments. `http_pages`: requests
//!   of web pages.
//! - `guest`: a client on every route. `rules`, `rights`: the rules of the config and of tokens there.

mod claude;
mod peers;
mod remote;
mod remote_real;
mod stdio;
mod together;
mod verdict;
#[cfg(target_os = "linux")]
mod http_refusals;
#[cfg(target_os = "linux")]
mod http_calls;
#[cfg(target_os = "linux")]
mod http_streams;
#[cfg(target_os = "linux")]
mod http_access;
#[cfg(target_os = "linux")]
mod http_plain;
#[cfg(target_os = "linux")]
mod tasks;
#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod http_params;
#[cfg(target_os = "linux")]
mod http_pages;
