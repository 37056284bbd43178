//! Questions of backends: with their own ids, some broken, some cancelled.

use super::ConnectionWorld;
use super::draft::{Piece, member, object, place};
use super::post::{Asked, Role};
use crate::simulator::engine::Check;
use switchboard_core::Launch;

impl ConnectionWorld {
    pub(super) fn backend_asks(&mut self, launch: Launch) -> Check {
        if self.rng.percent(10) {
            return self.backend_asks_badly(launch);
        }
        let id = self.spell_ask(launch);
        let token =
            self.rng.percent(40).then(|| if self.rng.percent(50) { id.clone() } else { "\"t\"".into() });
        let mut params = self.payload();
        if token.is_some() {
            params.push(object(&mut self.rng, "_meta", vec![place("progressToken", Piece::Token)]));
        }
        let params = object(&mut self.rng, "params", params);
        let name = *self.rng.pick(&["sampling/createMessage", "roots/list", "elicitation/create", "ping"]);
        let members = vec![place("id", Piece::Id), member("method", format_args!("\"{name}\"")), params];
        let ask = self.new_ask(launch, id.clone(), token.clone());
        let is_bare = self.is_bare(launch);
        let text = self.compose(members, &id, token.as_deref(), is_bare, Role::Ask(ask));
        self.touch_all(launch);
        self.stats.count("asks");
        self.backend_says(launch, text)?;
        let ask = &self.own.asks[ask];
        if ask.minted.is_some() == (ask.answers > 0) {
            return Err(format!("{launch}'s request {} was neither passed on nor refused, or both", ask.id));
        }
        Ok(())
    }

    fn new_ask(&mut self, launch: Launch, id: String, token: Option<String>) -> usize {
        let ask = self.own.asks.len();
        let fresh =
            Asked { launch, id, token, minted: None, answers: 0, is_cancelled: false, is_withdrawn: false };
        self.own.asks.push(fresh);
        self.process(launch).asks.push(ask);
        ask
    }

    /// A request to the client that is broken or too long, and still must be refused.
    fn backend_asks_badly(&mut self, launch: Launch) -> Check {
        let id = self.spell_ask(launch);
        let ask = self.new_ask(launch, id.clone(), None);
        if self.rng.percent(50) {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"roots/list","params":"long","id":{id}}}"#);
            self.backend_says_too_long(launch, &text)?;
        } else {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list","params":"text"}}"#);
            self.backend_says(launch, text)?;
        }
        match self.own.asks[ask].answers {
            1 => Ok(()),
            _ => Err(format!("{launch}'s broken request {id} was not refused")),
        }
    }

    /// An id that is new for this launch; other launches use the same, and so does Switchboard.
    fn spell_ask(&mut self, launch: Launch) -> String {
        let number = self.process(launch).asks.len();
        match self.rng.below(5) {
            0 => format!("\"{number}\""),
            1 => format!("{number}.50"),
            2 => format!("\"ask\\u002d{number}\""),
            _ => number.to_string(),
        }
    }

    pub(super) fn backend_cancels(&mut self, launch: Launch) -> Check {
        let asks = self.process(launch).asks.clone();
        let Some(ask) = self.rng.choose(&asks) else { return Ok(()) };
        let id = self.own.asks[ask].id.clone();
        self.own.asks[ask].is_cancelled = true;
        let role = Role::ServerCancel { ask };
        let (name, key) = ("notifications/cancelled", Some("requestId"));
        let text = self.draft_notice(name, key, &id, self.is_bare(launch), role);
        self.backend_says(launch, text)
    }

    /// A question restarts the deadlines of the backend's calls: it is at work.
    pub(super) fn touch_all(&mut self, launch: Launch) {
        let now = self.now;
        let Some(client) = self.home(launch) else { return };
        for request in self.ledger.requests.iter_mut().filter(|request| request.client == client) {
            if !request.rule.is_short {
                request.touched = now;
            }
        }
    }
}
