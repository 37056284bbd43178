//! Paused calls: a legacy process asks a modern client during a call. The call is answered with `input_required`, and is
//! continued or abandoned.

use super::client::{Manner, ROOTS};
use super::client_talk::{EraRequest, EraVerb, TOKEN, filled};
use super::death::OldState;
use super::{EraTurn, EraWorld};
use crate::simulator::engine::{Answer, Check, Presence, Request, request};
use serde_json::{Map, Value, json};
use switchboard_core::{ClientId, Launch, Moment};

/// Methods of questions. Each needs the capability at the same position.
const METHODS: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];

/// One pause of a call.
#[derive(Debug)]
pub(super) struct Pause {
    client: ClientId,
    launch: Launch,
    /// The request that the process got.
    call: usize,
    /// The questions that the client was shown, and their names.
    shown: Vec<(String, usize)>,
    /// Questions since that answer.
    more: Vec<usize>,
    state: String,
    expires: Moment,
    /// Whether the call was continued, or can no longer be.
    is_over: bool,
    /// Whether the client has declared other capabilities since, which may end the pause.
    is_shaken: bool,
    /// The process's answer to the call, if it came first.
    held: Option<String>,
}

/// Kinds of continuations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Properly,
    /// One answer is missing.
    Partly,
    /// With a forged state.
    Forged,
    /// With the state of another call.
    Otherwise,
    /// From a client of another party.
    Foreign,
}

impl Pause {
    /// The rest of the pause when the daemon dies, unless it is over. Only legacy servers leave such calls.
    pub(super) fn old_state(&self, world: &EraWorld) -> Option<OldState> {
        let request = &world.ledger.requests[self.call];
        let server = world.clients[&self.client].server?;
        let is_legacy = !world.plan.speech[server].is_modern();
        let is_open = is_legacy && !self.is_over && self.expires > world.now;
        let given: Map<String, Value> = self.shown.iter().map(|(key, _)| (key.clone(), json!({}))).collect();
        is_open.then(|| OldState {
            server,
            principal: world.clients[&self.client].principal,
            abilities: request.abilities,
            verb: request.verb,
            name: request.name.clone(),
            text: continued(&request.text, &self.state, &given),
        })
    }
}

/// The request that continues a call.
fn continued(text: &str, state: &str, given: &Map<String, Value>) -> String {
    let given = Value::from(given.clone());
    let params = format!(r#""params": {{"requestState":"{state}","inputResponses":{given},"#);
    text.replacen(r#""params": {"#, &params, 1)
}

impl EraWorld {
    /// The request that waits for a process's answer: the original one, or its last continuation.
    pub(super) fn heir_of(&self, number: usize) -> usize {
        let mut last = number;
        while let Some(heir) = self.ledger.requests[last].heir {
            last = heir;
        }
        last
    }

    /// The original request of a continuation, as the process got it.
    fn root_of(&self, number: usize) -> usize {
        let mut first = number;
        while let Some(before) = self.ledger.requests.iter().position(|it| it.heir == Some(first)) {
            first = before;
        }
        first
    }

    /// The pause that has not been continued, of a request that a process got.
    fn pause_of(&mut self, launch: Launch, call: usize) -> Option<&mut Pause> {
        self.own.pauses.iter_mut().find(|it| it.launch == launch && it.call == call && !it.is_over)
    }

    /// Whether a legacy process asks before it answers this call.
    pub(super) fn asks_first(&mut self, launch: Launch, call: usize) -> bool {
        let last = self.heir_of(call);
        let is_call = self.is_for_modern(launch, call) && self.ledger.requests[call].verb == EraVerb::Call;
        is_call && self.ledger.requests[last].is_open() && self.rng.percent(25)
    }

    /// A legacy process asks a question, which must reach one of its own clients.
    pub(super) fn legacy_process_asks(&mut self, launch: Launch) -> Check {
        let p = &self.processes[&launch];
        if !p.is_staying() || !p.is_confirmed {
            return Ok(());
        }
        let method = self.some_question(launch);
        let ask = self.ledger.add_ask(launch, self.now, method + 1 == ROOTS);
        self.stats.count("questions");
        let due = self.certainly_asked(launch, method);
        let text = request(format!("\"q{ask}\""), METHODS[method], json!({ "ask": ask }));
        let turn = EraTurn { asking: Some(ask), ..EraTurn::default() };
        self.process_says(turn, launch, text)?;
        let asked = &self.ledger.asks[ask];
        if asked.client.is_none() && !asked.is_answered {
            // The question belongs to the next round of a call that is already paused.
            let pauses = self.own.pauses.iter_mut().filter(|it| it.launch == launch && !it.is_over);
            let pauses: Vec<&mut Pause> = pauses.filter(|it| it.held.is_none()).collect();
            // During a shutdown continuations are refused, and the call stays paused all the same.
            if pauses.is_empty() && self.processes[&launch].is_staying() && !self.is_ending {
                return Err(format!("{launch} asks q{ask}, and nobody hears of it"));
            }
            pauses.into_iter().for_each(|pause| pause.more.push(ask));
        }
        match due {
            Some(number) if self.ledger.requests[number].is_open() => {
                let request = &self.ledger.requests[number];
                Err(format!("{} is not asked about {}, its only call", request.client, request.id))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A question, most likely one that a client with an open request can answer.
    fn some_question(&mut self, launch: Launch) -> usize {
        if self.plan.asks_roots_only {
            return ROOTS - 1;
        }
        let is_at = |it: &&Request<EraRequest>| it.is_open() && it.handed.last() == Some(&launch);
        let fitting = self.ledger.requests.iter().find(is_at).and_then(|it| it.abilities.checked_sub(1));
        let any = self.rng.below(METHODS.len());
        fitting.filter(|_| self.rng.percent(60)).unwrap_or(any)
    }

    /// The call that a question must belong to, if there is only one.
    fn certainly_asked(&self, launch: Launch, method: usize) -> Option<usize> {
        let p = &self.processes[&launch];
        let is_quiet = p.is_staying() && !self.owner.is_retired(launch.backend) && !self.is_ending;
        let is_at = |number: &usize| self.ledger.requests[*number].handed.last() == Some(&launch);
        let mut open = (0..self.ledger.requests.len())
            .filter(|number| is_at(number) && self.ledger.requests[*number].is_open());
        let (only, other) = (open.next()?, open.next());
        let request = &self.ledger.requests[only];
        let c = &self.clients[&request.client];
        let is_call = request.is_modern && matches!(request.verb, EraVerb::Call | EraVerb::Read);
        let is_declared = request.abilities == method + 1 && c.abilities == request.abilities;
        // The delegate of a client that declares other capabilities may have been replaced.
        let is_steady = !c.is_aggregate() || self.stats.get("other_capabilities") == 0;
        // Known roots need no question, and a paused call counts as another one.
        let is_paused =
            self.own.pauses.iter().any(|it| it.launch == launch && !it.is_over && it.held.is_none());
        let is_unknown = method + 1 != ROOTS || !(c.has_shown || is_paused);
        let is_one = self.clients.len() == 1
            && other.is_none()
            && !self.may_ask_late(launch)
            && is_unknown
            && is_steady;
        // One that sends nothing more cannot answer.
        let is_here = c.manner == Manner::Modern && c.presence == Presence::Here;
        (is_quiet && is_call && is_declared && is_one && is_here).then_some(only)
    }

    /// Switchboard answers a client's call with `input_required`.
    pub(super) fn paused(&mut self, answer: &Answer<'_>, words: &Value) -> Check {
        let Answer { client, number, .. } = *answer;
        let request = &self.ledger.requests[number];
        let what = format!("{client}'s {} with id {}", request.verb.method(), request.id);
        let is_call = request.is_modern && matches!(request.verb, EraVerb::Call | EraVerb::Read);
        let Some(&launch) = request.handed.last().filter(|_| is_call && !request.is_cancelled) else {
            return Err(format!("{what} is answered: {words}"));
        };
        let result = &words["result"];
        let mut shown = Vec::new();
        for (key, asked) in result["inputRequests"].as_object().into_iter().flatten() {
            let ask = asked["params"]["ask"].as_u64().unwrap_or(u64::MAX) as usize;
            let Some(it) = self.ledger.asks.get_mut(ask).filter(|it| it.launch == launch && !it.is_answered)
            else {
                return Err(format!("{what} is asked what {launch} did not ask: {words}"));
            };
            if it.client.replace(client).is_some_and(|before| before != client) {
                return Err(format!("q{ask} goes to {client} as well"));
            }
            let method = METHODS.iter().position(|method| asked["method"] == *method);
            if method.is_none_or(|method| self.ledger.requests[number].abilities != method + 1) {
                return Err(format!("{what} is asked what it has not declared: {words}"));
            }
            shown.push((key.clone(), ask));
        }
        let mut asks: Vec<usize> = shown.iter().map(|(_, ask)| *ask).collect();
        asks.sort_unstable();
        let mut expected = self.turn.asking.map(|ask| vec![ask]).or_else(|| self.turn.remaining.clone());
        // Known roots are sent at once.
        if let Some(expected) = &mut expected {
            expected.retain(|ask| !self.ledger.asks[*ask].is_answered);
        }
        if expected.as_ref() != Some(&asks) || !self.is_for_modern(launch, number) {
            return Err(format!("{what} should be asked {expected:?}, and is asked {words}"));
        }
        let server = self.processes[&launch].server;
        let call = self.root_of(number);
        self.stats.count(if call == number { "pauses" } else { "pauses_again" });
        // A continuation without an answer gets no more time.
        let is_stalled = self.turn.remaining.is_some() && self.turn.answered.is_empty();
        let before = self.own.pauses.iter().rfind(|it| is_stalled && it.launch == launch && it.call == call);
        let fresh = self.now + self.settings.servers[server].input_timeout;
        let expires = before.map_or(fresh, |before| before.expires);
        let state = result["requestState"].as_str().unwrap_or_default().to_owned();
        let (more, is_over, held) = (Vec::new(), false, None);
        // Its client may have declared something else before it is asked, in a request that waits.
        let abilities = self.ledger.requests[number].abilities;
        let declares_other = |number: &usize| {
            let request = &self.ledger.requests[*number];
            request.is_modern && request.abilities != abilities
        };
        let is_shaken = self.clients[&client].abilities != abilities
            || self.ledger.open_of(client).iter().any(declares_other);
        self.own.pauses.push(Pause {
            client,
            launch,
            call,
            shown,
            more,
            state,
            expires,
            is_over,
            is_shaken,
            held,
        });
        Ok(())
    }

    /// A process answers a call that is paused. Its client gets the answer when it continues the call.
    pub(super) fn answers_paused(
        &mut self,
        launch: Launch,
        call: usize,
        text: &str,
        id: &str,
    ) -> Check<bool> {
        let Some(pause) = self.pause_of(launch, call) else { return Ok(false) };
        pause.held = Some(text.to_owned());
        self.stats.count("answers_held");
        self.process_says(EraTurn::default(), launch, filled(text, id, None, "")).map(|()| true)
    }

    /// A client continues one of its calls, or attempts to.
    pub(super) fn continues_some(&mut self, client: ClientId) -> Check {
        let is_its = |at: &usize| self.own.pauses[*at].client == client;
        let own: Vec<usize> = (0..self.own.pauses.len()).filter(is_its).collect();
        let Some(at) = self.rng.choose(&own) else { return Ok(()) };
        let how = self.rng.weighted(&[
            (7, How::Properly),
            (1, How::Partly),
            (1, How::Forged),
            (1, How::Otherwise),
            (2, How::Foreign),
        ]);
        self.continues(at, how)
    }

    /// Continues the paused calls of connected clients.
    pub(super) fn continues_next(&mut self) -> Check<bool> {
        let is_open = |it: &Pause| {
            let c = &self.clients[&it.client];
            let is_here = c.presence == Presence::Here;
            !it.is_over && it.expires > self.now && is_here && c.manner == Manner::Modern
        };
        let Some(at) = self.own.pauses.iter().position(is_open) else { return Ok(false) };
        self.continues(at, How::Properly).map(|()| true)
    }

    fn continues(&mut self, at: usize, how: How) -> Check {
        let pause = &self.own.pauses[at];
        let (call, launch) = (pause.call, pause.launch);
        let own = Some(pause.client).filter(|client| self.clients[client].manner == Manner::Modern);
        let client = if how == How::Foreign { self.stranger_to(at) } else { own };
        let Some(client) = client else { return Ok(()) };
        let is_good =
            matches!(how, How::Properly | How::Partly) && !pause.is_over && pause.expires > self.now;
        let mut given = Map::new();
        for (key, ask) in pause.shown.clone().into_iter().skip(usize::from(how == How::Partly)) {
            let answer = match self.ledger.asks[ask].wants_roots {
                true => self.some_roots(client, ask),
                false => json!({ "answer": ask }),
            };
            given.insert(key, answer);
        }
        let pause = &self.own.pauses[at];
        let state = match how {
            How::Forged => format!("x{}", pause.state),
            How::Properly | How::Partly | How::Otherwise | How::Foreign => pause.state.clone(),
        };
        let request = &self.ledger.requests[call];
        let (verb, name, abilities) = (request.verb, request.name.clone(), request.abilities);
        let text = continued(&request.text, &state, &given);
        let text = match how {
            How::Otherwise => text.replacen("\"tag\":", "\"n\":7,\"tag\":", 1),
            How::Properly | How::Partly | How::Forged | How::Foreign => text,
        };
        // The server may have to start first for other capabilities, or its era must be detected first for a client of
        // several servers.
        let c = &self.clients[&client];
        let is_steady = c.abilities == abilities && !c.is_aggregate() && self.stats.get("reloads") == 0;
        self.declares(client, abilities);
        let number = self.ledger.requests.len();
        let token = text.contains(TOKEN).then(|| format!("\"tok-{number}\""));
        let (number, id) = self.enter(client, verb, text.clone(), token.clone(), true);
        let wants_log = self.ledger.requests[call].wants_log;
        let request = &mut self.ledger.requests[number];
        (request.own.name, request.own.wants_log) = (name.clone(), wants_log);
        let text = filled(&text, &id, token.as_deref(), &name);
        if !is_good {
            self.stats.count("continued_badly");
            self.stats.count_if("continued_by_others", how == How::Foreign);
            self.client_says(EraTurn::default(), client, text)?;
            return match self.ledger.requests[number].is_open() && is_steady {
                true => Err(format!("{client} continues a call {how:?}, and {id} is not refused")),
                false => Ok(()),
            };
        }
        self.stats.count("continued");
        let is_shaken = self.own.pauses[at].is_shaken;
        let turn = self.continuing(at, number, &given);
        if is_shaken && turn.answering.is_none() && turn.answered.is_empty() && turn.remaining.is_none() {
            // The call has ended already. It is refused, at the latest once the server's era is known again.
            return self.client_says(EraTurn::default(), client, text);
        }
        let (answered, remaining) = (turn.answered.clone(), turn.remaining.clone());
        let held = turn.answering.is_some();
        self.ledger.requests[number].own.held = turn.answering.as_ref().map(|(_, text)| text.clone());
        let last = self.heir_of(call);
        self.ledger.requests[last].own.heir = Some(number);
        self.ledger.requests[number].handed.push(launch);
        self.client_says(turn, client, text)?;
        if self.ledger.requests[number].own.is_refused {
            let is_staying = self.processes[&launch].is_staying() && !self.owner.is_retired(launch.backend);
            if is_staying && !self.own.pauses[at].is_shaken && !self.is_ending {
                return Err(format!("{client} continues a call with {id}, and is refused"));
            }
            return Ok(());
        }
        if let Some(ask) = answered.iter().find(|ask| !self.ledger.asks[**ask].is_answered) {
            return Err(format!("{client} answers q{ask} by {id}, and {launch} does not get it"));
        }
        let is_open = self.ledger.requests[number].is_open();
        let is_unanswered = |ask: &usize| !self.ledger.asks[*ask].is_answered;
        let remaining = remaining.filter(|left| left.iter().any(is_unanswered));
        // The server may have to start first, or its era must be detected.
        match is_shaken || is_open == (remaining.is_none() && !held) {
            true => Ok(()),
            false => Err(format!("{client} continues a call with {id}, held {held}, left {remaining:?}")),
        }
    }

    /// A client of another party at the same legacy server as the client of a paused call.
    fn stranger_to(&self, at: usize) -> Option<ClientId> {
        let Pause { client, launch, .. } = self.own.pauses[at];
        let own = &self.clients[&client];
        // A reload discards the server's era, and then no refusal comes at once.
        let is_certain = self.processes[&launch].is_staying() && self.stats.get("reloads") == 0;
        let mut others = self.clients.values().filter(|c| {
            let is_other = c.presence == Presence::Here && c.principal != own.principal;
            is_other && c.manner == Manner::Modern && c.server == own.server && !c.is_aggregate()
        });
        others.next().map(|c| c.id).filter(|_| is_certain)
    }

    /// Whether a process may have a late question about a call that has ended before its answer.
    fn may_ask_late(&self, launch: Launch) -> bool {
        let is_ended = |pause: &Pause| {
            let c = &self.clients[&pause.client];
            pause.launch == launch && (pause.is_shaken || pause.expires <= self.now || !c.is_there())
        };
        let is_given_up = self.ledger.requests.iter().any(|request| {
            let is_its = request.is_modern && request.handed.last() == Some(&launch);
            is_its && (request.is_cancelled || request.is_refused || self.is_lost(request.client))
        });
        is_given_up || self.own.pauses.iter().any(is_ended)
    }

    /// Expected result of a continuation.
    fn continuing(&mut self, at: usize, number: usize, given: &Map<String, Value>) -> EraTurn {
        let pause = &mut self.own.pauses[at];
        pause.is_over = true;
        let (shown, more) = (std::mem::take(&mut pause.shown), std::mem::take(&mut pause.more));
        let held = pause.held.take().map(|text| (number, text));
        if held.is_some() {
            return EraTurn { answering: held, ..EraTurn::default() };
        }
        let is_open = |ask: &usize| !self.ledger.asks[*ask].is_answered;
        let (told, left): (Vec<_>, Vec<_>) = shown.into_iter().partition(|(key, _)| given.contains_key(key));
        let answered = told.into_iter().map(|it| it.1).filter(is_open).collect();
        let mut left: Vec<usize> = left.into_iter().map(|it| it.1).chain(more).filter(is_open).collect();
        left.sort_unstable();
        let remaining = (!left.is_empty()).then_some(left);
        EraTurn { answered, remaining, ..EraTurn::default() }
    }

    /// Checks the answer that a legacy process gets to a question for a modern client.
    pub(super) fn replied_for_modern(&mut self, launch: Launch, ask: usize, words: &Value) -> Check {
        if self.ledger.asks[ask].wants_roots && words.get("result").is_some() {
            self.roots_told(launch, words)?;
        } else if self.turn.answered.contains(&ask) {
            self.stats.count("answers_given");
            return match words["result"] == json!({ "answer": ask }) {
                true => Ok(()),
                false => Err(format!("{launch} gets another answer to q{ask}: {words}")),
            };
        }
        if self.turn.answered.contains(&ask) {
            return Ok(());
        }
        let is_in = |it: &Pause| it.shown.iter().any(|shown| shown.1 == ask) || it.more.contains(&ask);
        let Some(at) = self.own.pauses.iter().position(|it| !it.is_over && is_in(it)) else {
            return Ok(());
        };
        let is_cancelled = words["result"] == json!({ "action": "cancel" }) || words.get("error").is_some();
        let (client, expires) = (self.own.pauses[at].client, self.own.pauses[at].expires);
        let c = &self.clients[&client];
        let is_retired = self.owner.is_retired(launch.backend) || !self.processes[&launch].is_staying();
        let is_gone = c.presence != Presence::Here || c.was_legacy;
        let is_due =
            self.own.pauses[at].is_shaken || expires <= self.now || is_gone || is_retired || self.is_ending;
        if !is_cancelled || !is_due {
            return Err(format!("{client} has not answered q{ask}, and {launch} gets {words}"));
        }
        self.own.pauses[at].is_over |= self.own.pauses[at].expires <= self.now || is_gone;
        Ok(())
    }

    /// Changes the capabilities of a client.
    pub(super) fn declares(&mut self, client: ClientId, abilities: usize) {
        let c = self.client(client);
        if c.abilities == abilities {
            return;
        }
        (c.own.abilities, c.own.home) = (abilities, None);
        self.stats.count("other_capabilities");
        self.own.pauses.iter_mut().filter(|it| it.client == client).for_each(|it| it.is_shaken = true);
    }

    /// A process has ended, and with it its paused calls, except for answered ones.
    pub(super) fn forget_pauses(&mut self, launch: Launch) {
        self.own
            .pauses
            .iter_mut()
            .filter(|it| it.launch == launch && it.held.is_none())
            .for_each(|it| it.is_over = true);
    }
}
