//! From a frame to a message: one pass over the bytes that validates all of them and records where the parts of
//! the touch table stand.
//!
//! Strict where a difference between parsers could be used to smuggle something past us (duplicate keys,
//! look-alike keys), open towards everything that we merely carry.

use crate::hunt::{self, Glimpse};
use crate::id::RawId;
use crate::json::{self, MAX_DEPTH, Next, NotJson, What};
use crate::message::{Kind, Message};
use crate::method::{self, Method};
use crate::touch::{Branch, ENVELOPE, PARTS, Part, Span};
use bytes::Bytes;

/// A frame, understood.
#[derive(Debug)]
pub enum Parsed {
    One(Message),
    /// A JSON-RPC batch; each member stands for itself.
    Batch(Vec<Result<Message, Broken>>),
}

/// Why a frame, or a member of a batch, is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    NotUtf8 { at: u32 },
    NotJson(NotJson),
    NotAnObject,
    EmptyBatch,
    BatchTooLong,
    DuplicateKey(Part),
    LookAlikeKey(Part),
    IdIsNoId,
    MethodIsNoString,
    WrongVersion,
    ParamsIsNoStructure,
    NeitherRequestNorResponse,
}

/// A frame that is not a message, with what could still be learnt about who waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub fault: Fault,
    /// The id that an answer should carry, if one could be made out.
    pub id: Option<RawId>,
    /// It had a method: whoever sent it may wait for an answer.
    pub has_method: bool,
    /// It had a result or an error: someone here may wait for it.
    pub is_answer: bool,
    /// It had a `jsonrpc`, and nothing before it: it was meant as a message.
    pub is_envelope: bool,
}

impl Broken {
    pub(crate) fn seen(fault: Fault, glimpse: Glimpse, is_at_start: bool) -> Self {
        Self {
            fault,
            has_method: glimpse.method.is_some(),
            is_answer: glimpse.is_answer,
            is_envelope: glimpse.has_version && is_at_start,
            id: glimpse.id,
        }
    }

    /// Whether a server meant this as an answer: also without a result or an error, if it is nothing else.
    pub fn is_meant_as_answer(&self) -> bool {
        self.is_answer || (self.is_envelope && !self.has_method)
    }
}

impl From<NotJson> for Fault {
    fn from(error: NotJson) -> Self {
        Self::NotJson(error)
    }
}

impl Fault {
    /// The JSON-RPC code: −32700 if it is not JSON, −32600 if it is JSON but no message.
    pub fn code(self) -> i32 {
        match self {
            Self::NotUtf8 { .. } | Self::NotJson(_) => -32700,
            _ => -32600,
        }
    }

    pub fn explain(self) -> String {
        match self {
            Self::NotUtf8 { at } => format!("not JSON: the text is not UTF-8 (byte {at})"),
            Self::NotJson(NotJson { at, what }) => format!("not JSON: {what} (byte {at})"),
            Self::NotAnObject => "a message is a JSON object, or an array of them".into(),
            Self::EmptyBatch => "an empty batch asks for nothing".into(),
            Self::BatchTooLong => format!("a batch has at most {MAX_BATCH_MEMBERS} members"),
            Self::DuplicateKey(part) => {
                format!("the key `{}` stands twice; which one counts is unclear", key_of(ENVELOPE, part))
            }
            Self::LookAlikeKey(part) => {
                format!("a key looks like `{}` but is spelled differently", key_of(ENVELOPE, part))
            }
            Self::IdIsNoId => "`id` must be a string or a number".into(),
            Self::MethodIsNoString => "`method` must be a string".into(),
            Self::WrongVersion => "`jsonrpc` must be \"2.0\"".into(),
            Self::ParamsIsNoStructure => "`params` must be an object or an array".into(),
            Self::NeitherRequestNorResponse => {
                "a message has a `method`, or an `id` with either a `result` or an `error`".into()
            }
        }
    }
}

/// Members of a batch. Each is answered, and a broken one takes two bytes and its answer hundreds.
const MAX_BATCH_MEMBERS: usize = 4096;

/// Reads one frame.
pub fn parse(bytes: Bytes) -> Result<Parsed, Broken> {
    // Most messages are ASCII, which is found out faster.
    let plain = bytes.is_ascii();
    parse_knowing(bytes, plain)
}

/// The same for bytes of which it is known whether they are ASCII.
pub fn parse_knowing(bytes: Bytes, plain: bool) -> Result<Parsed, Broken> {
    if !plain && let Err(error) = std::str::from_utf8(&bytes) {
        return Err(broken(Fault::NotUtf8 { at: error.valid_up_to() as u32 }, &bytes));
    }
    let start = json::space(&bytes, 0);
    match json::next(&bytes, start) {
        Ok(Next::Object) => parse_object(bytes, start).map(Parsed::One),
        Ok(Next::Array) => parse_batch(&bytes, start),
        Ok(Next::String | Next::Number | Next::Literal) => {
            // `12 apples` is not JSON, `12` is JSON but no message.
            let ended = json::value(&bytes, start).and_then(|pos| json::end(&bytes, pos));
            Err(broken(ended.map_or_else(Fault::NotJson, |()| Fault::NotAnObject), &bytes))
        }
        Err(error) => Err(broken(Fault::NotJson(error), &bytes)),
    }
}

fn parse_object(bytes: Bytes, start: usize) -> Result<Message, Broken> {
    let mut message = Message::blank(bytes);
    match message.fill(|bytes, spans| read_object(bytes, start, spans)) {
        Ok(()) => Ok(message),
        Err(fault) => Err(broken(fault, message.bytes())),
    }
}

fn read_object(bytes: &[u8], start: usize, spans: &mut [Span; PARTS]) -> Result<(Kind, Method), Fault> {
    let mut walk = Walk { bytes, spans, alike: 0 };
    let pos = walk.object(start, ENVELOPE, Level::Envelope)?;
    json::end(bytes, pos)?;
    walk.judge()
}

fn parse_batch(bytes: &Bytes, start: usize) -> Result<Parsed, Broken> {
    let members = batch_members(bytes, start).map_err(|error| broken(Fault::NotJson(error), bytes))?;
    let as_a_whole =
        |fault| Broken { fault, id: None, has_method: true, is_answer: false, is_envelope: false };
    if members.is_empty() {
        return Err(as_a_whole(Fault::EmptyBatch));
    }
    if members.len() > MAX_BATCH_MEMBERS {
        return Err(as_a_whole(Fault::BatchTooLong));
    }
    let parsed = members.into_iter().map(|member| {
        let bytes = bytes.slice(member.range());
        match bytes.first() {
            Some(b'{') => parse_object(bytes, 0),
            _ => Err(as_a_whole(Fault::NotAnObject)),
        }
    });
    Ok(Parsed::Batch(parsed.collect()))
}

fn batch_members(bytes: &[u8], start: usize) -> Result<Vec<Span>, NotJson> {
    let mut members = Vec::new();
    let mut pos = json::space(bytes, start + 1);
    if json::byte(bytes, pos) != Some(b']') {
        loop {
            let from = json::space(bytes, pos);
            let behind = json::value(bytes, from)?;
            if members.len() <= MAX_BATCH_MEMBERS {
                members.push(Span::new(from, behind));
            }
            pos = json::space(bytes, behind);
            if json::byte(bytes, pos) != Some(b',') {
                break;
            }
            pos += 1;
        }
    }
    let pos = json::exactly(bytes, pos, b']', What::NotClosed)?;
    json::end(bytes, pos)?;
    Ok(members)
}

/// A broken frame, with the id that a tolerant look at it can find.
fn broken(fault: Fault, bytes: &[u8]) -> Broken {
    Broken::seen(fault, hunt::look(bytes), bytes.trim_ascii_start().starts_with(b"{"))
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Envelope,
    Inner,
}

struct Walk<'a> {
    bytes: &'a [u8],
    spans: &'a mut [Span; PARTS],
    /// Bit per part: a key was seen that differs from the part's only in case.
    alike: u64,
}

const _: () = assert!(PARTS <= 64, "`Walk::alike` has a bit per part");

impl Walk<'_> {
    /// Reads the object at `pos` beside its branches of the touch table; returns the offset behind it.
    fn object(&mut self, pos: usize, branches: &'static [Branch], level: Level) -> Result<usize, Fault> {
        let bytes = self.bytes;
        let mut pos = json::space(bytes, pos + 1);
        if json::byte(bytes, pos) == Some(b'}') {
            return Ok(pos + 1);
        }
        loop {
            let (behind, start) = json::key(bytes, pos)?;
            let key = &bytes[pos + 1..behind - 1];
            let branch = match branches.iter().find(|branch| branch.is(key)) {
                Some(branch) => Some(branch),
                None => self.near_key(key, &bytes[pos..behind], branches, level)?,
            };
            pos = match branch {
                Some(branch) if !branch.below.is_empty() && json::byte(bytes, start) == Some(b'{') => {
                    self.object(start, branch.below, Level::Inner)?
                }
                _ => json::value(bytes, start)?,
            };
            if let Some(branch) = branch {
                self.record(branch, Span::new(start, pos))?;
            }
            pos = json::space(bytes, pos);
            if json::byte(bytes, pos) != Some(b',') {
                return Ok(json::exactly(bytes, pos, b'}', What::NotClosed)?);
            }
            pos = json::space(bytes, pos + 1);
        }
    }

    /// A key that is not one of ours to the letter: it may be one of ours written with escapes, or a
    /// look-alike that another parser would take for one of ours.
    fn near_key(
        &mut self,
        key: &[u8],
        quoted: &[u8],
        branches: &'static [Branch],
        level: Level,
    ) -> Result<Option<&'static Branch>, Fault> {
        let plain = key.iter().all(|&b| b != b'\\' && b.is_ascii());
        let branch = if plain {
            branches.iter().find(|branch| branch.key.as_bytes().eq_ignore_ascii_case(key))
        } else {
            let decoded = method::text(quoted).unwrap_or_default();
            // Some libraries escape the slash of `io.modelcontextprotocol/…`: that is the same key.
            if level == Level::Inner
                && let Some(same) = branches.iter().find(|branch| branch.key == decoded)
            {
                return Ok(Some(same));
            }
            let folded = fold(&decoded);
            branches.iter().find(|branch| branch.key.eq_ignore_ascii_case(&folded))
        };
        match (branch, level) {
            (Some(branch), Level::Envelope) => Err(Fault::LookAlikeKey(branch.part)),
            (Some(branch), Level::Inner) => {
                self.alike |= 1 << branch.part as u64;
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    fn record(&mut self, branch: &'static Branch, span: Span) -> Result<(), Fault> {
        let known = &mut self.spans[branch.part as usize];
        if !known.is_absent() {
            return Err(Fault::DuplicateKey(branch.part));
        }
        *known = span;
        Ok(())
    }

    /// A part that is there, and whose look-alike is there too.
    fn doubtful(&self, branches: &[Branch]) -> Option<Part> {
        branches.iter().find_map(|branch| {
            let part = branch.part;
            let is_both = self.alike & (1 << part as u64) != 0 && !self.spans[part as usize].is_absent();
            if is_both { Some(part) } else { self.doubtful(branch.below) }
        })
    }

    fn part(&self, part: Part) -> Option<&[u8]> {
        let span = self.spans[part as usize];
        (!span.is_absent()).then(|| &self.bytes[span.range()])
    }

    /// What kind of message the parts make.
    fn judge(&self) -> Result<(Kind, Method), Fault> {
        if self.alike != 0
            && let Some(part) = self.doubtful(ENVELOPE)
        {
            return Err(Fault::DuplicateKey(part));
        }
        if self.part(Part::Jsonrpc).is_some_and(|version| version != b"\"2.0\"") {
            return Err(Fault::WrongVersion);
        }
        let id = self.part(Part::Id);
        if id.is_some_and(|id| !RawId::is_legal(id)) {
            return Err(Fault::IdIsNoId);
        }
        let (result, error) = (self.part(Part::Result), self.part(Part::Error));
        match self.part(Part::Method) {
            Some(name) if name.first() != Some(&b'"') => Err(Fault::MethodIsNoString),
            Some(_) if result.is_some() || error.is_some() => Err(Fault::NeitherRequestNorResponse),
            Some(name) => {
                if self.part(Part::Params).is_some_and(|p| !matches!(p[0], b'{' | b'[')) {
                    return Err(Fault::ParamsIsNoStructure);
                }
                let kind = if id.is_some() { Kind::Request } else { Kind::Notification };
                Ok((kind, Method::from_json(name)))
            }
            None => match (id, result, error) {
                // Servers that follow JSON-RPC 1.0 send both, one of them null.
                (Some(_), Some(_), None | Some(b"null")) => {
                    Ok((Kind::Response { failed: false }, Method::Other))
                }
                (Some(_), None | Some(b"null"), Some(_)) => {
                    Ok((Kind::Response { failed: true }, Method::Other))
                }
                _ => Err(Fault::NeitherRequestNorResponse),
            },
        }
    }
}

/// The key of a part, for people.
fn key_of(branches: &[Branch], part: Part) -> &'static str {
    fn find(branches: &[Branch], part: Part) -> Option<&'static str> {
        branches
            .iter()
            .find_map(|branch| if branch.part == part { Some(branch.key) } else { find(branch.below, part) })
    }
    find(branches, part).unwrap_or("?")
}

/// Folds away what some parsers ignore: NUL characters, and the two letters outside ASCII whose lower case
/// is in it.
fn fold(key: &str) -> String {
    key.chars()
        .filter(|&c| c != '\0')
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other,
        })
        .collect()
}

const _: () = assert!(MAX_DEPTH >= 128, "the touch table's own recursion is a handful of levels");
