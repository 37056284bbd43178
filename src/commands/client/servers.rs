//! Servers behind the gateway, when there are several: those still starting, and the failures of the others.

use super::{Client, Failure, Fault};
use crate::terminal::one_line;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Interval of polls while a server is starting.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Longer than the default start timeout, for both framings.
const START_TIMEOUT: Duration = Duration::from_secs(90);

/// The gateway's report about each server.
#[derive(Debug, Default)]
pub(in crate::commands) struct Servers(Vec<Value>);

impl Servers {
    pub(super) fn read(mut answer: Value) -> Self {
        match answer["servers"].take() {
            Value::Array(servers) => Self(servers),
            _ => Self::default(),
        }
    }

    pub(in crate::commands) fn all_failed(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|server| server["lastError"].is_object())
    }

    /// A short block for each missing server, with the text that a client of that server alone would get.
    pub(in crate::commands) fn troubles(&self) -> Vec<String> {
        let trouble = |server: &Value| match &server["lastError"]["message"] {
            Value::String(message) => {
                Some(Fault::new(&one_line(message), server["lastError"].clone()).to_string())
            }
            _ if is_starting(server) => Some(format!("the server {} is still starting", name(server))),
            _ => None,
        };
        self.0.iter().filter_map(trouble).collect()
    }

    pub(super) fn starting(&self) -> Vec<String> {
        self.0.iter().filter(|server| is_starting(server)).map(name).collect()
    }
}

fn is_starting(server: &Value) -> bool {
    server["isStarting"] == true
}

fn name(server: &Value) -> String {
    format!("`{}`", one_line(server["name"].as_str().unwrap_or("?")))
}

impl Client {
    /// The servers, once none of them is starting. The flag says whether that took any time.
    pub(in crate::commands) async fn started_servers(&mut self) -> Result<(Servers, bool), Failure> {
        let (mut waited, since) = (Duration::ZERO, Instant::now());
        loop {
            let servers = self.servers().await?;
            let starting = servers.starting();
            if starting.is_empty() || waited >= START_TIMEOUT {
                self.progress.clear();
                return Ok((servers, waited > Duration::ZERO));
            }
            self.progress.wait(&super::waiting_for("", &starting), since.elapsed());
            tokio::time::sleep(POLL_INTERVAL).await;
            waited += POLL_INTERVAL;
        }
    }

    async fn servers(&mut self) -> Result<Servers, Failure> {
        match self.request("switchboard/servers", "{}").await {
            Ok(servers) => Ok(Servers::read(serde_json::from_str(servers.get()).unwrap_or_default())),
            // A daemon of an earlier version does not know the method.
            Err(Failure::Refused(_)) => Ok(Servers::default()),
            Err(other) => Err(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_are_named() {
        let read = |text| Servers::read(serde_json::from_str(text).expect("JSON"));
        let some = read(
            r#"{"servers":[
                {"name":"a","isStarting":false,"lastError":null},
                {"name":"b","isStarting":true,"lastError":null},
                {"name":"c","isStarting":false,"lastError":{"kind":"k","message":"m","hint":"h","secondsAgo":1}}
            ]}"#,
        );
        assert_eq!(some.troubles(), ["the server `b` is still starting", "m (k)\n  hint: h"]);
        assert!(!some.all_failed());
        let all =
            read(r#"{"servers":[{"name":"c","isStarting":false,"lastError":{"kind":"k","message":"m"}}]}"#);
        assert!(all.all_failed());
        assert!(!read(r#"{"servers":[]}"#).all_failed());
    }
}
