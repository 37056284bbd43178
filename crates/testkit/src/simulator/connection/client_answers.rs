//! Answers of clients to servers: in disorder, never, twice, and to questions that were never asked.

use super::ConnectionWorld;
use super::draft::{Draft, Piece, object, payload, place};
use super::post::Role;
use crate::simulator::engine::{Check, Phase};
use switchboard_core::ClientId;

impl ConnectionWorld {
    /// Writes an answer to a server, under the id that the client knows.
    fn draft_reply(&mut self, client: ClientId, id: &str, ask: Option<usize>) -> (String, bool) {
        let is_bare = self.rolls_bare(client);
        let number = self.own.next_number();
        let key = if self.rng.percent(80) { "result" } else { "error" };
        let payload = payload(&mut self.rng, number, self.plan.longest);
        let members = vec![place("id", Piece::Id), object(&mut self.rng, key, payload)];
        let draft = Draft::compose(&mut self.rng, members, id, None, is_bare);
        let text = draft.written();
        self.own.post(draft, Role::ClientAnswer { client, ask });
        (text, is_bare)
    }

    /// Answers one of the questions that it has read, in any order.
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
        let process = self.process(launch);
        let is_there = process.phase == Phase::Alive && !process.is_stopping;
        let id = if self.rng.percent(10) { format!("{minted}.0") } else { minted };
        let (text, is_bare) = self.draft_reply(client, &id, Some(ask));
        self.client(client).speaks(is_bare, false);
        self.touch_all(launch);
        self.client_says(client, text)?;
        if was_open && is_there && self.own.asks[ask].answers == 0 {
            return Err(format!("{client}'s answer {id} did not reach {launch}"));
        }
        Ok(())
    }

    pub(super) fn client_answers_again(&mut self, client: ClientId) -> Check {
        let answered = self.client(client).answered_asks.clone();
        if answered.is_empty() {
            return Ok(());
        }
        let ask = *self.rng.pick(&answered);
        self.stats.count("asks_answered_twice");
        self.say_answer_to_nobody(client, self.own.asks[ask].minted.clone().unwrap_or_default())
    }

    /// An answer to something that this client was never asked, perhaps to another client's question.
    pub(super) fn client_answers_nobody(&mut self, client: ClientId) -> Check {
        let others = self.own.asks.iter().filter(|ask| self.home(ask.launch) != Some(client));
        let ids: Vec<String> = others.filter_map(|ask| ask.minted.clone()).collect();
        let id = if ids.is_empty() { "4000000000".into() } else { self.rng.pick(&ids).clone() };
        self.say_answer_to_nobody(client, id)
    }

    fn say_answer_to_nobody(&mut self, client: ClientId, id: String) -> Check {
        let (text, is_bare) = self.draft_reply(client, &id, None);
        self.client(client).speaks(is_bare, false);
        self.client_says(client, text)
    }

    /// Progress about what a server asked another client.
    fn client_forges_progress(&mut self, client: ClientId) -> Check {
        let others = self.own.asks.iter().filter(|ask| self.home(ask.launch) != Some(client));
        let tokens: Vec<String> = others.filter_map(|ask| ask.minted.clone()).collect();
        if tokens.is_empty() {
            return Ok(());
        }
        let token = self.rng.pick(&tokens).clone();
        let is_bare = self.rolls_bare(client);
        let text =
            self.draft_notice("notifications/progress", Some("progressToken"), &token, is_bare, Role::Forged);
        self.stats.count("forged_progress");
        self.client(client).speaks(is_bare, false);
        self.client_says(client, text)
    }

    /// Progress about what a server asked.
    pub(super) fn client_progresses(&mut self, client: ClientId) -> Check {
        if self.rng.percent(20) {
            return self.client_forges_progress(client);
        }
        let asks = self.client(client).asks.clone();
        if asks.is_empty() {
            return Ok(());
        }
        let ask = *self.rng.pick(&asks);
        let is_bare = self.rolls_bare(client);
        let minted = self.own.asks[ask].minted.clone().unwrap_or_default();
        let role = Role::ClientProgress { ask };
        let text = self.draft_notice("notifications/progress", Some("progressToken"), &minted, is_bare, role);
        self.client(client).speaks(is_bare, false);
        self.client_says(client, text)
    }
}
