//! Answers of clients to servers: in any order, never, twice, and unsolicited.

use super::ConnectionWorld;
use super::draft::{Piece, object, place};
use super::post::Role;
use crate::simulator::engine::{Check, Phase};
use switchboard_core::ClientId;

impl ConnectionWorld {
    /// Writes an answer to a server, under the client's id.
    fn draft_reply(&mut self, client: ClientId, id: &str, ask: Option<usize>) -> (String, bool) {
        let is_bare = self.rolls_bare(client);
        let key = if self.rng.percent(80) { "result" } else { "error" };
        let payload = self.payload();
        let members = vec![place("id", Piece::Id), object(&mut self.rng, key, payload)];
        (self.compose(members, id, None, is_bare, Role::ClientAnswer { client, ask }), is_bare)
    }

    /// Answers one of the questions that the client has read, in any order.
    pub(super) fn client_answers(&mut self, client: ClientId) -> Check {
        let count = self.client(client).asks.len();
        if count == 0 {
            return Ok(());
        }
        let at = self.rng.below(count);
        let ask = self.client(client).asks.remove(at);
        self.client(client).answered_asks.push(ask);
        let entry = &self.own.asks[ask];
        let (launch, minted) = (entry.launch, entry.minted.clone().unwrap_or_default());
        let was_open = entry.answers == 0 && !entry.is_cancelled;
        let process = &self.processes[&launch];
        let is_there = process.phase == Phase::Alive && !process.is_stopping;
        let id = if self.rng.percent(10) { format!("{minted}.0") } else { minted };
        let (text, is_bare) = self.draft_reply(client, &id, Some(ask));
        self.touch_all(launch);
        self.client_sends(client, text, is_bare)?;
        if was_open && is_there && self.own.asks[ask].answers == 0 {
            return Err(format!("{client}'s answer {id} did not reach {launch}"));
        }
        Ok(())
    }

    pub(super) fn client_answers_again(&mut self, client: ClientId) -> Check {
        let answered = self.client(client).answered_asks.clone();
        let Some(ask) = self.rng.choose(&answered) else { return Ok(()) };
        self.stats.count("asks_answered_twice");
        self.say_answer_to_nobody(client, self.own.asks[ask].minted.clone().unwrap_or_default())
    }

    /// An answer to a question that this client never got, perhaps another client's.
    pub(super) fn client_answers_nobody(&mut self, client: ClientId) -> Check {
        let ids = self.asks_of_others(client);
        let id = self.rng.choose(&ids).unwrap_or_else(|| "4000000000".into());
        self.say_answer_to_nobody(client, id)
    }

    fn asks_of_others(&self, client: ClientId) -> Vec<String> {
        let others = self.own.asks.iter().filter(|ask| self.home(ask.launch) != Some(client));
        others.filter_map(|ask| ask.minted.clone()).collect()
    }

    fn say_answer_to_nobody(&mut self, client: ClientId, id: String) -> Check {
        let (text, is_bare) = self.draft_reply(client, &id, None);
        self.client_sends(client, text, is_bare)
    }

    /// Progress about a question to another client.
    fn client_forges_progress(&mut self, client: ClientId) -> Check {
        let tokens = self.asks_of_others(client);
        let Some(token) = self.rng.choose(&tokens) else { return Ok(()) };
        let is_bare = self.rolls_bare(client);
        let text =
            self.draft_notice("notifications/progress", Some("progressToken"), &token, is_bare, Role::Forged);
        self.stats.count("forged_progress");
        self.client_sends(client, text, is_bare)
    }

    /// Progress about a question of a server.
    pub(super) fn client_progresses(&mut self, client: ClientId) -> Check {
        if self.rng.percent(20) {
            return self.client_forges_progress(client);
        }
        let asks = self.client(client).asks.clone();
        let Some(ask) = self.rng.choose(&asks) else { return Ok(()) };
        let is_bare = self.rolls_bare(client);
        let minted = self.own.asks[ask].minted.clone().unwrap_or_default();
        let role = Role::ClientProgress { ask };
        let text = self.draft_notice("notifications/progress", Some("progressToken"), &minted, is_bare, role);
        self.client_sends(client, text, is_bare)
    }
}
