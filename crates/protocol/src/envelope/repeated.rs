//! Messages that repeat their `_meta`: whatever was parsed before, a message is read as without a cache.

use super::{Parsed, parse, parse_repeated};
use crate::meta_cache::MetaCache;
use proptest::prelude::*;

const DECLARED: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"x":[1]}"#;

fn call(id: u64, meta: &str, rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"_meta":{meta}{rest}}}}}"#)
}

/// Whatever was parsed before, a message is read as without a cache.
#[track_caller]
fn check(cache: &mut MetaCache, text: &str) {
    let cached = parse_repeated(text.to_owned().into(), true, cache);
    let plain = parse(text.to_owned().into());
    assert_eq!(format!("{cached:?}"), format!("{plain:?}"), "{text}");
}

#[test]
fn repeated_meta_is_read_the_same() {
    let mut cache = MetaCache::default();
    for (id, rest) in [(1, ""), (22, r#","name":"echo""#), (333, r#","name":"echo","arguments":{}"#)] {
        check(&mut cache, &call(id, DECLARED, rest));
        assert_eq!(cache.text(), DECLARED.as_bytes());
    }
    let other = DECLARED.replace("roots", "elicitation");
    check(&mut cache, &call(4, &other, ""));
    assert_eq!(cache.text(), other.as_bytes());
}

#[test]
fn repeated_meta_hides_no_fault() {
    let mut cache = MetaCache::default();
    check(&mut cache, &call(1, DECLARED, ""));
    for rest in [format!(r#","_meta":{DECLARED}"#), r#","name":1,"name":2"#.into(), "}".into(), ",".into()] {
        check(&mut cache, &call(2, DECLARED, &rest));
    }
    check(&mut cache, &call(3, &DECLARED.replace("roots\":{}", "roots\":{"), ""));
    check(&mut cache, &call(4, &format!("{DECLARED}x"), ""));
}

#[test]
fn meta_with_tokens_is_not_kept() {
    for key in ["progressToken", "switchboard/authToken"] {
        let mut cache = MetaCache::default();
        check(&mut cache, &call(1, &DECLARED.replace("\"x\"", &format!("\"{key}\"")), ""));
        assert!(cache.text().is_empty(), "{key}");
    }
    let mut cache = MetaCache::default();
    check(&mut cache, &call(1, r#"{"io.modelcontextprotocol/clientInfo":{}}"#, ""));
    check(&mut cache, &call(1, &DECLARED.replace("\"x\"", "\"IO.modelcontextprotocol/clientInfo\""), ""));
    assert!(cache.text().is_empty());
}

proptest! {
    #[test]
    fn cache_changes_no_result(texts in prop::collection::vec((0..4usize, 0..3usize, "[a-z\\[\\]{}:,\" ]{0,12}"), 1..8)) {
        let metas = [DECLARED.to_owned(), DECLARED.replace("roots", "sampling"), "{}".to_owned(), format!("{} ", DECLARED)];
        let mut cache = MetaCache::default();
        for (meta, shape, noise) in texts {
            let text = match shape {
                0 => call(1, &metas[meta], ""),
                1 => call(1, &metas[meta], &noise),
                _ => call(1, &metas[meta].replacen("x", &noise, 1), ""),
            };
            let cached = parse_repeated(text.clone().into(), true, &mut cache);
            prop_assert!(matches!(cached, Ok(Parsed::One(_)) | Err(_)));
            prop_assert_eq!(format!("{:?}", cached), format!("{:?}", parse(text.into())));
        }
    }
}
