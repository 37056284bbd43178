//! Requests to a daemon from the command line.

use crate::fronts::local::hello::{self, OrderWord, Reply, Wants, is_nobody};
use serde_json::Value;
use std::io;
use switchboard_process::local::{self, Address};

#[derive(Debug, Clone)]
pub enum Request {
    Status,
    Stop,
    Reload,
    /// Let another daemon listen in its place; connected clients stay.
    GiveWay,
    Restart {
        server: String,
        root: Option<String>,
    },
    StopServer {
        server: String,
        root: Option<String>,
    },
    StartServer {
        server: String,
        root: Option<String>,
    },
    /// Drop the record of a server, and its stored lists.
    Forget {
        server: String,
    },
    /// Write the pins of a server's tools, and tell the key of their file.
    Pins {
        server: String,
    },
    /// Apply the stored approvals of a server's tools.
    Approve {
        server: String,
    },
}

/// A daemon's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub pid: u32,
    pub version: String,
    /// Result, or the reason for a refusal.
    pub result: Result<Value, String>,
}

/// Sends a request to the daemon at an address. `None` if there is none.
pub async fn ask(address: &Address, request: Request) -> io::Result<Option<Answer>> {
    let mut connection = match local::connect(address).await {
        Ok(connection) => connection,
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let order = |order, server, root| Wants::Order { order, server, root };
    let wants = match request {
        Request::Status => Wants::Status,
        Request::Stop => Wants::Stop,
        Request::Reload => Wants::Reload,
        Request::GiveWay => Wants::GiveWay,
        Request::Restart { server, root } => order(OrderWord::Restart, server, root),
        Request::StopServer { server, root } => order(OrderWord::Stop, server, root),
        Request::StartServer { server, root } => order(OrderWord::Start, server, root),
        Request::Forget { server } => order(OrderWord::Forget, server, None),
        Request::Pins { server } => order(OrderWord::Pins, server, None),
        Request::Approve { server } => order(OrderWord::Approve, server, None),
    };
    let Reply { version, pid, error, result } = match hello::ask(&mut connection, wants).await {
        Ok(reply) => reply,
        // The daemon ended between connect and answer.
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(Answer { pid, version, result: error.map_or(Ok(result), Err) }))
}
