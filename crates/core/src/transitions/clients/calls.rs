//! Limits on calls: a call is admitted before it is accepted, and its permit ends with it. Must not know how the
//! limiter decides.

use crate::access::{CallAttempt, Permit};
use crate::core::Core;
use crate::fact::Fact;
use crate::ids::ClientId;
use crate::servers::Server;
use crate::transitions::clients::filters::said;
use switchboard_protocol::{ErrorAnswer, Message, Method, Part};

impl Core {
    /// Admits a call of a client, or says why not. A refused call was not sent and counts nowhere else.
    pub(crate) fn begin_call(
        &mut self,
        client: ClientId,
        message: &Message,
    ) -> Result<Option<Permit>, ErrorAnswer> {
        if !is_limited_method(message) {
            return Ok(None);
        }
        let Some(c) = self.clients.get(&client) else { return Ok(None) };
        let is_limited = self.servers.get(c.server()).is_some_and(|server| server.call_limits().is_some());
        let is_open = || c.identity().limits_with(&self.settings.identity_limits).is_open();
        match !is_limited && self.settings.limiter.is_default() && is_open() {
            true => Ok(None),
            false => self.begin_limited(client, message),
        }
    }

    fn begin_limited(&mut self, client: ClientId, message: &Message) -> Result<Option<Permit>, ErrorAnswer> {
        let Some(c) = self.clients.get(&client) else { return Ok(None) };
        let (identity, id, server) = (c.identity().clone(), c.server(), c.settings().name.clone());
        let tool = message.text(Part::Name).filter(|_| message.method() == Method::ToolsCall);
        let call = CallAttempt {
            identity: &identity,
            identity_limits: identity.limits_with(&self.settings.identity_limits),
            server: &server,
            server_limits: self.servers.get(id).and_then(Server::call_limits),
            tool: tool.as_deref(),
        };
        let now = self.clock.now();
        let refusal = match self.limiter.begin(&call, now) {
            Ok(permit) => return Ok(permit),
            Err(refusal) => refusal,
        };
        // Under the name that the client knows.
        let tool = tool.map(|_| said(message, Part::Name));
        let error = self.rate_limited(&identity, &server, tool.as_deref(), &refusal);
        if let Some(refused) = self.refusals.count(refusal.scope, id, &identity.name, now) {
            let hint = self.limit_hint(&identity, &server, &refusal);
            let identity = identity.name.clone();
            self.report(Fact::RateLimited { identity, server, limit: refusal.scope, refused, hint });
        }
        Err(error)
    }

    /// Stores the permit of an accepted call.
    pub(crate) fn give_permit(&mut self, minted: u64, permit: Option<Permit>) {
        if permit.is_none() {
            return;
        }
        match self.pending.get_mut(minted) {
            Some(pending) => pending.set_permit(permit),
            None => self.end_permit(permit),
        }
    }

    pub(crate) fn end_permit(&mut self, permit: Option<Permit>) {
        if let Some(permit) = permit {
            self.limiter.end(permit);
        }
    }

    /// For the simulator: permits that are held, by the limiter's count and by counting calls.
    pub fn permits(&self) -> (usize, usize) {
        (self.limiter.held(), self.pending.iter().filter(|(_, pending)| pending.has_permit()).count())
    }
}

/// Methods that limits count.
const LIMITED: [Method; 3] = [Method::ToolsCall, Method::ResourcesRead, Method::PromptsGet];

/// Whether limits count a message. Another letter case must not lead around them: a server may ignore it.
pub(super) fn is_limited_method(message: &Message) -> bool {
    let is_meant = |limited: &Method| {
        limited.name().is_some_and(|name| name.eq_ignore_ascii_case(&message.method_name()))
    };
    match message.method() {
        Method::Other => LIMITED.iter().any(is_meant),
        method => LIMITED.contains(&method),
    }
}
