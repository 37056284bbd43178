//! Requests of clients: declared, undeclared, and of the legacy era.

use super::client::{ABILITIES, Manner};
use super::{CAPABILITIES, EraTurn, EraWorld, LOG_LEVEL, VERSION};
use crate::simulator::engine::Check;
use switchboard_core::ClientId;
use switchboard_core::catalogue::NameStyle;

/// Places in a text where the parts go that differ between the two sides.
pub(super) const ID: &str = "\u{1}";
pub(super) const TOKEN: &str = "\u{2}";
pub(super) const NAME: &str = "\u{3}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EraVerb {
    Initialize,
    Discover,
    List,
    Call,
    Read,
    Listen,
}

impl EraVerb {
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::List => "tools/list",
            Self::Call => "tools/call",
            Self::Read => "resources/read",
            Self::Listen => "subscriptions/listen",
        }
    }
}

/// The scenario's own part of a request. It carries its number as its tag.
#[derive(Debug)]
pub(crate) struct EraRequest {
    pub(super) verb: EraVerb,
    /// Whether it declares a modern version.
    pub(super) is_modern: bool,
    /// Whether it belongs to a modern client, and declares nothing.
    pub(super) is_undeclared: bool,
    pub(super) wants_log: bool,
    /// Number of the capabilities that it declares.
    pub(super) abilities: usize,
    /// The name of its tool, as its client knows it.
    pub(super) name: String,
    /// Its text, with places for what is replaced.
    pub(super) text: String,
    /// Whether its subscription was acknowledged, and whether with the resource that it names.
    pub(super) is_acknowledged: bool,
    pub(super) has_resource: bool,
    /// How often a server wanted input for it, of a legacy client.
    pub(super) rounds: usize,
    /// The request that continues it.
    pub(super) heir: Option<usize>,
    /// Whether it got an error of ours.
    pub(super) is_refused: bool,
    /// The answer to the call that it continues, which came during the pause. It is given once the server's era is known.
    pub(super) held: Option<String>,
    /// Whether it continues a call of a daemon that has died.
    pub(super) is_of_the_dead: bool,
}

impl EraWorld {
    pub(super) fn enter(
        &mut self,
        client: ClientId,
        verb: EraVerb,
        text: String,
        token: Option<String>,
        is_modern: bool,
    ) -> (usize, String) {
        let spell = self.rng.below(4);
        let c = self.client(client);
        c.next_id += 1;
        let (number, abilities) = (c.next_id, c.own.abilities);
        let id = match spell {
            0 => format!("{number}"),
            1 => format!("\"{number}\""),
            2 => format!("{number}.50"),
            _ => format!("\"\\u0069{number}\""),
        };
        let own = EraRequest {
            verb,
            is_modern,
            is_undeclared: false,
            wants_log: false,
            text,
            is_acknowledged: false,
            has_resource: false,
            rounds: 0,
            heir: None,
            is_refused: false,
            held: None,
            is_of_the_dead: false,
            abilities,
            name: String::new(),
        };
        (self.book(client, None, verb.method(), id.clone(), token, own), id)
    }

    pub(super) fn some_verb(&mut self, client: ClientId) -> EraVerb {
        let is_modern = self.clients[&client].manner == Manner::Modern;
        match self.rng.below(100) {
            0..50 => EraVerb::Call,
            50..65 => EraVerb::List,
            65..70 if !self.clients[&client].is_aggregate() => EraVerb::Read,
            65..70 => EraVerb::List,
            70..78 if is_modern => EraVerb::Discover,
            78..95 if is_modern => EraVerb::Listen,
            _ => EraVerb::Call,
        }
    }

    pub(super) fn asks(&mut self, client: ClientId, verb: EraVerb) -> Check {
        if self.rng.percent(12) {
            let abilities = self.rng.below(ABILITIES.len());
            if self.clients[&client].manner == Manner::Modern {
                self.declares(client, abilities);
            }
        }
        let c = &self.clients[&client];
        let is_modern = c.manner == Manner::Modern;
        // Certain only if nothing is under way that might change its era.
        let is_undeclared = c.is_modern && is_modern && verb != EraVerb::Discover && self.rng.percent(5);
        let is_declared = is_modern && !is_undeclared;
        let wants_log = is_declared && verb == EraVerb::Call && (self.plan.has_logs || self.rng.percent(30));
        let number = self.ledger.requests.len();
        let token = (verb == EraVerb::Call && self.rng.percent(40)).then(|| format!("\"tok-{number}\""));
        let text = self.draft(client, verb, number, token.is_some(), is_declared, wants_log);
        let (number, id) = self.enter(client, verb, text.clone(), token.clone(), is_declared);
        let request = &mut self.ledger.requests[number];
        (request.own.is_undeclared, request.own.wants_log) = (is_undeclared, wants_log);
        self.stats.count(match (is_declared, is_undeclared) {
            (true, _) => "modern_requests",
            (_, true) => "undeclared_requests",
            (false, false) => "legacy_requests",
        });
        self.stats.count_if("listens", verb == EraVerb::Listen);
        let name = self.public_name(client);
        self.ledger.requests[number].own.name = name.clone();
        let text = filled(&text, &id, token.as_deref(), &name);
        self.client_says(EraTurn::default(), client, text)?;
        let request = &self.ledger.requests[number];
        match is_undeclared && request.is_open() {
            true => Err(format!("{client} is modern, forgot to declare {id}, and is not refused")),
            false => Ok(()),
        }
    }

    /// The name of a tool, as this client knows it.
    fn public_name(&mut self, client: ClientId) -> String {
        let is_plain = self.settings.servers[0].naming.style == NameStyle::Plain;
        match self.clients[&client].is_aggregate() && !is_plain {
            true => format!("s{}__echo", self.rng.below(self.settings.servers.len())),
            false => "echo".to_owned(),
        }
    }

    fn draft(
        &mut self,
        client: ClientId,
        verb: EraVerb,
        number: usize,
        has_token: bool,
        is_declared: bool,
        wants_log: bool,
    ) -> String {
        let mut meta = Vec::new();
        if has_token {
            meta.push(format!(r#""progressToken":{TOKEN}"#));
        }
        if is_declared {
            let capabilities = self.clients[&client].capabilities();
            meta.push(format!(r#""{VERSION}":"2026-07-28""#));
            meta.push(format!(r#""{CAPABILITIES}" : {capabilities}"#));
        }
        if wants_log {
            meta.push(format!(r#""{LOG_LEVEL}":"info""#));
        }
        self.rng.shuffle(&mut meta);
        let mut params = vec![format!(r#""tag":{number}"#)];
        match verb {
            EraVerb::Call => {
                params.push(format!(r#""name":"{NAME}""#));
                params.push(r#""arguments":{"n":0.700, "e":"\u00e9\/"}"#.to_owned());
                if let Some(state) = self.client(client).own.state.take().filter(|_| is_declared) {
                    self.stats.count("further_rounds");
                    params.push(format!(r#""requestState":"{state}","inputResponses":{{}}"#));
                }
            }
            EraVerb::Read => params.push(r#""uri":"mem:one""#.to_owned()),
            EraVerb::Listen => {
                let uris = if self.clients[&client].is_aggregate() { "[]" } else { r#"["mem:one"]"# };
                params.push(format!(
                    r#""notifications":{{"toolsListChanged":true,"resourceSubscriptions":{uris}}}"#
                ));
            }
            EraVerb::Initialize | EraVerb::Discover | EraVerb::List => {}
        }
        if !meta.is_empty() {
            params.push(format!(r#""_meta":{{{}}}"#, meta.join(" ,")));
        }
        self.rng.shuffle(&mut params);
        let mut members = vec![
            format!(r#""id":{ID}"#),
            format!(r#""method":"{}""#, verb.method()),
            r#""jsonrpc":"2.0""#.to_owned(),
            format!(r#""params": {{{}}}"#, params.join(",")),
        ];
        self.rng.shuffle(&mut members);
        format!("{{{}}}", members.join(" , "))
    }
}

/// A text with the parts of one side.
pub(super) fn filled(text: &str, id: &str, token: Option<&str>, name: &str) -> String {
    text.replace(ID, id).replace(TOKEN, token.unwrap_or("null")).replace(NAME, name)
}
