//! Parser from frame to message: one pass validates all bytes and records the spans of the touch table. Must
//! not know what a message is for.
//!
//! Strict where two parsers could disagree and let something be smuggled past us (duplicate keys, look-alike
//! keys); tolerant towards everything that we only carry.

#[cfg(test)]
mod repeated;

use crate::hunt::{self, Glimpse};
use crate::id::RawId;
use crate::json::{self, MAX_DEPTH, Next, NotJson, What};
use crate::message::{Kind, Message};
use crate::meta_cache::MetaCache;
use crate::method::{self, Method};
use crate::touch::{Branch, ENVELOPE, PARTS, Part, Span};
use bytes::Bytes;

/// A parsed frame.
#[derive(Debug)]
pub enum Parsed {
    One(Message),
    /// A JSON-RPC batch; a broken member does not affect the others.
    Batch(Vec<Result<Message, Broken>>),
}

/// Reason why a frame, or a member of a batch, is not a message.
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

/// A frame that is not a message, with whatever identifies the request or response it was meant to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub fault: Fault,
    /// Id for the error answer, if one was found.
    pub id: Option<RawId>,
    /// A method was present, so the sender may expect an answer.
    pub has_method: bool,
    /// A result or an error was present, so a request of ours may be waiting for this answer.
    pub is_answer: bool,
    /// The text starts with an object that has a `jsonrpc` key, so it was meant as a message.
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

    /// Whether a server meant this as an answer. A `jsonrpc` envelope without a method counts, even without a
    /// result or an error.
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
    /// JSON-RPC code: −32700 for bytes that are not JSON, −32600 for JSON that is not a message.
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
            Self::EmptyBatch => "the batch is empty".into(),
            Self::BatchTooLong => format!("a batch has at most {MAX_BATCH_MEMBERS} members"),
            Self::DuplicateKey(part) => {
                format!("duplicate key `{}`", key_of(ENVELOPE, part))
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

/// Limit on batch members. Each member gets an answer, so two bytes of broken input cost hundreds of bytes of output.
const MAX_BATCH_MEMBERS: usize = 4096;

/// Parses one frame.
pub fn parse(bytes: Bytes) -> Result<Parsed, Broken> {
    // Most messages are ASCII, and the ASCII check is faster than the UTF-8 check.
    let plain = bytes.is_ascii();
    parse_knowing(bytes, plain)
}

/// Same as [`parse`], for callers that already know whether the bytes are ASCII.
pub fn parse_knowing(bytes: Bytes, plain: bool) -> Result<Parsed, Broken> {
    parse_by(bytes, plain, None)
}

/// Same as [`parse_knowing`], for messages of one sender, which may repeat the `_meta` of an earlier one.
pub fn parse_repeated(bytes: Bytes, plain: bool, cache: &mut MetaCache) -> Result<Parsed, Broken> {
    parse_by(bytes, plain, Some(cache))
}

fn parse_by(bytes: Bytes, plain: bool, cache: Option<&mut MetaCache>) -> Result<Parsed, Broken> {
    if !plain && let Err(error) = std::str::from_utf8(&bytes) {
        return Err(broken(Fault::NotUtf8 { at: error.valid_up_to() as u32 }, &bytes));
    }
    let start = json::space(&bytes, 0);
    match json::next(&bytes, start) {
        Ok(Next::Object) => parse_object(bytes, start, cache).map(Parsed::One),
        Ok(Next::Array) => parse_batch(&bytes, start),
        Ok(Next::String | Next::Number | Next::Literal) => {
            // `12 apples` is not JSON; `12` is JSON, but not a message.
            let ended = json::value(&bytes, start).and_then(|pos| json::end(&bytes, pos));
            Err(broken(ended.map_or_else(Fault::NotJson, |()| Fault::NotAnObject), &bytes))
        }
        Err(error) => Err(broken(Fault::NotJson(error), &bytes)),
    }
}

fn parse_object(bytes: Bytes, start: usize, cache: Option<&mut MetaCache>) -> Result<Message, Broken> {
    let mut message = Message::blank(bytes);
    match message.fill(|bytes, spans| read_object(bytes, start, spans, cache)) {
        Ok(()) => Ok(message),
        // The strict scan stops at the first fault; the tolerant one may still find the id to answer.
        Err(fault) => Err(broken(fault, message.bytes())),
    }
}

fn read_object(
    bytes: &[u8],
    start: usize,
    spans: &mut [Span; PARTS],
    cache: Option<&mut MetaCache>,
) -> Result<(Kind, Method), Fault> {
    let mut walk = Walk { bytes, spans, alike: 0, cache };
    let pos = walk.object(start, ENVELOPE, Level::Envelope)?;
    json::end(bytes, pos)?;
    walk.judge()
}

fn parse_batch(bytes: &Bytes, start: usize) -> Result<Parsed, Broken> {
    let members = batch_members(bytes, start).map_err(|error| broken(Fault::NotJson(error), bytes))?;
    let as_a_whole =
        // `has_method` makes the sender get an error, although no id is known: the array as a whole may
        // contain requests.
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
            Some(b'{') => parse_object(bytes, 0, None),
            // JSON-RPC wants one error per member here, under a null id.
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
            // One member beyond the limit is enough to detect the excess; a longer list would only take memory.
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

/// A broken frame, with the id that a tolerant scan finds.
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
    /// One bit per part: set when a key differs from the part's key only in letter case.
    alike: u64,
    cache: Option<&'a mut MetaCache>,
}

const _: () = assert!(PARTS <= 64, "`Walk::alike` has a bit per part");

impl Walk<'_> {
    /// Scans the object at `pos` against its branches of the touch table; returns the offset behind the object.
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
                    match branch.part {
                        Part::Meta => self.meta(start, branch)?,
                        // Recursion only follows the touch table; all other values are stepped over.
                        _ => self.object(start, branch.below, Level::Inner)?,
                    }
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

    /// Scans the `_meta` of a request, unless the sender repeats itself.
    fn meta(&mut self, start: usize, branch: &'static Branch) -> Result<usize, Fault> {
        // A second `_meta` is refused when it is recorded; until then it must not overwrite the first.
        let is_first = self.spans[Part::Meta as usize].is_absent();
        if is_first
            && let Some(cache) = &self.cache
            && let Some(behind) = cache.recall(self.bytes, start, self.spans)
        {
            return Ok(behind);
        }
        let behind = self.object(start, branch.below, Level::Inner)?;
        if let Some(cache) = &mut self.cache
            && is_first
            && self.alike == 0
        {
            cache.keep(self.bytes, start..behind, self.spans);
        }
        Ok(behind)
    }

    /// Handles a key that does not match byte for byte: the same key written with escapes, or a look-alike
    /// that another parser would accept as the key.
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
            // Some libraries escape the slash of `io.modelcontextprotocol/…`: that is the same key. In the
            // envelope itself no honest sender writes escapes, so a disguised key is refused below.
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
                // Servers may have their own keys in other letter cases here. Two spellings of one part are
                // refused later, in `judge`.
                self.alike |= 1 << branch.part as u64;
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    fn record(&mut self, branch: &'static Branch, span: Span) -> Result<(), Fault> {
        let known = &mut self.spans[branch.part as usize];
        // Parsers disagree on whether the first or the last of two equal keys counts.
        if !known.is_absent() {
            return Err(Fault::DuplicateKey(branch.part));
        }
        *known = span;
        Ok(())
    }

    /// A part that is present together with a look-alike of its key.
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

    /// Determines the kind of message from the parts present.
    fn judge(&self) -> Result<(Kind, Method), Fault> {
        // Rare: the tree is walked only if a look-alike was seen.
        if self.alike != 0
            && let Some(part) = self.doubtful(ENVELOPE)
        {
            return Err(Fault::DuplicateKey(part));
        }
        // A missing member is fine: old bridges omit it (`dialect`).
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
            // Two receivers could take such a message for different kinds.
            Some(_) if result.is_some() || error.is_some() => Err(Fault::NeitherRequestNorResponse),
            Some(name) => {
                // JSON-RPC allows nothing else here. A recorded value has at least one byte.
                if self.part(Part::Params).is_some_and(|p| !matches!(p[0], b'{' | b'[')) {
                    return Err(Fault::ParamsIsNoStructure);
                }
                let kind = if id.is_some() { Kind::Request } else { Kind::Notification };
                Ok((kind, Method::from_json(name)))
            }
            None => match (id, result, error) {
                // JSON-RPC 1.0 servers send both members, with null for the unused one.
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

/// The key of a part, for error messages.
fn key_of(branches: &[Branch], part: Part) -> &'static str {
    fn find(branches: &[Branch], part: Part) -> Option<&'static str> {
        branches
            .iter()
            .find_map(|branch| if branch.part == part { Some(branch.key) } else { find(branch.below, part) })
    }
    // The table has every part, so the fallback is never shown.
    find(branches, part).unwrap_or("?")
}

/// Removes NUL characters, which some parsers ignore, and maps the two non-ASCII letters whose lower case is
/// an ASCII letter.
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
