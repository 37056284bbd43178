//! The handshake, and its repetition after the server lost our session.

use super::fault::Fault;
use super::requests::RemoteRequest;
use super::session::{self, RemoteSession};
use super::{CLOSE_TIMEOUT, Endpoint, Remote};
use crate::backends::BackendOrder;
use crate::config::Transport;
use crate::io::reader::events;
use std::pin::Pin;
use std::sync::Arc;
use switchboard_core::Event;
use switchboard_protocol::{Frame, Message, Method, Outgoing};

/// Lists whose change is announced to clients after a renewed session.
const CHANGES: [&str; 3] = ["tools", "prompts", "resources"];

impl Remote {
    /// Performs a client's own handshake and detects the server's transport.
    pub(super) async fn greet(self: &Arc<Self>, request: &RemoteRequest) -> Result<(), Fault> {
        let before = self.session();
        let number = before.number + 1;
        if self.is_legacy() {
            // The stream must exist first, since the answer comes on it.
            self.open_legacy(number).await?;
        }
        let (answer, id) = match self.ask(request, &RemoteSession::default()).await {
            Err(fault)
                if fault.may_be_older() && self.target.transport == Transport::Auto && !self.is_legacy() =>
            {
                self.greet_older(request, number, fault).await?
            }
            asked => asked?,
        };
        // A refused handshake leaves the old session in place, and the client gets the refusal.
        if !session::is_refusal(&answer) {
            let mut state = self.state();
            state.repeated.welcome(&answer);
            state.session = RemoteSession { number, id, version: session::version(&answer) };
        }
        if before.id.is_some() {
            // The new session replaces this one.
            let remote = self.clone();
            self.spawn("exchange", async move { remote.close(&before).await });
        }
        // `ask` has taken the answer out of the stream, so it is passed on here.
        self.core.handle(Event::FromBackend { launch: self.launch, message: answer });
        Ok(())
    }

    /// Tries the transport of 2024-11-05 after a refused POST. If that fails too, reports the first fault.
    async fn greet_older(
        self: &Arc<Self>,
        request: &RemoteRequest,
        number: u32,
        fault: Fault,
    ) -> Result<(Message, Option<reqwest::header::HeaderValue>), Fault> {
        if self.open_legacy(number).await.is_err() {
            return Err(fault);
        }
        self.ask(request, &RemoteSession::default()).await
    }

    /// Makes a new session in place of the one with this number, unless another task has done so. The
    /// server's state about us is restored; clients notice nothing.
    pub(super) fn renew(
        self: &Arc<Self>,
        number: u32,
    ) -> Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + '_>> {
        // Boxed: posting may need a new session, and a new session is made by posting.
        Box::pin(self.make_new(number))
    }

    async fn make_new(self: &Arc<Self>, number: u32) -> Result<(), Fault> {
        // An async lock, since it is held across awaits.
        let _one = self.renewing.lock().await;
        // Another task may have renewed the session while this one waited for the lock.
        if self.session().number != number {
            return Ok(());
        }
        let initialize = self.state().repeated.initialize();
        // Number 0 means that no handshake was ever made, so there is none to repeat.
        let Some(initialize) = initialize.filter(|_| number > 0) else { return Err(Fault::SessionLost) };
        if self.is_legacy() {
            self.open_legacy(number + 1).await?;
        }
        let (answer, id) = self.ask(&self.own_request(&initialize), &RemoteSession::default()).await?;
        if session::is_refusal(&answer) {
            let what = "it refuses the handshake that it accepted before".to_owned();
            return Err(Fault::Unexpected { what });
        }
        let session = RemoteSession { number: number + 1, id, version: session::version(&answer) };
        let (initialized, settings) = {
            let state = self.state();
            (state.repeated.initialized().cloned(), state.repeated.settings())
        };
        if let Some(bytes) = &initialized {
            let ready = Outgoing::notification(Method::Initialized, bytes.clone());
            self.post(&RemoteRequest::of(&ready), Some(&session)).await?;
        }
        for message in settings {
            // A server that rejects a setting now should not fail the whole session.
            let _ = self.ask(&self.own_request(&message), &session).await;
        }
        // Published only now: requests in the new session must not overtake `initialized`.
        let is_another = {
            let mut state = self.state();
            state.session = session;
            state.repeated.welcome(&answer)
        };
        self.note("the server lost the session; a new one was started");
        if is_another {
            self.tell_of_changes(&answer);
        }
        // A client that has not sent `initialized` does not listen yet.
        if initialized.is_some() {
            self.listened.send_replace(number + 1);
        }
        Ok(())
    }

    fn own_request(&self, message: &Message) -> RemoteRequest {
        RemoteRequest::of(&session::readdressed(message, &self.next_id()))
    }

    /// Announces list changes: the server may offer something else than before.
    fn tell_of_changes(&self, answer: &Message) {
        let answer: serde_json::Value = serde_json::from_slice(answer.bytes()).unwrap_or_default();
        let changes =
            CHANGES.iter().filter(|what| answer["result"]["capabilities"][**what]["listChanged"] == true);
        for what in changes {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{what}/list_changed"}}"#);
            for event in events::understand_short(self.launch, Frame::Message(text.into())) {
                self.core.handle(event);
            }
        }
    }

    /// Ends the session at the server, if the order leaves time for it.
    pub(super) async fn say_farewell(&self, order: Option<BackendOrder>) {
        let Some(grace) = order.as_ref().and_then(BackendOrder::grace) else { return };
        let session = self.session();
        let _ = tokio::time::timeout(grace.min(CLOSE_TIMEOUT), self.close(&session)).await;
    }

    async fn close(&self, session: &RemoteSession) {
        // Only Streamable HTTP has a request that ends a session.
        let (Endpoint::Streamable(url), Some(_)) = (self.state().endpoint.clone(), &session.id) else {
            return;
        };
        // Servers need not support DELETE.
        let _ = self.client.delete(url).headers(self.headers(session)).send().await;
    }
}
