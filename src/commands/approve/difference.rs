//! The difference between two definitions of a tool, for people: one line for each place. A server wrote both, so
//! nothing invisible stays invisible, and no changed text is cut off.

use serde_json::Value;
use std::collections::BTreeSet;

/// Text around a changed part of a long string.
const CONTEXT_CHARS: usize = 30;

pub(super) fn lines(old: Option<&str>, new: Option<&str>) -> Vec<String> {
    let parsed = |text: Option<&str>| text.map(serde_json::from_str::<Value>);
    let mut lines = Vec::new();
    match (parsed(old), parsed(new)) {
        (Some(Ok(old)), Some(Ok(new))) => compare(&mut String::new(), Some(&old), Some(&new), &mut lines),
        (None, Some(Ok(new))) => compare(&mut String::new(), None, Some(&new), &mut lines),
        (_, _) => {}
    }
    if lines.is_empty() {
        lines.push(
            "the difference cannot be shown; `--json` has the definitions, unless they are too long"
                .to_owned(),
        );
    }
    lines
}

fn compare(path: &mut String, old: Option<&Value>, new: Option<&Value>, lines: &mut Vec<String>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let dot = if path.is_empty() { "" } else { "." };
                inside(path, &format!("{dot}{}", visible(key)), |path| {
                    compare(path, old.get(key), new.get(key), lines);
                });
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for at in 0..old.len().max(new.len()) {
                inside(path, &format!("[{at}]"), |path| compare(path, old.get(at), new.get(at), lines));
            }
        }
        (Some(Value::String(old)), Some(Value::String(new))) => {
            let (old, new) = around_change(old, new);
            lines.extend([format!("- {path}: {old}"), format!("+ {path}: {new}")]);
        }
        (old, new) => {
            let shown = |value: &Value| visible(&value.to_string());
            let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
            lines.extend(old.map(|old| format!("- {place}{}", shown(old))));
            lines.extend(new.map(|new| format!("+ {place}{}", shown(new))));
        }
    }
}

fn inside(path: &mut String, step: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    work(path);
    path.truncate(length);
}

/// Both strings without most of what they have in common at both ends.
fn around_change(old: &str, new: &str) -> (String, String) {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let (from, rest) = (start.saturating_sub(CONTEXT_CHARS), end.saturating_sub(CONTEXT_CHARS));
    let part = |text: &[char]| {
        let middle: String = text[from..text.len() - rest].iter().collect();
        let quoted = visible(&Value::from(middle).to_string());
        format!("{}{quoted}{}", if from > 0 { "…" } else { "" }, if rest > 0 { "…" } else { "" })
    };
    (part(&old), part(&new))
}

/// Text with everything escaped that a terminal does not show, or takes for an order.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

/// Control characters, blanks that are no plain space, and characters without a width.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_place_has_lines() {
        let old = r#"{"name":"t","description":"Read a file","inputSchema":{"required":["a","b"],"x":1}}"#;
        let new = r#"{"description":"Read a file!","name":"t","inputSchema":{"required":["a"],"y":{"z":2}}}"#;
        let expect = [
            r#"- description: "Read a file""#,
            r#"+ description: "Read a file!""#,
            r#"- inputSchema.required[1]: "b""#,
            "- inputSchema.x: 1",
            r#"+ inputSchema.y: {"z":2}"#,
        ];
        assert_eq!(lines(Some(old), Some(new)), expect);
    }

    #[test]
    fn changed_text_is_shown_in_full() {
        let (same, order) = ("x".repeat(200), "y".repeat(500));
        let [old, new] = ["", &order].map(|more| format!(r#"{{"a":"{same}{more}{same}"}}"#));
        let lines = lines(Some(&old), Some(&new));
        let around = "x".repeat(CONTEXT_CHARS);
        assert_eq!(lines[0], format!(r#"- a: …"{around}{around}"…"#));
        assert_eq!(lines[1], format!(r#"+ a: …"{around}{order}{around}"…"#));
    }

    #[test]
    fn invisible_text_is_visible() {
        let new = "{\"a\u{202e}\":\"b\u{200b}\u{1b}[2J\u{e0041}\"}".replace('\u{1b}', "\\u001b");
        assert_eq!(lines(None, Some(&new)), [r#"+ {"a\u{202e}":"b\u{200b}\u001b[2J\u{e0041}"}"#]);
    }

    #[test]
    fn unshowable_differences_are_told() {
        for (old, new) in [
            (None, None),
            (Some("{}"), None),
            (Some(r#"{"a":1}"#), Some(r#"{"a":2,"a":1}"#)),
            (Some("{}"), Some("not json")),
        ] {
            assert!(lines(old, new)[0].starts_with("the difference cannot be shown"), "{old:?} {new:?}");
        }
    }
}
