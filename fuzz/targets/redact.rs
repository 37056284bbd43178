//! Any text and any values to mask: masking never panics, a second pass changes nothing, no value survives, and
//! the text grows by a factor at most.
#![forbid(unsafe_code)]
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_core::redact::{KeyLines, MASK, Secrets, judge};

fuzz_target!(|input: (&str, Vec<String>, &str)| {
    let (text, values, name) = input;
    let secrets = Secrets::NONE.with(values.iter().cloned());
    let once = secrets.redact(text);
    assert_eq!(secrets.redact(&once), once, "{text:?} {values:?}");
    assert!(once.len() <= MASK.len() * text.len(), "{text:?}");
    for value in values.iter().filter(|value| value.len() >= 8) {
        assert!(!once.split(MASK).any(|part| part.contains(value)), "{value:?} in {once:?}");
    }
    for limit in [0, 1, 8, 200] {
        assert!(secrets.redact_cut(text.as_bytes(), limit).len() <= limit);
    }
    if let Ok(mut json) = serde_json::from_str(text) {
        secrets.redact_json(&mut json);
    }
    let mut lines = KeyLines::default();
    text.lines().for_each(|line| drop(lines.mask(line)));
    judge::secrets_in(name, text);
    judge::secrets_in_variable(name, text);
    judge::secrets_in_arguments(text.split(' '));
});
