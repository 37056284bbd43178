//! New clients: their origin, and whether their backend is started at once.

use crate::access::Standing;
use crate::clients::{Claim, Client, ClientOrigin, NewClient};
use crate::core::Core;
use crate::event::Surroundings;
use crate::ids::{ClientId, ServerId};
use crate::routing::Known;
use crate::settings::ServerSettings;
use crate::transitions::Route;
use crate::transitions::clients::proof::Proved;
use std::sync::Arc;

impl Core {
    pub(crate) fn client_connected(&mut self, id: ClientId, server: ServerId, surroundings: Surroundings) {
        let Some(settings) = self.servers.get(server).map(|server| server.settings().clone()) else {
            return;
        };
        let mut client = Client::plain(self.newcomer(id, server, settings), self.origin_of(surroundings));
        client.set_naming(self.naming_for(&client));
        self.clients.insert(id, client);
        self.report_connected(id);
        self.start_early(id);
    }

    /// The origin of a client, from its connection.
    pub(crate) fn origin_of(&self, surroundings: Surroundings) -> ClientOrigin {
        let Proved { identity, standing, has_token } = self.proved(surroundings.identity, surroundings.proof);
        let profiles = surroundings.profiles;
        let claim = (has_token || !profiles.is_empty())
            .then(|| Arc::new(Claim { identity: identity.clone(), has_token, profiles }));
        ClientOrigin {
            identity: claim.as_ref().map_or(identity, |claim| self.narrowed(claim)),
            standing,
            claim,
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
        // A client that may not be served starts nothing.
        if matches!(c.standing(), Standing::Unproven | Standing::Refused) {
            return;
        }
        let is_first = self.backends.values().all(|b| b.server() != c.server());
        if !self.is_running() || c.settings().is_split() || !(is_first || self.is_private(c.server())) {
            return;
        }
        // Not even a start may tell a client about a server that it may not use.
        if !c.may_use_server() {
            return;
        }
        if let Route::To(home) = self.find_home(client) {
            self.ensure_started(home);
        }
    }
}
