//! The death of the daemon. Its processes end with it, its clients attach to another daemon, and that one knows no paused
//! calls.

use super::client::Manner;
use super::client_talk::{EraVerb, TOKEN, filled};
use super::{EraTurn, EraWorld};
use crate::simulator::engine::{Check, Presence};
use switchboard_core::{ClientId, Core, StateKey};

/// A call that was paused when its daemon died.
#[derive(Debug)]
pub(super) struct OldState {
    pub(super) server: usize,
    pub(super) principal: u32,
    pub(super) abilities: usize,
    pub(super) verb: EraVerb,
    pub(super) name: String,
    /// The request that continues the call, with placeholders for the parts that differ.
    pub(super) text: String,
}

impl EraWorld {
    /// Replaces a killed daemon. The holder of the clients' streams answers their open requests.
    pub(super) fn daemon_dies(&mut self) -> Check {
        self.stats.count("deaths");
        self.tell(|| "the daemon is killed, and another one takes its place".into());
        self.keep_old_states();
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        for client in clients {
            let c = self.client(client);
            c.presence = Presence::Lost;
            c.questions.clear();
            c.own.home = None;
            self.ledger.void(client);
        }
        // Launch numbers start again.
        self.processes.clear();
        self.ledger.requests.iter_mut().for_each(|request| request.handed.clear());
        self.ledger.asks.iter_mut().for_each(|ask| ask.is_answered = true);
        self.own.pauses.clear();
        self.own.may_be_modern.clear();
        self.in_line.clear();
        self.forget_orders();
        self.clear_agenda();
        let deaths = self.stats.get("deaths") as u8;
        self.settings.state_key = StateKey([deaths; 32]);
        self.core = Core::new(self.settings.clone());
        Ok(())
    }

    /// Whether a paused call would survive the daemon as a state.
    pub(super) fn has_paused_call(&self) -> bool {
        self.own.pauses.iter().any(|pause| pause.old_state(self).is_some())
    }

    fn keep_old_states(&mut self) {
        let states = self.own.pauses.iter().filter_map(|pause| pause.old_state(self));
        let states: Vec<OldState> = states.collect();
        self.stats.add("old_states", states.len() as u64);
        self.own.old_states.extend(states);
    }

    /// Continues a call of a daemon that has died.
    pub(super) fn continues_old(&mut self, client: ClientId) -> Check {
        let c = &self.clients[&client];
        let (server, principal, is_modern) = (c.server, c.own.principal, c.manner == Manner::Modern);
        let is_its = |it: &OldState| Some(it.server) == server && it.principal == principal && is_modern;
        let Some(at) = self.own.old_states.iter().position(is_its) else { return Ok(()) };
        let OldState { abilities, verb, name, text, .. } = self.own.old_states.remove(at);
        self.declares(client, abilities);
        let number = self.ledger.requests.len();
        let token = text.contains(TOKEN).then(|| format!("\"tok-{number}\""));
        let (number, id) = self.enter(client, verb, text.clone(), token.clone(), true);
        self.ledger.requests[number].own.is_of_the_dead = true;
        self.client_says(EraTurn::default(), client, filled(&text, &id, token.as_deref(), &name))
    }
}
