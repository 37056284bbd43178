//! A line of a program's chatter: every byte is either in a message or in the noise, in order.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use switchboard_protocol::recover::recover;

fuzz_target!(|data: &[u8]| {
    let line = Bytes::copy_from_slice(data);
    let found = recover(&line);
    let in_messages: usize = found.messages.iter().map(|message| message.bytes().len()).sum();
    assert_eq!(in_messages + found.noise.len(), line.len());
    let mut from = line.as_ptr();
    for message in &found.messages {
        assert!(serde_json::from_slice::<&RawValue>(message.bytes()).is_ok());
        let range = message.bytes().as_ptr_range();
        assert!(from <= range.start, "messages overlap, or are out of order");
        from = range.end;
    }
});
