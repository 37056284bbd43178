//! Continuations of paused calls: the client's answers go to the server, and the call continues or is paused again. Must
//! not know when a call is paused.

use crate::core::Core;
use crate::ids::ClientId;
use crate::messages::own_message;
use crate::pending::{Asker, CallState, PausedCall, PausedEnd, Pending, Recorded};
use crate::translation::for_modern::{Answers, InputRequest, digest, may_be_continued};
use switchboard_protocol::{Era, Message, Part, RawId, prune};

impl Core {
    /// Continues a paused call. Returns the request if it is to be sent like any other.
    pub(crate) fn continue_call(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        message: Message,
    ) -> Option<Message> {
        let is_continued = message.has(Part::RequestState) && may_be_continued(message.method());
        let c = self.clients.get(&client).filter(|c| is_continued && c.is_translated());
        let Some(c) = c else { return Some(message) };
        let (principal, server, now) = (c.principal(), c.server(), self.clock.now());
        let state = message.text(Part::RequestState).and_then(|text| self.paused.open(&text));
        let is_its = |it: &CallState| {
            it.principal == principal
                && it.server == server
                && it.expires > now
                && it.digest == digest(&message)
        };
        let call = match state.filter(is_its) {
            Some(CallState { paused: Some(minted), round, .. }) => {
                self.paused.take((minted, round)).map(|call| (minted, call))
            }
            Some(CallState { paused: None, round, .. }) => match self.paused.take_refused(round) {
                // Its server has refused it, and not run it.
                Some(wanted) if Answers::of(&message).accept(&wanted) => return Some(without_input(message)),
                Some(_) => {
                    let error = self.input_declined(server);
                    self.refuse(client, id, batch, &message, &error);
                    return None;
                }
                None => None,
            },
            None => None,
        };
        let is_open = |minted: u64| self.pending.get(minted).is_some_and(Pending::is_paused);
        match call.filter(|(minted, call)| call.end.is_some() || is_open(*minted)) {
            Some((minted, call)) => {
                let mut is_audited = false;
                if let Some(c) = self.clients.get_mut(&self.clients.connection_of(client)) {
                    c.request_accepted();
                    is_audited = self.settings.audit.covers(c.proved_identity(), c.front());
                }
                let recorded = if is_audited { self.begin_record(&message) } else { None };
                let asker = Asker::Client { client, id: id.clone(), batch };
                self.resume((minted, call), asker, &message, recorded);
            }
            None => {
                let error = self.input_expired();
                self.refuse(client, id, batch, &message, &error);
            }
        }
        None
    }

    /// Continues the call of a request that was accepted before it was known who answers it, and is about to be sent. What is
    /// not continued is refused: the call may have run, so it must not run as a new one. Returns whether it is done.
    pub(crate) fn is_continued_late(&mut self, minted: u64) -> bool {
        let Some(pending) = self.pending.get(minted) else { return false };
        let (Some(client), Some(message)) = (pending.client(), pending.waiting()) else { return false };
        if !message.has(Part::RequestState) || !may_be_continued(message.method()) {
            return false;
        }
        let Some(b) = self.backends.get(&pending.backend()).filter(|b| !b.settings().relays) else {
            return false;
        };
        let is_ours =
            || message.text(Part::RequestState).is_some_and(|text| self.paused.open(&text).is_some());
        let is_translated = self.clients.get(&client).is_some_and(|c| c.is_translated());
        match b.handshake().era() {
            // The state of a modern server is its own business.
            Era::Modern if !is_ours() => return false,
            Era::Legacy if !message.has(Part::MetaVersion) => return false,
            Era::Legacy if is_translated => {}
            Era::Legacy | Era::Modern => {
                let error = self.input_expired();
                self.fail_one(minted, &error);
                return true;
            }
        }
        let message = message.clone();
        let Some(mut pending) = self.close(minted) else { return true };
        let (permit, backend) = (pending.take_permit(), pending.backend());
        let Asker::Client { id, batch, .. } = pending.asker().clone() else {
            self.end_permit(permit);
            return true;
        };
        // Accepted again, so the first acceptance is undone.
        self.one_fewer(client);
        match self.continue_call(client, &id, batch, message) {
            Some(message) => {
                let minted = self.accept(client, backend, id, batch, message);
                self.give_permit(minted, permit);
                self.hand_to(minted, backend);
            }
            None => self.end_permit(permit),
        }
        true
    }

    /// Gives a paused call to the client that continues it, and the client's answers to the server.
    fn resume(
        &mut self,
        (minted, call): (u64, PausedCall),
        asker: Asker,
        message: &Message,
        recorded: Option<Box<Recorded>>,
    ) {
        let &Asker::Client { client: by, .. } = &asker else { return };
        let paused = self.clock.now().since(call.since);
        if let Some(PausedEnd { launch, mut pending, answer }) = call.end {
            pending.resume(asker, message, paused, self.clock.now());
            pending.record(recorded);
            // They may belong to another call.
            let (open, _) = self.give_answers((minted, by), call.questions, message);
            self.end_questions(open);
            return match answer {
                Some((answer, failed)) => self.deliver(launch, pending, answer, failed),
                None => {
                    let error = self.answer_not_kept(launch.backend);
                    self.fail(&pending, &error);
                    self.check_drained();
                }
            };
        }
        let Some(pending) = self.pending.get_mut(minted) else { return };
        let timeout = self.backends.get(&pending.backend()).map(|b| b.settings().timeout).unwrap_or_default();
        pending.resume(asker, message, paused, self.clock.now() + timeout);
        pending.record(recorded);
        let deadline = pending.deadline();
        self.clock.wake_at(deadline);
        let (open, is_answered) = self.give_answers((minted, by), call.questions, message);
        let open = self.refuse_undeclared((minted, by), open, message);
        if !open.is_empty() {
            // Otherwise a client could hold up the server for ever.
            self.pause(minted, open, (!is_answered).then_some(call.expires));
        }
    }

    /// Answers the questions whose capability the continuation does not declare, although the call may have. Returns the
    /// others.
    fn refuse_undeclared(
        &mut self,
        (call, by): (u64, ClientId),
        mut questions: Vec<(u64, InputRequest)>,
        message: &Message,
    ) -> Vec<(u64, InputRequest)> {
        let is_undeclared = |(_, request): &mut (u64, InputRequest)| !request.is_declared_by(message);
        let undeclared: Vec<(u64, InputRequest)> = questions.extract_if(.., is_undeclared).collect();
        for (question, request) in undeclared {
            let Some(asked) = self.questions.remove(question) else { continue };
            match asked.launch() {
                Some(_) if asked.is_for_roots() => self.end_roots_question(&asked, call, by),
                Some(launch) => {
                    let error = self.not_declared(launch.backend, asked.name(), Some(request.need()));
                    self.refuse_question(&asked, &error);
                }
                None => {}
            }
        }
        questions
    }

    /// Gives the answers in a continuation to the server. Returns the questions without one, and whether there was any
    /// answer.
    fn give_answers(
        &mut self,
        (call, by): (u64, ClientId),
        questions: Vec<(u64, InputRequest)>,
        message: &Message,
    ) -> (Vec<(u64, InputRequest)>, bool) {
        let answers = Answers::of(message);
        let (mut open, mut is_answered) = (Vec::new(), false);
        for (question, request) in questions {
            let Some(asked) = self.questions.get(question) else { continue };
            let client = self.connection_of(asked.client());
            let result = answers.to(&request.key);
            if let Some(result) = result.filter(|_| asked.is_for_roots()) {
                self.roots_shown(question, call, by, result);
                is_answered = true;
                continue;
            }
            let answer = result.map(|result| answer_to(question, result));
            match answer.and_then(|text| own_message(text.into())) {
                Some(answer) => {
                    self.client_response(client, &answer, false);
                    is_answered = true;
                }
                None => open.push((question, request)),
            }
        }
        // Roots that became known during the pause.
        open.retain(|(question, _)| !self.knows_roots(*question, call, by));
        (open, is_answered)
    }
}

/// A call that is sent again, after its server has refused it: to the server it is a new one.
fn without_input(message: Message) -> Message {
    prune::without(&message, &[&["params", "requestState"], &["params", "inputResponses"]]).unwrap_or(message)
}

fn answer_to(question: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{question},"result":{result}}}"#)
}
