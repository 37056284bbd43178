//! Modern clients of a legacy server, which the server sees as legacy clients. What the legacy era lacks is handled here:
//! discovery, subscriptions, and log messages of a single request. Must not know processes.

use crate::backends::Backend;
use crate::catalogue::List;
use crate::clients::Level;
use crate::core::Core;
use crate::event::About;
use crate::ids::{BackendId, ClientId};
use crate::messages::{log_rank, own_message, same_spelling};
use crate::pending::{Asker, Pending};
use crate::translation::for_modern;
use switchboard_protocol::{Era, Message, Method, Outgoing, Part, RawId, modern};

impl Core {
    /// Handles requests of a modern client that Switchboard answers instead of its legacy server. Returns any other
    /// request.
    pub(crate) fn translated_request(
        &mut self,
        client: ClientId,
        id: &RawId,
        batch: Option<u32>,
        message: Message,
    ) -> Option<Message> {
        let c = self.clients.get(&client).filter(|c| c.is_translated());
        let Some(is_plain) = c.map(|c| c.is_plain()) else { return Some(message) };
        match message.method() {
            method if !is_modern(method) => {
                let error = self.not_offered(&message.method_name());
                self.refuse(client, id, batch, &message, &error);
                None
            }
            // Otherwise the request waits for a process, like any other.
            Method::Listen if is_plain && self.is_welcomed(client) => {
                self.open_listen(client, id.clone(), batch, message);
                None
            }
            _ => self.continue_call(client, id, batch, message),
        }
    }

    /// Whether the server of a client has completed its handshake.
    pub(super) fn is_welcomed(&self, client: ClientId) -> bool {
        let home = self.clients.get(&client).and_then(|c| c.home());
        home.and_then(|home| self.backends.get(&home)).is_some_and(|b| b.handshake().has_welcome())
    }

    /// Answers `server/discover` from the handshake of a legacy server, and applies the log level of a request that is
    /// about to be sent. Returns whether the request is done.
    pub(crate) fn is_answered_for_legacy_server(&mut self, minted: u64) -> bool {
        let Some(pending) = self.pending.get(minted) else { return false };
        let (backend, method) = (pending.backend(), pending.method());
        let Some(client) = pending.client() else { return false };
        let is_legacy = |b: &Backend| !b.settings().relays && b.handshake().era() == Era::Legacy;
        let is_declared = pending.waiting().is_some_and(|request| request.has(Part::MetaVersion));
        if !is_declared || !self.backends.get(&backend).is_some_and(is_legacy) {
            return false;
        }
        if method == Method::Listen {
            if let Some(message) = pending.waiting().cloned() {
                self.open_waiting_listen(client, minted, message);
            }
            return true;
        }
        if method != Method::Discover {
            let level = pending.waiting().and_then(|message| message.part(Part::MetaLogLevel));
            if let Some(level) = level.map(<[u8]>::to_vec) {
                self.want_log(client, backend, &level);
            }
            return false;
        }
        let introduction = self.backends.get(&backend).and_then(Backend::introduction);
        match introduction.and_then(|it| for_modern::discovered(&it)) {
            Some(result) => self.conclude_with(minted, &result),
            None => {
                let error = self.bad_answer(backend, "a handshake without capabilities");
                self.fail_one(minted, &error);
            }
        }
        true
    }

    /// Refuses a request from before its client's latest handshake that has come to a process in which nothing has prepared
    /// it: one that waits for the second half of that handshake, or one of the modern era. Returns whether it is one.
    pub(crate) fn is_superseded(&mut self, minted: u64) -> bool {
        let Some(pending) = self.pending.get(minted) else { return false };
        let (Some(client), Some(message)) = (pending.client(), pending.waiting()) else { return false };
        if matches!(message.method(), Method::Initialize | Method::Ping) {
            return false;
        }
        let Some(b) = self.backends.get(&pending.backend()).filter(|b| !b.settings().relays) else {
            return false;
        };
        let is_unprepared = match b.handshake().era() {
            Era::Legacy => !b.handshake().is_initialized(),
            Era::Modern => !message.has(Part::MetaVersion),
        };
        // Nearly all requests, without a look at their client.
        if !is_unprepared {
            return false;
        }
        let c = self.clients.get(&self.connection_of(client));
        if !c.is_some_and(|c| !c.speaks_modern() && c.has_begun_anew_since(minted)) {
            return false;
        }
        let error = self.superseded();
        self.fail_one(minted, &error);
        true
    }

    /// Refuses a request without a declaration that would go to a modern server: its client has declared nothing when it
    /// sent it, and speaks the modern era since. Returns whether it is one.
    pub(crate) fn is_undeclared_at_modern(&mut self, minted: u64) -> bool {
        let Some(pending) = self.pending.get(minted) else { return false };
        let is_its = pending.waiting().is_some_and(|request| {
            let is_free = matches!(request.method(), Method::Initialize | Method::Discover | Method::Ping);
            !is_free && !request.has(Part::MetaVersion)
        });
        let speaks_modern = |client| self.clients.get(&client).is_some_and(|c| c.is_modern());
        let is_its = is_its && pending.client().is_some_and(speaks_modern);
        let is_modern = |b: &Backend| !b.settings().relays && b.handshake().era() == Era::Modern;
        if !is_its || !self.backends.get(&pending.backend()).is_some_and(is_modern) {
            return false;
        }
        let error = self.undeclared(&modern::Undeclared::Missing(modern::VERSION));
        self.fail_one(minted, &error);
        true
    }

    /// Makes sure that a legacy server sends log messages of this level (JSON).
    fn want_log(&mut self, client: ClientId, backend: BackendId, level: &[u8]) {
        let introduction = self.backends.get(&backend).and_then(Backend::introduction);
        let logs = introduction.is_some_and(|it| for_modern::logs(&it));
        let Some(rank) = log_rank(level).filter(|_| logs) else { return };
        let connection = self.connection_of(client);
        let level = String::from_utf8_lossy(level);
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":0,"method":"logging/setLevel","params":{{"level":{level}}}}}"#);
        let Some(wanted) = own_message(request.into()).as_ref().and_then(Level::of) else { return };
        for it in [client, connection] {
            // The server gets the lowest requested level; each request gets only messages of its own level.
            if let Some(c) = self.clients.get_mut(&it)
                && c.level().is_none_or(|level| level.rank() > rank)
            {
                c.set_level(wanted.clone());
            }
        }
        self.keep_level(backend, None);
    }

    /// Passes a notification of a legacy server to a modern client, on its subscriptions or for one of its requests. Other
    /// notifications do not exist in the modern era.
    pub(crate) fn tell_modern(&mut self, client: ClientId, backend: BackendId, message: &Message) {
        match message.method() {
            Method::LogMessage => self.log_for_modern(client, backend, message),
            Method::ResourceUpdated => self.resource_for_modern(client, message),
            method if method.is_list_change() => {
                let b = self.backends.get(&backend);
                if b.is_some_and(|b| b.announced_changes().includes_change(method)) {
                    self.tell_listens_of_change(client, method);
                }
            }
            _ => {}
        }
    }

    /// Passes a log message, which names no request, to a request only while the server works on no other request of any
    /// client.
    fn log_for_modern(&mut self, client: ClientId, backend: BackendId, message: &Message) {
        let rank = message.part(Part::Level).and_then(log_rank);
        let at_work = self.pending.ids(|p| p.was_sent_to(backend) && may_log(p));
        let is_certain = at_work.len() == 1 && !self.may_work_on_ended(backend);
        let wants =
            |minted: &&u64| self.pending.get(**minted).is_some_and(|p| p.is_wanted() && p.admits_log(rank));
        // Only the latest such request counts, so that a dropped message is reported once.
        let Some(pending) = at_work.iter().rfind(wants).and_then(|minted| self.pending.get(*minted)) else {
            return;
        };
        let Asker::Client { client: owner, id, .. } = pending.asker().clone() else { return };
        match is_certain {
            _ if owner != client => {}
            true => {
                let out = self.for_client(client, message);
                self.tell_client_about(client, out, About::Request(id));
            }
            false => self.report_unheard(backend, message),
        }
    }

    fn resource_for_modern(&mut self, client: ClientId, message: &Message) {
        let uri = same_spelling(message.part(Part::Uri).unwrap_or_default()).into_owned();
        let connection = self.connection_of(client);
        let public = self.public_uri(connection, client, &uri);
        for listen in self.listens(connection).into_iter().filter(|it| it.includes_resource(&public)) {
            if let Some(notice) = for_modern::on_subscription(message, &listen.id) {
                self.tell_listener(client, listen.id, &notice);
            }
        }
    }

    /// Turns the error −32042 (URLs must be opened first) into `input_required`. Returns whether it was such an error.
    pub(crate) fn wants_url_first(&mut self, pending: &Pending, error: &Message) -> bool {
        if !for_modern::wants_url(error) {
            return false;
        }
        let requests = for_modern::url_requests(error);
        !requests.is_empty() && self.ask_to_repeat(pending, &requests)
    }

    /// Adds the members of the modern era to the answer of a legacy server, or replaces its error code.
    pub(crate) fn put_modern_members(
        &self,
        client: ClientId,
        answer: (&Message, Method),
        failed: bool,
        out: &mut Outgoing,
    ) {
        let (answer, method) = answer;
        if !failed {
            return for_modern::complete(answer, method, out);
        }
        let opens_urls = self.clients.get(&client).is_some_and(|c| c.declares(&for_modern::Need::Url));
        for_modern::put_error_code(answer, opens_urls, out);
    }
}

/// Whether log messages about a request may be private to its client. Our own requests for lists are made for all clients,
/// so log messages about them are not. Ended requests are counted separately.
fn may_log(p: &Pending) -> bool {
    let is_for_all =
        matches!(p.asker(), Asker::Catalogue { .. }) || matches!(p.method(), Method::Ping | Method::SetLevel);
    !p.is_cancelled() && !is_for_all
}

/// A legacy server's list with the members of the modern era.
pub(crate) fn as_modern_list(answer: Message, method: Method) -> Message {
    if List::of(method).is_none() {
        return answer;
    }
    let answer = for_modern::without_execution(&answer).unwrap_or(answer);
    let mut out = Outgoing::of(&answer);
    for_modern::complete(&answer, method, &mut out);
    own_message(out.on_one_line().to_vec().into()).unwrap_or(answer)
}

/// Whether Switchboard may answer a request of a modern client instead of a legacy server.
pub(super) fn is_for_us(message: &Message) -> bool {
    !is_modern(message.method()) || message.has(Part::RequestState)
}

/// Whether a method exists in the modern era. Methods about tasks do not count, since legacy servers have other tasks.
fn is_modern(method: Method) -> bool {
    let is_about_tasks = matches!(
        method,
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksList | Method::TaskResult
    );
    !is_about_tasks && !modern::is_removed(method)
}
