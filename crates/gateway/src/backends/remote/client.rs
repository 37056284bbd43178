//! The HTTP clients, each with its pool of connections. They are made when first needed and shared by all servers for
//! which they are the same.

use super::target::Target;
use reqwest::redirect::Policy;
use std::collections::HashMap;
use std::time::Duration;
use switchboard_process::lock::Lock;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Node's and uvicorn's servers close a connection that was idle for five seconds. A request that meets the close half
/// way would be lost, so ours is given up before.
const PLAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// What stands before servers on the net waits for a minute or more.
const SECURE_IDLE_TIMEOUT: Duration = Duration::from_secs(50);
/// A machine that has gone without a word is noticed.
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
    // An error says that somebody has done it before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
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
        // No authorities are needed there, and reading them takes a while.
        false => builder.pool_idle_timeout(PLAIN_IDLE_TIMEOUT).tls_certs_only([]),
    };
    // What is on this machine is behind no proxy.
    let builder = if sort.is_here { builder.no_proxy() } else { builder };
    builder.build()
}
