//! Requests that a daemon refuses during its shutdown. An attachment that relays messages keeps them for the
//! next daemon: no server has seen them.

use crate::answers::MARK_KEY;
use crate::core::Core;
use crate::ids::Launch;
use crate::pending::{Asker, RequestState};
use serde_json::Value;
use switchboard_protocol::{ErrorKind, Message, Method};

impl Core {
    /// Whether this answer is a daemon's refusal of a request it has not acted upon.
    pub(crate) fn is_turned_away(&self, launch: Launch, minted: u64, answer: &Message) -> bool {
        let settings = self.settings_of(launch.backend);
        let Some(mark) = settings.refusal_mark.as_deref().filter(|_| settings.relays) else { return false };
        let is_kept = self.pending.get(minted).is_some_and(|pending| {
            matches!(
                (pending.asker(), pending.state()),
                (Asker::Client { .. }, RequestState::Sent(Some(_))) if pending.method() != Method::Initialize
            )
        });
        let data = || {
            let mut answer: Value = serde_json::from_slice(answer.bytes()).unwrap_or_default();
            answer["error"]["data"].take()
        };
        is_kept && {
            // All three are required: without the mark, a server behind the daemon could have sent this error
            // after acting.
            let data = data();
            data["kind"] == ErrorKind::ShuttingDown.name()
                && data["retryable"] == true
                && data[MARK_KEY] == mark
        }
    }

    /// Keeps a request for the next daemon, and all later ones.
    pub(crate) fn keep_for_next(&mut self, launch: Launch, minted: u64) {
        let Some(mut pending) = self.withdraw(minted) else { return };
        if !pending.wait_again() {
            return self.end_permit(pending.take_permit());
        }
        self.pending.insert(minted, pending);
        let Some(b) = self.backends.get_mut(&launch.backend) else { return };
        b.queue_mut().turn_away(minted);
    }
}
