//! Content of answers: text as it is, and one line for other kinds.

use super::base64;
use serde_json::Value;

/// Text of a list of content, as calls and prompts return it.
pub(super) fn shown(content: &Value) -> String {
    match content {
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        Value::Null => String::new(),
        one => block(one),
    }
}

/// Text with a final line break.
pub(super) fn lines(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn block(block: &Value) -> String {
    let text = |key: &str| block[key].as_str();
    match text("type").unwrap_or_default() {
        "text" => lines(text("text").unwrap_or_default()),
        kind @ ("image" | "audio") => {
            let size = base64::length(text("data").unwrap_or_default());
            said(&[Some(kind), text("mimeType"), Some(&format!("{size} bytes"))])
        }
        "resource" => resource(&block["resource"]),
        "resource_link" => said(&[Some("resource link"), text("uri"), text("name"), text("mimeType")]),
        other => said(&[Some("unknown content type"), Some(other)]),
    }
}

/// Description of a resource, without its content.
pub(super) fn resource(resource: &Value) -> String {
    let text = |key: &str| resource[key].as_str();
    let size = match (text("text"), text("blob")) {
        (Some(text), _) => text.len(),
        (None, blob) => base64::length(blob.unwrap_or_default()),
    };
    said(&[Some("resource"), text("uri"), text("mimeType"), Some(&format!("{size} bytes"))])
}

fn said(words: &[Option<&str>]) -> String {
    let words: Vec<String> = words.iter().flatten().map(|word| crate::terminal::one_line(word)).collect();
    format!("[{}]\n", words.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_verbatim_and_the_rest_one_line() {
        let content = json!([
            { "type": "text", "text": "one\n" },
            { "type": "text", "text": "\x1b[1mtwo" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAA=", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "a://b", "text": "é" } },
            { "type": "resource", "resource": { "uri": "a://c", "mimeType": "x/y", "blob": "AA==" } },
            { "type": "resource_link", "uri": "a://d", "name": "d" },
            { "type": "hologram" },
        ]);
        let expect = "one\n\x1b[1mtwo\n[image, image/png, 3 bytes]\n[audio, audio/wav, 2 bytes]\n\
                      [resource, a://b, 2 bytes]\n[resource, a://c, x/y, 1 bytes]\n[resource link, a://d, d]\n\
                      [unknown content type, hologram]\n";
        assert_eq!(shown(&content), expect);
        assert_eq!(shown(&json!({ "type": "text", "text": "" })), "");
        assert_eq!(shown(&Value::Null), "");
    }
}
