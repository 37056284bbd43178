//! Any URI and any filter pattern: judging never panics and takes bounded time, a pattern denies everything
//! it allows, and no disguise takes a URI out of a deny pattern.
#![forbid(unsafe_code)]
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_core::catalogue::Filter;

fuzz_target!(|input: (&str, &str)| {
    let (glob, uri) = input;
    let allow = Filter { allow: vec![glob.to_owned()], ..Filter::default() };
    let deny = Filter { deny: vec![glob.to_owned()], ..Filter::default() };
    assert!(!(allow.allows_uri(uri) && deny.allows_uri(uri)), "{glob:?} {uri:?}");
    if !deny.denies_uri(uri) {
        return;
    }
    // The pattern may be about a query or fragment, and a long URI is refused anyway.
    if uri.contains(['?', '#', '\0']) || glob.contains(['?', '#', '\0']) {
        return;
    }
    for tail in ["?x", "#x", "%00", "\0"] {
        assert!(deny.denies_uri(&format!("{uri}{tail}")), "{glob:?} {uri:?} {tail:?}");
    }
    let encoded: String = uri.bytes().map(|b| format!("%{b:02x}")).collect();
    if encoded.len() < 2 * 1024 && !uri.contains('%') && !glob.contains('%') {
        assert!(deny.denies_uri(&encoded), "{glob:?} {uri:?}");
    }
});
