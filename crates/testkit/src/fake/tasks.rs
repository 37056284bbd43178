//! The tasks extension of the modern era: calls that go on after their answer.

use super::modern::{declared, undeclared};
use super::server::{Heard, Server};
use serde_json::{Value, json};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const TIME: &str = "2026-07-28T00:00:00Z";

#[derive(Default)]
pub(super) struct Tasks(Vec<FakeTask>);

struct FakeTask {
    id: String,
    state: State,
}

enum State {
    /// `working` for this many further `tasks/get`; then input is required, or not.
    Working {
        polls: u64,
        asks: bool,
    },
    Asking,
    Completed {
        text: String,
    },
    Cancelled,
}

impl FakeTask {
    fn show(&self) -> Value {
        let mut shown = json!({
            "taskId": self.id,
            "createdAt": TIME,
            "lastUpdatedAt": TIME,
            "ttlMs": 60_000,
            "pollIntervalMs": 1,
        });
        shown["status"] = match &self.state {
            State::Working { .. } => json!("working"),
            State::Asking => {
                let params = json!({ "mode": "form", "message": "Who is it?", "requestedSchema": { "type": "object", "properties": {} } });
                shown["inputRequests"] =
                    json!({ "who": { "method": "elicitation/create", "params": params } });
                json!("input_required")
            }
            State::Completed { text } => {
                let content = json!([{ "type": "text", "text": text }]);
                shown["result"] = json!({ "resultType": "complete", "content": content });
                json!("completed")
            }
            State::Cancelled => json!("cancelled"),
        };
        shown
    }

    fn poll(&mut self) {
        match &mut self.state {
            State::Working { polls: 0, asks: true } => self.state = State::Asking,
            State::Working { polls: 0, asks: false } => {
                self.state = State::Completed { text: "worked".to_owned() };
            }
            State::Working { polls, .. } => *polls -= 1,
            State::Asking | State::Completed { .. } | State::Cancelled => {}
        }
    }
}

pub(super) fn required() -> Value {
    json!({ "extensions": { EXTENSION: {} } })
}

pub(super) fn are_declared(params: &Value) -> bool {
    declared(params)["extensions"].get(EXTENSION).is_some()
}

/// The tool `task`: `polls` answers of `tasks/get` say that it works; then it asks for input, if `input` is true, and is
/// completed.
pub(super) fn start(server: &mut Server, id: &str, heard: &Heard<'_>) {
    if !are_declared(&heard.params) {
        return server.refuse(id, &undeclared(required()));
    }
    let arguments = &heard.params["arguments"];
    let polls = arguments["polls"].as_u64().unwrap_or(0);
    let state = State::Working { polls, asks: arguments["input"] == true };
    let tasks = &mut server.modern.tasks.0;
    tasks.push(FakeTask { id: format!("task-{}", tasks.len() + 1), state });
    let mut shown = tasks.last().map(FakeTask::show).unwrap_or_default();
    shown["resultType"] = json!("task");
    server.answer(id, &shown);
}

/// The tool `finish_task`: completes the last task at once, and tells all that listen for it.
pub(super) fn finish(server: &mut Server, id: &str) {
    if let Some(task) = server.modern.tasks.0.last_mut() {
        task.state = State::Completed { text: "finished".to_owned() };
        let shown = task.show();
        let is_wanted =
            |wants: &Value| wants["taskIds"].as_array().is_some_and(|ids| ids.contains(&shown["taskId"]));
        server.modern.tell("notifications/tasks", &shown, is_wanted);
    }
    server.answer(id, &json!({ "content": [] }));
}

/// `tasks/get`, `tasks/update` or `tasks/cancel`.
pub(super) fn request(server: &mut Server, method: &str, id: &str, heard: &Heard<'_>) {
    if !are_declared(&heard.params) {
        return server.refuse(id, &undeclared(required()));
    }
    let Some(task) = server.modern.tasks.0.iter_mut().find(|task| heard.params["taskId"] == *task.id) else {
        let message = format!("unknown task: {}", heard.params["taskId"]);
        return server.refuse(id, &json!({ "code": -32602, "message": message }));
    };
    let answer = match method {
        "tasks/get" => {
            task.poll();
            task.show()
        }
        "tasks/update" => {
            let text = heard.params["inputResponses"].to_string();
            if matches!(task.state, State::Asking) {
                task.state = State::Completed { text };
            }
            json!({})
        }
        _ => {
            task.state = State::Cancelled;
            json!({})
        }
    };
    server.answer(id, &answer);
}
