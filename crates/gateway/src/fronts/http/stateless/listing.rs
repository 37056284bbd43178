//! Header checks for a client that calls a tool before listing any. Switchboard lists the tools in the client's name, and
//! compares the headers with the definitions that this client would get.

use super::super::Front;
use super::super::refusal::HttpRefusal;
use super::super::route::RouteTarget;
use super::call::{CallGuard, Outcome};
use super::client::Opening;
use super::params::repeats_arguments;
use bytes::Bytes;
use hyper::header::HeaderMap;
use switchboard_core::Event;
use switchboard_protocol::modern::Declaration;
use switchboard_protocol::{Message, Method, Parsed, Part, RawId, parse};

/// Limit on pages.
const MAX_PAGES: usize = 100;

/// First id of these requests: higher than any client counts, and exact in JavaScript.
const FIRST_ID: u64 = 1 << 52;

impl Front {
    /// Compares the headers of a call with its arguments.
    pub(super) async fn check_arguments(
        &self,
        call: &CallGuard,
        request: &Message,
        headers: &HeaderMap,
        target: &RouteTarget,
    ) -> Result<(), HttpRefusal> {
        let params = &call.client().params;
        if request.method() != Method::ToolsCall || params.are_clients() {
            return params.check(request, headers);
        }
        let is_to_one = match target {
            RouteTarget::Server(_) => true,
            RouteTarget::Everything | RouteTarget::Profile(_) => false,
        };
        // Lists of several servers are cached. One server gets no extra request for a call without `Mcp-Param-*` headers.
        if is_to_one && !repeats_arguments(headers) && params.are_unknown() {
            return Ok(());
        }
        if params.are_unknown() {
            self.list_for(call, request).await;
            return params.check(request, headers);
        }
        match params.check(request, headers) {
            Ok(()) => Ok(()),
            // The tools may have changed since, and this client gets no notification.
            Err(_) => {
                self.list_for(call, request).await;
                params.check(request, headers)
            }
        }
    }

    /// Lists the tools in the client's name. A failure is ignored.
    async fn list_for(&self, call: &CallGuard, request: &Message) {
        let Ok(declaration) = Declaration::of(request) else { return };
        let mut pages: Vec<Bytes> = Vec::new();
        let mut cursor = String::new();
        loop {
            let id = FIRST_ID + call.number();
            let text = declaration.request(id, Method::ToolsList, &cursor);
            let Some(page) = self.list_page(call, RawId::from_number(id), text).await else { return };
            let next = match parse(page.clone()) {
                Ok(Parsed::One(message)) => message.part(Part::NextCursor).map(<[u8]>::to_vec),
                Ok(Parsed::Batch(_)) | Err(_) => return,
            };
            pages.push(page);
            match next.filter(|_| pages.len() < MAX_PAGES) {
                Some(next) => cursor = format!(r#","cursor":{}"#, String::from_utf8_lossy(&next)),
                None => break,
            }
        }
        call.client().params.learn_for_client(&pages);
    }

    async fn list_page(&self, call: &CallGuard, id: RawId, text: String) -> Option<Bytes> {
        let client = call.client();
        // Held until the answer arrives: if the client disconnects, the list is cancelled with its call.
        let (mut list, answer) = client.open(&Opening { id, takes_streams: false })?;
        let frame = parse(text.into());
        list.tell();
        self.inbox.said(Event::FromClient { client: client.id, frame, paths: Vec::new() });
        match answer.await.ok()? {
            Outcome::Whole { part, failure: None, .. } => Some(part.bytes.clone()),
            Outcome::Whole { .. } | Outcome::Stream(_) => None,
        }
    }
}
