//! Paused calls: calls of modern clients whose legacy server has asked a question. The call stays open at its server; its
//! client has got `input_required` and is to continue the call. Must not know how questions are worded.

use crate::ids::{ClientId, Launch, Principal, ServerId};
use crate::moment::Moment;
use crate::pending::Pending;
use crate::pending::seal::{CallState, Seal};
use crate::translation::for_modern::InputRequest;
use std::collections::BTreeMap;
use switchboard_protocol::Message;

/// Limit on refused calls of one principal that can be sent again. Further ones replace the oldest.
const MAX_REFUSED_CALLS: usize = 16;

/// One paused call.
#[derive(Debug)]
pub(crate) struct PausedCall {
    /// The client that made the call, or the last one that continued it.
    pub(crate) client: ClientId,
    pub(crate) principal: Principal,
    pub(crate) server: ServerId,
    pub(crate) digest: [u8; 32],
    pub(crate) since: Moment,
    pub(crate) expires: Moment,
    /// Number of the pause. A state is valid for one pause.
    pub(crate) round: u64,
    /// Unanswered questions of the server, by minted id.
    pub(crate) questions: Vec<(u64, InputRequest)>,
    /// The server's answer, if it came before the continuation.
    pub(crate) end: Option<PausedEnd>,
}

/// A server's answer to a paused call.
#[derive(Debug)]
pub(crate) struct PausedEnd {
    pub(crate) launch: Launch,
    pub(crate) pending: Pending,
    /// The answer, and whether it is an error; `None` for one that was too long to be stored.
    pub(crate) answer: Option<(Message, bool)>,
}

/// A call that its server refused until the user opens URLs. It is then sent again.
#[derive(Debug)]
struct RefusedCall {
    principal: Principal,
    expires: Moment,
    /// The names of the requests that the client must accept.
    wanted: Vec<String>,
}

/// All paused calls by the minted id of the call, and the seal of their states.
#[derive(Debug)]
pub(crate) struct PausedCalls {
    calls: BTreeMap<u64, PausedCall>,
    /// Refused calls by the round of their states.
    refused: BTreeMap<u64, RefusedCall>,
    seal: Seal,
    rounds: u64,
}

impl PausedCalls {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { calls: BTreeMap::new(), refused: BTreeMap::new(), seal: Seal::new(key), rounds: 0 }
    }

    /// Time to drop the oldest kept answer. The deadline of an open call is that of its request.
    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        self.calls.values().filter(|call| call.end.is_some()).map(|call| call.expires).min()
    }

    pub(crate) fn get_mut(&mut self, minted: u64) -> Option<&mut PausedCall> {
        self.calls.get_mut(&minted)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &PausedCall)> {
        self.calls.iter().map(|(minted, call)| (*minted, call))
    }

    /// Whether a question belongs to a paused call.
    pub(crate) fn has_question(&self, question: u64) -> bool {
        self.calls.values().any(|call| call.questions.iter().any(|(own, _)| *own == question))
    }

    /// Adds a call. Returns the state that continues it.
    pub(crate) fn insert(&mut self, minted: u64, mut call: PausedCall) -> String {
        self.rounds += 1;
        call.round = self.rounds;
        let state = CallState {
            paused: Some(minted),
            round: call.round,
            principal: call.principal,
            server: call.server,
            digest: call.digest,
            expires: call.expires,
        };
        self.calls.insert(minted, call);
        self.seal.close(&state)
    }

    /// Removes and returns the call that a state continues; `None` if the call is no longer paused, or was already
    /// continued.
    pub(crate) fn take(&mut self, (minted, round): (u64, u64)) -> Option<PausedCall> {
        self.calls.get(&minted).filter(|call| call.round == round)?;
        self.calls.remove(&minted)
    }

    pub(crate) fn remove(&mut self, minted: u64) -> Option<PausedCall> {
        self.calls.remove(&minted)
    }

    /// Removes calls that have failed at their server, for example with its process.
    pub(crate) fn keep_open(&mut self, is_open: impl Fn(u64) -> bool) {
        self.calls.retain(|minted, call| call.end.is_some() || is_open(*minted));
    }

    /// Answered calls that were not continued in time.
    pub(crate) fn expired_ends(&self, now: Moment) -> Vec<u64> {
        let is_over = |call: &PausedCall| call.end.is_some() && call.expires <= now;
        self.calls.iter().filter(|(_, call)| is_over(call)).map(|(minted, _)| *minted).collect()
    }

    /// Adds a call that its server refused until the client accepts these requests. Returns its round, and the state that
    /// sends it again.
    pub(crate) fn insert_refused(
        &mut self,
        mut state: CallState,
        wanted: Vec<String>,
        now: Moment,
    ) -> (u64, String) {
        self.refused.retain(|_, call| call.expires > now);
        let own = || self.refused.iter().filter(|(_, call)| call.principal == state.principal);
        if own().count() >= MAX_REFUSED_CALLS
            && let Some(oldest) = own().next().map(|(round, _)| *round)
        {
            self.refused.remove(&oldest);
        }
        self.rounds += 1;
        state.round = self.rounds;
        let (principal, expires) = (state.principal, state.expires);
        self.refused.insert(state.round, RefusedCall { principal, expires, wanted });
        (state.round, self.seal.close(&state))
    }

    /// Removes a refused call and returns the requests that the client must accept; `None` if the state was already used.
    pub(crate) fn take_refused(&mut self, round: u64) -> Option<Vec<String>> {
        self.refused.remove(&round).map(|call| call.wanted)
    }

    pub(crate) fn open(&self, text: &str) -> Option<CallState> {
        self.seal.open(text)
    }
}
