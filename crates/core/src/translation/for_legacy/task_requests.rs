//! Requests of 2025-11-25 clients about tasks, at a server with the tasks extension: calls with `params.task`, states,
//! results and cancellations. Must not know the owner of a task: the core has checked that.

use super::kept::{TaskWish, already_over, refusal};
use super::task_state::{self, TaskState};
use super::tasks::CallTask;
use super::{Call, ForLegacy, json};
use crate::translation::Step;
use serde_json::value::RawValue;
use switchboard_protocol::{Message, Method, Part, prune};

/// The call without `params.task`, and the requested task.
pub(super) fn without_wish(call: Message) -> (Message, Option<TaskWish>) {
    match call.part(Part::Task).and_then(TaskWish::of) {
        Some(wish) => (prune::without(&call, &[&["params", "task"]]).unwrap_or(call), Some(wish)),
        None => (call, None),
    }
}

impl ForLegacy {
    /// Handles a client's request about a task. `None` if it goes to the server as it is.
    pub(super) fn task_request(&mut self, minted: u64, request: &Message) -> Option<Vec<Step>> {
        let (method, id) = (request.method(), minted.to_string());
        if let Some(answer) = self.kept.answer(method, &request.text(Part::TaskId)?) {
            let answer = match answer {
                Ok(result) => json::result(&id, &result),
                Err(error) => json::error(&id, &error),
            };
            return Some(self.about_task(method, request, answer?));
        }
        if method != Method::TaskResult {
            return None;
        }
        let mut call = Call::new(request.clone(), None, minted);
        call.task = CallTask::named_by(request);
        self.calls.insert(minted, call);
        Some(self.ask_for_task(minted).into_iter().collect())
    }

    /// Adds the id of the task to its result. Other answers about a task already have it.
    pub(super) fn about_task(&self, method: Method, request: &Message, answer: Message) -> Vec<Step> {
        let task =
            CallTask::named_by(request).filter(|_| method == Method::TaskResult && answer.has(Part::Result));
        let answer = match task {
            Some(task) => task_state::related(answer, task.id()),
            None => Some(answer),
        };
        answer.map(Step::ToCore).into_iter().collect()
    }

    /// Answers a call with the task that the client requested.
    pub(super) fn tell_task(&mut self, minted: u64, message: Message) -> Vec<Step> {
        match task_state::created(message, &minted.to_string()) {
            Some(answer) => {
                self.forget(minted);
                vec![Step::ToCore(answer)]
            }
            None => self.fail(minted, "the server answered with a task that cannot be read"),
        }
    }

    /// Keeps the result of a call that the client requested as a task. An error is the answer to the call.
    pub(super) fn keep_result(&mut self, minted: u64, answer: Message, wish: TaskWish) -> Option<Message> {
        let result =
            json::read::<&RawValue>(&answer, Part::Result).filter(|result| result.get().starts_with('{'));
        let Some(result) = result else { return Some(answer) };
        let created = self.kept.keep(minted, result, wish, self.now);
        json::result(&minted.to_string(), &created)
    }

    /// Handles the answer to `tasks/get` or `tasks/cancel`. The answer to `tasks/cancel` has no state, so the translator
    /// polls it.
    pub(super) fn task_answered(&mut self, minted: u64, message: Message) -> Vec<Step> {
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        if call.request.method() == Method::TasksGet {
            return self.tell_state(minted, message);
        }
        if call.is_cancelled {
            self.forget(minted);
            return Vec::new();
        }
        call.task = CallTask::named_by(&call.request);
        self.ask_for_task(minted).into_iter().collect()
    }

    /// Answers a request for a task with its state.
    fn tell_state(&mut self, minted: u64, message: Message) -> Vec<Step> {
        match task_state::told(message, &minted.to_string()) {
            Some(answer) => {
                self.forget(minted);
                vec![Step::ToCore(answer)]
            }
            None => self.fail(minted, "the server told of a task what cannot be read"),
        }
    }

    /// Answers `tasks/cancel` with the state of the task. A modern server may cancel it later, or not at all.
    pub(super) fn tell_cancelled(&mut self, minted: u64, message: Message) -> Vec<Step> {
        let status = TaskState::of(&message).map(|state| state.status).unwrap_or_default();
        match status.as_str() {
            "completed" | "failed" => self.refuse(minted, &already_over(&status)),
            _ => self.tell_state(minted, message),
        }
    }

    /// Answers a request for the result of a task that has none.
    pub(super) fn tell_no_result(&mut self, minted: u64, why: &str) -> Vec<Step> {
        self.refuse(minted, &refusal(&format!("The task has no result, since it was cancelled{why}")))
    }

    fn refuse(&mut self, minted: u64, error: &str) -> Vec<Step> {
        self.forget(minted);
        json::error(&minted.to_string(), error).map(Step::ToCore).into_iter().collect()
    }
}
