//! Who a client is: by its connection, or by a token that it shows. Tokens are removed here from every message,
//! whether or not they were needed. Must not know limits.

use crate::access::{Identity, Proof, Standing, Unproven};
use crate::clients::Client;
use crate::core::Core;
use crate::fact::{Fact, Outcome};
use crate::ids::ClientId;
use crate::pending::{Asker, NOWHERE};
use std::sync::Arc;
use switchboard_protocol::{ErrorAnswer, Kind, Message, Method, Part, ShownToken};

/// The party of a new client, and whether that is proved.
pub(super) struct Proved {
    pub(super) identity: Arc<Identity>,
    pub(super) standing: Standing,
    /// Whether the party is that of a token that it has shown.
    pub(super) has_token: bool,
}

impl Core {
    /// The party of a new client.
    pub(super) fn proved(&self, identity: Arc<Identity>, proof: Proof) -> Proved {
        let by_connection = |identity, standing| Proved { identity, standing, has_token: false };
        let by_token = |identity, standing| Proved { identity, standing, has_token: true };
        match proof {
            Proof::Unneeded => by_connection(identity, Standing::ByConnection),
            Proof::Checked if self.settings.authenticator.is_valid(&identity) => {
                by_token(identity, Standing::ByConnection)
            }
            Proof::Checked => by_connection(identity, Standing::Refused),
            Proof::Optional => by_connection(identity, Standing::Open),
            Proof::Required => by_connection(identity, Standing::Unproven),
            Proof::Shown(token) => match self.identify(&token) {
                Some(known) => by_token(known, Standing::Settled),
                None => by_connection(identity, Standing::Refused),
            },
        }
    }

    pub(crate) fn report_connected(&mut self, client: ClientId) {
        let identity = self.clients.get(&client).and_then(Client::identity_name).cloned();
        self.report(Fact::ClientConnected { client, identity });
    }

    fn identify(&self, token: &ShownToken) -> Option<Arc<Identity>> {
        match token {
            ShownToken::Text(token) => self.settings.authenticator.identify(token),
            ShownToken::Unreadable => None,
        }
    }

    /// Removes the token of a message and checks it. `None` if the message was refused.
    pub(crate) fn prove(
        &mut self,
        client: ClientId,
        message: Message,
        batch: Option<u32>,
    ) -> Option<Message> {
        let c = self.clients.get(&client)?;
        // The daemon behind a relay needs the token.
        if c.settings().relays {
            return Some(message);
        }
        let shown = message.shown_token();
        let message = message.without_token();
        match self.check_token(client, &message, shown.as_ref()) {
            Ok(()) if self.is_ping_of_stranger(client, &message) => {
                // Not the server's: it would be started for a client that may not use it.
                let id = message.id()?;
                let minted = self.accept(client, NOWHERE, id, batch, message);
                self.conclude_empty(minted);
                None
            }
            Ok(()) => Some(message),
            Err(why) => {
                let error = self.unauthorized(&why);
                self.turn_away(client, batch, &message, &error);
                None
            }
        }
    }

    fn check_token(
        &mut self,
        client: ClientId,
        message: &Message,
        shown: Option<&ShownToken>,
    ) -> Result<(), Unproven> {
        let identified = shown.map(|token| self.identify(token).ok_or(Unproven::WrongToken));
        let is_harmless = self.is_harmless(message);
        let Some(c) = self.clients.get_mut(&client) else { return Err(Unproven::NoToken) };
        match (c.standing(), identified) {
            (Standing::ByConnection, _) => Ok(()),
            (Standing::Refused, _) if is_harmless => Ok(()),
            (Standing::Refused, _) => Err(Unproven::WrongToken),
            (Standing::Settled, None) => Ok(()),
            // The same token again; or the owner's, on a connection that is the owner's without it.
            (Standing::Settled, Some(Ok(known))) if known.principal == c.principal() => Ok(()),
            (Standing::Settled, Some(Ok(_))) => Err(Unproven::OtherToken),
            (Standing::Open, Some(Err(why))) => {
                // It meant to act for someone else, so it must not become the owner by leaving the token out.
                c.demand_token();
                Err(why)
            }
            (Standing::Unproven | Standing::Settled, Some(Err(why))) => Err(why),
            (Standing::Open | Standing::Unproven, Some(Ok(known))) => {
                self.become_known(client, known);
                Ok(())
            }
            (Standing::Open, None) => {
                // From here on the owner's backends serve it, so a later token would come too late.
                if message.kind() == Kind::Request && !is_harmless {
                    c.settle();
                }
                Ok(())
            }
            (Standing::Unproven, None) if is_harmless => Ok(()),
            (Standing::Unproven, None) => Err(Unproven::NoToken),
        }
    }

    fn is_ping_of_stranger(&self, client: ClientId, message: &Message) -> bool {
        let is_stranger = |c: &Client| matches!(c.standing(), Standing::Unproven | Standing::Refused);
        message.method() == Method::Ping && self.clients.get(&client).is_some_and(is_stranger)
    }

    /// Makes a client act for the party of its token.
    fn become_known(&mut self, client: ClientId, token: Arc<Identity>) {
        // A backend that was started in advance belongs to another party.
        self.leave_all(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.settle_as(token.clone());
        let claim = c.profiled().cloned();
        self.set_identity(client, claim.map_or(token, |claim| self.narrowed(&claim)));
        self.report_connected(client);
    }

    /// Refuses a request; any other message is dropped.
    fn turn_away(&mut self, client: ClientId, batch: Option<u32>, message: &Message, error: &ErrorAnswer) {
        match message.id().filter(|_| message.kind() == Kind::Request) {
            Some(id) => self.refuse(client, &id, batch, message, error),
            None => self.no_answer(client, batch),
        }
    }

    /// Disconnects the clients of a token that is no longer valid. Their open requests get an error first.
    pub(crate) fn revoked(&mut self, identity: &Arc<Identity>) {
        let is_its = |c: &&Client| c.is_connected() && !c.is_lost() && c.has_token(identity);
        let clients: Vec<ClientId> = self.clients.values().filter(is_its).map(|c| c.id()).collect();
        let error = self.unauthorized(&Unproven::Revoked(identity.name.clone()));
        for &client in &clients {
            self.answer_all(client, &error);
            self.report(Fact::Expelled { client, identity: identity.name.clone() });
            self.part_with(client);
        }
    }

    /// Answers all open requests of a client that is about to be disconnected.
    fn answer_all(&mut self, client: ClientId, error: &ErrorAnswer) {
        let is_open = |asker: ClientId| self.connection_of(asker) == client;
        let open = self.pending.iter().filter(|(_, pending)| pending.client().is_some_and(is_open));
        let mut open: Vec<_> = open.filter(|(_, pending)| pending.is_wanted()).collect();
        open.sort_unstable_by_key(|(minted, _)| *minted);
        let open: Vec<_> = open
            .into_iter()
            .filter_map(|(minted, pending)| match pending.asker().clone() {
                Asker::Client { client, id, batch } => {
                    Some((minted, (client, id, batch), pending.name().clone()))
                }
                Asker::Replay
                | Asker::Probe
                | Asker::Restore
                | Asker::Catalogue { .. }
                | Asker::Era
                | Asker::Listen
                | Asker::Paused => None,
            })
            .collect();
        for (minted, (asker, id, batch), method) in open {
            self.report_refused_open_call(minted, error);
            self.report(Fact::Answered {
                client,
                backend: None,
                method,
                id: id.clone(),
                took: Default::default(),
                outcome: Outcome::Refused(error.kind),
            });
            self.answer_error(asker, &id, batch, error);
        }
    }

    /// Whether a message is served to anyone: it reaches no server and shows nothing.
    fn is_harmless(&self, message: &Message) -> bool {
        match message.method() {
            Method::Alive => self.lives_on(),
            // Refused anyway if it declares nothing, and clients that send it first then send `initialize`.
            Method::Discover => !message.has(Part::MetaVersion),
            Method::Ping | Method::Shutdown | Method::Exit => true,
            _ => false,
        }
    }
}
