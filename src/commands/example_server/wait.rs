//! The slow tool: reports progress to clients that ask for it, and can be cancelled.

use super::{rpc, say, tools};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Number of progress reports, however long it takes.
const STEPS: u32 = 10;

/// A call that has not been answered yet.
pub(super) struct Wait {
    pub(super) id: Value,
    seconds: f64,
    token: Option<Value>,
}

impl Wait {
    pub(super) fn new(id: Value, seconds: f64, params: &Value) -> Self {
        Self { id, seconds, token: params["_meta"].get("progressToken").cloned() }
    }

    /// The answer, after the wait; `None` if it was cancelled.
    pub(super) fn run(&self, cancelled: &Receiver<()>) -> Option<Value> {
        let pause = Duration::from_secs_f64(self.seconds / f64::from(STEPS));
        for step in 1..=STEPS {
            match cancelled.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => self.report(step),
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        let result = tools::text(&format!("waited {} s", self.seconds));
        Some(rpc::reply(self.id.clone(), Ok(result)))
    }

    fn report(&self, step: u32) {
        if let Some(token) = &self.token {
            let params = json!({ "progressToken": token, "progress": step, "total": STEPS });
            say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
        }
    }
}

/// Waiting calls, by the id of their request.
#[derive(Default)]
pub(super) struct Waits(Mutex<HashMap<String, SyncSender<()>>>);

impl Waits {
    pub(super) fn enter(&self, id: &Value) -> Receiver<()> {
        let (cancel, cancelled) = sync_channel(1);
        self.lock().insert(id.to_string(), cancel);
        cancelled
    }

    pub(super) fn leave(&self, id: &Value) {
        self.lock().remove(&id.to_string());
    }

    /// Cancels a call. An unknown or finished request is not an error: the messages may have crossed.
    pub(super) fn cancel(&self, id: &Value) {
        if let Some(cancel) = self.lock().remove(&id.to_string()) {
            let _ = cancel.try_send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SyncSender<()>>> {
        // A poisoned lock cannot occur: a panic ends the process.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
