//! Reports of servers that could not be started, to the clients that miss them: in the `instructions` of the
//! handshake, and in a log message to clients that requested logs. Names only; the reason is for `switchboard
//! status`: it may quote a server's output, and here a model reads along.

use crate::aggregate::Delegate;
use crate::catalogue::unavailable;
use crate::clients::Level;
use crate::core::Core;
use crate::ids::{ClientId, ServerId};
use serde_json::json;

impl Core {
    /// The names of the servers that are currently missing for a client.
    pub(super) fn unavailable(&self, client: ClientId) -> Vec<String> {
        let Some(aggregate) = self.aggregate(client) else { return Vec::new() };
        let is_missing = |it: &&Delegate| {
            let is_over = it.offer().is_missed(self.clock.now());
            let is_known = self.clients.get(&it.client()).is_some_and(|c| self.words_of(c).is_some());
            is_over && !is_known && self.shown_offer(it.client()).is_none()
        };
        let delegates = aggregate.delegates().map(|(_, delegate)| delegate);
        let missing = delegates.filter(is_missing).filter_map(|it| self.clients.get(&it.client()));
        missing.map(|c| c.settings().name.clone()).collect()
    }

    /// Warns clients about a missing server, if they want warnings; once until it comes back.
    pub(super) fn tell_unavailable(&mut self, server: ServerId) {
        let Some(known) = self.servers.get_mut(server) else { return };
        if known.announce_missing() {
            return;
        }
        let name = known.name().to_owned();
        for client in self.aggregates() {
            let has_it = self.aggregate(client).is_some_and(|aggregate| aggregate.has_delegate_at(server));
            if has_it {
                self.warn_of(client, &name);
            }
        }
    }

    /// Repeats the warnings to a client that has just requested logs.
    pub(super) fn tell_all_unavailable(&mut self, client: ClientId) {
        for name in self.unavailable(client) {
            self.warn_of(client, &name);
        }
    }

    fn warn_of(&mut self, client: ClientId, name: &str) {
        let level = self.clients.get(&client).and_then(|c| c.level());
        if !level.is_some_and(Level::admits_warnings) {
            return;
        }
        let params = json!({ "level": "warning", "logger": "switchboard", "data": unavailable(name) });
        self.notify_client(client, json!({ "method": "notifications/message", "params": params }));
    }
}
