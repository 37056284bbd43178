//! The tool list, fetched by ourselves: after a call that was refused for its headers, to learn the right ones.

use super::Remote;
use super::exchange::no_answer;
use super::fault::Fault;
use super::modern::Attempt;
use super::requests::RemoteRequest;
use super::session::is_refusal;
use bytes::Bytes;
use switchboard_protocol::http_headers::ToolList;
use switchboard_protocol::prune::{self, Path};
use switchboard_protocol::{Message, Method, Outgoing, Parsed, Part, RawId, parse};
use tokio::sync::oneshot;

/// Limit for a server whose list has no end.
const MAX_PAGES: usize = 200;

/// Members that belong to the call alone.
const CALL_ONLY: [Path<'static>; 3] = [
    &["params", "_meta", "progressToken"],
    &["params", "_meta", "io.modelcontextprotocol/logLevel"],
    &["params", "_meta", "io.modelcontextprotocol/related-task"],
];

/// Entry for a request of our own. Removed when dropped: the call may be cancelled at any time.
struct OwnRequest<'a> {
    remote: &'a Remote,
    id: RawId,
}

impl Drop for OwnRequest<'_> {
    fn drop(&mut self) {
        self.remote.state().own.remove(&self.id);
    }
}

impl Remote {
    /// Fetches all tools in the name of a call, unless another call has done so since there were `seen` fetches.
    pub(super) async fn fetch_tools(&self, call: &Message, seen: u64) -> Result<(), Fault> {
        // Many calls may be refused at once; one list serves them all.
        let _one = self.renewing.lock().await;
        if self.state().modern.as_ref().is_none_or(|modern| modern.tools.fetches() != seen) {
            return Ok(());
        }
        let mut pages = Vec::new();
        let mut cursor: Option<Bytes> = None;
        while pages.len() < MAX_PAGES {
            let answer = self.fetch_page(call, cursor.as_ref()).await?;
            pages.push(ToolList::of(&answer));
            cursor =
                answer.part(Part::NextCursor).filter(|next| *next != b"null").map(Bytes::copy_from_slice);
            if cursor.is_none() {
                break;
            }
        }
        if let Some(modern) = &mut self.state().modern {
            modern.tools.replace(&pages);
        }
        Ok(())
    }

    async fn fetch_page(&self, call: &Message, cursor: Option<&Bytes>) -> Result<Message, Fault> {
        let id = self.next_id();
        let list = list_request(call, &id, cursor).ok_or_else(no_answer)?;
        let request = RemoteRequest::of(&Outgoing::of(&list));
        let (asker, answer) = oneshot::channel();
        let own = OwnRequest { remote: self, id };
        self.state().own.insert(own.id.clone(), asker);
        match self.attempt_modern(&request, &self.modern_headers(Some(&list))).await? {
            Attempt::Done => {}
            Attempt::Refused(answer) => drop(self.hear(answer, Some(&own.id)).await),
        }
        drop(own);
        // The answer was delivered, or the entry and with it the sender are gone.
        let answer = answer.await.map_err(|_| no_answer())?;
        match is_refusal(&answer) {
            true => Err(Fault::Unexpected { what: "it refuses to list its tools".to_owned() }),
            false => Ok(answer),
        }
    }
}

/// A request for one page, with the declarations of the call.
fn list_request(call: &Message, id: &RawId, cursor: Option<&Bytes>) -> Option<Message> {
    let text = |json: &[u8]| String::from_utf8_lossy(json).into_owned();
    let meta = call.part(Part::Meta).map_or("{}".to_owned(), text);
    let cursor = cursor.map_or(String::new(), |cursor| format!(r#","cursor":{}"#, text(cursor)));
    let method = Method::ToolsList.name()?;
    // In the form of the call.
    let version = if call.has(Part::Jsonrpc) { r#""jsonrpc":"2.0","# } else { "" };
    let list = format!(r#"{{{version}"id":{id},"method":"{method}","params":{{"_meta":{meta}{cursor}}}}}"#);
    match parse(list.into()) {
        Ok(Parsed::One(list)) => Some(prune::without(&list, &CALL_ONLY).unwrap_or(list)),
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_the_declarations_of_the_call() {
        let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":5,"v":"1","io.modelcontextprotocol/logLevel":"info"}}}"#;
        let Ok(Parsed::One(call)) = parse(call.into()) else { panic!("no message") };
        let made = |cursor: Option<&Bytes>| {
            let list = list_request(&call, &RawId::from_bytes(b"\"x\""), cursor).unwrap();
            String::from_utf8(list.bytes().to_vec()).unwrap()
        };
        let list = r#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{"v":"1"}}}"#;
        assert_eq!(made(None), list);
        let next = list.replace(r#"}}}"#, r#"},"cursor":"n\"2"}}"#);
        assert_eq!(made(Some(&Bytes::from_static(br#""n\"2""#))), next);
    }
}
