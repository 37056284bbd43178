//! Notifications about tasks for clients of several servers. They name tasks in `subscriptions/listen`; we listen at the
//! server of each task, and pass its notifications on under the client's ids.

use crate::backends::Backend;
use crate::core::Core;
use crate::event::About;
use crate::ids::{BackendId, ClientId};
use crate::pending::{NOWHERE, Pending};
use serde_json::Value;
use switchboard_protocol::{Message, Method, Part, Patch, RawId};

/// A task that a client of several servers listens to.
struct HeardTask {
    connection: ClientId,
    delegate: ClientId,
    /// The id of the client's subscription.
    listen: RawId,
    /// The server's own id of the task.
    own: String,
}

impl Core {
    /// The tasks of a client among these, under the ids that it uses for them.
    pub(super) fn known_tasks(&self, client: ClientId, tasks: &[String]) -> Vec<String> {
        tasks.iter().filter(|task| self.task_meant(client, task).is_some()).cloned().collect()
    }

    /// The backends of a client's tasks.
    fn backends_of_tasks(&self, client: ClientId, tasks: &[String]) -> Vec<BackendId> {
        let home = |task: &String| {
            let (delegate, own) = self.task_meant(client, task)?;
            self.backend_of_task(delegate, Value::from(own).to_string().as_bytes())
        };
        let mut found: Vec<BackendId> = tasks.iter().filter_map(home).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The tasks at a backend that clients of several servers listen to, under the server's own ids.
    pub(super) fn heard_tasks(&self, backend: BackendId) -> Vec<String> {
        let mut tasks: Vec<String> = self.heard_at(backend).into_iter().map(|heard| heard.own).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    fn heard_at(&self, backend: BackendId) -> Vec<HeardTask> {
        let is_theirs = |p: &Pending| p.method() == Method::Listen && p.backend() == NOWHERE && p.is_wanted();
        let mut connections: Vec<ClientId> =
            self.pending.iter().filter(|(_, p)| is_theirs(p)).filter_map(|(_, p)| p.client()).collect();
        connections.sort_unstable();
        connections.dedup();
        let mut heard = Vec::new();
        for connection in connections {
            for listen in self.listens(connection) {
                for task in &listen.wishes.task_ids {
                    let Some((delegate, own)) = self.task_meant(connection, task) else { continue };
                    let home = self.backend_of_task(delegate, Value::from(&*own).to_string().as_bytes());
                    if home == Some(backend) {
                        heard.push(HeardTask { connection, delegate, listen: listen.id.clone(), own });
                    }
                }
            }
        }
        heard
    }

    /// Passes the news of a task to the clients that listen to it.
    pub(super) fn task_told(&mut self, backend: BackendId, message: &Message) {
        let Some(task) = message.text(Part::TaskId) else { return };
        for heard in self.heard_at(backend).into_iter().filter(|heard| heard.own == task) {
            if !self.may_hear_of(heard.delegate, backend, message) {
                continue;
            }
            let mut out = self.for_client(heard.delegate, message);
            out.replace(message.span(Part::MetaSubscriptionId), Patch::Id(heard.listen.clone()));
            self.tell_client_about(heard.connection, out, About::Request(heard.listen));
        }
    }

    /// Listens to tasks at their servers.
    pub(super) fn listen_to_tasks(&mut self, client: ClientId, tasks: &[String]) {
        for backend in self.backends_of_tasks(client, tasks) {
            self.listen_anew(backend);
        }
    }

    /// Stops listening to tasks that no subscription includes any more.
    pub(super) fn drop_unheard_tasks(&mut self) {
        let hears =
            |b: &&Backend| b.subscriptions().listening().is_some_and(|(_, it)| it.contains("taskIds"));
        let found: Vec<BackendId> = self.backends.values().filter(hears).map(|b| b.id()).collect();
        for backend in found {
            self.listen_anew(backend);
        }
    }

    pub(super) fn listen_anew(&mut self, backend: BackendId) {
        if let Some(launch) = self.backends.get(&backend).and_then(|b| b.ready_launch()) {
            self.listen_ourselves(launch);
        }
    }
}
