//! Requests of servers that the config denies (`asks`). The server gets an error, and the client nothing.

use crate::core::Core;
use crate::fact::Fact;
use crate::ids::{BackendId, ClientId, Launch};
use crate::pending::name_of;
use crate::transitions::Addressee;
use crate::translation::for_modern::wants_url;
use std::borrow::Cow;
use switchboard_protocol::{ErrorAnswer, Message, Method, Part, RawId};

impl Core {
    /// Refuses a server's request that the config denies; returns whether it does.
    pub(crate) fn denies_ask(&mut self, launch: Launch, id: &RawId, message: &Message) -> bool {
        let Some(key) = self.settings_of(launch.backend).asks.denial(message) else { return false };
        let client = match self.addressee(launch, message) {
            Addressee::Client(client) => Some(client),
            Addressee::Absent | Addressee::Several => None,
        };
        self.report_denied(launch.backend, name_of(message), client);
        let error = self.ask_denied(launch.backend, key, &message.method_name());
        self.refuse_backend(launch, id, &error);
        true
    }

    /// Whether an error answer asks the client to open a URL, although elicitation is denied.
    pub(crate) fn denies_url(&mut self, backend: BackendId, client: ClientId, answer: &Message) -> bool {
        if self.settings_of(backend).asks.elicitation {
            return false;
        }
        let is_denied = wants_url(answer);
        if is_denied {
            let method = Method::Elicit.name().unwrap_or_default();
            self.report_denied(backend, Cow::Borrowed(method), Some(client));
        }
        is_denied
    }

    /// The error for an answer of a modern server that asks its client for something that the config denies.
    pub(crate) fn denies_input(
        &mut self,
        backend: BackendId,
        client: ClientId,
        answer: &Message,
    ) -> Option<ErrorAnswer> {
        let asks = self.settings_of(backend).asks;
        if asks.is_open() || !self.is_modern(backend) {
            return None;
        }
        let (key, method) = asks.denied_input(answer.part(Part::Result).unwrap_or_default())?;
        let error = self.ask_denied(backend, key, &method);
        self.report_denied(backend, Cow::Owned(method), Some(client));
        Some(error)
    }

    /// Whether a notification of a server asks for something that the config denies: by its name, or with the state of a
    /// task.
    pub(crate) fn denies_notification(&mut self, backend: BackendId, message: &Message) -> bool {
        let asks = self.settings_of(backend).asks;
        if asks.denial(message).is_some() {
            return true;
        }
        if asks.is_open() || message.method() != Method::TaskNotice {
            return false;
        }
        let params = message.part(Part::Params).unwrap_or_default();
        let Some((_, method)) = asks.denied_input(params) else { return false };
        self.report_denied(backend, Cow::Owned(method), None);
        true
    }

    fn report_denied(&mut self, backend: BackendId, method: Cow<'static, str>, client: Option<ClientId>) {
        let client = client.and_then(|client| self.clients.get(&client));
        let identity = client.map(|c| c.identity().name.clone());
        let Some(b) = self.backends.get_mut(&backend) else { return };
        let total = b.counters_mut().count_denied();
        let server = b.settings().name.clone();
        self.report(Fact::AskDenied { backend, server, method, identity, total });
    }
}
