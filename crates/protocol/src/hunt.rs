//! Tolerant scan of a line that is broken or too long to store: finds its id, and whether it is a request or
//! an answer. Takes input in chunks and never holds more than a few hundred bytes of it. Must not know what
//! an id is used for.

use crate::id::RawId;
use crate::json;

/// Longest id or method to capture; no real program has a longer one.
const MAX_VALUE_BYTES: usize = 256;
/// Limit on the members of an over-long batch that are answered individually.
const MAX_GLIMPSES: usize = 1024;

/// Parts seen of one message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glimpse {
    pub id: Option<RawId>,
    pub method: Option<String>,
    /// A `result` was present, or an `error` next to a `jsonrpc`: the message was meant as an answer.
    pub is_answer: bool,
    /// A `jsonrpc` was present: the text was meant as a message.
    pub has_version: bool,
}

/// Scans a whole line at once; of a batch, the first member.
pub fn look(line: &[u8]) -> Glimpse {
    let mut hunter = Hunter::default();
    hunter.feed(line);
    hunter.finish().into_iter().next().unwrap_or_default()
}

/// Scans the object at the start of a text. Also returns the object's length if it ends within the text.
pub(crate) fn look_at_first(text: &[u8]) -> (Glimpse, Option<usize>) {
    let mut hunter = Hunter::default();
    let mut fed = 0;
    // Only a closing brace can end the object.
    for end in memchr::memchr_iter(b'}', text).map(|at| at + 1) {
        hunter.feed(&text[fed..end]);
        fed = end;
        // A brace within a string closes nothing.
        if hunter.depth == 0 && hunter.text == Text::Outside {
            return (hunter.finish().into_iter().next().unwrap_or_default(), Some(end));
        }
    }
    hunter.feed(&text[fed..]);
    (hunter.finish().into_iter().next().unwrap_or_default(), None)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    Escaped,
}

/// Meaning of the captured bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capture {
    Nothing,
    Key,
    Id,
    /// The value of a key that equals `id` except for letter case.
    IdAlike,
    Method,
}

/// Tracks brackets and quotes only, and captures `id` and `method` at the top level.
#[derive(Debug)]
pub struct Hunter {
    depth: usize,
    /// The depth of a message's own keys: 1, or 2 inside a batch. 0 before the first bracket.
    base: usize,
    text: Text,
    capture: Capture,
    caught: Vec<u8>,
    /// The last key at base depth, until its colon.
    key: Vec<u8>,
    current: Glimpse,
    /// The id under a key in other letter case. Used as a fallback if the text is clearly a message.
    id_alike: Option<RawId>,
    marks: Marks,
    seen: Vec<Glimpse>,
}

/// Envelope keys seen so far.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    jsonrpc: bool,
    result: bool,
    error: bool,
    /// A `result` or an `error` in other letter case.
    answer_alike: bool,
}

impl Default for Hunter {
    fn default() -> Self {
        Self {
            depth: 0,
            base: 0,
            text: Text::Outside,
            capture: Capture::Nothing,
            caught: Vec::new(),
            key: Vec::new(),
            current: Glimpse::default(),
            id_alike: None,
            marks: Marks::default(),
            seen: Vec::new(),
        }
    }
}

impl Hunter {
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            match self.text {
                Text::Inside if self.capture == Capture::Nothing => {
                    // Fast path for long strings that are not captured.
                    let stop = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                    bytes = &bytes[stop..];
                    if let Some(&byte) = bytes.first() {
                        self.inside(byte);
                        bytes = &bytes[1..];
                    }
                    continue;
                }
                Text::Inside => self.inside(byte),
                Text::Escaped => {
                    self.keep(byte);
                    self.text = Text::Inside;
                }
                Text::Outside => self.outside(byte),
            }
            bytes = &bytes[1..];
        }
    }

    /// Returns everything seen, including a last message that was cut off.
    pub fn finish(mut self) -> Vec<Glimpse> {
        self.end_value();
        self.end_message();
        self.seen
    }

    fn inside(&mut self, byte: u8) {
        self.keep(byte);
        match byte {
            b'"' => {
                self.text = Text::Outside;
                if self.capture == Capture::Key {
                    self.key = std::mem::take(&mut self.caught);
                    self.capture = Capture::Nothing;
                }
            }
            b'\\' => self.text = Text::Escaped,
            _ => {}
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                // A structure is neither an id nor a method.
                self.drop_capture();
                self.depth += 1;
                if self.base == 0 {
                    // The first bracket tells a message from a batch.
                    self.base = if byte == b'{' { 1 } else { 2 };
                }
            }
            b'}' | b']' => {
                // The last member has no comma behind it.
                self.end_value();
                if self.at_base() && byte == b'}' {
                    self.end_message();
                }
                // Broken text may close more brackets than it opens.
                self.depth = self.depth.saturating_sub(1);
            }
            b'"' => {
                self.text = Text::Inside;
                // A string after a key is its value, and a string inside a captured value belongs to the value.
                if self.at_base() && self.capture == Capture::Nothing && self.key.is_empty() {
                    self.capture = Capture::Key;
                    self.caught.clear();
                }
                self.keep(byte);
            }
            b':' if self.at_base() && self.capture == Capture::Nothing => self.begin_value(),
            b',' if self.at_base() => self.end_value(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            other => self.keep(other),
        }
    }

    /// At the depth of a message's own keys.
    fn at_base(&self) -> bool {
        self.base > 0 && self.depth == self.base
    }

    fn begin_value(&mut self) {
        self.capture = Capture::Nothing;
        self.caught.clear();
        match self.key.as_slice() {
            b"\"id\"" => self.capture = Capture::Id,
            b"\"method\"" => self.capture = Capture::Method,
            b"\"jsonrpc\"" => self.marks.jsonrpc = true,
            b"\"result\"" => self.marks.result = true,
            b"\"error\"" => self.marks.error = true,
            _ => self.begin_disguised(),
        }
    }

    /// Handles a key with escapes, which counts as the key that they spell, and a key in other letter case,
    /// which may be meant as the envelope's.
    fn begin_disguised(&mut self) {
        let Some(key) = json::decode_string(&self.key) else { return };
        let is_exact = key.bytes().all(|byte| byte.is_ascii_lowercase());
        match (key.to_ascii_lowercase().as_str(), is_exact) {
            ("id", true) => self.capture = Capture::Id,
            ("id", false) => self.capture = Capture::IdAlike,
            ("method", _) => self.capture = Capture::Method,
            ("jsonrpc", _) => self.marks.jsonrpc = true,
            ("result", true) => self.marks.result = true,
            ("error", true) => self.marks.error = true,
            ("result" | "error", false) => self.marks.answer_alike = true,
            _ => {}
        }
    }

    fn end_value(&mut self) {
        if !self.at_base() {
            return;
        }
        let caught = std::mem::take(&mut self.caught);
        match self.capture {
            Capture::Id if RawId::is_legal(&caught) && is_scalar(&caught) => {
                self.current.id = Some(RawId::from_bytes(&caught));
            }
            Capture::IdAlike if RawId::is_legal(&caught) && is_scalar(&caught) => {
                self.id_alike = Some(RawId::from_bytes(&caught));
            }
            Capture::Method => {
                let name = caught.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\""));
                // A line cut off within the method has no closing quote, but still shows a method.
                self.current.method = Some(String::from_utf8_lossy(name.unwrap_or(&caught)).into_owned());
            }
            Capture::Id | Capture::IdAlike | Capture::Key | Capture::Nothing => {}
        }
        self.capture = Capture::Nothing;
        self.key.clear();
    }

    fn end_message(&mut self) {
        let mut glimpse = std::mem::take(&mut self.current);
        let (marks, id_alike) = (std::mem::take(&mut self.marks), self.id_alike.take());
        // `error` alone is a common key of log lines; next to `jsonrpc` it makes an answer.
        let answers = marks.result || (marks.jsonrpc && (marks.error || marks.answer_alike));
        glimpse.is_answer = glimpse.method.is_none() && answers;
        glimpse.has_version = marks.jsonrpc;
        // A look-alike id counts only in a text that is clearly a message.
        glimpse.id = glimpse.id.or(id_alike.filter(|_| marks.jsonrpc));
        // An object without any envelope key was not meant as a message.
        if glimpse != Glimpse::default() && self.seen.len() < MAX_GLIMPSES {
            self.seen.push(glimpse);
        }
    }

    fn drop_capture(&mut self) {
        self.capture = Capture::Nothing;
        self.caught.clear();
    }

    fn keep(&mut self, byte: u8) {
        if self.capture == Capture::Nothing {
            return;
        }
        if self.caught.len() == MAX_VALUE_BYTES {
            // A longer value cannot be an id or a method of ours, and memory must stay bounded.
            return self.drop_capture();
        }
        self.caught.push(byte);
    }
}

/// Whether the value is exactly one JSON scalar; only then may it be copied into an answer as the id.
fn is_scalar(value: &[u8]) -> bool {
    serde_json::from_slice::<&serde_json::value::RawValue>(value).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, id: Option<&str>, method: Option<&str>) {
        let is_answer = line.contains("\"result\":") && method.is_none();
        let id = id.map(|id| RawId::from_bytes(id.as_bytes()));
        let has_version = line.contains("jsonrpc");
        let expect = Glimpse { id, method: method.map(Into::into), is_answer, has_version };
        assert_eq!(look(line.as_bytes()), expect, "{line}");
        // The result does not depend on the chunk size.
        for size in 1..7 {
            let mut hunter = Hunter::default();
            line.as_bytes().chunks(size).for_each(|piece| hunter.feed(piece));
            assert_eq!(
                hunter.finish().into_iter().next().unwrap_or_default(),
                expect,
                "{line} in pieces of {size}"
            );
        }
    }

    #[test]
    fn finds_the_id_anywhere() {
        check(r#"{"jsonrpc":"2.0","id":7,"method":"a/b"}"#, Some("7"), Some("a/b"));
        check(
            r#"{"result":{"id":1,"x":["id",{"id":2}]},"jsonrpc":"2.0","id":"q\"7"}"#,
            Some(r#""q\"7""#),
            None,
        );
        check(r#"{"id" : 5 , "result":NaN}"#, Some("5"), None);
        check(r#"{"result":{"text":"...\"id\":9"},"id":5}"#, Some("5"), None);
        check(r#"{"id":{"a":1},"method":"x"}"#, None, Some("x"));
        check(r#"{"id":[1],"method":"x"}"#, None, Some("x"));
        check(r#"noise {"id":3,"method":"x""#, Some("3"), Some("x"));
        check(r#"{"id":3"#, Some("3"), None);
        check(r#"{"id":3x,"method":"y"}"#, None, Some("y"));
        check("", None, None);
        check("nothing here", None, None);
        check(r#""id":4"#, None, None);
    }

    #[test]
    fn finds_keys_in_disguise() {
        let see = |line: &str| {
            let Glimpse { id, method, is_answer, has_version } = look(line.as_bytes());
            (id.map(|id| id.to_string()), method, is_answer, has_version)
        };
        let id = |id: &str| Some(id.to_owned());
        assert_eq!(see(r#"{"jsonrpc":"2.0","\u0069d":5,"result":{}}"#), (id("5"), None, true, true));
        assert_eq!(see(r#"{"jsonrpc":"2.0","Id":5,"Result":{}}"#), (id("5"), None, true, true));
        assert_eq!(see(r#"{"jsonrpc":"2.0","ID":6,"id":5}"#), (id("5"), None, false, true));
        let method = Some("x".to_owned());
        assert_eq!(see(r#"{"jsonrpc":"2.0","id":5,"\u006dethod":"x"}"#), (id("5"), method, false, true));
        // A .NET log line is not an answer.
        assert_eq!(see(r#"{"Id":5,"Result":"ok"}"#), (None, None, false, false));
    }

    #[test]
    fn every_member_of_a_batch_is_seen() {
        let mut hunter = Hunter::default();
        hunter.feed(br#"[{"id":1,"method":"a","params":{"id":8}},{"method":"n"},{"id":"2","method":"b"}]"#);
        let ids: Vec<_> =
            hunter.finish().into_iter().map(|g| (g.id.map(|id| id.to_string()), g.method)).collect();
        let expect = [(Some("1"), "a"), (None, "n"), (Some("\"2\""), "b")];
        assert_eq!(ids, expect.map(|(id, method)| (id.map(String::from), Some(method.to_string()))));
    }

    #[test]
    fn memory_stays_small_for_any_input() {
        let mut hunter = Hunter::default();
        hunter.feed(br#"{"id":""#);
        for _ in 0..1000 {
            hunter.feed(&[b'x'; 1000]);
        }
        assert!(hunter.caught.capacity() <= 2 * MAX_VALUE_BYTES);
        hunter.feed(br#"","method":"m"}"#);
        let expect = Glimpse { method: Some("m".into()), ..Glimpse::default() };
        assert_eq!(hunter.finish(), [expect]);
    }
}
