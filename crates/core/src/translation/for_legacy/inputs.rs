//! Questions of tasks that clients were already asked. A server may repeat a question until it has processed the answer,
//! and several requests may wait for one task, but the client is asked once. Must not know the answers.

use std::collections::VecDeque;

/// Limits on stored questions. Beyond them, a repeated question reaches the client again.
const MAX_TASKS: usize = 128;
const MAX_KEYS: usize = 32;
const MAX_BYTES: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// In the order of their latest question.
    tasks: VecDeque<TaskInput>,
}

#[derive(Debug)]
struct TaskInput {
    /// The id, as JSON.
    task: String,
    /// The server's names for its questions, oldest first.
    keys: VecDeque<String>,
}

impl Inputs {
    pub(super) fn is_asked(&self, task: &str, key: &str) -> bool {
        self.tasks.iter().any(|it| it.task == task && it.keys.iter().any(|known| known == key))
    }

    pub(super) fn record(&mut self, task: &str, key: &str) {
        if task.len().max(key.len()) > MAX_BYTES {
            return;
        }
        let known = self.tasks.iter().position(|it| it.task == task).and_then(|at| self.tasks.remove(at));
        let mut input = known.unwrap_or_else(|| TaskInput { task: task.to_owned(), keys: VecDeque::new() });
        input.keys.push_back(key.to_owned());
        if input.keys.len() > MAX_KEYS {
            input.keys.pop_front();
        }
        self.tasks.push_back(input);
        if self.tasks.len() > MAX_TASKS {
            self.tasks.pop_front();
        }
    }

    /// Removes a question without an answer.
    pub(super) fn withdraw(&mut self, task: &str, key: &str) {
        for input in self.tasks.iter_mut().filter(|it| it.task == task) {
            input.keys.retain(|known| known != key);
        }
    }

    /// Removes a task that has ended.
    pub(super) fn forget(&mut self, task: &str) {
        self.tasks.retain(|it| it.task != task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withdrawn_input_is_asked_for_again() {
        let mut inputs = Inputs::default();
        inputs.record("t", "a");
        inputs.record("t", "b");
        inputs.record("u", "a");
        inputs.withdraw("t", "a");
        assert!(!inputs.is_asked("t", "a") && inputs.is_asked("t", "b") && inputs.is_asked("u", "a"));
        inputs.forget("t");
        assert!(!inputs.is_asked("t", "b") && inputs.is_asked("u", "a"));
    }

    #[test]
    fn memory_of_input_is_limited() {
        let mut inputs = Inputs::default();
        for number in 0..200 {
            inputs.record("t", &number.to_string());
            inputs.record(&number.to_string(), "a");
        }
        inputs.record("t", &"x".repeat(2000));
        inputs.record(&"x".repeat(2000), "a");
        assert_eq!((inputs.tasks.len(), inputs.tasks.iter().map(|it| it.keys.len()).max()), (128, Some(32)));
        assert!(inputs.is_asked("t", "199") && !inputs.is_asked("t", "167"));
    }
}
