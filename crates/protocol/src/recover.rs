//! Recovery of messages from other program output: log text before a message on the same line, two messages
//! on one line, text after a message, broken messages in between. The rest of the line is noise. Must not
//! know which server wrote the line.

use crate::envelope::{Broken, Fault, Parsed, parse};
use crate::hunt::{self, Glimpse};
use crate::json;
use crate::message::{Kind, Message};
use crate::touch::Part;
use bytes::Bytes;

/// Limit on opening braces tried per line, so that a long line of them does not take quadratic time.
const MAX_TRIES: usize = 64;
/// Limit on unclosed objects that are scanned to the end of the line.
const MAX_UNCLOSED_OBJECTS: usize = 4;

/// Contents of a line.
#[derive(Debug, Default)]
pub struct Recovered {
    pub messages: Vec<Message>,
    /// Text outside all messages.
    pub noise: Vec<u8>,
    /// Fragments that were meant as a message, or look like one, but are not valid.
    pub broken: Vec<Broken>,
}

/// Takes a line apart that is not a single message; `reason` is the parser's verdict on the whole line.
pub fn recover(line: &Bytes, reason: Broken) -> Recovered {
    let mut found = Recovered::default();
    let mut from = 0;
    let mut unclosed = 0;
    let mut has_excerpt = false;
    for _ in 0..MAX_TRIES {
        let Some(open) = memchr::memchr(b'{', &line[from..]).map(|at| from + at) else { break };
        found.noise.extend_from_slice(&line[from..open]);
        // Text before the object makes a quotation in a log more likely than a message.
        let is_at_start = line[from..open].trim_ascii().is_empty() && unclosed == 0;
        let behind = match object_at(line, open, unclosed < MAX_UNCLOSED_OBJECTS) {
            // After an unclosed object, only a text with `jsonrpc` is certain to be a message.
            Object::Message { message, behind } if unclosed == 0 || message.has(Part::Jsonrpc) => {
                found.messages.push(message);
                from = behind;
                continue;
            }
            // A truncated message in a log text: the message itself arrives on a line of its own.
            Object::Broken { behind, .. }
                if has_excerpt || (behind.is_none() && !is_at_start && unclosed == 0) =>
            {
                has_excerpt = true;
                unclosed += usize::from(behind.is_none());
                behind
            }
            Object::Broken { glimpse, fault, behind } => {
                let fault = fault.unwrap_or(reason.fault);
                found.broken.push(Broken::seen(fault, glimpse, is_at_start));
                unclosed += usize::from(behind.is_none());
                behind
            }
            // Behind an unclosed object, a message without `jsonrpc` may be a part of that object.
            Object::Message { .. } | Object::Other => None,
        };
        // The inside of a broken message belongs to that message; the inside of any other object may contain a message.
        let behind = behind.unwrap_or(open + 1);
        found.noise.extend_from_slice(&line[open..behind]);
        from = behind;
    }
    found.noise.extend_from_slice(&line[from..]);
    // No part was recognised, so the verdict on the whole line stands.
    if found.messages.is_empty() && found.broken.is_empty() && !has_excerpt {
        found.broken.push(reason);
    }
    found
}

/// The text from an opening brace on.
enum Object {
    Message {
        message: Message,
        behind: usize,
    },
    /// `behind` is `None` if the object does not end on this line.
    Broken {
        glimpse: Glimpse,
        fault: Option<Fault>,
        behind: Option<usize>,
    },
    Other,
}

fn object_at(line: &Bytes, open: usize, may_hunt: bool) -> Object {
    // The scanner needs UTF-8; a whole message may precede the first invalid byte.
    let valid = std::str::from_utf8(&line[open..]).map_or_else(|error| error.valid_up_to(), str::len);
    let Ok(length) = json::value(&line[open..open + valid], 0) else {
        return if may_hunt { broken_at(&line[open..], open) } else { Object::Other };
    };
    let (bytes, behind) = (line.slice(open..open + length), open + length);
    match parse(bytes.clone()) {
        Ok(Parsed::One(message)) if is_meant(&message) => Object::Message { message, behind },
        Ok(Parsed::One(_) | Parsed::Batch(_)) => Object::Other,
        Err(broken) => bad_envelope(&bytes, broken.fault, behind),
    }
}

/// A complete JSON object that does not parse as a message, but may have been meant as one.
fn bad_envelope(bytes: &Bytes, fault: Fault, behind: usize) -> Object {
    let glimpse = hunt::look(bytes);
    if let Some(message) = with_null_id(bytes, &glimpse) {
        return Object::Message { message, behind };
    }
    if glimpse.has_version {
        return Object::Broken { glimpse, fault: Some(fault), behind: Some(behind) };
    }
    // Without `jsonrpc` the object may only wrap a message, so its inside is searched too (`behind: None`).
    if glimpse.is_answer && glimpse.id.is_some() {
        return Object::Broken { glimpse, fault: Some(fault), behind: None };
    }
    Object::Other
}

/// Scans text that is not valid JSON, going by its brackets alone.
fn broken_at(text: &[u8], open: usize) -> Object {
    // An object of a message starts with a quoted key; `{}` blocks of source code and the like do not.
    if !text[1..].trim_ascii_start().starts_with(b"\"") {
        return Object::Other;
    }
    let (glimpse, length) = hunt::look_at_first(text);
    let (has_id, has_version) = (glimpse.id.is_some(), glimpse.has_version);
    // Two of the three properties show that a message was meant.
    if [has_id, has_version, glimpse.is_answer].iter().filter(|&&seen| seen).count() < 2 {
        return Object::Other;
    }
    Object::Broken { glimpse, fault: None, behind: length.map(|length| open + length) }
}

/// Accepts an error without an id: JSON-RPC sends one when the id of a request could not be read.
fn with_null_id(bytes: &Bytes, glimpse: &Glimpse) -> Option<Message> {
    if !(glimpse.is_answer && glimpse.has_version && glimpse.id.is_none()) {
        return None;
    }
    // An answer has at least one member, so the comma is never the last one.
    match parse([&b"{\"id\":null,"[..], &bytes[1..]].concat().into()) {
        Ok(Parsed::One(message)) if message.kind() == (Kind::Response { failed: true }) => Some(message),
        Ok(_) | Err(_) => None,
    }
}

/// Whether the server can have meant to send this, rather than to log something it received.
fn is_meant(message: &Message) -> bool {
    match message.kind() {
        // A logged answer does no harm: the core forwards an answer only to an open request.
        Kind::Response { .. } => true,
        Kind::Request | Kind::Notification => {
            message.has(Part::Jsonrpc) && message.method().comes_from_servers()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovered(line: &str) -> Recovered {
        let line = Bytes::copy_from_slice(line.as_bytes());
        match parse(line.clone()) {
            Err(broken) => recover(&line, broken),
            Ok(parsed) => panic!("{parsed:?}"),
        }
    }

    #[track_caller]
    fn check(line: &str, messages: &[&str], noise: &str) {
        let found = recovered(line);
        let texts: Vec<_> =
            found.messages.iter().map(|m| String::from_utf8_lossy(m.bytes()).into_owned()).collect();
        assert_eq!(texts, messages, "{line}");
        assert_eq!(String::from_utf8_lossy(&found.noise), noise, "{line}");
    }

    #[test]
    fn messages_are_told_from_other_output() {
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"a":{}}}"#;
        check(&format!("INFO ready {answer}"), &[answer], "INFO ready ");
        check(&format!("{{}} INFO {{x}} {answer} bye"), &[answer], "{} INFO {x}  bye");
        check(&format!("{answer}{answer}"), &[answer, answer], "");
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#;
        check(&format!("[debug]{progress}"), &[progress], "[debug]");
        check("just text", &[], "just text");
        check("{{{{", &[], "{{{{");
    }

    #[test]
    fn log_of_a_received_request_is_no_message() {
        let line = r#"received {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#;
        check(line, &[], line);
    }

    #[test]
    fn many_braces_cost_little() {
        let line = "{".repeat(100_000);
        check(&line, &[], &line);
        let line = r#"{"a":"#.repeat(100_000);
        check(&line, &[], &line);
    }

    /// Ids of fragments meant as answers.
    #[track_caller]
    fn meant(line: &str, ids: &[&str]) {
        let broken = recovered(line).broken;
        let answers = broken.iter().filter(|broken| broken.is_meant_as_answer());
        let found: Vec<_> =
            answers.map(|it| it.id.as_ref().map_or("-".into(), |id| id.to_string())).collect();
        assert_eq!(found, ids, "{line}");
    }

    #[test]
    fn broken_answers_are_found_among_others() {
        let whole = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
        meant(r#"{"jsonrpc":"2.0","id":5}"#, &["5"]);
        meant(r#"{"jsonrpc":"2.0","id":5}{"jsonrpc":"2.0","id":6}"#, &["5", "6"]);
        meant(r#"[info] {"jsonrpc":"2.0","id":5,"result":NaN}"#, &["5"]);
        meant(&format!(r#"{{"jsonrpc":"2.0","id":5,"result":NaN}} {whole}"#), &["5"]);
        meant(&format!(r#"{whole}{{"jsonrpc":"2.0","id":5}}"#), &["5"]);
        meant(&format!(r#"{{"jsonrpc":"2.0","id":5,"result":{{"a":{whole}"#), &["5"]);
        meant(r#"{"jsonrpc":"2.0","result":{}}"#, &["-"]);
        meant(r#"{"jsonrpc":"2.0","id":[5],"result":{}}"#, &["-"]);
        // Neither a text about a message nor a log line is a message.
        meant(r#"handled {"jsonrpc":"2.0","id":5}"#, &[]);
        meant(r#"sending {"jsonrpc":"2.0","id":5,"result":{"content":[{"te..."#, &[]);
        meant(r#"sending {"jsonrpc":"2.0","id":5,"result":{"a":{"id":6,"result":{"b"..."#, &[]);
        meant(r#"{"level":30,"id":5,"msg":"x"}"#, &[]);
        meant(r#"{"jsonrpc":"2.0","id":5,"method":5}"#, &[]);
    }

    #[test]
    fn broken_message_contains_no_messages() {
        let inner = r#"{"jsonrpc":"2.0","id":6,"result":{}}"#;
        let line = format!(r#"{{"jsonrpc":"2.0","id":5,"result":{{"n":NaN,"structured":{inner}}}}}"#);
        check(&line, &[], &line);
        meant(&line, &["5"]);
        let line = format!(r#"{{"jsonrpc":"2.0","id":5,"Result":{inner}}}"#);
        check(&line, &[], &line);
        let line = r#"{"jsonrpc":"2.0","id":5,"result":{"n":{"id":6,"result":{}},"#;
        check(line, &[], line);
    }

    #[test]
    fn error_without_an_id_is_a_message() {
        let error = r#""jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#;
        let (line, message) = (format!("{{{error}"), format!(r#"{{"id":null,{error}"#));
        check(&line, &[&message], "");
        check(&format!("oops: {line}"), &[&message], "oops: ");
        let line = r#"{"level":50,"error":{"code":"ENOENT"}}"#;
        check(line, &[], line);
    }
}
