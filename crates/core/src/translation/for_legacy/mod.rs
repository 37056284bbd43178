//! Legacy clients with a modern server. The handshake is made from `server/discover`; each request gets the declaration of
//! the client; `input_required` becomes real requests to the client that made the call.
//!
//! # Layout
//! - `meta`: the declaration in each request.
//! - `welcome`: the answer to `initialize`.
//! - `results`: results without the members of the modern era.
//! - `rounds`: calls for which the server wants input.
//! - `listens`: subscriptions and changes of lists.

mod meta;
mod welcome;
mod results;
mod rounds;
mod listens;

use super::{FIRST_OWN_ID, Step, json};
use listens::{ListenEnd, Listens};
use meta::Speaker;
use rounds::{Asking, Wanted};
use std::collections::HashMap;
use switchboard_protocol::{ErrorKind, Kind, Message, Method, Outgoing, Part, Patch, RawId, modern};

/// Rounds of input in one call, as in the TypeScript SDK. A server that asks for more is stuck.
const MAX_INPUT_ROUNDS: u32 = 8;

/// Translator for legacy clients.
#[derive(Debug, Default)]
pub(crate) struct ForLegacy {
    speaker: Speaker,
    /// Requests that the core waits for, by minted id.
    calls: HashMap<u64, Call>,
    /// Minted ids by the numbers of repeated requests.
    repeated: HashMap<u64, u64>,
    /// Minted ids by the numbers of questions.
    asked: HashMap<u64, u64>,
    listens: Listens,
    /// Own requests and questions so far.
    numbers: u64,
}

/// A request that the core waits for.
#[derive(Debug)]
struct Call {
    request: Message,
    rounds: u32,
    state: CallState,
}

#[derive(Debug)]
enum CallState {
    /// The server works on it, under this id.
    Sent(u64),
    /// Its client is asked.
    Asking(Asking),
}

impl ForLegacy {
    pub(super) fn outbound(&mut self, message: &Message) -> Vec<Step> {
        match message.kind() {
            Kind::Request => self.request(message),
            Kind::Notification => self.notification(message),
            Kind::Response { failed } => self.answered(message, failed),
        }
    }

    pub(super) fn inbound(&mut self, message: Message) -> Vec<Step> {
        match message.kind() {
            Kind::Response { failed } => self.response(message, failed),
            Kind::Notification => self.told(message),
            // The modern era has no requests of servers.
            Kind::Request => {
                let Some(id) = message.id() else { return Vec::new() };
                let text = r#"{"code":-32601,"message":"a modern server sends no requests"}"#;
                json::error(&id.to_string(), text)
                    .map(|it| Step::ToServer(Outgoing::of(&it)))
                    .into_iter()
                    .collect()
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        FIRST_OWN_ID + self.numbers
    }

    fn request(&mut self, message: &Message) -> Vec<Step> {
        let Some((id, minted)) =
            message.id().and_then(|id| Some((id.clone(), RawId::minted(id.as_bytes())?)))
        else {
            return Vec::new();
        };
        match message.method() {
            Method::Ping => return answer(&id, "{}"),
            Method::SetLevel => {
                self.speaker.set_level(message.part(Part::Level));
                return answer(&id, "{}");
            }
            Method::Subscribe => {
                self.listens.subscribe(minted, message.part(Part::Uri));
                return self.listen();
            }
            Method::Unsubscribe => {
                self.listens.unsubscribe(message.part(Part::Uri));
                return self.listen().into_iter().chain(answer(&id, "{}")).collect();
            }
            Method::Initialize => self.speaker.greet(message),
            _ => {}
        }
        let request = meta::undeclared(message).unwrap_or_else(|| message.clone());
        let out = match message.method() {
            Method::Initialize => self.speaker.discover(id),
            _ => self.speaker.declared(&request),
        };
        self.calls.insert(minted, Call { request, rounds: 0, state: CallState::Sent(minted) });
        vec![Step::ToServer(out)]
    }

    fn notification(&mut self, message: &Message) -> Vec<Step> {
        match message.method() {
            // There is no second half of the handshake, and roots are asked for when they are needed.
            Method::Initialized | Method::RootsChanged => Vec::new(),
            Method::Cancelled => self.cancelled(message),
            // Progress on a question of ours, of which the server knows nothing.
            Method::Progress => Vec::new(),
            _ => vec![Step::ToServer(Outgoing::of(message))],
        }
    }

    fn cancelled(&mut self, message: &Message) -> Vec<Step> {
        let minted = message.part(Part::RequestId).and_then(RawId::minted);
        let Some((minted, call)) = minted.and_then(|id| Some((id, self.calls.get(&id)?))) else {
            return vec![Step::ToServer(Outgoing::of(message))];
        };
        match &call.state {
            // Its late answer still ends the call.
            CallState::Sent(id) => {
                let mut out = Outgoing::of(message);
                out.replace(message.span(Part::RequestId), Patch::Id(RawId::from_number(*id)));
                vec![Step::ToServer(out)]
            }
            CallState::Asking(asking) => {
                let steps = asking.open().map(cancel_question).collect();
                self.forget(minted);
                steps
            }
        }
    }

    fn forget(&mut self, minted: u64) -> Option<Call> {
        self.asked.retain(|_, about| *about != minted);
        self.repeated.retain(|_, about| *about != minted);
        self.calls.remove(&minted)
    }

    // ---- what the server sends

    fn response(&mut self, message: Message, failed: bool) -> Vec<Step> {
        let Some(number) = message.part(Part::Id).and_then(RawId::minted) else {
            return vec![Step::ToCore(message)];
        };
        if let Some(end) = self.listens.ended(number) {
            return self.listen_ended(end, &message, failed);
        }
        let minted = self.repeated.remove(&number).unwrap_or(number);
        let Some(call) = self.calls.get_mut(&minted) else {
            // Unknown to us: the core counts it as a late answer.
            return if number >= FIRST_OWN_ID { Vec::new() } else { vec![Step::ToCore(message)] };
        };
        let method = call.request.method();
        if !failed && let Some(kind) = message.text(Part::ResultType).filter(|kind| *kind != "complete") {
            return match &*kind {
                "input_required" => self.ask(minted, &message),
                _ => self.fail(minted, &format!("the server answered with a result of the kind `{kind}`, which a client of an older version of MCP cannot use")),
            };
        }
        self.forget(minted);
        let id = RawId::from_number(minted).to_string();
        let mut steps: Vec<Step> = match failed {
            true => results::failed(message, method, &id),
            false if method == Method::Initialize => welcome::answer(&message, &id, self.speaker.version()),
            false => results::complete(message, method, &id),
        }
        .map(Step::ToCore)
        .into_iter()
        .collect();
        if method == Method::Initialize && !failed {
            steps.extend(self.open_listens(&steps));
        }
        steps
    }

    /// Asks the client that made a call, or repeats the call if the server wants nothing but that.
    fn ask(&mut self, minted: u64, message: &Message) -> Vec<Step> {
        let Some(wanted) = Wanted::of(message) else {
            return self.fail(minted, "the server wants input, but does not say which");
        };
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        call.rounds += 1;
        if call.rounds > MAX_INPUT_ROUNDS {
            return self.fail(minted, &format!("the server has asked for input {MAX_INPUT_ROUNDS} times"));
        }
        let numbers: Vec<u64> = wanted.requests.iter().map(|_| self.number()).collect();
        let (asking, questions) = wanted.questions(&numbers);
        self.asked.extend(numbers.into_iter().map(|number| (number, minted)));
        if let Some(call) = self.calls.get_mut(&minted) {
            call.state = CallState::Asking(asking);
        }
        match questions.is_empty() {
            true => self.repeat(minted),
            false => questions.into_iter().map(|question| Step::Ask { about: minted, question }).collect(),
        }
    }

    /// Handles the client's answer to a question.
    fn answered(&mut self, message: &Message, failed: bool) -> Vec<Step> {
        let number = message.part(Part::Id).and_then(RawId::minted);
        let Some((number, minted)) = number.and_then(|number| Some((number, self.asked.remove(&number)?)))
        else {
            return Vec::new();
        };
        let Some(Call { state: CallState::Asking(asking), .. }) = self.calls.get_mut(&minted) else {
            return Vec::new();
        };
        if failed {
            // The server has no way to hear of an error, so the call ends with it.
            let mut steps: Vec<Step> =
                asking.open().filter(|open| *open != number).map(cancel_question).collect();
            self.forget(minted);
            let text = message.part(Part::Error).map(String::from_utf8_lossy).unwrap_or_default();
            steps.extend(json::error(&minted.to_string(), &text).map(Step::ToCore));
            return steps;
        }
        asking.take(number, message.part(Part::Result).unwrap_or(b"{}"));
        if asking.open().next().is_some() { Vec::new() } else { self.repeat(minted) }
    }

    /// Sends a call again, under a new id, with the input that the server wanted.
    fn repeat(&mut self, minted: u64) -> Vec<Step> {
        let number = self.number();
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        let CallState::Asking(asking) = &call.state else { return Vec::new() };
        let mut out = self.speaker.declared(&call.request);
        out.replace(call.request.span(Part::Id), Patch::Id(RawId::from_number(number)));
        meta::insert(&call.request, Part::Params, &asking.input(), &mut out);
        call.state = CallState::Sent(number);
        self.repeated.insert(number, minted);
        vec![Step::ToServer(out)]
    }

    fn fail(&mut self, minted: u64, message: &str) -> Vec<Step> {
        self.forget(minted);
        let data = serde_json::json!({ "kind": ErrorKind::BadAnswer.name(), "retryable": false });
        let text = serde_json::json!({ "code": -32603, "message": message, "data": data }).to_string();
        json::error(&minted.to_string(), &text).map(Step::ToCore).into_iter().collect()
    }

    // ---- subscriptions

    fn told(&mut self, message: Message) -> Vec<Step> {
        let listen = message.part(Part::MetaSubscriptionId).and_then(RawId::minted);
        match (message.method(), listen) {
            (Method::Acknowledged, Some(listen)) => self.acknowledged(listen),
            (Method::Cancelled, _) => match message.part(Part::RequestId).and_then(RawId::minted) {
                Some(number) if self.listens.ended(number).is_some() => Vec::new(),
                _ => vec![Step::ToCore(message)],
            },
            // Of a subscription that another has replaced.
            (_, Some(listen)) if !self.listens.is_current(listen) => Vec::new(),
            (_, Some(_)) => {
                let path = ["params", "_meta", modern::SUBSCRIPTION_ID];
                let parent = (Part::Meta, &["params", "_meta"][..]);
                vec![Step::ToCore(json::without(message, &[&path], parent))]
            }
            (_, None) => vec![Step::ToCore(message)],
        }
    }

    /// Listens to the changes of lists that the server announces.
    fn open_listens(&mut self, welcomed: &[Step]) -> Vec<Step> {
        let [Step::ToCore(welcome)] = welcomed else { return Vec::new() };
        if self.listens.learn(welcome) { self.listen() } else { Vec::new() }
    }

    /// Replaces the subscription by one to everything that is wanted now.
    fn listen(&mut self) -> Vec<Step> {
        let number = self.number();
        let (filter, replaced) = self.listens.begin(number);
        let mut steps: Vec<Step> = replaced.into_iter().map(cancel_listen).collect();
        match filter {
            Some(filter) => {
                let out =
                    self.speaker.request(number, Method::Listen, &format!(r#","notifications":{filter}"#));
                steps.insert(0, Step::ToServer(out));
            }
            None => steps.extend(self.acknowledged(number)),
        }
        steps
    }

    /// Answers the subscriptions of clients that wait for this one.
    fn acknowledged(&mut self, listen: u64) -> Vec<Step> {
        let answered = self.listens.acknowledged(listen);
        answered.into_iter().flat_map(|minted| answer(&RawId::from_number(minted), "{}")).collect()
    }

    fn listen_ended(&mut self, end: ListenEnd, message: &Message, failed: bool) -> Vec<Step> {
        let text = match (failed, message.part(Part::Error)) {
            (true, Some(error)) => String::from_utf8_lossy(error).into_owned(),
            _ => r#"{"code":-32603,"message":"the server has ended the subscription"}"#.to_owned(),
        };
        let answers = end.waiting.into_iter().filter_map(|minted| json::error(&minted.to_string(), &text));
        answers.map(Step::ToCore).collect()
    }
}

fn answer(id: &RawId, result: &str) -> Vec<Step> {
    json::result(&id.to_string(), result).map(Step::ToCore).into_iter().collect()
}

fn cancel_question(number: u64) -> Step {
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number}}}}}"#
    );
    match crate::messages::own_message(text.clone().into()) {
        Some(message) => Step::ToCore(message),
        None => Step::ToServer(Outgoing::notification(Method::Cancelled, text.into())),
    }
}

fn cancel_listen(number: u64) -> Step {
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number}}}}}"#
    );
    Step::ToServer(Outgoing::notification(Method::Cancelled, text.into()))
}

#[cfg(test)]
mod tests;
