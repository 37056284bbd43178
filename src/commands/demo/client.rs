//! A small MCP client, as strict as a client may be: a line that is not JSON is an error, and so is an answer to
//! something else.

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::{Duration, Instant};
use switchboard_gateway::Ended;
use switchboard_gateway::peer::Conversation;

/// Nothing in the demo takes as long.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Client {
    gateway: Conversation,
    asked: u64,
}

/// What came back, and when.
pub(super) struct Reply {
    /// The result, or the error.
    pub(super) outcome: Result<Value, Value>,
    pub(super) took: Duration,
}

impl Reply {
    pub(super) fn result(self) -> anyhow::Result<Value> {
        match self.outcome {
            Ok(result) => Ok(result),
            Err(error) => bail!("a result was expected, not the error {error}"),
        }
    }

    pub(super) fn error(self) -> anyhow::Result<Value> {
        match self.outcome {
            Ok(result) => bail!("an error was expected, not the result {result}"),
            Err(error) => Ok(error),
        }
    }
}

impl Client {
    pub(super) fn start(
        program: OsString,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
    ) -> anyhow::Result<Self> {
        Ok(Self { gateway: Conversation::start(program, args, env)?, asked: 0 })
    }

    pub(super) fn pid(&self) -> u32 {
        self.gateway.pid()
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Reply> {
        self.asked += 1;
        // Every third id is a string: both kinds must come back as they were sent.
        let id = if self.asked.is_multiple_of(3) {
            json!(format!("demo-{}", self.asked))
        } else {
            json!(self.asked)
        };
        let started = Instant::now();
        self.gateway.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        let mut answer =
            self.gateway.hear(PATIENCE).await.with_context(|| format!("no answer to `{method}`"))?;
        let took = started.elapsed();
        if answer["id"] != id {
            bail!("the answer to `{method}` has another id than {id}: {answer}");
        }
        let outcome = match (answer.get("result"), answer.get("error")) {
            (Some(_), None) => Ok(answer["result"].take()),
            (None, Some(_)) => Err(answer["error"].take()),
            _ => bail!("the answer to `{method}` needs either a result or an error: {answer}"),
        };
        Ok(Reply { outcome, took })
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Reply> {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub(super) async fn notify(&mut self, method: &str) -> anyhow::Result<()> {
        Ok(self.gateway.say(&json!({ "jsonrpc": "2.0", "method": method })).await?)
    }

    /// The line of the gateway's stderr that holds `text`, as soon as it is there.
    pub(super) async fn log_line(&self, text: &str) -> anyhow::Result<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let words = self.gateway.words();
            if let Some(line) = words.lines().find(|line| line.contains(text)) {
                return Ok(line.to_owned());
            }
            if Instant::now() > deadline {
                bail!("nothing about `{text}` was logged");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Closes the connection, as an IDE does that quits. Says how the gateway ended, and what its stderr said.
    pub(super) async fn end(self, grace: Duration) -> (Ended, String) {
        self.gateway.end(grace).await
    }
}
