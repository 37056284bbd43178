//! New clients: where they come from, and whether their backend is started at once.

use crate::clients::{Batches, Client, Declared, Handshake, Presence, Role, Roots, Shared};
use crate::core::Core;
use crate::environment::Environment;
use crate::event::Surroundings;
use crate::fact::Fact;
use crate::ids::{ClientId, Principal, ServerId};
use crate::routing::Known;
use crate::settings::ServerSettings;
use crate::transitions::Route;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

impl Core {
    pub(crate) fn client_connected(&mut self, id: ClientId, server: ServerId, surroundings: Surroundings) {
        let Some(settings) = self.servers.get(server.0 as usize).map(|server| server.settings.clone()) else {
            return;
        };
        let Surroundings { principal, goes_by_request, is_elsewhere, .. } = surroundings;
        let refusal_mark = surroundings.refusal_mark.clone();
        let environment = surroundings.environment.clone();
        let known = self.what_is_known(surroundings);
        let client = Client {
            principal,
            environment,
            known,
            goes_by_request,
            refusal_mark,
            is_elsewhere,
            ..self.newcomer(id, server, settings)
        };
        self.clients.insert(id, client);
        self.report(Fact::ClientConnected { client: id });
        self.start_early(id);
    }

    /// Where a client that comes from there may work.
    pub(crate) fn what_is_known(&self, surroundings: Surroundings) -> Shared<Known> {
        Shared::from(Known {
            pinned: surroundings.pinned,
            given: surroundings.given,
            client: Vec::new(),
            seen: Vec::new(),
            environment: surroundings.named,
            working_folder: surroundings.working_folder,
            default: surroundings.default,
            home: self.settings.roots.home.clone(),
        })
    }

    /// A client of which nothing is known yet.
    pub(crate) fn newcomer(&self, id: ClientId, server: ServerId, settings: Arc<ServerSettings>) -> Client {
        Client {
            id,
            role: Role::Plain,
            server,
            settings,
            since: self.now,
            principal: Principal::OWNER,
            environment: Environment::default(),
            known: Shared::default(),
            roots: Roots::Unasked,
            roots_answer: None,
            inquiries: 0,
            declared: Declared::default(),
            handshake: Handshake::New,
            home: None,
            seats: BTreeMap::new(),
            parked: VecDeque::new(),
            shown: Vec::new(),
            level: None,
            ear: self.settings.dialect,
            goes_by_request: false,
            refusal_mark: None,
            is_elsewhere: false,
            presence: Presence::Here,
            farewell: None,
            batches: Batches::default(),
            queued: 0,
            unanswered: 0,
            dropped: 0,
        }
    }

    /// Nothing is gained by waiting for the first request, unless it decides what is to be started, or another
    /// instance may do. In the end it is too late.
    fn start_early(&mut self, client: ClientId) {
        let Some(c) = self.clients.get(&client) else { return };
        let is_first = self.backends.values().all(|b| b.server != c.server);
        if !self.is_running() || c.settings.is_split() || !(is_first || self.is_private(c.server)) {
            return;
        }
        if let Route::To(home) = self.settle_home(client) {
            self.ensure_started(home);
        }
    }
}
