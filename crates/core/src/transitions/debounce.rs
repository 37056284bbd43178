//! Debouncing of notifications: the first passes at once, equal ones within its window are merged into one at its end.

use crate::core::Core;
use crate::pending::{MergeSource, MergeVerdict};
use std::time::Duration;
use switchboard_protocol::Message;

impl Core {
    /// Whether a notification is forwarded now; otherwise it is merged and forwarded later.
    pub(crate) fn goes_on_now(&mut self, from: MergeSource, message: &Message) -> bool {
        let Some(window) = self.window_of(from, message) else { return true };
        match self.merging.admit(from, message, window, self.clock.now()) {
            MergeVerdict::Held => false,
            MergeVerdict::GoesOn { until } => {
                if let Some(until) = until {
                    self.clock.wake_at(until);
                }
                true
            }
        }
    }

    fn window_of(&self, from: MergeSource, message: &Message) -> Option<Duration> {
        let settings = match from {
            MergeSource::Client(client) => self.clients.get(&client)?.settings(),
            MergeSource::Backend(backend) => self.backends.get(&backend)?.settings(),
        };
        let debounce = &settings.debounce;
        let name = if debounce.is_empty() { return None } else { message.method_name() };
        let found = debounce.iter().find(|(method, _)| *method == *name);
        // A window of 0 turns merging off.
        found.map(|(_, window)| *window).filter(|window| !window.is_zero())
    }

    /// Forwards the merged notifications whose window is over.
    pub(crate) fn tick_merging(&mut self) {
        for (from, message) in self.merging.take_due(self.clock.now()) {
            match from {
                MergeSource::Client(client) => self.pass_notification(client, &message),
                MergeSource::Backend(backend) => self.spread_notification(backend, &message),
            }
        }
    }
}
