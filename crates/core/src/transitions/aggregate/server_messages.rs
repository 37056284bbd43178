//! Messages of servers, translated for an aggregate client: the logger's name, the URI of a changed resource,
//! and URIs that several servers could own.

use crate::aggregate::Aggregate;
use crate::clients::Client;
use crate::core::Core;
use crate::ids::ClientId;
use crate::messages::same_spelling;
use crate::pending::Pending;
use bytes::Bytes;
use std::borrow::Cow;
use switchboard_protocol::{Message, Method, Outgoing, Part, Patch, Span};

impl Core {
    /// Translates a server's notification.
    pub(crate) fn name_server(&self, c: &Client, message: &Message, out: &mut Outgoing) {
        self.name_tasks(c, message, out);
        match message.method() {
            Method::LogMessage => name_logger(&c.naming().server, message, out),
            Method::ResourceUpdated => {
                let Some(uri) = message.part(Part::Uri).map(same_spelling) else { return };
                let Some(aggregate) = self.aggregate(c.connection()) else { return };
                if let Some(public) = aggregate.alias(c.id(), &uri) {
                    out.replace(message.span(Part::Uri), Patch::Text(public.to_vec().into()));
                }
            }
            _ => {}
        }
    }

    /// Translates a server's answer.
    pub(crate) fn tell_apart(
        &self,
        delegate: ClientId,
        pending: &Pending,
        answer: &Message,
        out: &mut Outgoing,
    ) {
        let Some(c) = self.clients.get(&delegate) else { return };
        self.name_answered_tasks(c, pending, answer, out);
        match pending.method() {
            Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead | Method::TaskResult => {
                let Some(view) = self.aggregate(c.connection()).and_then(Aggregate::latest_view) else {
                    return;
                };
                let Some(at) = view.members().iter().position(|member| member.server == c.server()) else {
                    return;
                };
                let span = answer.span(Part::Result);
                let Some(result) = answer.part(Part::Result) else { return };
                // A client that reads a resource by the server's own URI gets the answer under that URI.
                let asked = pending.sent().and_then(own_uri);
                for (place, text) in view.disambiguate(at, result, asked.as_deref()).unwrap_or_default() {
                    let start = span.range().start;
                    let range = place.range();
                    out.replace(Span::new(start + range.start, start + range.end), Patch::Text(text));
                }
            }
            Method::TasksList => self.go_on_to_next(c, answer, out),
            _ => {}
        }
    }

    /// Sets the cursor for the next page of tasks: of this server, or the first one of the next server.
    fn go_on_to_next(&self, c: &Client, answer: &Message, out: &mut Outgoing) {
        let keepers = self.task_keepers(c.connection());
        let Some(at) = keepers.iter().position(|keeper| *keeper == c.id()) else { return };
        let own = answer.text(Part::NextCursor);
        let next = match &own {
            Some(own) => Some(format!("{at}:{own}")),
            None => (at + 1 < keepers.len()).then(|| format!("{}:", at + 1)),
        };
        let Some(next) = next.map(|next| serde_json::Value::from(next).to_string()) else { return };
        if answer.has(Part::NextCursor) {
            return out.replace(answer.span(Part::NextCursor), Patch::Text(next.into()));
        }
        // The result is not empty: it has at least its tasks, so a comma can follow.
        let inside = answer.span(Part::Result).range().start + 1;
        let member = Bytes::from(format!(r#""nextCursor":{next},"#));
        out.replace(Span::new(inside, inside), Patch::Text(member));
    }
}

/// The URI of a request that reached the server as the client spelled it.
fn own_uri(request: &Message) -> Option<Cow<'_, str>> {
    let said = &request.bytes()[request.span(Part::Uri).range()];
    request.part(Part::Uri).filter(|own| *own == said).and_then(|_| request.text(Part::Uri))
}

fn name_logger(server: &str, message: &Message, out: &mut Outgoing) {
    let name = serde_json::Value::from(server).to_string();
    // Without quotes, since it goes into a string of the message.
    let name = name.trim_matches('"');
    match message.part(Part::Logger) {
        Some([b'"', ..]) => {
            let inside = message.span(Part::Logger).range().start + 1;
            out.replace(Span::new(inside, inside), Patch::Text(format!("{name}/").into()));
        }
        // Not a string, so there is nothing that a prefix could precede.
        Some(_) => out.replace(message.span(Part::Logger), Patch::Text(format!("\"{name}\"").into())),
        // Not empty: at least the level follows.
        None if message.has(Part::Level) => {
            let inside = message.span(Part::Params).range().start + 1;
            out.replace(Span::new(inside, inside), Patch::Text(format!(r#""logger":"{name}","#).into()));
        }
        None => {}
    }
}
