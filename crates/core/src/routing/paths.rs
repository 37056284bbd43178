//! Paths in messages: those that a request names, and the roots that a client reports. Pure. Must not look at
//! the disk. Large arguments are skipped without decoding. Anything malformed or unexpected is ignored.

use super::{NamedBy, path};
use path::Style;
use std::borrow::Cow;
use switchboard_protocol::json;

/// Longest text that is considered a path; no system has longer ones, even in URI form.
const MAX_PATH_BYTES: usize = 128 * 1024;
/// Limit on URIs per request: each is looked up on disk, and more add nothing.
const MAX_URIS: usize = 16;
/// Limit on roots per client, since each is stored.
pub(crate) const MAX_ROOTS: usize = 256;

/// The paths named in a request's `params`, normalised, in order of precedence:
///
/// - `params.uri`, if it is a `file:` URI;
/// - the arguments named in `root_arguments`, in that order, whose value is an absolute path or a `file:` URI;
/// - the other arguments whose whole value is a `file://` URI, in order of appearance.
///
/// Never part of a text, and never a nested value: quoted code must not redirect a call. Of members with the
/// same name the last counts, as in most parsers.
pub fn named(params: &[u8], root_arguments: &[String], style: Style) -> Vec<(NamedBy, String)> {
    let [uri, arguments] = picked(params, ["uri", "arguments"]).unwrap_or_default();
    let mut paths = Vec::new();
    if let Some(path) = uri.and_then(text).and_then(|uri| path::of_uri(&uri, style)) {
        paths.push((NamedBy::Uri, path));
    }
    if let Some(arguments) = arguments {
        paths.extend(in_arguments(arguments, root_arguments, style).unwrap_or_default());
    }
    paths
}

fn in_arguments(arguments: &[u8], root_arguments: &[String], style: Style) -> Option<Vec<(NamedBy, String)>> {
    let mut configured: Vec<Option<&[u8]>> = vec![None; root_arguments.len()];
    let mut others: Vec<(String, String)> = Vec::new();
    members(arguments, |quoted, value| {
        let may_be_uri = matches!(value, [b'"', b'f' | b'F' | b'\\', ..]);
        // Not decoded if it cannot matter. After a first URI every name may: a duplicate replaces it.
        if configured.is_empty() && others.is_empty() && !may_be_uri {
            return;
        }
        let Some(name) = text(quoted) else { return };
        if let Some(at) = root_arguments.iter().position(|wanted| *wanted == name) {
            configured[at] = Some(value);
            return;
        }
        others.retain(|(earlier, _)| *earlier != name);
        let uri = Some(value).filter(|_| may_be_uri && others.len() < MAX_URIS).and_then(text);
        if let Some(path) = uri.filter(|uri| is_whole_uri(uri)).and_then(|uri| path::of_uri(&uri, style)) {
            others.push((name.into_owned(), path));
        }
    })?;
    let configured = root_arguments.iter().zip(configured).filter_map(|(name, value)| {
        let value = text(value?)?;
        let path = path::of_uri(&value, style).or_else(|| path::clean(&value, style))?;
        Some((name.clone(), path))
    });
    Some(configured.chain(others).map(|(name, path)| (NamedBy::Argument(name), path)).collect())
}

/// Whether the whole text is a URI: one that merely starts with a URI contains white space after it.
fn is_whole_uri(text: &str) -> bool {
    let start = text.get(..7);
    start.is_some_and(|start| start.eq_ignore_ascii_case("file://"))
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// The URIs of roots in `initialize`. Not part of the protocol, but some clients send them as editors do:
/// `roots`, `workspaceFolders` and `rootUri`. Without duplicates.
pub fn roots_in_initialize(params: &[u8]) -> Vec<String> {
    let [roots, folders, root] = picked(params, ["roots", "workspaceFolders", "rootUri"]).unwrap_or_default();
    let listed = [roots, folders].into_iter().flatten().flat_map(listed).map(|(uri, _)| uri);
    let mut uris: Vec<String> = Vec::new();
    for uri in listed.chain(root.and_then(text).map(Cow::into_owned)) {
        if uris.len() < MAX_ROOTS && !uris.contains(&uri) {
            uris.push(uri);
        }
    }
    uris
}

/// The roots in a client's answer to `roots/list`: the URI of each, and its whole object in the original spelling.
pub fn roots_in_answer(result: &[u8]) -> Vec<(String, Box<str>)> {
    let [roots] = picked(result, ["roots"]).unwrap_or_default();
    roots.map(listed).unwrap_or_default()
}

/// The objects of an array that have a `uri`.
fn listed(array: &[u8]) -> Vec<(String, Box<str>)> {
    let mut roots = Vec::new();
    let walked = elements(array, |element| {
        let [uri] = picked(element, ["uri"]).unwrap_or_default();
        if let (Some(uri), Ok(raw)) = (uri.and_then(text), std::str::from_utf8(element))
            && roots.len() < MAX_ROOTS
        {
            roots.push((uri.into_owned(), raw.into()));
        }
    });
    if walked.is_some() { roots } else { Vec::new() }
}

/// The values of an object's members with these names.
fn picked<'a, const N: usize>(object: &'a [u8], names: [&str; N]) -> Option<[Option<&'a [u8]>; N]> {
    let mut found = [None; N];
    members(object, |quoted, value| {
        if let Some(at) = text(quoted).and_then(|name| names.iter().position(|wanted| *wanted == name)) {
            found[at] = Some(value);
        }
    })?;
    Some(found)
}

/// The text of a JSON string; `None` for any other value, or one longer than any path.
fn text(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.len() > MAX_PATH_BYTES {
        return None;
    }
    match inner.contains(&b'\\') {
        true => json::decode_string(quoted).map(Cow::Owned),
        false => std::str::from_utf8(inner).ok().map(Cow::Borrowed),
    }
}

/// Calls `each` with the quoted name and the value of an object's members. `None` if it is not an object, or
/// is malformed.
fn members<'a>(object: &'a [u8], mut each: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    walk(object, b'{', b'}', |pos| {
        let (behind, value) = json::key(object, pos).ok()?;
        let end = json::value(object, value).ok()?;
        each(object.get(pos..behind)?, object.get(value..end)?);
        Some(end)
    })
}

/// Same as [`members`], for an array.
fn elements<'a>(array: &'a [u8], mut each: impl FnMut(&'a [u8])) -> Option<()> {
    walk(array, b'[', b']', |pos| {
        let end = json::value(array, pos).ok()?;
        each(array.get(pos..end)?);
        Some(end)
    })
}

fn walk(bytes: &[u8], open: u8, close: u8, mut step: impl FnMut(usize) -> Option<usize>) -> Option<()> {
    let byte = |pos| json::byte(bytes, pos);
    let start = json::space(bytes, 0);
    if byte(start)? != open {
        return None;
    }
    let mut pos = json::space(bytes, start + 1);
    if byte(pos)? != close {
        loop {
            pos = json::space(bytes, step(pos)?);
            match byte(pos)? {
                b',' => pos = json::space(bytes, pos + 1),
                other if other == close => break,
                _ => return None,
            }
        }
    }
    json::end(bytes, pos + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `name=path` words; a path from the URI has no name.
    fn said(params: &[u8], style: Style) -> String {
        let arguments = ["directory_path".to_owned(), "path".to_owned()];
        let paths = named(params, &arguments, style);
        let words: Vec<String> = paths
            .into_iter()
            .map(|(by, path)| match by {
                NamedBy::Uri => path,
                NamedBy::Argument(name) => format!("{name}={path}"),
            })
            .collect();
        words.join(" ")
    }

    #[test]
    fn paths_in_requests_are_found() {
        const TABLE: &[(&str, &str)] = &[
            // The URI.
            (r#"{"uri":"file:///a/b"}"#, "/a/b"),
            (r#" { "x" : [1] , "uri" : "file:\/\/\/a%20b\/" } "#, "/a b"),
            (r#"{"uri":"file:///a/../b"}"#, "/b"),
            (r#"{"uri":"file:///a","uri":"file:///b"}"#, "/b"),
            (r#"{"uri":"file:///a","uri":1}"#, ""),
            (r#"{"\u0075ri":"file:///a"}"#, "/a"),
            (r#"{"uri":"/a"}"#, ""),
            (r#"{"uri":"http://h/a"}"#, ""),
            (r#"{"uri":["file:///a"]}"#, ""),
            // Configured arguments, in their own order.
            (r#"{"arguments":{"path":"/p","directory_path":"/d"}}"#, "directory_path=/d path=/p"),
            (r#"{"arguments":{"path":"/p/./q//"},"uri":"file:///u"}"#, "/u path=/p/q"),
            (r#"{"arguments":{"path":"file:///p%23"}}"#, "path=/p#"),
            (r#"{"arguments":{"path":"file:/p"}}"#, "path=/p"),
            (r#"{"arguments":{"path":"/with a space\nand a line"}}"#, "path=/with a space\nand a line"),
            (r#"{"arguments":{"path":"p/q"}}"#, ""),
            (r#"{"arguments":{"path":"~/q"}}"#, ""),
            (r#"{"arguments":{"path":""}}"#, ""),
            (r#"{"arguments":{"path":null}}"#, ""),
            (r#"{"arguments":{"path":["/p"]}}"#, ""),
            (r#"{"arguments":{"path":{"path":"/p"}}}"#, ""),
            (r#"{"arguments":{"path":"/p","path":"/q"}}"#, "path=/q"),
            (r#"{"arguments":{"path":"/p","path":5}}"#, ""),
            (r#"{"arguments":{"other":"/p"}}"#, ""),
            // Other arguments, if the whole value is a URI.
            (r#"{"arguments":{"b":"file:///b","a":"FILE:///a"}}"#, "b=/b a=/a"),
            (r#"{"arguments":{"b":"file:///b","path":"/p"}}"#, "path=/p b=/b"),
            (r#"{"arguments":{"a":"\u0066ile:\/\/\/a"}}"#, "a=/a"),
            (r#"{"arguments":{"a":"file:///a","a":"file:///b"}}"#, "a=/b"),
            (r#"{"arguments":{"a":"file:///a","a":[]}}"#, ""),
            (r#"{"arguments":{"a":"see file:///a"}}"#, ""),
            (r#"{"arguments":{"a":" file:///a"}}"#, ""),
            (r#"{"arguments":{"a":"file:///a is the one"}}"#, ""),
            (r#"{"arguments":{"a":"file:///a\nfile:///b"}}"#, ""),
            (r#"{"arguments":{"a":"file:/a"}}"#, ""),
            (r#"{"arguments":{"a":"file://elsewhere/a"}}"#, ""),
            (r#"{"arguments":{"a":["file:///a"],"b":{"uri":"file:///a"}}}"#, ""),
            // Nowhere else.
            (r#"{"name":"file:///a","_meta":{"uri":"file:///a"}}"#, ""),
            (r#"{"arguments":"file:///a"}"#, ""),
            (r#"{"arguments":["file:///a"]}"#, ""),
            // Malformed input.
            ("", ""),
            ("null", ""),
            ("[]", ""),
            ("{", ""),
            (r#"{"uri":"file:///a""#, ""),
            (r#"{"uri":"file:///a",}"#, ""),
            (r#"{"uri":"file:///a"} x"#, ""),
            (r#"{"uri":"file:///a\ud800"}"#, ""),
            (r#"{"uri":"file:///a%00"}"#, ""),
            (r#"{"uri""#, ""),
            (r#"{"arguments":{"path":"/p\"#, ""),
        ];
        for (params, expect) in TABLE {
            assert_eq!(said(params.as_bytes(), Style::Unix), *expect, "{params}");
        }
        assert_eq!(said(b"{\"uri\":\"file:///\xff\"}", Style::Unix), "");
        assert_eq!(said(b"{\"\xff\":1,\"uri\":\"file:///a\"}", Style::Unix), "/a");
    }

    #[test]
    fn windows_has_its_own_spelling() {
        let check = |params: &str, expect: &str| assert_eq!(said(params.as_bytes(), Style::Windows), expect);
        check(r#"{"uri":"file:///c%3A/a"}"#, r"C:\a");
        check(r#"{"arguments":{"path":"c:\\a\\..\\b"}}"#, r"path=C:\b");
        check(r#"{"arguments":{"path":"c:/a/"}}"#, r"path=C:\a");
        check(r#"{"arguments":{"path":"/a"}}"#, "");
        check(r#"{"arguments":{"x":"file://server/share/a"}}"#, r"x=\\server\share\a");
    }

    /// Whatever is cut off or replaced: no panic, and no invented path.
    #[test]
    fn garbage_does_no_harm() {
        let whole =
            br#"{"uri":"file:///a","arguments":{"path":"\/p","x":"file:///\u0061"},"roots":[{"uri":"r"}]}"#;
        for cut in 0..whole.len() {
            assert_eq!(said(&whole[..cut], Style::Unix), "");
            assert!(roots_in_initialize(&whole[..cut]).is_empty());
            for byte in [0, b'"', b'\\', b'{', b']', b',', 0xff] {
                let mut changed = whole.to_vec();
                changed[cut] = byte;
                let _ = (said(&changed, Style::Unix), roots_in_answer(&changed));
            }
        }
    }

    #[test]
    fn long_and_surplus_paths_are_left_out() {
        let long = format!(r#"{{"uri":"file:///{}"}}"#, "a".repeat(MAX_PATH_BYTES));
        assert_eq!(said(long.as_bytes(), Style::Unix), "");
        let many: Vec<String> = (0..100).map(|n| format!(r#""x{n}":"file:///{n}""#)).collect();
        let many = format!(r#"{{"arguments":{{{},"path":"/p"}}}}"#, many.join(","));
        let paths = named(many.as_bytes(), &["path".to_owned()], Style::Unix);
        assert_eq!(paths.len(), 1 + MAX_URIS);
        assert_eq!(paths[0], (NamedBy::Argument("path".into()), "/p".into()));
    }

    #[test]
    fn roots_in_initialize_are_read() {
        let check = |params: &str, expect: &[&str]| {
            assert_eq!(roots_in_initialize(params.as_bytes()), expect, "{params}");
        };
        check(
            r#"{"roots":[{"uri":"file:///a","name":"A"},{"uri":"file:///b"}]}"#,
            &["file:///a", "file:///b"],
        );
        check(r#"{"workspaceFolders":[{"uri":"file:///a"}],"rootUri":"file:///a"}"#, &["file:///a"]);
        check(r#"{"rootUri":"file:///a","roots":[{"uri":"file:///b"}]}"#, &["file:///b", "file:///a"]);
        check(r#"{"rootUri":null,"workspaceFolders":null,"roots":{"listChanged":true}}"#, &[]);
        check(r#"{"roots":["file:///a",{"name":"x"},{"uri":7},null]}"#, &[]);
        check(r#"{"capabilities":{"roots":{"listChanged":true}}}"#, &[]);
        check("", &[]);
    }

    #[test]
    fn root_keeps_its_spelling() {
        let check = |result: &str, expect: &[(&str, &str)]| {
            let roots = roots_in_answer(result.as_bytes());
            let roots: Vec<_> = roots.iter().map(|(uri, raw)| (uri.as_str(), &**raw)).collect();
            assert_eq!(roots, expect, "{result}");
        };
        check(
            r#"{"roots":[ {"name":"A", "uri":"file:///a"} ,{"uri":"proxy:\/\/b","_meta":{"x":[1]}}]}"#,
            &[
                ("file:///a", r#"{"name":"A", "uri":"file:///a"}"#),
                ("proxy://b", r#"{"uri":"proxy:\/\/b","_meta":{"x":[1]}}"#),
            ],
        );
        check(r#"{"roots":[]}"#, &[]);
        check(r#"{}"#, &[]);
        check("null", &[]);
        check(r#"{"roots":[{"uri":"file:///a"}"#, &[]);
    }
}
