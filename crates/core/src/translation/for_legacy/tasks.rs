//! Calls that the server continues as a task (extension `io.modelcontextprotocol/tasks`). A legacy client waits for the
//! answer, so the translator polls the task until it is finished. Must not know the time: it is an argument.

use super::task_state::{DEFAULT_INTERVAL, TaskState};
use super::{CallState, ForLegacy, json, results};
use crate::messages::same_spelling;
use crate::translation::Step;
use serde_json::value::RawValue;
use std::time::Duration;
use switchboard_protocol::{Message, Method, Part};

/// A task that a request waits for.
#[derive(Debug)]
pub(super) struct CallTask {
    /// A normalised JSON string.
    id: String,
    interval: Duration,
    /// Whether the client knows the task. Then the task continues when the request ends.
    outlives: bool,
    /// Questions of the server that have no delivered answer yet.
    asked: Vec<String>,
}

impl CallTask {
    fn new(id: &[u8], interval: Duration, outlives: bool) -> Self {
        let id = String::from_utf8_lossy(&same_spelling(id)).into_owned();
        Self { id, interval, outlives, asked: Vec::new() }
    }

    /// The task that a client's request names.
    pub(super) fn named_by(request: &Message) -> Option<Self> {
        Some(Self::new(request.part(Part::TaskId)?, DEFAULT_INTERVAL, true))
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether cancelling the request cancels the task.
    pub(super) fn ends_with_call(&self) -> bool {
        !self.outlives
    }

    /// The id, if messages to the client must name the task.
    pub(super) fn known_id(&self) -> Option<&str> {
        self.outlives.then_some(&*self.id)
    }

    pub(super) fn record_asked(&mut self, keys: Vec<String>) {
        self.asked = keys;
    }
}

impl ForLegacy {
    /// Handles a task as the answer to a call.
    pub(super) fn begin_task(&mut self, minted: u64, message: &Message) -> Vec<Step> {
        let Some(state) = TaskState::of(message) else {
            return self.fail(minted, "the server answered with a task that cannot be read");
        };
        let task = CallTask::new(state.task_id.get().as_bytes(), state.interval(), false);
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        if call.is_cancelled {
            self.forget(minted);
            return vec![self.cancel_task(&task)];
        }
        call.task = Some(task);
        call.forget_params();
        self.poll_later(minted)
    }

    pub(super) fn poll_later(&mut self, minted: u64) -> Vec<Step> {
        if let Some(call) = self.calls.get_mut(&minted) {
            let interval = call.task.as_ref().map_or(DEFAULT_INTERVAL, |task| task.interval);
            call.state = CallState::Polling(self.now + interval);
        }
        vec![Step::GoesOn { about: minted }]
    }

    /// Polls the tasks that are due.
    pub(super) fn poll(&mut self) -> Vec<Step> {
        let now = self.now;
        let is_due = |state: &CallState| matches!(state, CallState::Polling(due) if *due <= now);
        let mut due: Vec<u64> =
            self.calls.iter().filter(|(_, call)| is_due(&call.state)).map(|(minted, _)| *minted).collect();
        due.sort_unstable();
        due.into_iter().filter_map(|minted| self.ask_for_task(minted)).collect()
    }

    pub(super) fn ask_for_task(&mut self, minted: u64) -> Option<Step> {
        let number = self.number();
        let call = self.calls.get_mut(&minted)?;
        let params = format!(r#","taskId":{}"#, call.task.as_ref()?.id);
        call.state = CallState::Polled(number);
        self.repeated.insert(number, minted);
        Some(Step::ToServer(self.speaker.request(number, Method::TasksGet, &params)))
    }

    /// Sends the client's answers to a task.
    pub(super) fn update_task(&mut self, minted: u64) -> Vec<Step> {
        let number = self.number();
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        let (CallState::Asking(asking), Some(task)) = (&call.state, &call.task) else { return Vec::new() };
        let input = String::from_utf8_lossy(&asking.input()).into_owned();
        let params = format!(r#","taskId":{},{input}"#, task.id);
        call.state = CallState::Updating(number);
        self.repeated.insert(number, minted);
        vec![Step::ToServer(self.speaker.request(number, Method::TasksUpdate, &params))]
    }

    /// Handles the answer to `tasks/update`.
    pub(super) fn updated_task(&mut self, minted: u64, message: Message, failed: bool) -> Vec<Step> {
        if failed {
            self.withdraw_input(minted);
            return self.end_call(minted, message, true);
        }
        self.ask_for_task(minted).into_iter().collect()
    }

    /// Allows undelivered questions to be asked again.
    pub(super) fn withdraw_input(&mut self, minted: u64) {
        if let Some(task) = self.calls.get(&minted).and_then(|call| call.task.as_ref()) {
            task.asked.iter().for_each(|key| self.inputs.withdraw(&task.id, key));
        }
    }

    /// Handles the answer to `tasks/get`.
    pub(super) fn task_told(&mut self, minted: u64, message: Message, failed: bool) -> Vec<Step> {
        if failed {
            return self.end_call(minted, message, true);
        }
        let Some(state) = TaskState::of(&message) else {
            return self.fail(minted, "the server told of a task what cannot be read");
        };
        let Some(call) = self.calls.get_mut(&minted) else { return Vec::new() };
        if let Some(task) = &mut call.task {
            task.interval = state.interval();
            if state.is_final() {
                self.inputs.forget(&task.id);
            }
        }
        let method = call.request.method();
        if method == Method::TasksCancel {
            return self.tell_cancelled(minted, message);
        }
        let id = minted.to_string();
        let is_object = |result: &&RawValue| result.get().starts_with('{');
        let why = state.status_message.map(|why| format!(": {why}")).unwrap_or_default();
        match (state.status.as_str(), state.result.filter(is_object), state.error) {
            ("working", ..) => self.poll_later(minted),
            ("input_required", ..) => self.ask(minted, &message),
            ("completed", Some(result), _) => match json::result(&id, result.get()) {
                Some(answer) => self.end_call(minted, answer, false),
                None => self.fail(minted, "the task has a result that cannot be read"),
            },
            ("failed", _, Some(error)) => match json::error(&id, error.get()) {
                Some(answer) => self.end_call(minted, answer, true),
                None => self.fail(minted, "the task has an error that cannot be read"),
            },
            ("cancelled", ..) if method == Method::TaskResult => self.tell_no_result(minted, &why),
            (status, ..) => {
                let text = format!("the server ended the task of this call; its status is `{status}`{why}");
                self.fail(minted, &text)
            }
        }
    }

    /// Ends a request with the result of its task, or with an error.
    fn end_call(&mut self, minted: u64, message: Message, failed: bool) -> Vec<Step> {
        let Some(call) = self.forget(minted) else { return Vec::new() };
        let (method, id) = (call.request.method(), minted.to_string());
        // Only `tools/call` can become a task.
        let answer = match failed {
            true => results::failed(message, Method::ToolsCall, &id),
            false => results::complete(message, Method::ToolsCall, &id),
        };
        answer.map(|answer| self.about_task(method, &call.request, answer)).unwrap_or_default()
    }

    /// Cancels a task that no request waits for.
    pub(super) fn cancel_task(&mut self, task: &CallTask) -> Step {
        let number = self.number();
        let params = format!(r#","taskId":{}"#, task.id);
        Step::ToServer(self.speaker.request(number, Method::TasksCancel, &params))
    }
}
