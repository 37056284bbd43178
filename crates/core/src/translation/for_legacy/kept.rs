//! Stored results of calls that clients requested as tasks and that the server answered at once. Each is shown as a
//! finished task. Must not know clients: the core knows the owner of a task.

use super::task_state::is_error;
use crate::moment::Moment;
use crate::text::dates::Timestamp;
use crate::translation::id_prefix;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::{Duration, SystemTime};
use switchboard_protocol::{ErrorKind, Method, RawId};

/// Limits on the stored results of one process. The newest result is always kept.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 16 << 20;

/// Default lifetime of a result, and limits on the lifetime that a client requests. The core forgets the owner after the
/// longest one.
const KEPT_FOR: Duration = Duration::from_secs(5 * 60);
const MIN_KEPT_FOR: Duration = Duration::from_secs(10);
const MAX_KEPT_FOR: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
pub(super) struct Kept {
    /// Calendar time at the start of the program.
    started: SystemTime,
    /// Oldest first.
    results: VecDeque<KeptResult>,
}

#[derive(Debug)]
struct KeptResult {
    id: String,
    result: String,
    status: &'static str,
    created: SystemTime,
    ttl: Duration,
    until: Moment,
}

/// A client's request to run a call as a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskWish {
    ttl: Duration,
}

impl TaskWish {
    /// Reads `params.task`; `None` if it is no object.
    pub(super) fn of(task: &[u8]) -> Option<Self> {
        let task: Value = serde_json::from_slice(task).ok().filter(Value::is_object)?;
        let ttl = task["ttl"].as_f64().filter(|ttl| *ttl >= 0.0).map(|ttl| Duration::from_millis(ttl as u64));
        Some(Self { ttl: ttl.unwrap_or(KEPT_FOR).clamp(MIN_KEPT_FOR, MAX_KEPT_FOR) })
    }
}

impl Kept {
    pub(super) fn new(started: SystemTime) -> Self {
        Self { started, results: VecDeque::new() }
    }

    /// Keeps the result of the call with this minted id. Returns the `CreateTaskResult` for its client.
    pub(super) fn keep(&mut self, minted: u64, result: &RawValue, wish: TaskWish, now: Moment) -> String {
        let kept = KeptResult {
            // Clients may still know ids of other daemons.
            id: format!("{}{minted}", id_prefix(self.started)),
            result: result.get().to_owned(),
            status: if is_error(result) { "failed" } else { "completed" },
            created: self.started + now.since_start(),
            ttl: wish.ttl,
            until: now + wish.ttl,
        };
        let task = kept.state();
        self.results.push_back(kept);
        while self.results.len() > 1 && (self.results.len() > MAX_KEPT || self.bytes() > MAX_KEPT_BYTES) {
            self.results.pop_front();
        }
        json!({ "task": task }).to_string()
    }

    fn bytes(&self) -> usize {
        self.results.iter().map(|kept| kept.result.len()).sum()
    }

    /// Answers a request for a task: with a result, or an error. `None` if it is a task of the server.
    pub(super) fn answer(&self, method: Method, task: &str) -> Option<Result<String, String>> {
        let minted = task.strip_prefix(&id_prefix(self.started))?;
        // Servers may give their tasks similar names, above all another Switchboard.
        RawId::minted(minted.as_bytes())?;
        let Some(kept) = self.results.iter().find(|kept| kept.id == task) else {
            return Some(Err(refusal(&format!("Unknown task: {task}. Its result is no longer kept"))));
        };
        Some(match method {
            Method::TaskResult => Ok(kept.result.clone()),
            Method::TasksCancel => Err(already_over(kept.status)),
            _ => Ok(kept.state().to_string()),
        })
    }

    /// Drops expired results.
    pub(super) fn expire(&mut self, now: Moment) {
        self.results.retain(|kept| kept.until > now);
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.results.iter().map(|kept| kept.until).min()
    }
}

impl KeptResult {
    fn state(&self) -> Value {
        let created = Timestamp(self.created).to_string();
        json!({ "taskId": self.id, "status": self.status, "createdAt": created, "lastUpdatedAt": created,
            "ttl": self.ttl.as_millis() as u64 })
    }
}

/// The error for cancelling a finished task.
pub(super) fn already_over(status: &str) -> String {
    refusal(&format!("Cannot cancel task: already in terminal status '{status}'"))
}

/// An error about the task that a request names.
pub(super) fn refusal(message: &str) -> String {
    let data = json!({ "kind": ErrorKind::UnknownName.name(), "retryable": false });
    json!({ "code": -32602, "message": message, "data": data }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn at(seconds: u64) -> Moment {
        Moment::after_start(Duration::from_secs(seconds))
    }

    fn kept() -> Kept {
        Kept::new(UNIX_EPOCH + Duration::from_secs(86_400))
    }

    /// Keeps a result, and returns the id of its task.
    fn keep(kept: &mut Kept, minted: u64, result: &str, task: &str) -> String {
        let result: Box<RawValue> = serde_json::from_str(result).unwrap();
        let wish = TaskWish::of(task.as_bytes()).unwrap();
        let created: Value = serde_json::from_str(&kept.keep(minted, &result, wish, at(60))).unwrap();
        created["task"]["taskId"].as_str().unwrap().to_owned()
    }

    fn is_kept(kept: &Kept, id: &str) -> bool {
        kept.answer(Method::TaskResult, id).unwrap().is_ok()
    }

    #[test]
    fn kept_task_has_ended() {
        let mut kept = kept();
        for (result, status) in [(r#"{"n":1.50}"#, "completed"), (r#"{"isError":true}"#, "failed")] {
            let id = keep(&mut kept, 3, result, r#"{"ttl":20000}"#);
            assert_eq!(id, "switchboard-86400000-3");
            let state: Value =
                serde_json::from_str(&kept.answer(Method::TasksGet, &id).unwrap().unwrap()).unwrap();
            let created = "1970-01-02T00:01:00.000Z";
            assert_eq!(
                state,
                json!({ "taskId": id, "status": status, "createdAt": created, "lastUpdatedAt": created, "ttl": 20_000 })
            );
            assert_eq!(kept.answer(Method::TaskResult, &id).unwrap().unwrap(), result);
            let refused = kept.answer(Method::TasksCancel, &id).unwrap().unwrap_err();
            assert!(refused.contains("-32602") && refused.contains(status), "{refused}");
            kept.expire(at(80));
        }
    }

    /// Servers choose the ids of their tasks.
    #[test]
    fn similar_ids_are_those_of_the_server() {
        let kept = kept();
        for id in ["t", "switchboard-", "switchboard-7", "switchboard-8640000-3", "switchboard-86400000-"] {
            assert_eq!(kept.answer(Method::TasksGet, id), None, "{id}");
        }
        for id in ["switchboard-86400000-x", "switchboard-86400000-03", "switchboard-86400000-3-4"] {
            assert_eq!(kept.answer(Method::TaskResult, id), None, "{id}");
        }
        assert!(matches!(kept.answer(Method::TasksGet, "switchboard-86400000-3"), Some(Err(_))));
    }

    #[test]
    fn results_are_kept_for_their_time() {
        for (task, seconds) in [
            ("{}", 300),
            (r#"{"ttl":null}"#, 300),
            (r#"{"ttl":-1}"#, 300),
            (r#"{"ttl":0}"#, 10),
            (r#"{"ttl":60000.5}"#, 60),
            (r#"{"ttl":1e99}"#, 3600),
        ] {
            let mut kept = kept();
            let id = keep(&mut kept, 3, "{}", task);
            assert_eq!(kept.deadline(), Some(at(60 + seconds)), "{task}");
            kept.expire(at(59 + seconds));
            assert!(is_kept(&kept, &id), "{task}");
            kept.expire(at(60 + seconds));
            assert!(!is_kept(&kept, &id) && kept.deadline().is_none(), "{task}");
        }
        assert!(TaskWish::of(b"null").is_none() && TaskWish::of(b"5").is_none());
    }

    #[test]
    fn oldest_results_make_room() {
        let mut kept = kept();
        let ids: Vec<String> = (0..70).map(|minted| keep(&mut kept, minted, "{}", "{}")).collect();
        assert!(!is_kept(&kept, &ids[5]) && is_kept(&kept, &ids[6]));
        let large = format!(r#""{}""#, "x".repeat(MAX_KEPT_BYTES / 2));
        let pair = [100, 101].map(|minted| keep(&mut kept, minted, &large, "{}"));
        assert!(!is_kept(&kept, &ids[69]) && !is_kept(&kept, &pair[0]) && is_kept(&kept, &pair[1]));
        let huge = format!(r#""{}""#, "x".repeat(2 * MAX_KEPT_BYTES));
        let only = keep(&mut kept, 102, &huge, "{}");
        assert!(is_kept(&kept, &only) && !is_kept(&kept, &pair[1]));
    }
}
