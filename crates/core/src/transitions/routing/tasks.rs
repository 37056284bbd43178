//! Tasks: requests that continue after their answer. A task belongs to the client that started it, or to its identity if
//! it is a stateless client; other clients of the same process cannot list, read or cancel it.

use crate::access::Front;
use crate::backends::{Backend, TaskOwner};
use crate::catalogue::Wishes;
use crate::core::Core;
use crate::ids::{BackendId, ClientId, Principal};
use crate::pending::{MAX_TOKEN_BYTES, Pending};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use switchboard_protocol::{ErrorAnswer, Message, Method, Outgoing, Part, Patch, Span};

#[derive(Deserialize)]
struct TaskStatus<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
}

/// A page of `tasks/list`.
#[derive(Deserialize)]
struct TaskPage<'a> {
    #[serde(borrow)]
    tasks: &'a RawValue,
}

#[derive(Deserialize)]
struct ListedTask<'a> {
    #[serde(borrow, rename = "taskId")]
    id: &'a RawValue,
}

impl Core {
    /// Records the start or end of a task, from the answer to a request.
    pub(crate) fn record_task(
        &mut self,
        backend: BackendId,
        client: ClientId,
        pending: &Pending,
        answer: &Message,
    ) {
        if names_task(pending.method()) {
            // A delivered result ends the task, whatever it says.
            let is_over = pending.method() == Method::TaskResult || is_final(answer.part(Part::Result));
            if let (true, Some(task)) = (is_over, pending.task()) {
                self.task_over(backend, task);
            }
        }
        // In the modern era the result is the task.
        let own = || {
            answer.part(Part::ResultOwnTaskId).filter(|_| answer.part(Part::ResultType) == Some(b"\"task\""))
        };
        let begun = answer.part(Part::ResultTaskId).or_else(own);
        if let Some(task) = begun.filter(|task| task.len() <= MAX_TOKEN_BYTES)
            && self.clients.get(&client).is_some_and(|c| !c.is_lost())
        {
            let owner = self.task_owner(client);
            let (task, now) = (task.to_vec(), self.clock.now());
            if let Some(b) = self.backends.get_mut(&backend) {
                b.tasks_mut().begin(&task, owner, now);
            }
            // All connections to a remote server reach the same tasks.
            if let Some(origin) = self.origin(backend).filter(|origin| origin.settings().is_remote) {
                origin.remote_tasks_mut().begin(&task, owner, now);
            }
        }
    }

    pub(crate) fn task_status(&mut self, backend: BackendId, message: &Message) {
        if let Some(task) = message.part(Part::TaskId)
            && is_final(message.part(Part::Params))
        {
            self.task_over(backend, task);
        }
    }

    fn task_over(&mut self, backend: BackendId, task: &[u8]) {
        let now = self.clock.now();
        if let Some(b) = self.backends.get_mut(&backend) {
            b.tasks_mut().end(task, now);
        }
        if let Some(origin) = self.origin(backend) {
            origin.remote_tasks_mut().end(task, now);
        }
    }

    /// Leaves a departed client's tasks at a remote server without an owner.
    pub(crate) fn forget_remote_tasks(&mut self, client: ClientId, backend: BackendId) {
        let now = self.clock.now();
        if let Some(origin) = self.origin(backend) {
            origin.remote_tasks_mut().forget_client(client, now);
        }
    }

    /// The owner of the tasks that a client starts.
    fn task_owner(&self, client: ClientId) -> TaskOwner {
        let connection = self.clients.get(&self.connection_of(client));
        match connection.filter(|c| c.front() == Front::Http && c.is_modern()) {
            Some(c) => TaskOwner::Principal(c.principal()),
            None => TaskOwner::Client(client),
        }
    }

    /// The backend on which a client's task runs.
    pub(crate) fn backend_of_task(&self, client: ClientId, task: &[u8]) -> Option<BackendId> {
        let (owner, server) = (self.task_owner(client), self.clients.get(&client)?.server());
        let has_it = |b: &&Backend| b.server() == server && b.tasks().is_owned(task, owner);
        self.backends.values().find(has_it).map(|b| b.id())
    }

    /// Whether a request that is about to be written names another client's task. For a task that nobody has started,
    /// the server itself answers; but not while another client may be starting it.
    pub(crate) fn names_anothers_task(&self, pending: &Pending) -> bool {
        let (Some(client), Some(b)) = (pending.client(), self.backends.get(&pending.backend())) else {
            return false;
        };
        let owner = self.task_owner(client);
        let is_others = |task: &[u8]| match self.task_owner_at(b, task) {
            Some(known) => known != owner,
            None => self.may_another_begin(b, owner) || !self.may_use_unknown(b, client),
        };
        match pending.method() {
            Method::Listen => {
                let wishes = pending.waiting().and_then(Wishes::of).unwrap_or_default();
                wishes
                    .task_ids
                    .iter()
                    .any(|task| is_others(serde_json::Value::from(&**task).to_string().as_bytes()))
            }
            method => names_task(method) && pending.task().is_some_and(is_others),
        }
    }

    /// The owner of a task at a process, or at the remote server that it stands for.
    fn task_owner_at(&self, b: &Backend, task: &[u8]) -> Option<TaskOwner> {
        let remote = self.servers.get(b.server()).filter(|server| server.settings().is_remote);
        b.tasks().owner_of(task).or_else(|| remote.and_then(|server| server.remote_tasks().owner_of(task)))
    }

    /// Whether another owner's call is at a process, and may start a task there.
    fn may_another_begin(&self, b: &Backend, owner: TaskOwner) -> bool {
        let is_there = |p: &Pending| match b.settings().is_remote {
            true => self.backends.get(&p.backend()).is_some_and(|other| other.server() == b.server()),
            false => p.backend() == b.id(),
        };
        let is_call = |p: &Pending| p.method() == Method::ToolsCall && p.waiting().is_none() && is_there(p);
        let is_others = |p: &Pending| p.client().is_some_and(|client| self.task_owner(client) != owner);
        self.pending.iter().any(|(_, p)| is_call(p) && is_others(p))
    }

    /// Whether a client may use a task of which we do not know who started it. A remote server keeps its tasks when we are
    /// restarted, and takes all identities for one: such a task may be another identity's. Without authentication there are
    /// none to keep apart.
    fn may_use_unknown(&self, b: &Backend, client: ClientId) -> bool {
        let principal = self.clients.get(&self.connection_of(client)).map(|c| c.principal());
        !b.settings().is_remote || matches!(principal, Some(Principal::OWNER | Principal::ANONYMOUS))
    }

    /// Whether others use a process, or the remote server that it stands for.
    fn is_shared_with_others(&self, b: &Backend, client: ClientId) -> bool {
        let is_other =
            |other: &&Backend| other.server() == b.server() && other.key().principal != b.key().principal;
        b.users().has_others(self.connection_of(client))
            || (b.settings().is_remote && self.backends.values().any(|other| is_other(&other)))
    }

    /// Whether a notification is about a task that is not its client's.
    pub(crate) fn tells_of_anothers_task(
        &self,
        backend: BackendId,
        client: ClientId,
        message: &Message,
    ) -> bool {
        let Some(b) = self.backends.get(&backend).filter(|_| message.method() == Method::TaskNotice) else {
            return false;
        };
        let task = message.part(Part::TaskId).unwrap_or_default();
        let owner = self.task_owner(client);
        match self.task_owner_at(b, task) {
            Some(known) => known != owner,
            None => self.is_shared_with_others(b, client) || !self.may_use_unknown(b, client),
        }
    }

    /// The refusal in place of a server's answer about a task that is not its client's: one that was started while the
    /// request was on its way, by a client that shares the process.
    pub(crate) fn withholds_task(
        &self,
        backend: BackendId,
        client: ClientId,
        pending: &Pending,
    ) -> Option<ErrorAnswer> {
        let task = pending.task().filter(|_| names_task(pending.method()))?;
        let b = self.backends.get(&backend)?;
        let is_own = self.task_owner_at(b, task) == Some(self.task_owner(client));
        let is_shared = self.is_shared_with_others(b, client);
        let name = || serde_json::from_slice::<String>(task).unwrap_or_default();
        (!is_own && is_shared).then(|| self.unknown_task(&name()))
    }

    /// Shows a client its own tasks in a page of `tasks/list`, under its own ids.
    pub(crate) fn own_tasks_only(
        &self,
        backend: BackendId,
        client: ClientId,
        answer: &Message,
        out: &mut Outgoing,
    ) {
        let (Some(b), Some(c)) = (self.backends.get(&backend), self.clients.get(&client)) else { return };
        let has_others = b.users().has_others(self.connection_of(client)) || !self.may_use_unknown(b, client);
        let owner = self.task_owner(client);
        let is_own = |id: &[u8]| self.task_owner_at(b, id) == Some(owner);
        let filter: Option<IsShown<'_>> = if has_others { Some(&is_own) } else { None };
        screen_tasks(answer, filter, &self.task_prefix(c).unwrap_or_default(), out);
    }
}

/// Tells by the id of a task whether it is shown.
type IsShown<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Leaves tasks out of a page of `tasks/list`, by their ids, and puts a prefix before the ids of the others.
pub(super) fn screen_tasks(
    answer: &Message,
    is_shown: Option<IsShown<'_>>,
    prefix: &str,
    out: &mut Outgoing,
) {
    if is_shown.is_none() && prefix.is_empty() {
        return;
    }
    let (Some(result), whole) = (answer.part(Part::Result), answer.span(Part::Result)) else { return };
    let page = serde_json::from_slice::<TaskPage<'_>>(result).ok();
    let items = page.as_ref().and_then(|page| serde_json::from_str::<Vec<&RawValue>>(page.tasks.get()).ok());
    let (Some(page), Some(items)) = (page, items) else {
        if is_shown.is_some() {
            // The owners cannot be determined, so none is shown.
            out.replace(whole, Patch::Text(r#"{"tasks":[]}"#.into()));
        }
        return;
    };
    let shown = |item: &&RawValue| {
        let Ok(ListedTask { id }) = serde_json::from_str(item.get()) else {
            // A task without an id belongs to nobody.
            return is_shown.is_none().then(|| item.get().to_owned());
        };
        let is_own = is_shown.is_none_or(|is_shown| is_shown(id.get().as_bytes()));
        is_own.then(|| prefixed(item.get(), id.get(), prefix))
    };
    let own: Vec<String> = items.iter().filter_map(shown).collect();
    if prefix.is_empty() && own.len() == items.len() {
        return;
    }
    // `RawValue` borrows from the result, so its address gives the position.
    let at = page.tasks.get().as_ptr() as usize - result.as_ptr() as usize + whole.range().start;
    let span = Span::new(at, at + page.tasks.get().len());
    out.replace(span, Patch::Text(format!("[{}]", own.join(",")).into()));
}

/// A listed task whose id, a part of its text, has a prefix.
fn prefixed(item: &str, id: &str, prefix: &str) -> String {
    let at = id.as_ptr() as usize - item.as_ptr() as usize;
    match id.strip_prefix('"') {
        Some(rest) => format!("{}\"{prefix}{rest}{}", &item[..at], &item[at + id.len()..]),
        None => item.to_owned(),
    }
}

/// Whether a method is about one task.
pub(crate) fn names_task(method: Method) -> bool {
    matches!(method, Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TaskResult)
}

pub(super) fn is_final(object: Option<&[u8]>) -> bool {
    let status = object.and_then(|object| serde_json::from_slice::<TaskStatus<'_>>(object).ok());
    status.is_some_and(|TaskStatus { status }| matches!(&*status, "completed" | "failed" | "cancelled"))
}
