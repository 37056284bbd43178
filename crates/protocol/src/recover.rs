//! Messages inside a program's chatter: a log text glued in front of a message on one line, two messages on
//! one line, a message with something behind it. Everything else on the line is noise.

use crate::envelope::{Parsed, parse};
use crate::json;
use crate::message::{Kind, Message};
use crate::touch::Part;
use bytes::Bytes;

/// So many openings of an object are tried in one line: a long line of braces must not cost a square.
const MOST_TRIES: usize = 64;

/// What a line held.
#[derive(Debug, Default)]
pub struct Recovered {
    pub messages: Vec<Message>,
    /// The text that belongs to no message.
    pub noise: Vec<u8>,
}

/// Takes apart a line that is not one message.
pub fn recover(line: &Bytes) -> Recovered {
    let mut found = Recovered::default();
    let mut from = 0;
    for _ in 0..MOST_TRIES {
        let Some(open) = memchr::memchr(b'{', &line[from..]).map(|at| from + at) else { break };
        found.noise.extend_from_slice(&line[from..open]);
        match message_at(line, open) {
            Some(message) => {
                from = open + message.bytes().len();
                found.messages.push(message);
            }
            None => {
                found.noise.push(b'{');
                from = open + 1;
            }
        }
    }
    found.noise.extend_from_slice(&line[from..]);
    found
}

fn message_at(line: &Bytes, open: usize) -> Option<Message> {
    let valid = std::str::from_utf8(&line[open..]).map_or_else(|error| error.valid_up_to(), str::len);
    let length = json::value(&line[open..open + valid], 0).ok()?;
    match parse(line.slice(open..open + length)) {
        Ok(Parsed::One(message)) => is_meant(&message).then_some(message),
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}

/// Whether this can be something that the server meant to send, and not a text about something it received.
fn is_meant(message: &Message) -> bool {
    match message.kind() {
        Kind::Response { .. } => true,
        Kind::Request | Kind::Notification => {
            message.has(Part::Jsonrpc) && message.method().comes_from_servers()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, messages: &[&str], noise: &str) {
        let found = recover(&Bytes::copy_from_slice(line.as_bytes()));
        let texts: Vec<_> =
            found.messages.iter().map(|m| String::from_utf8_lossy(m.bytes()).into_owned()).collect();
        assert_eq!(texts, messages, "{line}");
        assert_eq!(String::from_utf8_lossy(&found.noise), noise, "{line}");
    }

    #[test]
    fn messages_are_told_from_chatter() {
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
    fn a_log_of_a_received_request_is_no_message() {
        let line = r#"received {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#;
        check(line, &[], line);
    }

    #[test]
    fn many_braces_cost_little() {
        let line = "{".repeat(100_000);
        check(&line, &[], &line);
    }
}
