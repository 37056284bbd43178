//! Progress tokens of closed requests, and of requests to clients.

use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::Pending;
use std::collections::VecDeque;
use switchboard_protocol::RawId;

/// Longest progress token or task id that is stored; no real program has a longer one.
pub(crate) const MAX_TOKEN_BYTES: usize = 1024;

/// Limit on stored tokens per queue.
const MAX_TOKENS: usize = 1024;

/// The progress token of a closed request.
#[derive(Debug)]
pub(crate) struct ClosedToken {
    minted: u64,
    client: ClientId,
    backend: BackendId,
    /// In the client's spelling.
    token: RawId,
}

impl ClosedToken {
    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    pub(crate) fn token(&self) -> &RawId {
        &self.token
    }
}

/// Progress tokens of recently closed requests: some servers report progress after their answer.
#[derive(Debug, Default)]
pub(super) struct ClosedTokens {
    /// Requests answered with a task, which continues. Other requests do not evict them.
    tasks: VecDeque<ClosedToken>,
    others: VecDeque<ClosedToken>,
}

impl ClosedTokens {
    pub(super) fn remember(&mut self, minted: u64, pending: &Pending) {
        let (Some(client), Some(token)) = (pending.client(), pending.token()) else { return };
        // Never sent: the server cannot know the token.
        if pending.waiting().is_some() || token.as_bytes().len() > MAX_TOKEN_BYTES {
            return;
        }
        let queue = if pending.is_task() { &mut self.tasks } else { &mut self.others };
        if queue.len() == MAX_TOKENS {
            queue.pop_front();
        }
        queue.push_back(ClosedToken { minted, client, backend: pending.backend(), token: token.clone() });
    }

    pub(super) fn find(&self, minted: u64, backend: BackendId) -> Option<&ClosedToken> {
        let mut all = self.tasks.iter().chain(&self.others);
        all.find(|closed| closed.minted == minted && closed.backend == backend)
    }

    pub(super) fn forget_backend(&mut self, backend: BackendId) {
        self.retain(|closed| closed.backend != backend);
    }

    pub(super) fn keep_clients(&mut self, is_known: impl Fn(ClientId) -> bool) {
        self.retain(|closed| is_known(closed.client));
    }

    fn retain(&mut self, keep: impl Fn(&ClosedToken) -> bool) {
        self.tasks.retain(&keep);
        self.others.retain(&keep);
    }
}

/// The progress token of a server's request to a client.
#[derive(Debug)]
pub(crate) struct QuestionToken {
    minted: u64,
    client: ClientId,
    launch: Launch,
    /// In the server's spelling.
    token: RawId,
}

impl QuestionToken {
    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    pub(crate) fn launch(&self) -> Launch {
        self.launch
    }

    pub(crate) fn token(&self) -> &RawId {
        &self.token
    }
}

/// Progress tokens of servers' recent requests, open or answered.
#[derive(Debug, Default)]
pub(super) struct QuestionTokens(VecDeque<QuestionToken>);

impl QuestionTokens {
    pub(super) fn remember(&mut self, minted: u64, client: ClientId, launch: Launch, token: &RawId) {
        if token.as_bytes().len() > MAX_TOKEN_BYTES {
            return;
        }
        if self.0.len() == MAX_TOKENS {
            self.0.pop_front();
        }
        self.0.push_back(QuestionToken { minted, client, launch, token: token.clone() });
    }

    pub(super) fn find(&self, minted: u64) -> Option<&QuestionToken> {
        self.0.iter().find(|question| question.minted == minted)
    }

    pub(super) fn forget_backend(&mut self, backend: BackendId) {
        self.0.retain(|question| question.launch.backend != backend);
    }
}
