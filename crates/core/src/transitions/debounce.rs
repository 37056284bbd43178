//! Notifications in quick succession become one: the first goes on at once, equal ones that follow within its time
//! are one at the end of it.

use crate::core::Core;
use crate::ids::BackendId;
use crate::moment::Moment;
use crate::pending::{LONGEST, MOST, Merge, MergeSource};
use std::time::Duration;
use switchboard_protocol::Message;

impl Core {
    /// `false`: it goes on later, with those like it.
    pub(crate) fn goes_on_now(&mut self, from: MergeSource, message: &Message) -> bool {
        let Some(window) = self.window_of(from, message) else { return true };
        let is_same = |merge: &&mut Merge| merge.from == from && merge.first.bytes() == message.bytes();
        if let Some(merge) = self.merging.iter_mut().find(is_same) {
            merge.held = Some(message.clone());
            return false;
        }
        if self.merging.len() < MOST && message.bytes().len() <= LONGEST {
            let until = self.clock.now() + window;
            self.merging.push(Merge { from, first: message.clone(), window, until, held: None });
            self.clock.wake_at(until);
        }
        true
    }

    fn window_of(&self, from: MergeSource, message: &Message) -> Option<Duration> {
        let settings = match from {
            MergeSource::Client(client) => self.clients.get(&client)?.settings(),
            MergeSource::Backend(backend) => &self.backends.get(&backend)?.settings,
        };
        let debounce = &settings.debounce;
        let name = if debounce.is_empty() { return None } else { message.method_name() };
        let found = debounce.iter().find(|(method, _)| *method == *name);
        found.map(|(_, window)| *window).filter(|window| !window.is_zero())
    }

    pub(crate) fn next_merge(&self) -> Option<Moment> {
        self.merging.iter().map(|merge| merge.until).min()
    }

    /// Lets those go on whose time is over.
    pub(crate) fn tick_merging(&mut self) {
        let now = self.clock.now();
        let mut due = Vec::new();
        self.merging.retain_mut(|merge| {
            if merge.until > now {
                return true;
            }
            let Some(message) = merge.held.take() else { return false };
            due.push((merge.from, message));
            merge.until = now + merge.window;
            true
        });
        for (from, message) in due {
            match from {
                MergeSource::Client(client) => self.pass_notification(client, &message),
                MergeSource::Backend(backend) => self.spread_notification(backend, &message),
            }
        }
    }

    /// What a process had to say when it was there is no longer true of the next one.
    pub(crate) fn forget_merging(&mut self, backend: BackendId) {
        self.merging.retain(|merge| merge.from != MergeSource::Backend(backend));
    }
}
