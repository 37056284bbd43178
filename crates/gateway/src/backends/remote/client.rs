//! HTTP clients with their connection pools, created on demand and shared by all servers with the same needs.

use super::target::Target;
use reqwest::redirect::Policy;
use std::collections::HashMap;
use std::time::Duration;
use switchboard_process::lock::Lock;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Node and uvicorn close connections after five idle seconds. A request that crosses the close
/// would be lost, so we close first.
const PLAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Reverse proxies keep idle connections for a minute or more.
const SECURE_IDLE_TIMEOUT: Duration = Duration::from_secs(50);
/// Detects a peer that vanished without closing the connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Sort {
    is_secure: bool,
    is_here: bool,
}

#[derive(Default)]
pub(crate) struct Clients(Lock<HashMap<Sort, reqwest::Client>>);

impl Clients {
    pub(super) fn of(&self, target: &Target) -> Result<reqwest::Client, reqwest::Error> {
        let sort = Sort { is_secure: target.url.scheme() == "https", is_here: target.is_here() };
        // Held while a client is made, so that two tasks do not make two of them.
        let mut clients = self.0.lock();
        if let Some(client) = clients.get(&sort) {
            return Ok(client.clone());
        }
        let client = make(sort)?;
        clients.insert(sort, client.clone());
        Ok(client)
    }
}

fn make(sort: Sort) -> Result<reqwest::Client, reqwest::Error> {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
        // Redirects are followed by `Remote::send`, which checks that this is safe.
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(KEEP_ALIVE_INTERVAL);
    let builder = match sort.is_secure {
        true => builder
            .pool_idle_timeout(SECURE_IDLE_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .http2_adaptive_window(true),
        // Plain HTTP needs no certificate authorities, and loading them takes a while.
        false => builder.pool_idle_timeout(PLAIN_IDLE_TIMEOUT).tls_certs_only([]),
    };
    // Servers on this machine are never behind a proxy.
    let builder = if sort.is_here { builder.no_proxy() } else { builder };
    builder.build()
}
