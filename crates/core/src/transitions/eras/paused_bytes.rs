//! The limit on what is stored for the paused calls of one principal, in bytes: the calls, the questions about them, and
//! their answers. Servers choose the length of most of it. Must not know how a call is paused.

use crate::core::Core;
use crate::ids::Principal;
use crate::pending::{PausedCall, Pending};
use switchboard_protocol::Message;

impl Core {
    /// Whether a question may be stored until the client of this call has answered it.
    pub(super) fn may_store_question(&self, principal: Principal, call: u64, question: &Message) -> bool {
        // The call itself counts as soon as it is paused.
        let is_new = self.paused.iter().all(|(minted, _)| minted != call);
        let own = self.pending.get(call).filter(|_| is_new).map_or(0, Pending::bytes_kept);
        self.has_room_for_paused(principal, own + question.bytes().len())
    }

    /// Whether the answer to a paused call may be stored until its client continues the call.
    pub(super) fn may_store_answer(&self, principal: Principal, pending: &Pending, answer: &Message) -> bool {
        self.has_room_for_paused(principal, pending.bytes_kept() + answer.bytes().len())
    }

    fn has_room_for_paused(&self, principal: Principal, bytes: usize) -> bool {
        let own = self.paused.iter().filter(|(_, call)| call.principal == principal);
        let stored: usize = own.map(|(minted, call)| self.bytes_of_paused(minted, call)).sum();
        // The first question may have any size, like the first request of a client.
        stored == 0 || stored + bytes <= self.settings.limits.client_bytes
    }

    fn bytes_of_paused(&self, minted: u64, call: &PausedCall) -> usize {
        let open = self.pending.get(minted).map_or(0, Pending::bytes_kept);
        let ids = call.questions.iter().filter_map(|(question, _)| self.questions.get(*question));
        let ids: usize = ids.map(|question| question.id_bytes()).sum();
        let texts: usize = call.questions.iter().map(|(_, request)| request.bytes_kept()).sum();
        let end = call.end.as_ref().map_or(0, |end| {
            end.pending.bytes_kept() + end.answer.as_ref().map_or(0, |(answer, _)| answer.bytes().len())
        });
        open + ids + texts + end
    }
}
