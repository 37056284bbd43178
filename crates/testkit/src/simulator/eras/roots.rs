//! Roots of modern clients at legacy processes. Each client has its own folder, and no other client may use a process that
//! got this folder.

use super::EraWorld;
use super::client_talk::EraVerb;
use crate::simulator::engine::Check;
use serde_json::{Value, json};
use switchboard_core::{ClientId, Launch};

/// Start of the folder that only one client has.
const OWN: &str = "file:///own/";

impl EraWorld {
    /// The roots that a client answers with. Sometimes they are malformed.
    pub(super) fn some_roots(&mut self, client: ClientId, ask: usize) -> Value {
        if self.rng.percent(15) {
            return json!({ "answer": ask });
        }
        self.client(client).own.has_shown = true;
        json!({ "roots": [{ "uri": format!("{OWN}{}", client.0), "name": "own" }] })
    }

    /// Checks the answer to `roots/list`. Only the folder of a client that used the process alone is allowed.
    pub(super) fn roots_told(&mut self, launch: Launch, words: &Value) -> Check {
        let uri = words["result"]["roots"][0]["uri"].as_str().and_then(|uri| uri.strip_prefix(OWN));
        let owner = uri.and_then(|number| number.parse().ok()).map(ClientId);
        let p = self.process(launch);
        p.own.told = owner;
        let others = p.own.users.iter().any(|user| owner.is_some_and(|owner| *user != owner));
        if others {
            return Err(format!("{launch} is told {words}, and was used by {:?}", p.own.users));
        }
        self.stats.count(if owner.is_some() { "roots_told" } else { "folders_told" });
        Ok(())
    }

    /// Records that a process gets a client's request.
    pub(super) fn used(&mut self, launch: Launch, client: ClientId, verb: EraVerb) -> Check {
        if !matches!(verb, EraVerb::Call | EraVerb::Read) {
            return Ok(());
        }
        let p = self.process(launch);
        p.own.users.insert(client);
        match p.own.told.filter(|owner| *owner != client) {
            Some(owner) => Err(format!("{launch} was told the roots of {owner}, and is used by {client}")),
            None => Ok(()),
        }
    }
}
