//! Records of calls: begun when a request is accepted, and reported once, when it is concluded. Other clients
//! pay a comparison for it. Must not decide anything about a request.

use crate::access::{Call, CallParams, Outcome};
use crate::core::Core;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId};
use crate::pending::{Asker, NOWHERE, Pending, Recorded, name_of};
use std::borrow::Cow;
use std::time::Duration;
use switchboard_protocol::{Dialect, ErrorAnswer, ErrorKind, Message, Method, Part, RawId};

/// Longest name of a tool, prompt or resource that is kept.
const MAX_ITEM_CHARS: usize = 2048;

/// The end of a call.
pub(crate) struct CallEnd {
    pub(crate) outcome: Outcome,
    pub(crate) answer_bytes: usize,
    /// The result of a tool that says itself that it failed.
    pub(crate) is_tool_error: bool,
}

impl CallEnd {
    pub(crate) fn cancelled() -> Self {
        Self { outcome: Outcome::Cancelled, answer_bytes: 0, is_tool_error: false }
    }
}

impl Core {
    /// Begins the record of a call.
    pub(crate) fn begin_record(&self, message: &Message) -> Option<Box<Recorded>> {
        is_call(message.method()).then(|| Box::new(self.recorded(message)))
    }

    fn is_audited(&self, client: ClientId) -> bool {
        let c = self.clients.get(&self.connection_of(client));
        c.is_some_and(|c| self.settings.audit.covers(c.proved_identity(), c.front()))
    }

    fn recorded(&self, message: &Message) -> Recorded {
        let params = message.part(Part::Params).filter(|_| self.settings.audit.arguments);
        Recorded {
            item: item_of(message),
            bytes: message.bytes().len(),
            params: params.map(CallParams::of),
            launch: None,
        }
    }

    /// Reports the end of a call that is closed.
    pub(crate) fn report_call(&mut self, pending: &Pending, end: CallEnd) {
        let (Some(recorded), Some(about)) = (pending.recorded().cloned(), self.about(pending)) else {
            return;
        };
        self.report_record(about, recorded, end);
    }

    /// Reports the end of a call whose entry stays, since an answer may still come.
    pub(crate) fn report_open_call(&mut self, minted: u64, end: CallEnd) {
        let Some(recorded) = self.pending.get_mut(minted).and_then(Pending::take_recorded) else { return };
        let Some(about) = self.pending.get(minted).and_then(|pending| self.about(pending)) else { return };
        self.report_record(about, *recorded, end);
    }

    /// Reports an open call that gets an error of ours, and whose entry stays.
    pub(crate) fn report_refused_open_call(&mut self, minted: u64, error: &ErrorAnswer) {
        let Some(Asker::Client { client, id, .. }) = self.pending.get(minted).map(Pending::asker) else {
            return;
        };
        let end = self.refusal_end(*client, id, error);
        self.report_open_call(minted, end);
    }

    /// Reports a closed request that got an error of ours.
    pub(crate) fn report_failed_call(&mut self, pending: &Pending, error: &ErrorAnswer) {
        let Asker::Client { client, id, .. } = pending.asker() else { return };
        let recorded = match (pending.recorded(), pending.waiting()) {
            (Some(recorded), _) => recorded.clone(),
            // Of other requests than calls only refusals are recorded.
            (None, Some(message)) if is_access_refusal(error.kind) && self.is_audited(*client) => {
                self.recorded(message)
            }
            (None, _) => return,
        };
        let end = self.refusal_end(*client, id, error);
        if let Some(about) = self.about(pending) {
            self.report_record(about, recorded, end);
        }
    }

    /// Reports a request that was refused before it was accepted.
    pub(crate) fn report_refused_call(
        &mut self,
        client: ClientId,
        id: &RawId,
        message: &Message,
        error: &ErrorAnswer,
    ) {
        let is_recorded = is_call(message.method()) || is_access_refusal(error.kind);
        if !is_recorded || !self.is_audited(client) {
            return;
        }
        let end = self.refusal_end(client, id, error);
        let about = About { client, method: name_of(message), backend: NOWHERE, took: Duration::ZERO };
        self.report_record(about, self.recorded(message), end);
    }

    fn about(&self, pending: &Pending) -> Option<About> {
        Some(About {
            client: pending.client()?,
            method: pending.name().clone(),
            backend: pending.backend(),
            took: self.clock.now().since(pending.accepted()),
        })
    }

    fn refusal_end(&self, client: ClientId, id: &RawId, error: &ErrorAnswer) -> CallEnd {
        let dialect = self.clients.get(&client).map_or(Dialect::Standard, |c| c.dialect());
        let answer_bytes = error.to_bytes(id, dialect).len();
        CallEnd { outcome: Outcome::Refused(error.kind), answer_bytes, is_tool_error: false }
    }

    fn report_record(&mut self, about: About, recorded: Recorded, end: CallEnd) {
        let About { client, method, backend, took } = about;
        let connection = self.connection_of(client);
        let asker = self.clients.get(&client);
        let server = asker.filter(|c| c.aggregate().is_none()).map(|c| c.settings().name.clone());
        let Some(c) = self.clients.get_mut(&connection) else { return };
        let call = Call {
            client: connection,
            identity: c.identity_name().cloned(),
            info: c.info(),
            front: c.front(),
            method,
            server,
            item: recorded.item,
            root: self.backends.get(&backend).and_then(|b| b.key().root.clone()),
            launch: recorded.launch,
            outcome: end.outcome,
            is_tool_error: end.is_tool_error,
            took,
            request_bytes: recorded.bytes,
            answer_bytes: end.answer_bytes,
            params: recorded.params,
        };
        self.report(Fact::Called(Box::new(call)));
    }
}

/// A request that is reported.
struct About {
    client: ClientId,
    method: Cow<'static, str>,
    backend: BackendId,
    took: Duration,
}

/// Methods that make a server do something for a client.
fn is_call(method: Method) -> bool {
    matches!(method, Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet)
}

/// Refusals that are recorded whatever the method.
fn is_access_refusal(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unauthorized | ErrorKind::Forbidden | ErrorKind::RateLimited)
}

/// The tool, prompt or resource that a request names.
pub(crate) fn item_of(message: &Message) -> Option<String> {
    let named = message.text(Part::Name).or_else(|| message.text(Part::Uri))?;
    Some(named.chars().take(MAX_ITEM_CHARS).collect())
}
