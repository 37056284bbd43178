//! A line of program output: every byte is either in a message or in the noise, in order.
#![forbid(unsafe_code)]
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use switchboard_protocol::parse;
use switchboard_protocol::recover::recover;

/// Prefix of an error that had no id.
const NULL_ID: &[u8] = b"{\"id\":null,";

fuzz_target!(|data: &[u8]| {
    let line = Bytes::copy_from_slice(data);
    let Err(broken) = parse(line.clone()) else { return };
    let found = recover(&line, broken);
    let is_copy = |bytes: &Bytes| !line.as_ptr_range().contains(&bytes.as_ptr());
    let length = |bytes: &Bytes| match is_copy(bytes) {
        true => bytes.len() + 1 - NULL_ID.len(),
        false => bytes.len(),
    };
    let in_messages: usize = found.messages.iter().map(|message| length(message.bytes())).sum();
    assert_eq!(in_messages + found.noise.len(), line.len());
    let mut from = line.as_ptr();
    for message in &found.messages {
        assert!(serde_json::from_slice::<&RawValue>(message.bytes()).is_ok());
        if is_copy(message.bytes()) {
            assert!(message.bytes().starts_with(NULL_ID));
            continue;
        }
        let range = message.bytes().as_ptr_range();
        assert!(from <= range.start, "messages overlap, or are out of order");
        from = range.end;
    }
});
