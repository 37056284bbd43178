//! Notifications about tasks for clients of several servers. They name tasks in `subscriptions/listen`; we listen at the
//! server of each task, and pass its notifications on under the client's ids.

use crate::backends::Backend;
use crate::core::Core;
use crate::ids::{BackendId, ClientId};
use crate::pending::{NOWHERE, Pending};
use crate::transitions::TaskMeant;
use switchboard_protocol::{Message, Method, Part, RawId};

/// A task that a client of several servers listens to.
struct HeardTask {
    task: TaskMeant,
    /// The id of the client's subscription.
    listen: RawId,
    is_acknowledged: bool,
}

impl Core {
    /// The tasks of a client among these, under the ids that it uses for them.
    pub(super) fn known_tasks(&self, client: ClientId, tasks: &[String]) -> Vec<String> {
        tasks.iter().filter(|task| self.task_meant(client, task).is_some()).cloned().collect()
    }

    /// The backends of a client's tasks.
    fn backends_of_tasks(&self, client: ClientId, tasks: &[String]) -> Vec<BackendId> {
        let meant = tasks.iter().filter_map(|task| self.task_meant(client, task));
        let mut found: Vec<BackendId> = meant.map(|task| task.backend).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The tasks at a backend that clients of several servers listen to, under the server's own ids.
    pub(super) fn heard_tasks(&self, backend: BackendId) -> Vec<String> {
        let mut tasks: Vec<String> = self.heard_at(backend).into_iter().map(|heard| heard.task.own).collect();
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
                let meant =
                    listen.wishes.task_ids.iter().filter_map(|task| self.task_meant(connection, task));
                let here = meant.filter(|task| task.backend == backend);
                let (id, is_acknowledged) = (&listen.id, listen.is_acknowledged);
                heard.extend(here.map(|task| HeardTask { task, listen: id.clone(), is_acknowledged }));
            }
        }
        heard
    }

    /// Passes the news of a task to the clients that listen to it.
    pub(super) fn task_told(&mut self, backend: BackendId, message: &Message) {
        let Some(task) = message.text(Part::TaskId) else { return };
        for heard in self.heard_at(backend).into_iter().filter(|heard| heard.task.own == task) {
            if heard.is_acknowledged && self.may_hear_of(heard.task.delegate, backend, message) {
                self.tell_listener(heard.task.delegate, heard.listen, message);
            }
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
        let hears = |b: &&Backend| b.own_listen().wishes().is_some_and(|it| !it.task_ids.is_empty());
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
