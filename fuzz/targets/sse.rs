//! Any bytes as a stream of events, in chunks of any size: the result equals a plain implementation of the
//! standard that works line by line on the complete stream.
#![forbid(unsafe_code)]
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use switchboard_protocol::hunt::Hunter;
use switchboard_protocol::{SseItem, SseParser};

/// The parser's other limits, besides that of data.
const LONGEST_ID: usize = 1024;
const LONGEST_NAME: usize = 128;
const LONGEST_RETRY: usize = 11;

type Read = (Vec<SseItem>, Option<String>, Option<Duration>);

fuzz_target!(|data: &[u8]| {
    // The first bytes decide how the rest is fed.
    let Some((&[limit, first, second], input)) = data.split_first_chunk() else { return };
    let limit = usize::from(limit) + 1;
    let expect = plainly(input, limit);
    assert_eq!(fed(input, limit, &[input.len().max(1)]), expect);
    assert_eq!(fed(input, limit, &[usize::from(first % 31) + 1, usize::from(second) + 1]), expect);
    assert_eq!(fed(input, limit, &[1]), expect);
});

/// Feeds the input in chunks of these sizes, repeatedly.
fn fed(input: &[u8], limit: usize, sizes: &[usize]) -> Read {
    let mut parser = SseParser::new(limit);
    let (mut items, mut rest) = (Vec::new(), input);
    for &size in sizes.iter().cycle() {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        parser.feed(piece, &mut |item| items.push(item));
        if rest.is_empty() {
            break;
        }
    }
    (items, parser.last_id().map(str::to_owned), parser.retry())
}

fn plainly(input: &[u8], limit: usize) -> Read {
    let (mut items, mut last_id, mut retry) = (Vec::new(), None, None);
    let (mut data, mut name, mut id): (Vec<&[u8]>, &[u8], Option<&[u8]>) = (Vec::new(), b"", None);
    for line in lines(input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input)) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"" if line.is_empty() => {
                if let Some(id) = id.take().filter(|id| id.len() <= LONGEST_ID && !id.contains(&0))
                    && let Ok(id) = String::from_utf8(id.to_vec())
                {
                    last_id = Some(id).filter(|id| !id.is_empty());
                }
                items.extend(item(std::mem::take(&mut name), &std::mem::take(&mut data), limit));
            }
            b"data" => data.push(value),
            b"event" => name = value,
            b"id" => id = Some(value),
            b"retry" if value.len() <= LONGEST_RETRY && value.iter().all(u8::is_ascii_digit) => {
                let time = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                retry = time.map(Duration::from_millis).or(retry);
            }
            _ => {}
        }
    }
    (items, last_id, retry)
}

/// Complete lines: ended by a line feed, a carriage return, or both.
fn lines(mut input: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(end) = input.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        lines.push(&input[..end]);
        let length = if input[end..].starts_with(b"\r\n") { 2 } else { 1 };
        input = &input[end + length..];
    }
    lines
}

fn item(name: &[u8], data: &[&[u8]], limit: usize) -> Option<SseItem> {
    let data = data.join(&b'\n');
    if data.len() > limit {
        let mut hunter = Hunter::default();
        hunter.feed(&data);
        return Some(SseItem::TooLong { length: data.len() as u64, glimpses: hunter.finish() });
    }
    // One byte over the limit shows that it is not a known name.
    let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME + 1)]).into_owned();
    (!data.is_empty()).then(|| SseItem::Event { name, data: data.into() })
}
