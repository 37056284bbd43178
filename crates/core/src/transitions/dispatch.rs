//! The entry point: dispatches each event to its transition, then runs the follow-ups. Must not decide anything.

use crate::answers::Cause;
use crate::core::{Core, Followup};
use crate::event::{Action, Event};
use crate::fact::Fact;
use crate::moment::Moment;

impl Core {
    /// Appends the actions that follow from `event` to `actions`.
    pub fn handle(&mut self, now: Moment, event: Event, actions: &mut Vec<Action>) {
        let is_tick = matches!(event, Event::Tick);
        self.transition(now, actions, |core| {
            if is_tick {
                core.followups.push(Followup::CheckStandbys);
            }
            core.dispatch(event);
        });
        if is_tick {
            // Only a tick looks at everything, so only a tick can raise the bound again.
            self.clock.set_wake(self.next_deadline());
        }
    }

    /// Makes a change at a given time, then runs its follow-ups. Appends the resulting actions to `actions`.
    pub(crate) fn transition<T>(
        &mut self,
        now: Moment,
        actions: &mut Vec<Action>,
        change: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.clock.advance(now);
        // Transitions append to the caller's list directly.
        std::mem::swap(&mut self.actions, actions);
        let result = change(self);
        self.run_translated();
        self.run_followups();
        // A request that was sent last may be answered by a translator.
        while !self.translated.is_empty() {
            self.run_translated();
            self.run_followups();
        }
        std::mem::swap(&mut self.actions, actions);
        result
    }

    /// Does the deferred work, kind by kind in the order of [`Followup`]. Some steps follow from the state
    /// and need no queue entry: requests that waited for the eras of servers, subscriptions to which servers have agreed, room for waiting backends, the release of clients during a shutdown, and the
    /// time since which the program is unused.
    pub(crate) fn run_followups(&mut self) {
        self.run_every(|it| matches!(it, Followup::GreetNext { .. }));
        self.enter_waiting();
        self.acknowledge_listens();
        self.run_every(|it| matches!(it, Followup::GoOnWithout { .. }));
        self.move_clients();
        self.run_present(|it| matches!(it, Followup::CheckStandbys));
        self.run_every(|it| matches!(it, Followup::GiveTurn { .. }));
        self.start_missed();
        self.end_deserted();
        self.serve_line();
        self.let_clients_go();
        self.run_present(|it| matches!(it, Followup::ForgetLost));
        self.note_use();
    }

    /// Carries out all follow-ups of a kind, newest first, with those that arise meanwhile.
    fn run_every(&mut self, is_of_kind: fn(&Followup) -> bool) {
        while let Some(followup) = self.followups.pop(is_of_kind) {
            self.run_followup(followup);
        }
    }

    /// Carries out the present follow-ups of a kind, oldest first. Those that arise meanwhile wait for the next
    /// event.
    pub(crate) fn run_present(&mut self, is_of_kind: fn(&Followup) -> bool) {
        for followup in self.followups.take(is_of_kind) {
            self.run_followup(followup);
        }
    }

    fn run_followup(&mut self, followup: Followup) {
        match followup {
            Followup::GreetNext { backend, client } => self.greet_next_client(backend, client),
            Followup::GoOnWithout { client } => self.go_on_without_missed(client),
            Followup::Move { client } => self.move_if_greeted(client),
            Followup::CheckStandbys => self.check_standbys(),
            Followup::GiveTurn { backend } => self.let_go(backend),
            Followup::StartAgain { backend } => self.start_again(backend),
            Followup::EndDeserted { backend, why } => self.end_if_deserted(backend, why),
            Followup::ForgetLost => self.forget_lost(),
        }
    }

    /// Texts for errors, logs and `status`. Hints are our own texts, which may quote a value all the same.
    fn without_secrets(&self, text: &str, hint: Option<String>) -> (String, Option<String>) {
        let secrets = &self.settings.secrets;
        (secrets.redact(text), hint.map(|hint| secrets.mask_values(&hint).into_owned()))
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::ClientConnected { client, server, surroundings } => {
                self.client_connected(client, server, surroundings);
            }
            Event::AggregateConnected { client, surroundings, environments } => {
                self.aggregate_connected(client, surroundings, environments);
            }
            Event::OfferRead { launch, round, offer } => self.offer_read(launch, round, offer),
            Event::FromClient { client, frame, paths } => self.client_sent(client, frame, paths),
            Event::RootsLookedUp { client, inquiry, roots } => self.roots_looked_up(client, inquiry, roots),
            Event::ClientTooLong { client, length, glimpses } => {
                self.client_too_long(client, length, &glimpses)
            }
            Event::ClientInputEnded { client } => self.client_input_ended(client),
            Event::ClientLost { client } => self.client_lost(client),
            Event::Revoked { identity } => self.revoked(&identity),
            Event::Spawned { launch, pid } => self.spawned(launch, pid),
            Event::SpawnFailed { launch, reason, hint } => {
                let (reason, hint) = self.without_secrets(&reason, hint);
                let fact = Fact::SpawnFailed { backend: launch.backend, reason: reason.clone() };
                self.start_failed(launch, fact, &Cause::Spawn { reason, hint });
            }
            Event::NotReached { launch, reason, hint, retryable, after } => {
                let (reason, hint) = self.without_secrets(&reason, hint);
                let fact = Fact::NotReached { backend: launch.backend, reason: reason.clone() };
                self.start_failed(launch, fact, &Cause::NotReached { reason, hint, retryable, after });
            }
            Event::FromBackend { launch, message } => self.backend_sent(launch, message),
            Event::LogOfRequest { launch, about, message } => self.log_of_request(launch, about, &message),
            Event::BackendNoise { launch, text, broken } => self.backend_noise(launch, &text, broken),
            Event::BackendTooLong { launch, length, glimpses } => {
                self.backend_too_long(launch, length, &glimpses);
            }
            Event::BackendEnded { launch, how, stderr, hint } => {
                let (stderr, hint) = self.without_secrets(&stderr, hint);
                self.backend_ended(launch, &how, &stderr, hint);
            }
            Event::Measured { used } => self.measured(&used),
            Event::Flushed { peer, bytes } => self.flushed(peer, bytes),
            Event::Dropped { client } => self.dropped_for(client),
            Event::Tick => self.tick(),
            Event::Drain { why } => self.told_to_end(why),
            Event::Kill => self.kill(),
        }
    }
}
