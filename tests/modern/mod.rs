//! MCP 2026-07-28, the modern era.
//!
//! - `peers`: the scripted client and the fake server of this era, without the program between them.
//! - `claude`: Claude Code, with its recorded messages, before and after.
//! - `stdio`: one server over stdio. `together`: several servers. `verdict`: the era of a server. `tasks`: the owners of tasks.
//! - `remote`: modern servers over HTTP; `remote_real`: those of two SDKs.
//! - `legacy_clients`: clients that make a handshake, with modern servers. `legacy_rules`: the rules of the config for them.
//!   `legacy_input`: what such a server asks them. `legacy_batches`: their batches. `known_tasks`: those that know tasks.
//!   `legacy_http`: such clients over HTTP.
//! - `http_refusals`: requests over HTTP that break the rules of the transport.
//! - `http_calls`, `http_streams`: requests over HTTP, and their responses. `http_access`: the rights of their tokens.
//! - `http_plain`: requests over HTTP that declare nothing. `http_params`: headers that repeat arguments. `http_pages`: requests
//!   of web pages.
//! - `guest`: a client on every route. `rules`, `rights`: the rules of the config and of tokens there. `private_lists`:
//!   lists for one identity. `profiles`: sets of capabilities. `apps`: MCP Apps. `audit`: the record of calls.
//! - `translated_rules`: the same rules at servers of the legacy era. `paused`, `paused_ends`: calls for which such a server
//!   wants input, and what becomes of them. `urls`: calls that wait for a URL. `translated_lists`: lists and discovery of
//!   such servers, alone and among others. `shown_roots`: the answers to `roots/list`. `translated_http`: statuses and streams. `both_eras`: clients of both eras share.
//! - `news`: log messages and changes of resources, in each pairing of the eras.

#[cfg(target_os = "linux")]
mod claude;
mod peers;
mod remote;
mod remote_real;
mod legacy_clients;
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
mod apps;
#[cfg(target_os = "linux")]
mod legacy_rules;
#[cfg(target_os = "linux")]
mod legacy_input;
#[cfg(target_os = "linux")]
mod legacy_batches;
#[cfg(target_os = "linux")]
mod known_tasks;
#[cfg(target_os = "linux")]
mod legacy_http;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod audit;
#[cfg(target_os = "linux")]
mod private_lists;
#[cfg(target_os = "linux")]
mod profiles;
#[cfg(target_os = "linux")]
mod http_params;
#[cfg(target_os = "linux")]
mod http_pages;
#[cfg(target_os = "linux")]
mod translated_rules;
#[cfg(target_os = "linux")]
mod translated_http;
#[cfg(target_os = "linux")]
mod paused;
#[cfg(target_os = "linux")]
mod paused_ends;
#[cfg(target_os = "linux")]
mod urls;
#[cfg(target_os = "linux")]
mod translated_lists;
#[cfg(target_os = "linux")]
mod shown_roots;
#[cfg(target_os = "linux")]
mod news;
#[cfg(target_os = "linux")]
mod both_eras;
