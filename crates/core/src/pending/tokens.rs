//! Progress tokens of requests that are closed, and of questions to clients.

use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::{Asker, Pending, Progress};
use std::collections::VecDeque;
use switchboard_protocol::RawId;

/// No progress token, and no id of a task, of a real program is longer. Longer ones are not remembered.
pub(crate) const LONGEST_TOKEN: usize = 1024;

/// Tokens remembered in each queue.
pub(crate) const MAX_TOKENS: usize = 1024;

/// The progress token of a request that is closed.
#[derive(Debug)]
pub(crate) struct ClosedToken {
    pub(crate) minted: u64,
    pub(crate) client: ClientId,
    pub(crate) backend: BackendId,
    /// As the client spelled it.
    pub(crate) token: RawId,
}

/// Progress tokens of recently closed requests: some servers report progress after their answer.
#[derive(Debug, Default)]
pub(crate) struct ClosedTokens {
    /// Requests answered with a task, which runs on. Other requests do not evict them.
    pub(crate) tasks: VecDeque<ClosedToken>,
    pub(crate) others: VecDeque<ClosedToken>,
}

impl ClosedTokens {
    pub(crate) fn remember(&mut self, minted: u64, pending: &Pending) {
        let (Asker::Client { client, .. }, Some(token)) = (&pending.asker, &pending.token) else { return };
        if matches!(pending.progress, Progress::Waiting(_)) || token.as_bytes().len() > LONGEST_TOKEN {
            return;
        }
        let queue = if pending.is_task { &mut self.tasks } else { &mut self.others };
        if queue.len() == MAX_TOKENS {
            queue.pop_front();
        }
        queue.push_back(ClosedToken {
            minted,
            client: *client,
            backend: pending.backend,
            token: token.clone(),
        });
    }

    pub(crate) fn find(&self, minted: u64, backend: BackendId) -> Option<&ClosedToken> {
        let mut all = self.tasks.iter().chain(&self.others);
        all.find(|closed| closed.minted == minted && closed.backend == backend)
    }

    pub(crate) fn forget_backend(&mut self, backend: BackendId) {
        self.retain(|closed| closed.backend != backend);
    }

    pub(crate) fn keep_clients(&mut self, is_known: impl Fn(ClientId) -> bool) {
        self.retain(|closed| is_known(closed.client));
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&ClosedToken) -> bool) {
        self.tasks.retain(&keep);
        self.others.retain(&keep);
    }
}

/// The progress token of a server's question to a client.
#[derive(Debug)]
pub(crate) struct QuestionToken {
    pub(crate) minted: u64,
    pub(crate) client: ClientId,
    pub(crate) launch: Launch,
    /// As the server spelled it.
    pub(crate) token: RawId,
}

/// Progress tokens of servers' recent questions, open or answered.
#[derive(Debug, Default)]
pub(crate) struct QuestionTokens(VecDeque<QuestionToken>);

impl QuestionTokens {
    pub(crate) fn remember(&mut self, minted: u64, client: ClientId, launch: Launch, token: &RawId) {
        if token.as_bytes().len() > LONGEST_TOKEN {
            return;
        }
        if self.0.len() == MAX_TOKENS {
            self.0.pop_front();
        }
        self.0.push_back(QuestionToken { minted, client, launch, token: token.clone() });
    }

    pub(crate) fn find(&self, minted: u64) -> Option<&QuestionToken> {
        self.0.iter().find(|question| question.minted == minted)
    }

    pub(crate) fn forget_backend(&mut self, backend: BackendId) {
        self.0.retain(|question| question.launch.backend != backend);
    }
}
