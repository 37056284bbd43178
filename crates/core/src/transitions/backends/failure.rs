//! The last failure of a server, for `status`, `tools` and aggregate clients. Outlives the backend.

use crate::aggregate::Aggregate;
use crate::answers::Cause;
use crate::core::Core;
use crate::ids::{BackendId, ClientId};
use crate::servers::{Failure, LastWords};
use serde_json::{Value, json};

impl Core {
    /// Records why a backend failed. A backend with outdated settings says nothing about the next one.
    pub(crate) fn record_failure(&mut self, backend: BackendId, cause: &Cause) {
        let Some(b) = self.backends.get(&backend).filter(|b| !b.is_retired()) else { return };
        let (server, name) = (b.server(), b.settings().name.clone());
        let error = self.cause(Some(backend), cause);
        let stderr_hint = || format!("`switchboard logs {name}` shows its stderr");
        let hint = match cause {
            // The answer's own hint refers to its `data`, which is not shown here.
            Cause::DiedAtStart { hint, .. } => Some(hint.clone().unwrap_or_else(stderr_hint)),
            Cause::Died { .. } => Some(stderr_hint()),
            _ => error.hint_text().map(str::to_owned),
        };
        let reason = match cause {
            // The usual text mentions a request, and there is none here.
            Cause::Died { how, said } => said.after(format!("the server `{name}` ended by itself: {how}")),
            _ => error.message().to_owned(),
        };
        let failure = Failure::new(error.kind, reason, hint, self.clock.now());
        if let Some(server) = self.servers.get_mut(server) {
            server.record_failure(failure);
        }
    }

    /// The output of a backend's ended process.
    pub(crate) fn last_words(&mut self, backend: BackendId, stderr: &str) -> LastWords {
        let stdout = self.backends.get_mut(&backend).map(|b| b.quarantine_mut().take_text());
        LastWords::new(stderr, stdout.unwrap_or_default())
    }

    /// The servers that an aggregate client sees: which are still starting, and why others failed.
    pub(crate) fn servers_of_client(&self, client: ClientId) -> Value {
        let aggregate = self.clients.get(&client).and_then(|c| c.aggregate());
        let delegates = aggregate.into_iter().flat_map(Aggregate::delegates);
        let shown = delegates.filter_map(|(server, delegate)| {
            let name = &self.servers.get(server)?.settings().name;
            // A failure in another workspace does not concern this client.
            let error = self.failed_with(server).filter(|_| !self.is_served(delegate.client()));
            let is_starting = error.is_none() && self.is_starting(delegate.client());
            let is_missing = !is_starting && self.offer_for(delegate.client()).is_none();
            let error = error.or_else(|| self.is_late_since(server).filter(|_| is_missing));
            Some(json!({ "name": name, "isStarting": is_starting, "lastError": error }))
        });
        json!({ "servers": shown.collect::<Vec<Value>>() })
    }

    /// Whether a delegate's own backend works.
    fn is_served(&self, delegate: ClientId) -> bool {
        let home = self.clients.get(&delegate).and_then(|c| self.backends.get(&c.home()?));
        home.is_some_and(|b| b.has_answered() && b.is_ready())
    }

    /// Whether the offer of a delegate's server is unknown and being fetched.
    fn is_starting(&self, delegate: ClientId) -> bool {
        let home = self.clients.get(&delegate).and_then(|c| self.backends.get(&c.home()?));
        home.is_some_and(|b| self.is_on_its_way(b)) && self.offer_for(delegate).is_none()
    }
}
