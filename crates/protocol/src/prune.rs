//! Removal of members from a message. Every other byte stays as it is. Must not know why a member is removed.

use crate::envelope::{Parsed, parse};
use crate::json::{self, Next, NotJson};
use crate::message::Message;
use crate::method;
use std::ops::Range;

/// The keys that lead from the envelope to a member.
pub type Path<'a> = &'a [&'a str];

/// A copy of the message without the members at these paths; `None` if it has none of them. Keys are compared
/// regardless of case and escapes, and every member of a key counts: some parsers take the last one, or fold case.
pub fn without(message: &Message, paths: &[Path<'_>]) -> Option<Message> {
    let bytes = message.bytes();
    let mut cuts = Vec::new();
    // The envelope was validated when the message was parsed.
    find(bytes, json::space(bytes, 0), paths, &mut cuts).ok()?;
    if cuts.is_empty() {
        return None;
    }
    let mut kept = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for cut in cuts {
        kept.extend_from_slice(&bytes[from..cut.start]);
        from = cut.end;
    }
    kept.extend_from_slice(&bytes[from..]);
    match parse(kept.into()) {
        Ok(Parsed::One(mut pruned)) => {
            if message.is_multiline() {
                pruned.mark_multiline();
            }
            pruned.rename_like(message);
            Some(pruned)
        }
        Ok(Parsed::Batch(_)) | Err(_) => None,
    }
}

/// A member of an object, or an element of an array.
pub(crate) struct Member {
    /// From the key, or from the start of the element, to the end of the value.
    pub(crate) span: Range<usize>,
    pub(crate) is_cut: bool,
}

/// Collects the stretches to cut out of the object at `pos`, in order. Returns the offset behind the object.
fn find(
    bytes: &[u8],
    pos: usize,
    paths: &[Path<'_>],
    cuts: &mut Vec<Range<usize>>,
) -> Result<usize, NotJson> {
    let mut members: Vec<Member> = Vec::new();
    let mut inner = Vec::new();
    let mut pos = json::space(bytes, pos + 1);
    while json::byte(bytes, pos) == Some(b'"') {
        let (behind, value) = json::key(bytes, pos)?;
        let key = method::text(&bytes[pos..behind]).unwrap_or_default();
        let meant = paths.iter().filter(|path| path.first().is_some_and(|it| it.eq_ignore_ascii_case(&key)));
        let below: Vec<Path<'_>> = meant.map(|path| &path[1..]).collect();
        let is_cut = below.iter().any(|path| path.is_empty());
        let is_object = json::next(bytes, value)? == Next::Object;
        let end = match is_object && !is_cut && !below.is_empty() {
            true => find(bytes, value, &below, &mut inner)?,
            false => json::value(bytes, value)?,
        };
        members.push(Member { span: pos..end, is_cut });
        pos = json::space(bytes, end);
        if json::byte(bytes, pos) == Some(b',') {
            pos = json::space(bytes, pos + 1);
        }
    }
    cuts.extend(inner);
    cuts.extend(cuts_between(&members));
    // Cuts of inner objects lie inside kept members, so the stretches do not overlap.
    cuts.sort_by_key(|cut| cut.start);
    Ok(pos + 1)
}

/// The stretches that remove the marked members with the commas that separated them.
pub(crate) fn cuts_between(members: &[Member]) -> Vec<Range<usize>> {
    let last_kept = members.iter().rposition(|member| !member.is_cut);
    let before_last = last_kept.map_or(&[][..], |kept| &members[..=kept]);
    let pairs = before_last.windows(2).filter(|pair| pair[0].is_cut);
    let mut cuts: Vec<Range<usize>> = pairs.map(|pair| pair[0].span.start..pair[1].span.start).collect();
    // The members at the end go with the comma before them.
    let from = last_kept.map(|kept| members[kept].span.end).or(members.first().map(|it| it.span.start));
    let is_last_cut = |last: &&Member| last.is_cut;
    if let (Some(from), Some(last)) = (from, members.last().filter(is_last_cut)) {
        cuts.push(from..last.span.end);
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const PATHS: &[Path<'_>] = &[&["params", "a"], &["params", "o", "b"]];

    fn pruned(text: &str) -> Option<String> {
        let Ok(Parsed::One(message)) = parse(text.to_owned().into()) else { panic!("no message: {text}") };
        without(&message, PATHS).map(|message| String::from_utf8(message.bytes().to_vec()).unwrap())
    }

    #[track_caller]
    fn check(params: &str, expect: Option<&str>) {
        let message = |params: &str| format!(r#" {{"method" : "x","params":{params} , "id":1.0}} "#);
        assert_eq!(pruned(&message(params)), expect.map(message), "{params}");
    }

    #[test]
    fn members_go_with_their_commas() {
        check(r#"{"a":1}"#, Some("{}"));
        check(r#"{ "a" : 1 }"#, Some("{  }"));
        check(r#"{"a":1,"c":2}"#, Some(r#"{"c":2}"#));
        check(r#"{"c":2 , "a":1}"#, Some(r#"{"c":2}"#));
        check(r#"{"c":2,"a":1 , "d": 3e0}"#, Some(r#"{"c":2,"d": 3e0}"#));
        check(r#"{"a":{"c":[1]},"a":1,"c":2,"a":1}"#, Some(r#"{"c":2}"#));
        check(r#"{"o":{"b":1,"x":[{"b":2}]},"c":2}"#, Some(r#"{"o":{"x":[{"b":2}]},"c":2}"#));
        check(r#"{"a":0,"o":{"c":1,"b":2},"o":{"b":3},"a":1}"#, Some(r#"{"o":{"c":1},"o":{}}"#));
    }

    #[test]
    fn disguised_keys_go_too() {
        check(r#"{"A":1,"c":2}"#, Some(r#"{"c":2}"#));
        check(r#"{"\u0061":1,"O":{"\u0042":1}}"#, Some(r#"{"O":{}}"#));
    }

    #[test]
    fn others_stay_as_they_are() {
        for params in [r#"{}"#, r#"{"b":1,"c":{"a":1}}"#, r#"{"o":"b"}"#, r#"{"o":["b"],"aa":1}"#, "[1]"] {
            check(params, None);
        }
        assert_eq!(pruned(r#"{"a":1,"id":1,"method":"x"}"#), None);
    }

    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(|n| json!(n)),
            "[a-c]{0,3}".prop_map(|t| json!(t))
        ];
        let value = leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abco]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[abco]", value, 0..5)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn nothing_else_changes(params in object(), is_pretty in any::<bool>()) {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": params });
            let text = if is_pretty { format!("{message:#}") } else { message.to_string() };
            let mut expect = message.clone();
            expect["params"].as_object_mut().unwrap().remove("a");
            if let Some(inner) = expect["params"].get_mut("o").and_then(Value::as_object_mut) {
                inner.remove("b");
            }
            let found = pruned(&text);
            prop_assert_eq!(found.is_some(), expect != message);
            let found = found.unwrap_or_else(|| text.clone());
            prop_assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), expect);
            // What is left is a subsequence of what was there.
            let mut rest = text.bytes();
            prop_assert!(found.bytes().all(|byte| rest.any(|other| other == byte)));
        }
    }
}
