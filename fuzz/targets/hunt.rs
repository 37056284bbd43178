//! A line that is broken or too long: chunks of any size give the same result, an id that is found can be put
//! into an answer, and on a good message the tolerant scan agrees with the parser.
#![forbid(unsafe_code)]
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use switchboard_protocol::hunt::{Hunter, look};
use switchboard_protocol::{Dialect, ErrorAnswer, ErrorKind, Kind, Parsed, Part, parse};

fuzz_target!(|data: &[u8]| {
    let Some((&size, line)) = data.split_first() else { return };
    let mut whole = Hunter::default();
    whole.feed(line);
    let whole = whole.finish();
    let mut pieces = Hunter::default();
    line.chunks(usize::from(size) % 40 + 1).for_each(|piece| pieces.feed(piece));
    assert_eq!(whole, pieces.finish());

    for glimpse in &whole {
        if let Some(id) = &glimpse.id {
            let answer = ErrorAnswer::new(ErrorKind::BadAnswer, "").to_bytes(id, Dialect::Standard);
            match parse(answer) {
                Ok(Parsed::One(answer)) => assert_eq!(answer.id().as_ref(), Some(id)),
                // Bytes inside an id's quotes that are not UTF-8 cannot be returned.
                Err(_) | Ok(Parsed::Batch(_)) => panic!("{id} cannot be answered"),
            }
        }
    }

    if let Ok(Parsed::One(message)) = parse(Bytes::copy_from_slice(line)) {
        let seen = look(line);
        if message.part(Part::Id).is_none_or(|id| id.len() < 200) {
            assert_eq!(seen.id, message.id());
        }
        match message.kind() {
            Kind::Request | Kind::Notification => assert!(!seen.is_answer),
            Kind::Response { .. } => {
                assert_eq!(seen.is_answer, message.has(Part::Result) || message.has(Part::Jsonrpc));
            }
        }
    }
});
