//! New clients: their origin, and whether their backend is started at once.

use crate::clients::{Client, ClientOrigin, NewClient};
use crate::core::Core;
use crate::event::Surroundings;
use crate::fact::Fact;
use crate::ids::{ClientId, ServerId};
use crate::routing::Known;
use crate::settings::ServerSettings;
use crate::transitions::Route;
use std::sync::Arc;

impl Core {
    pub(crate) fn client_connected(&mut self, id: ClientId, server: ServerId, surroundings: Surroundings) {
        let Some(settings) = self.servers.get(server).map(|server| server.settings().clone()) else {
            return;
        };
        let client = Client::plain(self.newcomer(id, server, settings), self.origin_of(surroundings));
        self.clients.insert(id, client);
        self.report(Fact::ClientConnected { client: id });
        self.start_early(id);
    }

    /// The origin of a client, from its connection.
    pub(crate) fn origin_of(&self, surroundings: Surroundings) -> ClientOrigin {
        ClientOrigin {
            identity: surroundings.identity,
            front: surroundings.front,
            environment: surroundings.environment,
            known: Known {
                pinned: surroundings.pinned,
                given: surroundings.given,
                client: Vec::new(),
                seen: Vec::new(),
                environment: surroundings.named,
                working_folder: surroundings.working_folder,
                default: surroundings.default,
                home: self.settings.roots.home.clone(),
            },
            goes_by_request: surroundings.goes_by_request,
            refusal_mark: surroundings.refusal_mark,
            is_elsewhere: surroundings.is_elsewhere,
        }
    }

    pub(crate) fn newcomer(
        &self,
        id: ClientId,
        server: ServerId,
        settings: Arc<ServerSettings>,
    ) -> NewClient {
        NewClient { id, server, settings, dialect: self.settings.dialect, now: self.clock.now() }
    }

    /// Starts the backend before the first request, unless that request decides what to start, or another
    /// instance may serve it. Not during a shutdown.
    fn start_early(&mut self, client: ClientId) {
        let Some(c) = self.clients.get(&client) else { return };
        let is_first = self.backends.values().all(|b| b.server() != c.server());
        if !self.is_running() || c.settings().is_split() || !(is_first || self.is_private(c.server())) {
            return;
        }
        if let Route::To(home) = self.settle_home(client) {
            self.ensure_started(home);
        }
    }
}
