//! An MCP client of our own program, for the commands that ask the servers something: so that what is asked here goes
//! the same way as what an IDE asks, through the daemon or not.
//!
//! # Layout
//! - this file: what is asked and answered.
//! - `failure`: why there is no answer.
//! - `progress`: what is shown of the meantime.
//! - `roots`: the folder we are in, as a client says it.
//! - `servers`: which servers are there, when there are many.
//! - `nearest`: what a mistyped name may have meant.

mod failure;
mod nearest;
mod progress;
mod roots;
mod servers;

pub(super) use failure::{Failure, Fault};
pub(super) use servers::Servers;

use super::complain;
use crate::cli::GatewayArgs;
use crate::exit::{Exit, fatal};
use anyhow::Context;
use progress::Progress;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use switchboard_gateway::Ended;
use switchboard_gateway::peer::{Conversation, Silence};

const VERSION: &str = "2025-11-25";
/// What a config file may allow at most.
const LARGEST_MESSAGE: usize = 1 << 30;
/// How long the gateway has to end. It gives a server of its own its grace.
const GRACE: Duration = Duration::from_secs(15);
/// A list that is longer does not end.
const MOST_PAGES: usize = 10_000;

/// The parts of a message, as they are spelled.
type Parts<'a> = BTreeMap<String, &'a RawValue>;

pub(super) struct Client {
    gateway: Conversation,
    asked: u64,
    /// The request that is to be cancelled if nobody waits for it any more.
    open: Option<u64>,
    roots: Value,
    capabilities: Value,
    progress: Progress,
}

/// Starts the gateway, does the work, and ends it, whatever comes of it.
pub(super) fn with_gateway(
    args: &GatewayArgs,
    server: Option<&str>,
    work: impl AsyncFnOnce(&mut Client) -> Result<Exit, Failure>,
) -> anyhow::Result<Exit> {
    super::on_runtime(async {
        let mut client = Client::start(args, server)?;
        let outcome = tokio::select! {
            outcome = async { client.greet().await?; work(&mut client).await } => outcome,
            failure = no_longer_waited_for(args.timeout()) => Err(failure),
        };
        client.progress.clear();
        if matches!(outcome, Err(Failure::Interrupted | Failure::TooLate(_))) {
            client.cancel(outcome.as_ref().err()).await;
        }
        let (is_greeted, end) = (!client.capabilities.is_null(), client.gateway.end(GRACE));
        let (ended, words) = tokio::select! {
            end = end => end,
            // Twice: at once, and not in order.
            _ = tokio::signal::ctrl_c() => (Ended::Unknown, String::new()),
        };
        outcome.or_else(|failure| match failure {
            Failure::Silent(Silence::Ended) if !is_greeted => not_started(ended, &words),
            // It says the same on its stderr, with an excerpt of the file.
            Failure::Refused(fault) if fault.is_of_config() => not_started(ended, &words),
            Failure::Silent(silence) => Err(fatal(
                Exit::Failure,
                format!("the gateway failed: {silence} ({ended})\n{}", words.trim()),
            )),
            Failure::Interrupted => Ok(Exit::Interrupted),
            other => Err(fatal(Exit::Failure, other.to_string())),
        })
    })?
}

async fn no_longer_waited_for(timeout: Option<Duration>) -> Failure {
    let too_late = async {
        match timeout {
            Some(timeout) => {
                tokio::time::sleep(timeout).await;
                Failure::TooLate(timeout)
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        failure = too_late => failure,
        _ = tokio::signal::ctrl_c() => Failure::Interrupted,
    }
}

/// It has said itself what is wrong.
fn not_started(ended: Ended, words: &str) -> anyhow::Result<Exit> {
    match words.trim() {
        "" => complain(&format!("switchboard: the gateway could not be started ({ended})")),
        words => complain(words),
    }
    Ok(match ended {
        Ended::Exited(2) => Exit::Usage,
        Ended::Exited(3) => Exit::Config,
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Unknown => Exit::Failure,
    })
}

impl Client {
    fn start(args: &GatewayArgs, server: Option<&str>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find our own program")?;
        let env = std::env::vars_os().collect();
        let gateway = Conversation::start(program.into(), args.words(server), env)
            .context("cannot start the gateway")?
            .with_limit(LARGEST_MESSAGE);
        Ok(Self {
            gateway,
            asked: 0,
            open: None,
            roots: roots::list(&args.roots.root),
            capabilities: Value::Null,
            progress: Progress::default(),
        })
    }

    async fn greet(&mut self) -> Result<(), Failure> {
        let params = json!({
            "protocolVersion": VERSION,
            "capabilities": { "roots": {} },
            "clientInfo": { "name": "switchboard", "version": env!("CARGO_PKG_VERSION") },
        });
        let greeting = self.request("initialize", &params.to_string()).await?;
        let greeting: Value = serde_json::from_str(greeting.get()).map_err(|_| Failure::Odd("initialize"))?;
        self.capabilities = greeting["capabilities"].clone();
        if self.capabilities.is_null() {
            self.capabilities = json!({});
        }
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await
    }

    /// Sends a request and waits for its result. What is reported of it meanwhile is shown.
    pub(super) async fn ask(&mut self, method: &'static str, params: &str) -> Result<Box<RawValue>, Failure> {
        self.progress.watch(self.next_id());
        let result = self.request(method, params).await;
        self.progress.clear();
        result
    }

    /// The id that the next request will have, which is also its progress token.
    pub(super) fn next_id(&self) -> u64 {
        self.asked + 1
    }

    /// All items of a list, over all its pages, as they were sent.
    pub(super) async fn list(
        &mut self,
        method: &'static str,
        key: &str,
    ) -> Result<Vec<Box<RawValue>>, Failure> {
        let capability = method.split('/').next().unwrap_or_default();
        if self.capabilities.get(capability).is_none() {
            return Ok(Vec::new());
        }
        let (mut items, mut params) = (Vec::new(), "{}".to_owned());
        for _ in 0..MOST_PAGES {
            let page = self.request(method, &params).await?;
            let page: Parts<'_> = serde_json::from_str(page.get()).map_err(|_| Failure::Odd(method))?;
            let more = page.get(key).map(|items| serde_json::from_str::<Vec<Box<RawValue>>>(items.get()));
            items.extend(more.transpose().map_err(|_| Failure::Odd(method))?.unwrap_or_default());
            match page.get("nextCursor").filter(|cursor| cursor.get().starts_with('"')) {
                Some(cursor) => params = format!(r#"{{"cursor":{cursor}}}"#),
                None => return Ok(items),
            }
        }
        Err(Failure::Odd(method))
    }

    /// The same failure, with what may have been meant by a name that is in no list.
    pub(super) async fn explained(
        &mut self,
        fault: Fault,
        list: (&'static str, &str, &str),
        name: &str,
    ) -> Failure {
        if fault.has_nearest() {
            return Failure::Refused(fault);
        }
        let meant = self.meant(list, name).await;
        Failure::Refused(fault.with_hint(meant))
    }

    /// What may have been meant by a name that is in no list; nothing if it is in one.
    pub(super) async fn meant(
        &mut self,
        (method, key, member): (&'static str, &str, &str),
        name: &str,
    ) -> Option<String> {
        let items = self.list(method, key).await.ok()?;
        let items = items.iter().filter_map(|item| serde_json::from_str::<Value>(item.get()).ok());
        let names: Vec<String> = items.filter_map(|item| item[member].as_str().map(str::to_owned)).collect();
        if names.iter().any(|known| known == name) {
            return None;
        }
        nearest::nearest(name, &names).map(|near| format!("did you mean `{near}`?"))
    }

    async fn request(&mut self, method: &'static str, params: &str) -> Result<Box<RawValue>, Failure> {
        let id = self.next_id();
        self.asked = id;
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)).await?;
        // A handshake is not to be cancelled; nor is what was not said to its end.
        self.open = (method != "initialize").then_some(id);
        let line = loop {
            let line = self.gateway.hear_line().await.map_err(Failure::Silent)?;
            let Ok(parts) = serde_json::from_slice::<Parts<'_>>(&line) else { continue };
            let part = |name: &str| parts.get(name).map(|part| part.get());
            match (part("method"), part("id")) {
                (Some(asked), Some(id)) => self.answer(asked, id).await?,
                (Some(told), None) => self.progress.hear(told, part("params").unwrap_or("null")),
                (None, Some(answered)) if answered == id.to_string() => break line,
                (None, _) => {}
            }
        };
        self.open = None;
        let parts: Parts<'_> = serde_json::from_slice(&line).map_err(|_| Failure::Odd(method))?;
        match (parts.get("result"), parts.get("error")) {
            (Some(result), _) => Ok((*result).to_owned()),
            (None, Some(error)) => Err(Failure::Refused(Fault::read(error.get()))),
            (None, None) => Err(Failure::Odd(method)),
        }
    }

    /// A server asks us something. We have declared roots and nothing else.
    async fn answer(&self, method: &str, id: &str) -> Result<(), Failure> {
        let outcome = match method {
            r#""ping""# => r#""result":{}"#.to_owned(),
            r#""roots/list""# => format!(r#""result":{}"#, self.roots),
            _ => r#""error":{"code":-32601,"message":"Method not found"}"#.to_owned(),
        };
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)).await
    }

    /// Nobody waits for the answer any more.
    async fn cancel(&self, why: Option<&Failure>) {
        let Some(id) = self.open else { return };
        let reason = why.map(ToString::to_string);
        let params = json!({ "requestId": id, "reason": reason });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        // A gateway that does not take it is ended all the same.
        let _ = tokio::time::timeout(GRACE, self.say(&message.to_string())).await;
    }

    async fn say(&self, message: &str) -> Result<(), Failure> {
        // Where a line breaks inside a message it is white space.
        let line = format!("{}\n", message.replace(['\n', '\r'], " "));
        self.gateway.say_line(&line).await.map_err(|_| Failure::Silent(Silence::Ended))
    }
}
