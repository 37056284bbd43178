//! References to the resources of MCP Apps (SEP-1865) in the `_meta` of tools and results. Must not know which
//! resources exist.

use super::{scan, uris};
use switchboard_protocol::Span;

/// The member with the references.
pub(super) const META: &str = "_meta";
/// The object of the extension in `_meta`, and its member with the URI.
const UI: &str = "ui";
const RESOURCE_URI: &str = "resourceUri";
/// Members of `_meta` that hold the URI itself: the older form of the extension, and that of the Apps SDK before
/// it.
const FLAT_KEYS: [&str; 2] = ["ui/resourceUri", "openai/outputTemplate"];

/// Calls `each` with every reference to an app in the `_meta` at `pos`, in order; returns the offset behind it. Of
/// several members with the same name a client may read any, so all count.
pub(super) fn references(bytes: &[u8], pos: usize, mut each: impl FnMut(Span)) -> usize {
    let is_app = |at: Span| scan::text(&bytes[at.range()]).is_some_and(|uri| uris::is_ui(&uri));
    let scanned = scan::members(bytes, pos, |key, value| {
        if FLAT_KEYS.iter().any(|flat| scan::is_key(key, flat)) && is_app(value) {
            each(value);
        } else if scan::is_key(key, UI) {
            let _ = scan::members(bytes, value.start as usize, |key, value| {
                if scan::is_key(key, RESOURCE_URI) && is_app(value) {
                    each(value);
                }
            });
        }
    });
    // Anything but an object has no members, and no reference.
    scanned.unwrap_or(pos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(meta: &str) -> Vec<&str> {
        let mut found = Vec::new();
        references(meta.as_bytes(), 0, |at| found.push(&meta[at.range()]));
        found
    }

    #[test]
    fn both_forms_of_a_reference_are_found() {
        let meta = r#"{"ui":{"visibility":["app"],"resourceUri":"ui://a"},"x":{"ui":{"resourceUri":"ui://b"}},"ui\/resourceUri":"ui:\/\/c"}"#;
        assert_eq!(found(meta), [r#""ui://a""#, r#""ui:\/\/c""#]);
        assert_eq!(found(r#"{"openai/outputTemplate":"UI://d"}"#), [r#""UI://d""#]);
    }

    #[test]
    fn duplicate_references_all_count() {
        let meta = r#"{"ui":{"resourceUri":"ui://a","resourceUri":"ui://b"},"ui":{"resourceUri":"ui://c"}}"#;
        assert_eq!(found(meta), [r#""ui://a""#, r#""ui://b""#, r#""ui://c""#]);
    }

    #[test]
    fn other_values_are_no_references() {
        for meta in [
            "{}",
            "[]",
            "7",
            r#"{"ui":7}"#,
            r#"{"ui":{"resourceUri":7}}"#,
            r#"{"ui":{"resourceUri":"https://x"}}"#,
            r#"{"ui":{"resourceUri":"\ud800"}}"#,
            r#"{"resourceUri":"ui://a","ui":{"uri":"ui://a"}}"#,
        ] {
            assert_eq!(found(meta), Vec::<&str>::new(), "{meta}");
        }
    }
}
