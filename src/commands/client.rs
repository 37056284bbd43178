//! An MCP client of our own program, for commands that query servers. Its requests take the same path as those of an
//! IDE, with the daemon or without.
//!
//! # Layout
//! - this file: requests and answers.
//! - `failure`: failures of a request, as text.
//! - `progress`: output while a request waits.
//! - `roots`: the workspace folders for `roots/list`.
//! - `servers`: the state of each server, if there are several.

mod failure;
mod progress;
mod roots;
mod servers;

pub(super) use failure::{Failure, Fault};
pub(super) use servers::Servers;

use super::complain;
use crate::cli::GatewayArgs;
use crate::exit::{Exit, fatal};
use crate::terminal::{self, Stream, wrap};
use anyhow::Context;
use progress::Progress;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use switchboard_gateway::Ended;
use switchboard_gateway::nearest_name;
use switchboard_gateway::runtime::peer::{Conversation, Silence};

const PROTOCOL_VERSION: &str = "2025-11-25";
/// The largest limit that a config file may set.
const MAX_MESSAGE_BYTES: usize = 1 << 30;
/// Time limit for the gateway to end. It gives its own server a grace period.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval of updates on a terminal while a request waits.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// The id of our request about the servers, in JSON spelling.
const SERVERS_REQUEST_ID: &str = r#""look""#;
/// Maximum pages of a list; a longer list is endless.
const MAX_PAGES: usize = 10_000;

/// The parts of a message, in JSON spelling.
type Parts<'a> = BTreeMap<String, &'a RawValue>;

pub(super) struct Client {
    gateway: Conversation,
    asked: u64,
    /// The request to be cancelled if it is no longer waited for.
    open: Option<u64>,
    roots: Value,
    capabilities: Value,
    progress: Progress,
    /// The only server; `None` if there may be several.
    server: Option<String>,
    waiting: Waiting,
}

/// State of the servers while a request waits, for the line on a terminal.
#[derive(Default)]
struct Waiting {
    /// Servers that were starting at the last poll.
    starting: Vec<String>,
    /// Whether a poll is unanswered.
    is_looking: bool,
}

/// Starts the gateway, does the work, and ends the gateway, whatever the outcome.
pub(super) fn with_gateway(
    args: &GatewayArgs,
    server: Option<&str>,
    work: impl AsyncFnOnce(&mut Client) -> Result<Exit, Failure>,
) -> anyhow::Result<Exit> {
    super::on_runtime(async {
        let mut client = Client::start(args, server)?;
        let reads_config = args.config.is_none() && args.command.is_empty();
        let outcome = tokio::select! {
            outcome = async { client.greet().await?; work(&mut client).await } => outcome,
            failure = no_longer_waited_for(args.timeout()) => Err(failure),
        };
        client.progress.clear();
        if matches!(outcome, Err(Failure::Interrupted | Failure::TooLate(_))) {
            client.cancel(outcome.as_ref().err()).await;
        }
        let (is_greeted, end) = (!client.capabilities.is_null(), client.gateway.end(EXIT_TIMEOUT));
        let (ended, words) = tokio::select! {
            end = end => end,
            // A second Ctrl-C exits without an orderly shutdown.
            _ = tokio::signal::ctrl_c() => (Ended::Unknown, String::new()),
        };
        let is_of_config = matches!(&outcome, Err(Failure::Refused(fault)) if fault.is_of_config());
        if is_greeted && reads_config && !is_of_config {
            super::warn_of_untrusted();
        }
        outcome.or_else(|failure| match failure {
            Failure::Silent(Silence::Ended) if !is_greeted => not_started(ended, &words),
            // The gateway prints the same on its stderr, with an excerpt of the file.
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

/// The server that is queried, if there is only one.
fn only_server(args: &GatewayArgs, server: Option<&str>) -> Option<String> {
    let named = args.server.as_deref().or(server).map(str::to_owned);
    named.or_else(|| args.command.first().cloned())
}

fn waiting_for(method: &str, starting: &[String]) -> String {
    match (starting, method) {
        ([], "initialize") => "starting".to_owned(),
        ([], _) => "waiting for the answer".to_owned(),
        (servers, _) => format!("starting {}", servers.join(", ")),
    }
}

impl Waiting {
    fn read(&mut self, result: Option<&str>) {
        self.is_looking = false;
        let answer = result.and_then(|result| serde_json::from_str(result).ok()).unwrap_or_default();
        self.starting = Servers::read(answer).starting();
    }
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

/// Handles a gateway that did not start. It has printed the reason itself.
fn not_started(ended: Ended, words: &str) -> anyhow::Result<Exit> {
    match words.trim() {
        "" => complain(&format!("switchboard: the gateway could not be started ({ended})")),
        words => complain(&wrap(words, terminal::screen_width(Stream::Err))),
    }
    Ok(match ended {
        Ended::Exited(2) => Exit::Usage,
        Ended::Exited(3) => Exit::Config,
        Ended::Exited(_) | Ended::Signalled(_) | Ended::Unknown => Exit::Failure,
    })
}

impl Client {
    fn start(args: &GatewayArgs, server: Option<&str>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find Switchboard's own program")?;
        let env = std::env::vars_os().collect();
        let gateway = Conversation::start(program.into(), args.words(server), env)
            .context("cannot start the gateway")?
            .with_limit(MAX_MESSAGE_BYTES);
        Ok(Self {
            gateway,
            asked: 0,
            open: None,
            roots: roots::list(&args.roots.root),
            capabilities: Value::Null,
            progress: Progress::default(),
            server: only_server(args, server),
            waiting: Waiting::default(),
        })
    }

    async fn greet(&mut self) -> Result<(), Failure> {
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": { "roots": {} },
            "clientInfo": { "name": "switchboard", "version": env!("CARGO_PKG_VERSION") },
        });
        let greeting = self.request("initialize", &params.to_string()).await?;
        let greeting: Value = serde_json::from_str(greeting.get()).map_err(|_| Failure::Odd("initialize"))?;
        self.capabilities = greeting["capabilities"].clone();
        if self.capabilities.is_null() {
            // An object marks the handshake as done, even if the server declares nothing.
            self.capabilities = json!({});
        }
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await
    }

    /// Sends a request and waits for its result. Shows progress and log messages meanwhile.
    pub(super) async fn ask(&mut self, method: &'static str, params: &str) -> Result<Box<RawValue>, Failure> {
        self.progress.watch(self.next_id());
        let result = self.request(method, params).await;
        self.progress.clear();
        result
    }

    /// The id of the next request, which is also its progress token.
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
            // The server did not declare the list, so it would answer with an error.
            return Ok(Vec::new());
        }
        let (mut items, mut params) = (Vec::new(), "{}".to_owned());
        for _ in 0..MAX_PAGES {
            let page = self.request(method, &params).await?;
            let page: Parts<'_> = serde_json::from_str(page.get()).map_err(|_| Failure::Odd(method))?;
            let more = page.get(key).map(|items| serde_json::from_str::<Vec<Box<RawValue>>>(items.get()));
            items.extend(more.transpose().map_err(|_| Failure::Odd(method))?.unwrap_or_default());
            // `null` means the same as no cursor.
            match page.get("nextCursor").filter(|cursor| cursor.get().starts_with('"')) {
                Some(cursor) => params = format!(r#"{{"cursor":{cursor}}}"#),
                None => return Ok(items),
            }
        }
        Err(Failure::Odd(method))
    }

    /// The same failure, with a suggestion for a name that is in no list.
    pub(super) async fn explained(
        &mut self,
        fault: Fault,
        list: (&'static str, &str, &str),
        name: &str,
    ) -> Failure {
        if fault.is_unknown_name() {
            let kind = list.0.split('/').next().unwrap_or_default();
            let all = format!("`switchboard {kind}` lists all {kind}");
            let near = match fault.nearest() {
                Some(near) => Some(format!("did you mean `{near}`?")),
                // The servers of the name may have been unknown until now.
                None => self.meant(list, name).await,
            };
            let hint = match (near, &fault.servers()[..]) {
                (Some(near), _) => format!("{near} {all}"),
                (None, []) => all,
                (None, servers) => format!("choose its server with `--server NAME`: {}", servers.join(", ")),
            };
            return Failure::Refused(fault.with_hint_instead(hint));
        }
        let meant = self.meant(list, name).await;
        Failure::Refused(fault.with_hint(meant))
    }

    /// A suggestion for a name that is in no list; `None` if it is in one.
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
        nearest_name(name, &names).map(|near| format!("did you mean `{near}`?"))
    }

    async fn request(&mut self, method: &'static str, params: &str) -> Result<Box<RawValue>, Failure> {
        let id = self.next_id();
        self.asked = id;
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)).await?;
        // A handshake cannot be cancelled; nor can a request that was not sent completely.
        self.open = (method != "initialize").then_some(id);
        let since = Instant::now();
        let line = loop {
            let line = tokio::select! {
                line = self.gateway.hear_line() => line.map_err(Failure::Silent)?,
                () = tokio::time::sleep(PROGRESS_INTERVAL), if self.progress.shows_waiting() => {
                    self.show_waiting(method, since.elapsed()).await?;
                    continue;
                }
            };
            let Ok(parts) = serde_json::from_slice::<Parts<'_>>(&line) else { continue };
            let part = |name: &str| parts.get(name).map(|part| part.get());
            match (part("method"), part("id")) {
                (Some(asked), Some(id)) => self.answer(asked, id).await?,
                (Some(told), None) => self.progress.hear(told, part("params").unwrap_or("null")),
                (None, Some(SERVERS_REQUEST_ID)) => self.waiting.read(part("result")),
                (None, Some(answered)) if answered == id.to_string() => break line,
                (None, _) => {}
            }
        };
        self.open = None;
        self.progress.wipe();
        let parts: Parts<'_> = serde_json::from_slice(&line).map_err(|_| Failure::Odd(method))?;
        match (parts.get("result"), parts.get("error")) {
            (Some(result), _) => Ok((*result).to_owned()),
            (None, Some(error)) => Err(Failure::Refused(Fault::read(error.get()))),
            (None, None) => Err(Failure::Odd(method)),
        }
    }

    /// Answers a request of a server. We have declared only roots.
    async fn answer(&self, method: &str, id: &str) -> Result<(), Failure> {
        let outcome = match method {
            r#""ping""# => r#""result":{}"#.to_owned(),
            r#""roots/list""# => format!(r#""result":{}"#, self.roots),
            _ => r#""error":{"code":-32601,"message":"Method not found"}"#.to_owned(),
        };
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)).await
    }

    /// Shows on a terminal what the user has been waiting for, and how long. Servers that are starting are named: they are
    /// polled meanwhile, which the gateway answers at any time.
    async fn show_waiting(&mut self, method: &str, waited: Duration) -> Result<(), Failure> {
        if self.server.is_none() && !self.waiting.is_looking {
            self.waiting.is_looking = true;
            let look = format!(
                r#"{{"jsonrpc":"2.0","id":{SERVERS_REQUEST_ID},"method":"switchboard/servers","params":{{}}}}"#
            );
            self.say(&look).await?;
        }
        let starting = match (&self.server, method) {
            (Some(server), "initialize") => vec![format!("`{server}`")],
            _ => self.waiting.starting.clone(),
        };
        self.progress.wait(&waiting_for(method, &starting), waited);
        Ok(())
    }

    /// Cancels the open request.
    async fn cancel(&self, why: Option<&Failure>) {
        let Some(id) = self.open else { return };
        let reason = why.map(ToString::to_string);
        let params = json!({ "requestId": id, "reason": reason });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        // A gateway that does not accept it is ended all the same.
        let _ = tokio::time::timeout(EXIT_TIMEOUT, self.say(&message.to_string())).await;
    }

    async fn say(&self, message: &str) -> Result<(), Failure> {
        // A line break inside a message is white space.
        let line = format!("{}\n", message.replace(['\n', '\r'], " "));
        self.gateway.say_line(&line).await.map_err(|_| Failure::Silent(Silence::Ended))
    }
}
