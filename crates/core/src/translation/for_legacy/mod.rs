//! Translator for legacy clients of a modern server. `initialize` is answered from `server/discover`, each request gets the
//! declaration of the client, and `input_required` becomes requests to the client that made the call.
//!
//! # Layout
//! - `welcome`: the answer to `initialize`. `doubt`: servers that may not speak the modern era.
//! - `call`: a request that the core waits for.
//! - `meta`: the declaration in each request.
//! - `schemas`: schemas of structured content.
//! - `results`: results without the members of the modern era.
//! - `task_state`: states of tasks in both eras.
//! - `rounds`: one round of input. `inputs`: questions of tasks that were already asked. `questions`: calls for which the
//!   server asks for input.
//! - `tasks`: calls that the server continues as a task.
//! - `kept`: stored results of tasks that finished at once. `task_requests`: requests of 2025-11-25 clients about tasks.
//! - `listens`: state of the subscription. `subscriptions`: its messages.
//! - `properties`: property tests with random conversations. `there_and_back`: round trips through both translations.

mod welcome;
mod meta;
mod schemas;
mod results;
mod task_state;
mod rounds;
mod inputs;
mod listens;
mod doubt;
mod kept;
mod tasks;
mod call;
mod task_requests;
mod questions;
mod subscriptions;

use super::for_modern::may_be_continued;
use super::{FIRST_OWN_ID, Step, TranslatedProcess, json};
use crate::messages::own_message;
use crate::moment::Moment;
use call::{Call, CallState};
use doubt::Doubt;
use inputs::Inputs;
use kept::Kept;
use listens::Listens;
use meta::Speaker;
use std::collections::{HashMap, VecDeque};
use switchboard_protocol::{ErrorKind, Kind, Message, Method, Outgoing, Part, Patch, RawId};
use task_requests::without_wish;
use tasks::CallTask;

/// Limit on cancelled calls that wait for a late answer. Many servers never answer them.
const MAX_CANCELLED: usize = 64;

/// Translator for legacy clients.
#[derive(Debug)]
pub(crate) struct ForLegacy {
    process: TranslatedProcess,
    speaker: Speaker,
    /// Open requests of the core, by minted id.
    calls: HashMap<u64, Call>,
    /// Minted ids by the ids of our own requests for the same calls.
    repeated: HashMap<u64, u64>,
    /// Minted ids of calls by the ids of their questions.
    asked: HashMap<u64, u64>,
    listens: Listens,
    /// Whether the clients may run calls as tasks of 2025-11-25.
    offers_tasks: bool,
    inputs: Inputs,
    kept: Kept,
    /// Set until the server has proved to be modern.
    doubt: Option<Doubt>,
    /// Minted ids of cancelled calls that the server may still answer, oldest first.
    cancelled: VecDeque<u64>,
    /// Number of own requests and questions so far.
    numbers: u64,
    /// Time of the latest event.
    now: Moment,
}

impl ForLegacy {
    pub(super) fn new(process: TranslatedProcess) -> Self {
        Self {
            process,
            speaker: Speaker::default(),
            calls: HashMap::new(),
            repeated: HashMap::new(),
            asked: HashMap::new(),
            listens: Listens::default(),
            offers_tasks: false,
            inputs: Inputs::default(),
            kept: Kept::new(process.started),
            doubt: None,
            cancelled: VecDeque::new(),
            numbers: process.spent_ids,
            now: Moment::default(),
        }
    }

    /// Translates a message from the core. `level`: the log level that the client of a request has set, as JSON.
    pub(super) fn outbound(&mut self, message: &Message, level: Option<&[u8]>, now: Moment) -> Vec<Step> {
        self.now = now;
        match message.kind() {
            Kind::Request => self.request(message, level),
            Kind::Notification => self.notification(message),
            Kind::Response { failed } => self.answered(message, failed),
        }
    }

    pub(super) fn inbound(&mut self, message: Message, now: Moment) -> Vec<Step> {
        self.now = now;
        match message.kind() {
            Kind::Response { failed } => self.response(message, failed),
            Kind::Notification => self.told(message),
            // Modern servers send no requests.
            Kind::Request => {
                let Some(id) = message.id() else { return Vec::new() };
                let text = r#"{"code":-32601,"message":"a modern server sends no requests"}"#;
                let answer = json::error(&id.to_string(), text);
                answer.map(|it| Step::ToServer(Outgoing::of(&it))).into_iter().collect()
            }
        }
    }

    /// Runs the timers that are due.
    pub(super) fn tick(&mut self, now: Moment) -> Vec<Step> {
        self.now = now;
        let mut steps = self.end_doubt();
        if self.listens.deadline().is_some_and(|due| due <= now) {
            steps.extend(self.listen());
        }
        self.kept.expire(now);
        steps.extend(self.poll());
        steps
    }

    /// The time of the next tick.
    pub(super) fn deadline(&self) -> Option<Moment> {
        let polls = self.calls.values().filter_map(|call| match call.state {
            CallState::Polling(due) => Some(due),
            _ => None,
        });
        let others =
            [self.listens.deadline(), self.doubt.as_ref().and_then(Doubt::deadline), self.kept.deadline()];
        polls.chain(others.into_iter().flatten()).min()
    }

    /// Number of bytes that are kept for the request with this minted id.
    pub(super) fn bytes_kept(&self, minted: u64) -> usize {
        self.calls.get(&minted).map_or(0, Call::bytes_kept)
    }

    /// The minted id of the request that the server knows under this id.
    pub(super) fn minted_of(&self, number: u64) -> u64 {
        self.repeated.get(&number).copied().unwrap_or(number)
    }

    pub(super) fn spent_ids(&self) -> u64 {
        self.numbers
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        FIRST_OWN_ID + self.numbers
    }

    fn request(&mut self, message: &Message, level: Option<&[u8]>) -> Vec<Step> {
        let Some((id, minted)) =
            message.id().and_then(|id| Some((id.clone(), RawId::minted(id.as_bytes())?)))
        else {
            return Vec::new();
        };
        match message.method() {
            // The level goes with each request.
            Method::Ping | Method::SetLevel => return answer(&id, "{}"),
            Method::Subscribe => return self.subscribe(minted, message),
            Method::Unsubscribe => return self.unsubscribe(&id, message),
            Method::Initialize => {
                self.speaker.greet(message);
                if self.doubt.is_some() {
                    return vec![self.discover(minted, message)];
                }
            }
            Method::TasksGet | Method::TaskResult | Method::TasksCancel if self.offers_tasks => {
                if let Some(steps) = self.task_request(minted, message) {
                    return steps;
                }
            }
            _ => {}
        }
        let request = meta::undeclared(message).unwrap_or_else(|| message.clone());
        let (request, wish) = match message.method() {
            Method::ToolsCall if self.offers_tasks => without_wish(request),
            _ => (request, None),
        };
        let out = match message.method() {
            Method::Initialize => self.speaker.discover(id),
            _ => self.speaker.declared(&request, level, b""),
        };
        self.calls.insert(minted, Call { wish, ..Call::new(request, level, minted) });
        vec![Step::ToServer(out)]
    }

    fn notification(&mut self, message: &Message) -> Vec<Step> {
        match message.method() {
            // Neither exists in the modern era.
            Method::Initialized | Method::RootsChanged => {
                self.confirmed(message);
                Vec::new()
            }
            Method::Cancelled => self.cancelled(message),
            // Progress of the client on a question, which the server has not sent as a request.
            Method::Progress => Vec::new(),
            _ => vec![Step::ToServer(Outgoing::of(message))],
        }
    }

    fn cancelled(&mut self, message: &Message) -> Vec<Step> {
        let minted = message.part(Part::RequestId).and_then(RawId::minted);
        let Some((minted, call)) = minted.and_then(|id| Some((id, self.calls.get_mut(&id)?))) else {
            return vec![Step::ToServer(Outgoing::of(message))];
        };
        let mut steps: Vec<Step> = match &call.state {
            // A late answer still ends the call.
            CallState::Sent(id) => {
                let mut out = Outgoing::of(message);
                out.replace(message.span(Part::RequestId), Patch::Id(RawId::from_number(*id)));
                call.is_cancelled = true;
                call.forget_params();
                self.expect_late(minted);
                return vec![Step::ToServer(out)];
            }
            CallState::Asking(asking) => asking.open().map(cancel_question).collect(),
            CallState::Polling(_) | CallState::Polled(_) | CallState::Updating(_) => Vec::new(),
        };
        let task = self.forget(minted).and_then(|call| call.task).filter(CallTask::ends_with_call);
        steps.extend(task.map(|task| self.cancel_task(&task)));
        steps
    }

    fn expect_late(&mut self, minted: u64) {
        self.cancelled.push_back(minted);
        if self.cancelled.len() > MAX_CANCELLED
            && let Some(oldest) = self.cancelled.pop_front()
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, minted: u64) -> Option<Call> {
        if matches!(self.calls.get(&minted)?.state, CallState::Asking(_)) {
            self.withdraw_input(minted);
        }
        let call = self.calls.remove(&minted)?;
        match &call.state {
            CallState::Asking(asking) => {
                asking.open().for_each(|number| {
                    self.asked.remove(&number);
                });
            }
            CallState::Sent(number) | CallState::Polled(number) | CallState::Updating(number) => {
                self.repeated.remove(number);
            }
            CallState::Polling(_) => {}
        }
        Some(call)
    }

    // ---- what the server sends

    fn response(&mut self, message: Message, failed: bool) -> Vec<Step> {
        let Some(number) = message.part(Part::Id).and_then(RawId::minted) else {
            return vec![Step::ToCore(message)];
        };
        if let Some(steps) = self.listen_ended(number, message.part(Part::Error)) {
            return steps;
        }
        let minted = self.repeated.remove(&number).unwrap_or(number);
        let state = self.calls.get(&minted).map(|call| &call.state);
        match state {
            Some(CallState::Sent(sent)) if *sent == number => self.call_answered(minted, message, failed),
            Some(CallState::Polled(sent)) if *sent == number => self.task_told(minted, message, failed),
            Some(CallState::Updating(sent)) if *sent == number => self.updated_task(minted, message, failed),
            // A second answer, or an early one. The core counts late answers.
            Some(_) => Vec::new(),
            None if number >= FIRST_OWN_ID => Vec::new(),
            None => vec![Step::ToCore(message)],
        }
    }

    fn call_answered(&mut self, minted: u64, message: Message, failed: bool) -> Vec<Step> {
        let Some(call) = self.calls.get(&minted) else { return Vec::new() };
        let method = call.request.method();
        if !failed && self.offers_tasks && matches!(method, Method::TasksGet | Method::TasksCancel) {
            return self.task_answered(minted, message);
        }
        if !failed && let Some(kind) = message.text(Part::ResultType).filter(|kind| *kind != "complete") {
            return match &*kind {
                // A cancelled call asks no questions.
                "input_required" if call.is_cancelled => {
                    self.forget(minted);
                    Vec::new()
                }
                "input_required" if may_be_continued(method) => self.ask(minted, &message),
                "task" if method == Method::ToolsCall && call.wish.is_some() && !call.is_cancelled => {
                    self.tell_task(minted, message)
                }
                "task" if method == Method::ToolsCall => self.begin_task(minted, &message),
                _ if method == Method::Initialize && self.doubt.is_some() => self.give_up(),
                _ => self.fail(minted, &format!("the server answered with a result of the kind `{kind}`, which a client of an older version of MCP cannot use")),
            };
        }
        if method == Method::Initialize {
            return self.welcomed(minted, message, failed);
        }
        let id = minted.to_string();
        let wish = self.forget(minted).and_then(|call| call.wish.filter(|_| !call.is_cancelled));
        let answer = match failed {
            true => results::failed(message, method, &id),
            false => results::complete(message, method, &id),
        };
        let answer = answer.and_then(|answer| match (method, wish) {
            (Method::ToolsCall, Some(wish)) => self.keep_result(minted, answer, wish),
            (Method::ToolsList, _) if self.offers_tasks => {
                Some(results::with_task_support(&answer).unwrap_or(answer))
            }
            _ => Some(answer),
        });
        answer.map(Step::ToCore).into_iter().collect()
    }

    /// Handles the answer to the `server/discover` in place of `initialize`.
    fn welcomed(&mut self, minted: u64, message: Message, failed: bool) -> Vec<Step> {
        let is_modern = !failed && welcome::is_modern(&message);
        if self.doubt.is_some() && !is_modern {
            return self.give_up();
        }
        self.doubt = None;
        self.forget(minted);
        let id = minted.to_string();
        if failed {
            return results::failed(message, Method::Initialize, &id).map(Step::ToCore).into_iter().collect();
        }
        self.offers_tasks = self.speaker.learn(&message);
        let (version, has_tasks) = (self.speaker.version(), self.offers_tasks);
        let Some(welcome) = welcome::answer(message, &id, version, has_tasks) else { return Vec::new() };
        let listens = if is_modern { self.open_listens(&welcome) } else { Vec::new() };
        std::iter::once(Step::ToCore(welcome)).chain(listens).collect()
    }

    fn fail(&mut self, minted: u64, message: &str) -> Vec<Step> {
        let task = self.forget(minted).and_then(|call| call.task).filter(CallTask::ends_with_call);
        let task = task.map(|task| self.cancel_task(&task));
        let data = serde_json::json!({ "kind": ErrorKind::BadAnswer.name(), "retryable": false });
        let text = serde_json::json!({ "code": -32603, "message": message, "data": data }).to_string();
        task.into_iter().chain(json::error(&minted.to_string(), &text).map(Step::ToCore)).collect()
    }
}

fn answer(id: &RawId, result: &str) -> Vec<Step> {
    json::result(&id.to_string(), result).map(Step::ToCore).into_iter().collect()
}

fn cancel_text(number: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number}}}}}"#)
}

/// Withdraws a question.
fn cancel_question(number: u64) -> Step {
    match own_message(cancel_text(number).into()) {
        Some(message) => Step::ToCore(message),
        None => Step::ToServer(cancel(number)),
    }
}

/// Cancels one of our own requests at the server.
fn cancel(number: u64) -> Outgoing {
    Outgoing::notification(Method::Cancelled, cancel_text(number).into())
}

/// The process of translators in tests.
#[cfg(test)]
const PROCESS: TranslatedProcess = TranslatedProcess {
    started: std::time::UNIX_EPOCH,
    launch: crate::ids::Launch { backend: crate::ids::BackendId(4), number: 2 },
    spent_ids: 0,
};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod properties;

#[cfg(test)]
mod there_and_back;
