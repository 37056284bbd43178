//! Ids of tasks for an aggregate client: two servers may use the same id, so each gets the name of its server. Must
//! not know the state of tasks.

use crate::catalogue::NameStyle;
use crate::clients::Client;
use crate::core::Core;
use crate::ids::{BackendId, ClientId};
use crate::pending::Pending;
use crate::text::percent;
use crate::transitions::names_task;
use bytes::Bytes;
use switchboard_protocol::{Message, Method, Outgoing, Part, Patch, Span};

/// Ends the name of the server. Percent-encoding leaves none in the name itself.
const SEPARATOR: char = ':';

/// A task of an aggregate client.
pub(crate) struct TaskMeant {
    pub(crate) delegate: ClientId,
    /// The server's own id.
    pub(crate) own: String,
    pub(crate) backend: BackendId,
}

impl Core {
    /// Text before the ids of a server's tasks; `None` for a client that sees the server alone.
    pub(crate) fn task_prefix(&self, c: &Client) -> Option<String> {
        let is_alone = || c.naming().style == NameStyle::Plain && self.delegates(c.connection()).len() == 1;
        let is_named = c.is_delegate() && !is_alone();
        is_named.then(|| prefix(&c.naming().server))
    }

    /// The task that an aggregate client names.
    pub(crate) fn task_meant(&self, client: ClientId, public: &str) -> Option<TaskMeant> {
        let delegates = self.delegates(client);
        let owned = |delegate: ClientId, own: &str| {
            let quoted = serde_json::Value::from(own).to_string();
            let backend = self.backend_of_task(delegate, quoted.as_bytes())?;
            Some(TaskMeant { delegate, own: own.to_owned(), backend })
        };
        let named = |delegate: &ClientId| {
            let c = self.clients.get(delegate)?;
            owned(*delegate, public.strip_prefix(&prefix(&c.naming().server))?)
        };
        // Ids without a name are from the time when there was one server.
        let unnamed = |delegate: &ClientId| owned(*delegate, public);
        delegates.iter().find_map(named).or_else(|| delegates.iter().find_map(unnamed))
    }

    /// Names the server in the ids of its tasks, in a request or notification of the server.
    pub(super) fn name_tasks(&self, c: &Client, message: &Message, out: &mut Outgoing) {
        if !message.has(Part::MetaRelatedTaskId) && !message.has(Part::TaskId) {
            return;
        }
        let Some(prefix) = self.task_prefix(c) else { return };
        put_before(&prefix, message, Part::MetaRelatedTaskId, out);
        // The tasks that a server's request names are the client's.
        if matches!(message.method(), Method::TaskStatus | Method::TaskNotice) {
            put_before(&prefix, message, Part::TaskId, out);
        }
    }

    /// The same in a server's answer, except for lists of tasks.
    pub(super) fn name_answered_tasks(
        &self,
        c: &Client,
        pending: &Pending,
        answer: &Message,
        out: &mut Outgoing,
    ) {
        let parts = [Part::ResultTaskId, Part::ResultOwnTaskId, Part::ResultRelatedTaskId];
        if !parts.into_iter().any(|part| answer.has(part)) {
            return;
        }
        let Some(prefix) = self.task_prefix(c) else { return };
        let is_task = names_task(pending.method()) || answer.part(Part::ResultType) == Some(b"\"task\"");
        for part in parts.into_iter().filter(|part| is_task || *part != Part::ResultOwnTaskId) {
            put_before(&prefix, answer, part, out);
        }
    }

    /// Restores a server's own id of the task that an aggregate client's answer belongs to.
    pub(crate) fn own_related_task(&self, delegate: ClientId, answer: &Message, out: &mut Outgoing) {
        let Some(task) = answer.text(Part::ResultRelatedTaskId) else { return };
        let prefix = self.clients.get(&delegate).and_then(|c| self.task_prefix(c));
        if let Some(own) = prefix.and_then(|prefix| task.strip_prefix(&*prefix).map(str::to_owned)) {
            let own = serde_json::Value::from(own).to_string();
            out.replace(answer.span(Part::ResultRelatedTaskId), Patch::Text(own.into()));
        }
    }
}

fn prefix(server: &str) -> String {
    format!("{}{SEPARATOR}", percent::encode_segment(server))
}

/// Inserts the prefix into the text of a part; anything but a text stays as it is.
fn put_before(prefix: &str, message: &Message, part: Part, out: &mut Outgoing) {
    if message.part(part).is_some_and(|id| id.starts_with(b"\"")) {
        let inside = message.span(part).range().start + 1;
        out.replace(Span::new(inside, inside), Patch::Text(Bytes::copy_from_slice(prefix.as_bytes())));
    }
}
