//! A small, strict MCP client: a line that is not JSON is an error, and so is an answer with
//! another id.

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::{Duration, Instant};
use switchboard_gateway::Ended;
use switchboard_gateway::runtime::peer::Conversation;

/// Time limit of an answer; longer than anything in the demo takes, also on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct Client {
    gateway: Conversation,
    asked: u64,
}

/// The answer to a request, and its duration.
pub(super) struct Reply {
    /// The result, or the error.
    pub(super) outcome: Result<Value, Value>,
    pub(super) took: Duration,
}

impl Reply {
    pub(super) fn result(self) -> anyhow::Result<Value> {
        match self.outcome {
            Ok(result) => Ok(result),
            Err(error) => bail!("expected a result, got the error {error}"),
        }
    }

    pub(super) fn error(self) -> anyhow::Result<Value> {
        match self.outcome {
            Ok(result) => bail!("expected an error, got the result {result}"),
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
            self.gateway.hear(ANSWER_TIMEOUT).await.with_context(|| format!("no answer to `{method}`"))?;
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

    /// The gateway's stderr so far.
    pub(super) fn stderr(&self) -> String {
        self.gateway.words()
    }

    /// Closes the connection, as an IDE does that quits. Returns the gateway's exit status and its stderr.
    pub(super) async fn end(self, grace: Duration) -> (Ended, String) {
        self.gateway.end(grace).await
    }
}
