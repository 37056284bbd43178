//! Any text survives a header value; any header value is decoded or refused; any schema and any arguments give headers that
//! pass their own check.
#![forbid(unsafe_code)]
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_protocol::http_headers::{Found, annotations, check_params, decode, encode, is_safe, params};

fuzz_target!(|data: &[u8]| {
    if let Some(text) = decode(data) {
        assert_eq!(decode(encode(&text).as_bytes()).as_deref(), Some(&*text));
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let encoded = encode(text);
    assert!(is_safe(&encoded));
    assert_eq!(decode(encoded.as_bytes()).as_deref(), Some(text));
    let Some((schema, arguments)) = text.split_once('\n') else { return };
    let Ok(headers) = annotations(&serde_json::from_str(schema).unwrap_or_default()) else { return };
    let made = params(&headers, arguments.as_bytes());
    let header = |name: &str| match made.iter().find(|(it, _)| it == name) {
        Some((_, value)) => Found::One(value.as_bytes()),
        None => Found::Absent,
    };
    assert_eq!(check_params(&headers, arguments.as_bytes(), header), Ok(()));
});
