//! Calls for which the server asks for input: its questions go to the client that made the call, and the call continues
//! with the answers.

use super::rounds::Wanted;
use super::tasks::CallTask;
use super::{Call, CallState, ForLegacy, cancel_question, results};
use crate::translation::Step;
use switchboard_protocol::{Message, Part, Patch, RawId};

/// Limit on rounds of input in one call, as in the TypeScript SDK. A server that needs more is stuck.
const MAX_INPUT_ROUNDS: u32 = 8;
/// Limit on the state and the names of questions that are stored for one call while its client is asked.
const MAX_KEPT_BYTES: usize = 1 << 20;
const UNREADABLE: &str = "the server wants input in a way that cannot be read";

impl ForLegacy {
    /// Asks the client that made a call, or continues the call at once if the server only sent a state.
    pub(super) fn ask(&mut self, minted: u64, message: &Message) -> Vec<Step> {
        let Some(mut wanted) = Wanted::of(message) else {
            return self.fail(minted, UNREADABLE);
        };
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        if let Some(task) = &call.task {
            wanted.requests.retain(|(key, _)| !self.inputs.is_asked(task.id(), key));
            // The server has not yet processed the answers.
            if wanted.requests.is_empty() {
                return self.poll_later(minted);
            }
        } else if wanted.is_empty() {
            return self.fail(minted, "the server wants input, but does not say which");
        }
        if wanted.kept_bytes() > MAX_KEPT_BYTES {
            return self.fail(minted, "the server wants more than 1 MiB of its state to be kept");
        }
        call.rounds += 1;
        if call.rounds > MAX_INPUT_ROUNDS {
            return self.fail(minted, &format!("the server has asked for input {MAX_INPUT_ROUNDS} times"));
        }
        if let Some(task) = &mut call.task {
            let keys: Vec<String> = wanted.requests.iter().map(|(key, _)| key.clone()).collect();
            keys.iter().for_each(|key| self.inputs.record(task.id(), key));
            task.record_asked(keys);
        }
        let related = call.task.as_ref().and_then(CallTask::known_id).map(str::to_owned);
        let numbers: Vec<u64> = wanted.requests.iter().map(|_| self.number()).collect();
        let Some((asking, questions)) = wanted.questions(&numbers, self.process, related.as_deref()) else {
            return self.fail(minted, UNREADABLE);
        };
        self.asked.extend(asking.open().map(|number| (number, minted)));
        let is_complete = asking.open().next().is_none();
        if let Some(call) = self.calls.get_mut(&minted) {
            call.state = CallState::Asking(asking);
        }
        match is_complete {
            true => self.go_on(minted),
            false => questions.into_iter().map(|question| Step::Ask { about: minted, question }).collect(),
        }
    }

    /// Handles the client's answer to a question.
    pub(super) fn answered(&mut self, message: &Message, failed: bool) -> Vec<Step> {
        let number = message.part(Part::Id).and_then(RawId::minted);
        let Some((number, minted)) = number.and_then(|number| Some((number, self.asked.remove(&number)?)))
        else {
            return Vec::new();
        };
        let Some(Call { state: CallState::Asking(asking), .. }) = self.calls.get_mut(&minted) else {
            return Vec::new();
        };
        if failed {
            // A modern server cannot receive an error, so the call ends with it.
            let mut steps: Vec<Step> =
                asking.open().filter(|open| *open != number).map(cancel_question).collect();
            let Some(call) = self.forget(minted) else { return steps };
            steps.extend(call.task.map(|task| self.cancel_task(&task)));
            let answer = results::failed(message.clone(), call.request.method(), &minted.to_string());
            steps.extend(answer.map(Step::ToCore));
            return steps;
        }
        asking.take(number, message.part(Part::Result).unwrap_or(b"{}"));
        if asking.open().next().is_some() { Vec::new() } else { self.go_on(minted) }
    }

    /// Continues a call with the client's answers.
    fn go_on(&mut self, minted: u64) -> Vec<Step> {
        match self.calls.get(&minted).is_some_and(|call| call.task.is_some()) {
            true => self.update_task(minted),
            false => self.repeat(minted),
        }
    }

    /// Sends a call again, under a new id.
    fn repeat(&mut self, minted: u64) -> Vec<Step> {
        let number = self.number();
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        let CallState::Asking(asking) = &call.state else { return Vec::new() };
        let mut out = self.speaker.declared(&call.request, call.level.as_deref(), &asking.input());
        out.replace(call.request.span(Part::Id), Patch::Id(RawId::from_number(number)));
        call.state = CallState::Sent(number);
        self.repeated.insert(number, minted);
        vec![Step::ToServer(out)]
    }
}
