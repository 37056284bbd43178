//! Progress notifications in both directions. A token belongs to the client whose request carried it, or to
//! the server whose request did; no other peer can use it. An unknown token passes unchanged where it cannot
//! be mistaken for another's.

use crate::clients::Client;
use crate::core::Core;
use crate::event::About;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::{Asker, Pending};
use switchboard_protocol::{Dialect, Message, Outgoing, Part, Patch, RawId, dialect};

impl Core {
    /// Handles a client's progress on a server's request, or with an unknown token, which is the server's business.
    pub(crate) fn client_progress(&mut self, client: ClientId, message: &Message) {
        let minted = message.part(Part::ProgressToken).and_then(RawId::minted);
        // A minted number never passes unchanged: at the server it would name another request.
        let Some(minted) = minted.filter(|&minted| self.questions.has_minted(minted)) else {
            return self.pass_notification(client, message);
        };
        let question = self.questions.token(minted);
        let Some(own) = question.filter(|question| self.connection_of(question.client()) == client) else {
            return self.report_foreign_token(client);
        };
        let (launch, token) = (own.launch(), own.token().clone());
        let mut out = Outgoing::of(message);
        out.replace(message.span(Part::ProgressToken), Patch::Id(token));
        dialect::translate(message, Dialect::Standard, &mut out);
        self.tell_backend(launch, out);
    }

    fn report_foreign_token(&mut self, client: ClientId) {
        let what = "progress with a token that may belong to another client's request".to_owned();
        self.report(Fact::BadMessage { from: client.to_string().into(), what });
    }

    /// Handles a server's progress on a client's request, open or recently closed.
    pub(crate) fn backend_progress(&mut self, launch: Launch, message: &Message) {
        let minted = message.part(Part::ProgressToken).and_then(RawId::minted);
        if let Some((client, token, about)) = minted.and_then(|minted| self.token_owner(launch, minted)) {
            let mut out = self.for_client(client, message);
            out.replace(message.span(Part::ProgressToken), Patch::Id(token));
            self.tell_client_about(client, out, about);
            return;
        }
        // Nobody waits for news of a paused call.
        if minted.is_some_and(|minted| self.pending.get(minted).is_some_and(Pending::is_paused)) {
            return;
        }
        // A minted number that passed unchanged would name another request of the client.
        let was_minted = minted.is_some_and(|minted| self.pending.has_minted(minted));
        let only_user = self.sole_user(launch.backend).filter(|_| !was_minted);
        let may_hear = |client: &ClientId| {
            self.clients.get(client).is_some_and(Client::may_use_server)
                && !self.awaits_progress_elsewhere(*client, launch.backend)
        };
        match only_user.filter(may_hear) {
            Some(client) => {
                let out = self.for_client(client, message);
                self.tell_client_about(client, out, About::Nothing);
            }
            None => self.late_answer(launch),
        }
    }

    /// Whether a token made up by this backend could name a request of the client to another backend.
    fn awaits_progress_elsewhere(&self, client: ClientId, backend: BackendId) -> bool {
        let connection = self.connection_of(client);
        let is_elsewhere = |p: &Pending| {
            p.token().is_some()
                && p.backend() != backend
                && p.client().is_some_and(|owner| self.connection_of(owner) == connection)
        };
        self.pending.iter().any(|(_, pending)| is_elsewhere(pending))
    }

    /// The owner of a progress token. Progress extends the request's deadline.
    fn token_owner(&mut self, launch: Launch, minted: u64) -> Option<(ClientId, RawId, About)> {
        let (now, timeout) = (self.clock.now(), self.settings_of(launch.backend).timeout);
        if let Some(pending) = self.pending.get_mut(minted)
            && pending.backend() == launch.backend
        {
            pending.go_on_until(now + timeout);
            let Asker::Client { client, id, .. } = pending.asker() else { return None };
            return pending.token().cloned().map(|token| (*client, token, About::Request(id.clone())));
        }
        let closed = self.pending.closed_token(minted, launch.backend)?;
        Some((closed.client(), closed.token().clone(), About::Nothing))
    }
}
