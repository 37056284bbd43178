//! Accepted requests on their way to a backend: queued, or written under their minted id. Must not decide whether a
//! request is accepted.

use crate::access::replace_roots;
use crate::core::{Core, Followup};
use crate::event::Action;
use crate::fact::Fact;
use crate::ids::BackendId;
use crate::messages::root_entry;
use crate::pending::{Asker, RequestState};
use crate::routing::path;
use crate::transitions::item_of;
use crate::translation::for_modern::{as_legacy, may_be_continued};
use switchboard_protocol::{Dialect, Era, Method, Outgoing, Part, Patch, RawId, dialect};

impl Core {
    /// Sends an accepted request to its backend, or queues it there.
    pub(crate) fn hand_to(&mut self, minted: u64, backend: BackendId) {
        let Some(pending) = self.pending.get_mut(minted) else { return };
        pending.route_to(backend);
        let method = pending.method();
        // Pings must not keep an idle backend running.
        if method != Method::Ping {
            self.touch(backend);
            self.watch_health(backend);
        }
        let is_too_early = self.is_too_early(minted);
        if !matches!(method, Method::Initialize | Method::Ping)
            && let Some(b) = self.backends.get_mut(&backend)
        {
            // Marked before the send: a process started for this request counts as used from the start.
            b.mark_used();
        }
        if self.may_go(backend, method) && !is_too_early && !self.waits_for_other_call(minted) {
            return self.send(minted);
        }
        self.queue(minted, backend);
        let Some(b) = self.backends.get(&backend) else { return };
        if !b.is_ready() {
            self.ensure_started(backend);
        } else if is_too_early {
            self.greet_anew(backend);
        } else if b.must_check_first(method) {
            self.check_tools(backend);
        } else if b.has_free_turn() {
            // The request may overtake calls that wait for another call.
            self.followups.push(Followup::GiveTurn { backend });
        }
        let settings = self.settings_of(backend);
        if self.backends.waits_for_room(backend)
            && let Some(pending) = self.pending.get_mut(minted)
        {
            // Time spent waiting for others does not count.
            let deadline = pending.deadline_in_line(&settings, self.clock.now());
            pending.set_deadline(deadline);
            self.clock.wake_at(deadline);
        }
    }

    /// Writes a queued request to its backend, under its minted id and token.
    pub(crate) fn send(&mut self, minted: u64) {
        // A request that waited in the queue may still need the server's templates.
        if let Some(pending) = self.pending.get(minted).filter(|pending| pending.is_undecided()) {
            return self.decide(minted, pending.backend(), Vec::new());
        }
        if let Some(pending) = self.pending.get(minted).filter(|pending| self.names_anothers_task(pending)) {
            let Some(request) = pending.waiting() else { return };
            let error = self.no_such_task(request);
            return self.fail_one(minted, &error);
        }
        if self.is_superseded(minted)
            || self.is_continued_late(minted)
            || self.is_answered_for_legacy_server(minted)
            || self.is_undeclared_at_modern(minted)
        {
            return;
        }
        self.take_turn(minted);
        let Some(pending) = self.pending.get_mut(minted) else { return };
        let Some(b) = self.backends.get(&pending.backend()) else { return };
        let (deadline, relays) =
            (pending.deadline_if_sent(b.settings(), self.clock.now()), b.settings().relays);
        let asks = b.settings().asks;
        let is_legacy = !relays && b.handshake().era() == Era::Legacy;
        let Some(launch) = b.launch() else { return };
        // From here on the request counts as sent: after a crash it is repeated only if its message was kept.
        let RequestState::Waiting(message) = pending.mark_sent() else { return };
        // The request and its process decide, since the client may have declared something else before or since.
        let is_for_modern = is_legacy && message.has(Part::MetaVersion) && pending.client().is_some();
        let message = if is_for_modern {
            pending.mark_translated();
            if may_be_continued(message.method()) {
                pending.keep_words(&message);
            }
            as_legacy(message)
        } else {
            message
        };
        if let Some(recorded) = pending.recorded_mut() {
            // The name may have been replaced with the server's own since.
            (recorded.item, recorded.launch) = (item_of(&message), Some(launch));
        }
        let ours = RawId::from_number(minted);
        let is_initialize = pending.method() == Method::Initialize;
        // The client's own message is kept: it may go to another server, too.
        let declares = is_initialize || message.has(Part::MetaCapabilities);
        let declared = Some(&message).filter(|_| declares).and_then(|message| asks.declared(message));
        let said = declared.as_ref().unwrap_or(&message);
        let mut out = Outgoing::of(said);
        out.replace(said.span(Part::Id), Patch::Id(ours.clone()));
        if pending.token().is_some() {
            out.replace(said.span(Part::MetaProgressToken), Patch::Id(ours));
        }
        // Servers get the standard dialect, whatever the client speaks.
        dialect::translate(said, Dialect::Standard, &mut out);
        let is_elsewhere = |client| self.clients.get(&client).is_some_and(|c| c.is_elsewhere());
        if said.has(Part::MetaVersion) && pending.client().is_some_and(is_elsewhere) {
            // As in the answer to `roots/list`.
            let style = self.settings.roots.policy.style;
            let root = b.key().root.as_ref().map(|root| path::to_uri(root, style));
            let own = root.map(|uri| root_entry(&uri)).unwrap_or_default();
            replace_roots(said, &format!("[{own}]"), &mut out);
        }
        pending.set_deadline(deadline);
        if let Asker::Client { client, id, .. } = pending.asker()
            && self.settings.report_routes
        {
            let (client, method, id) =
                (self.clients.connection_of(*client), pending.name().clone(), id.clone());
            let backend = pending.backend();
            self.actions.push(Action::Report(Fact::Routed { client, backend, method, id, minted }));
        }
        // Assumed to be accepted; `level_answered` corrects it.
        if pending.method() == Method::SetLevel
            && let Some(b) = self.backends.get_mut(&launch.backend)
        {
            b.set_level(message.part(Part::Level).map(<[u8]>::to_vec));
        }
        let (backend, method, client) = (pending.backend(), pending.method(), pending.client());
        let leaves_traces = matches!(
            pending.method(),
            Method::Initialize | Method::Subscribe | Method::Unsubscribe | Method::Listen
        );
        // A daemon in shutdown may refuse any request.
        if pending.method().is_repeatable() || leaves_traces || relays {
            pending.keep_sent(message);
        }
        if let Some(client) = client {
            // Recorded before the bytes go out: the server may send something about this client right after.
            self.record_user(backend, client, method);
        }
        self.clock.wake_at(deadline);
        self.send_to_backend(launch, out);
    }
}
