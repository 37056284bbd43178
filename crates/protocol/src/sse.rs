//! Parser for server-sent events (`text/event-stream`), whatever the size of the reads. Must not know what
//! the events mean, nor anything about HTTP.
//!
//! Lines are not buffered: bytes go straight to their field. Comments and unknown fields cost no memory, and
//! data over the limit is only scanned for ids.

use crate::hunt::{Glimpse, Hunter};
use bytes::{Bytes, BytesMut};
use std::time::Duration;

const BOM: &[u8] = b"\xEF\xBB\xBF";
/// Longest field name with a meaning (`event`, `retry`).
const MAX_FIELD_BYTES: usize = 5;
/// Longest event id that we store and send back.
const MAX_ID_BYTES: usize = 1024;
const MAX_NAME_BYTES: usize = 128;
/// Digits of a retry time in milliseconds: up to three years.
const MAX_RETRY_DIGITS: usize = 11;

/// Output of the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem {
    Event {
        /// Empty for an event without a name.
        name: String,
        data: Bytes,
    },
    /// An event with more data than the limit; `glimpses` holds the ids seen in it.
    TooLong { length: u64, glimpses: Vec<Glimpse> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Id,
    Name,
    Retry,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before the first line, with the number of byte-order-mark bytes seen so far.
    Mark(usize),
    /// Within a field name.
    Field,
    /// After the colon: one leading space is not part of the value.
    Colon(Field),
    Value(Field),
}

#[derive(Debug)]
enum Data {
    /// No data yet.
    None,
    Some(BytesMut),
    TooLong {
        hunter: Box<Hunter>,
        length: u64,
    },
}

/// The inbound half of an event stream.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    position: Position,
    /// The last byte was a carriage return, so a line feed directly after it belongs to the same line end.
    after_return: bool,
    /// The field name so far, cut one byte beyond the longest known name.
    field: Vec<u8>,
    data: Data,
    /// Buffer for data, reused from one event to the next.
    room: BytesMut,
    name: Vec<u8>,
    /// Id set by the current event; `None` if the event does not set one.
    id: Option<Vec<u8>>,
    digits: Vec<u8>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl SseParser {
    /// `limit` applies to the data of one event.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            position: Position::Mark(0),
            after_return: false,
            field: Vec::new(),
            data: Data::None,
            room: BytesMut::new(),
            name: Vec::new(),
            id: None,
            digits: Vec::new(),
            last_id: None,
            retry: None,
        }
    }

    /// The id of the last complete event, from which the stream can be resumed.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Reconnect delay requested by the server.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Feeds the next bytes. An event that is cut off by the end of the stream is not delivered.
    pub fn feed(&mut self, mut bytes: &[u8], tell: &mut dyn FnMut(SseItem)) {
        while let Some(&byte) = bytes.first() {
            if std::mem::take(&mut self.after_return) && byte == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            match self.position {
                Position::Mark(seen) if byte == BOM[seen] => {
                    self.position =
                        if seen + 1 == BOM.len() { Position::Field } else { Position::Mark(seen + 1) };
                    bytes = &bytes[1..];
                }
                Position::Mark(seen) => {
                    // Not a byte order mark after all; these bytes belong to an unknown field.
                    self.field.extend_from_slice(&BOM[..seen]);
                    self.position = Position::Field;
                }
                Position::Colon(field) => {
                    self.position = Position::Value(field);
                    if byte == b' ' {
                        bytes = &bytes[1..];
                    }
                }
                Position::Field | Position::Value(_) if matches!(byte, b'\r' | b'\n') => {
                    self.after_return = byte == b'\r';
                    bytes = &bytes[1..];
                    self.end_line(tell);
                }
                Position::Field => {
                    bytes = &bytes[1..];
                    if byte == b':' {
                        self.begin_value();
                    } else if self.field.len() <= MAX_FIELD_BYTES {
                        self.field.push(byte);
                    }
                }
                Position::Value(field) => {
                    let end = memchr::memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
                    self.take_value(field, &bytes[..end]);
                    bytes = &bytes[end..];
                }
            }
        }
    }

    fn begin_value(&mut self) {
        // A comment line starts with its colon, so its field name is empty and falls under `Other`.
        let field = match self.field.as_slice() {
            b"data" => Field::Data,
            b"id" => Field::Id,
            b"event" => Field::Name,
            b"retry" => Field::Retry,
            _ => Field::Other,
        };
        self.field.clear();
        // A repeated field replaces the earlier value; only data accumulates.
        match field {
            Field::Data => self.begin_data(),
            Field::Id => self.id = Some(Vec::new()),
            Field::Name => self.name.clear(),
            Field::Retry => self.digits.clear(),
            Field::Other => {}
        }
        self.position = Position::Colon(field);
    }

    /// Starts a `data` field; further ones of the same event are joined with a line feed.
    fn begin_data(&mut self) {
        match self.data {
            Data::None => {
                self.room.clear();
                self.data = Data::Some(std::mem::take(&mut self.room));
            }
            Data::Some(_) | Data::TooLong { .. } => self.take_data(b"\n"),
        }
    }

    fn take_data(&mut self, bytes: &[u8]) {
        match &mut self.data {
            // Not reached: `begin_data` precedes the bytes.
            Data::None => {}
            Data::Some(data) if data.len() + bytes.len() <= self.limit => data.extend_from_slice(bytes),
            Data::Some(data) => {
                // The id may lie in the part received so far, so the hunter starts there.
                let mut hunter = Box::<Hunter>::default();
                hunter.feed(data);
                hunter.feed(bytes);
                let length = (data.len() + bytes.len()) as u64;
                self.data = Data::TooLong { hunter, length };
            }
            Data::TooLong { hunter, length } => {
                hunter.feed(bytes);
                *length += bytes.len() as u64;
            }
        }
    }

    fn take_value(&mut self, field: Field, bytes: &[u8]) {
        let gather = |value: &mut Vec<u8>, most: usize| {
            // One byte over the limit, so that an over-long value is recognised later.
            let room = (most + 1).saturating_sub(value.len()).min(bytes.len());
            value.extend_from_slice(&bytes[..room]);
        };
        match field {
            Field::Data => self.take_data(bytes),
            Field::Id => gather(self.id.get_or_insert_default(), MAX_ID_BYTES),
            Field::Name => gather(&mut self.name, MAX_NAME_BYTES),
            Field::Retry => gather(&mut self.digits, MAX_RETRY_DIGITS),
            Field::Other => {}
        }
    }

    fn end_line(&mut self, tell: &mut dyn FnMut(SseItem)) {
        match self.position {
            Position::Field if self.field.is_empty() => self.end_event(tell),
            // A field without a colon has an empty value.
            Position::Field => self.begin_value(),
            Position::Colon(_) | Position::Value(_) | Position::Mark(_) => {}
        }
        // The standard applies `retry` with its line; the other fields wait for the end of the event.
        if let Position::Colon(Field::Retry) | Position::Value(Field::Retry) = self.position {
            self.take_retry();
        }
        self.position = Position::Field;
    }

    fn take_retry(&mut self) {
        let digits = std::mem::take(&mut self.digits);
        if digits.len() <= MAX_RETRY_DIGITS
            && digits.iter().all(u8::is_ascii_digit)
            && let Ok(Ok(time)) = std::str::from_utf8(&digits).map(str::parse)
        {
            self.retry = Some(Duration::from_millis(time));
        }
    }

    fn end_event(&mut self, tell: &mut dyn FnMut(SseItem)) {
        // Before the data: MCP servers send an id with empty data to make a stream resumable. The standard
        // ignores an id with a NUL in it.
        if let Some(id) = self.id.take()
            && id.len() <= MAX_ID_BYTES
            && !id.contains(&0)
            && let Ok(id) = String::from_utf8(id)
        {
            // An empty id resets the last one.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let name = String::from_utf8_lossy(&std::mem::take(&mut self.name)).into_owned();
        match std::mem::replace(&mut self.data, Data::None) {
            Data::None => {}
            Data::Some(mut data) => {
                // An event without data is not delivered, as the standard says.
                if !data.is_empty() {
                    tell(SseItem::Event { name, data: data.split().freeze() });
                }
                // The rest of the allocation serves the next event.
                self.room = data;
            }
            Data::TooLong { hunter, length } => {
                tell(SseItem::TooLong { length, glimpses: hunter.finish() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: usize = 1 << 10;

    fn parse_in(pieces: &[&[u8]]) -> (Vec<SseItem>, Option<String>, Option<Duration>) {
        let mut parser = SseParser::new(LIMIT);
        let mut items = Vec::new();
        for piece in pieces {
            parser.feed(piece, &mut |item| items.push(item));
        }
        (items, parser.last_id().map(str::to_owned), parser.retry())
    }

    fn event(name: &str, data: &str) -> SseItem {
        SseItem::Event { name: name.to_owned(), data: data.to_owned().into() }
    }

    #[track_caller]
    fn check(stream: &str, expect: &[(&str, &str)], id: Option<&str>) {
        let (items, last, _) = parse_in(&[stream.as_bytes()]);
        let expect: Vec<SseItem> = expect.iter().map(|(name, data)| event(name, data)).collect();
        assert_eq!((items, last.as_deref()), (expect, id), "{stream:?}");
    }

    #[test]
    fn events_end_with_an_empty_line() {
        check("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")], None);
        check("data:  a\n\n", &[("", " a")], None);
        check("data: a\n", &[], None);
        check("event: endpoint\ndata: /x?y=1\n\n", &[("endpoint", "/x?y=1")], None);
        check("event: lost\n\ndata: a\n\n", &[("", "a")], None);
        check("event: x\nevent: y\ndata: a\n\n", &[("y", "a")], None);
    }

    #[test]
    fn lines_end_in_three_ways() {
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")], None);
        check("data: a\r\ndata: b\rdata: c\n\r\n", &[("", "a\nb\nc")], None);
    }

    #[test]
    fn data_may_have_many_lines() {
        check("data: {\ndata: }\n\n", &[("", "{\n}")], None);
        check("data\ndata\n\n", &[("", "\n")], None);
        // An event without data is not delivered, but its id counts.
        check("id: 7\ndata:\n\n", &[], Some("7"));
        check("id: 7\ndata\n\n", &[], Some("7"));
        check("id: 7\n\n", &[], Some("7"));
    }

    #[test]
    fn comments_and_unknown_fields_are_skipped() {
        check(
            ": hello\n:\n\ndata: a\n: in between\nfoo: bar\nDATA: x\n data: y\ndatax: z\n\n",
            &[("", "a")],
            None,
        );
        check("dat: x\ndatadata: x\n\n", &[], None);
    }

    #[test]
    fn byte_order_mark_counts_at_the_start_only() {
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &[("", "a")], None);
    }

    #[test]
    fn id_counts_once_its_event_is_complete() {
        check("id: 1\ndata: a\n\nid: 2\ndata: b\n", &[("", "a")], Some("1"));
        check("id: 1\ndata: a\n\ndata: b\n\n", &[("", "a"), ("", "b")], Some("1"));
        check("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", &[("", "a"), ("", "b")], Some("1"));
        check("id: 1\ndata: a\n\nid\ndata: b\n\n", &[("", "a"), ("", "b")], None);
        let long = format!("id: {}\ndata: a\n\n", "x".repeat(MAX_ID_BYTES + 1));
        check(&long, &[("", "a")], None);
    }

    #[test]
    fn server_sets_the_reconnect_delay() {
        let retry = |stream: &str| parse_in(&[stream.as_bytes()]).2.map(|time| time.as_millis());
        assert_eq!(retry("retry: 1500\n"), Some(1500));
        assert_eq!(retry("retry:0\r"), Some(0));
        assert_eq!(retry("retry: 1500\nretry: soon\n"), Some(1500));
        for none in [
            "retry: -1\n",
            "retry: 1.5\n",
            "retry:\n",
            "retry\n",
            "retry: 999999999999999999999\n",
            "retry: 15",
        ] {
            assert_eq!(retry(none), None, "{none:?}");
        }
    }

    #[test]
    fn oversized_data_is_only_scanned_for_ids() {
        let text = "x".repeat(LIMIT);
        let stream = format!("id: 9\ndata: {{\"result\":\"{text}\",\ndata: \"id\":5}}\n\ndata: b\n\n");
        let (items, last, _) = parse_in(&[stream.as_bytes()]);
        let [SseItem::TooLong { length, glimpses }, b] = &items[..] else { panic!("{items:?}") };
        assert_eq!(*length as usize, LIMIT + "{\"result\":\"\",\n\"id\":5}".len());
        assert_eq!(glimpses[0].id.as_ref().map(ToString::to_string).as_deref(), Some("5"));
        assert!(glimpses[0].is_answer);
        assert_eq!((b, last.as_deref()), (&event("", "b"), Some("9")));
    }

    /// Fragments of streams, including everything that is treated specially.
    fn stream() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "data",
            "id",
            "event",
            "retry",
            ":",
            ": ",
            " ",
            "\n",
            "\r",
            "\r\n",
            "\n\n",
            "\u{feff}",
            "é",
            "1",
            "x\0",
            "data: a\n\n",
            "id: 5\n",
            "data: {\"id\":1}\r\n\r\n",
            ":c\n",
        ]);
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    /// Reference implementation: the standard's algorithm, line by line, for a complete stream.
    fn plainly(stream: &str) -> (Vec<SseItem>, Option<String>, Option<Duration>) {
        let stream =
            stream.strip_prefix('\u{feff}').unwrap_or(stream).replace("\r\n", "\n").replace('\r', "\n");
        let (mut items, mut last, mut retry) = (Vec::new(), None, None);
        let (mut data, mut name, mut id) = (String::new(), String::new(), None);
        let whole = stream.rfind('\n').map_or("", |end| &stream[..end]);
        for line in whole.split('\n').take(stream.matches('\n').count()) {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" if line.is_empty() => {
                    if let Some(id) = id.take() {
                        last = Some(id).filter(|id: &String| !id.is_empty());
                    }
                    if data.len() > 1 {
                        items.push(event(&name, &data[..data.len() - 1]));
                    }
                    data.clear();
                    name.clear();
                }
                "data" => data += &format!("{value}\n"),
                "event" => value.clone_into(&mut name),
                "id" if !value.contains('\0') => id = Some(value.to_owned()),
                // An invalid id also discards an earlier one of the same event: the sender's intent is unknown.
                "id" => id = None,
                "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                    retry = value.parse().ok().map(Duration::from_millis);
                }
                _ => {}
            }
        }
        (items, last, retry)
    }

    proptest! {
        #[test]
        fn result_does_not_depend_on_the_chunks(stream in stream(), cuts in prop::collection::vec(0usize..200, 0..12)) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            let whole = parse_in(&[bytes]);
            prop_assert_eq!(&parse_in(&pieces), &whole);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(&parse_in(&single), &whole);
            prop_assert_eq!(plainly(&stream), whole);
        }

        #[test]
        fn any_bytes_are_accepted(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            parse_in(&[&bytes]);
        }
    }
}
