//! What a URI may mean. Every server decodes URIs in its own way, so a filter that compares spellings is passed by another
//! spelling of the same resource: `.%65nv`, `.env?x`, `docs/../secret`. A reading is what one kind of server makes of a
//! URI. `deny` holds if one reading matches; `allow` only if all of them do.
//!
//! Pure texts: nothing here knows what is sent to a server, which is always the client's own spelling.

use super::filter::matches;
use super::uris;

/// A URI that is still encoded after so many decodings cannot be judged.
const MAX_DECODINGS: usize = 4;
/// Nor can a longer one that has more than one reading.
const LONGEST: usize = 2 * 1024;
/// Wrapped URIs within wrapped URIs.
const MAX_WRAPPERS: usize = 4;

/// One way of reading a URI.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Query and fragment are not part of the path.
    cuts_query: bool,
    /// How often percent-encoding is decoded.
    decodings: usize,
    /// `;v=1` behind a segment is not part of its name.
    cuts_params: bool,
    /// `//host` is the first segment of the path.
    host_is_path: bool,
    /// `a//b` is `a/b`, as on a disk.
    merges_slashes: bool,
}

/// Whether one of the globs matches one reading. Case does not count: on many disks, and in every host, it does not.
pub(super) fn denies(globs: &[String], uri: &str) -> bool {
    if globs.is_empty() {
        return false;
    }
    let Some(readings) = all_readings(uri, 0) else { return true };
    let lower: Vec<String> = readings.iter().map(|text| text.to_lowercase()).collect();
    globs.iter().any(|glob| {
        let mut forms = vec![glob.to_lowercase()];
        for reading in Reading::all(decodings(glob).unwrap_or_default().len()) {
            push(&mut forms, reading.of(glob).to_lowercase());
        }
        readings.iter().any(|text| matches(glob, text))
            || forms.iter().any(|form| lower.iter().any(|text| matches(form, text)))
    })
}

/// Whether every reading is matched by one of the globs. A glob is read as the URI is, so that both may be spelled in the
/// same unusual way.
pub(super) fn allows(globs: &[String], uri: &str) -> bool {
    if !globs.iter().any(|glob| matches(glob, uri)) {
        return false;
    }
    // Who names exactly this spelling means it.
    if is_unambiguous(uri) || globs.iter().any(|glob| glob == uri) {
        return true;
    }
    let Some(decoded) = decodings(uri).filter(|_| uri.len() <= LONGEST) else { return false };
    Reading::all(decoded.len()).all(|reading| {
        let text = reading.of(uri);
        globs.iter().any(|glob| matches(glob, &text) || matches(&reading.of(glob), &text))
    })
}

/// All that a URI may mean; `None` if that cannot be said.
fn all_readings(uri: &str, wrappers: usize) -> Option<Vec<String>> {
    let mut found = vec![uri.to_owned()];
    if !is_unambiguous(uri) {
        if uri.len() > LONGEST {
            return None;
        }
        let decoded = decodings(uri)?;
        // Neither resolved nor trimmed: a pattern may be about dot segments or blanks.
        let raw = std::iter::successors(Some(uri.to_owned()), |text| self::decoded(text));
        for text in raw.take(MAX_DECODINGS + 1).chain(decoded.iter().cloned()) {
            for text in [&*text, before_query(&text), before_nul(&text)] {
                push(&mut found, text.to_owned());
            }
        }
        for reading in Reading::all(decoded.len()) {
            let text = reading.of(uri);
            // A server may also decode before it parses, and some disks ignore what stands at the end of a name.
            for text in [before_query(&text), &text] {
                push(&mut found, text.trim_end_matches(['.', ' ', '/']).to_owned());
                push(&mut found, text.to_owned());
            }
        }
    }
    // A server may be a switchboard too.
    for text in found.clone() {
        let wrapped = uris::decode_resource(&text).map(|(_, uri)| uri);
        let wrapped = wrapped.or_else(|| uris::decode_template(&text).map(|(_, uri)| uri.to_owned()));
        if let Some(uri) = wrapped {
            let inner = (wrappers < MAX_WRAPPERS).then(|| all_readings(&uri, wrappers + 1))??;
            inner.into_iter().for_each(|text| push(&mut found, text));
        }
    }
    Some(found)
}

fn push(found: &mut Vec<String>, text: String) {
    if !found.contains(&text) {
        found.push(text);
    }
}

impl Reading {
    /// All of them, for a URI that can be decoded so often.
    fn all(most: usize) -> impl Iterator<Item = Self> {
        let yes = |bits: usize, bit: usize| bits & 1 << bit != 0;
        (0..=most).flat_map(move |decodings| {
            (0..16).map(move |bits| Self {
                cuts_query: yes(bits, 0),
                decodings,
                cuts_params: yes(bits, 1),
                host_is_path: yes(bits, 2),
                merges_slashes: yes(bits, 3),
            })
        })
    }

    fn of(self, uri: &str) -> String {
        let text = if self.cuts_query { before_query(uri) } else { uri };
        let mut text = without_blanks(text);
        for _ in 0..self.decodings {
            match decoded(&text) {
                Some(next) => text = without_blanks(before_nul(&next)),
                None => break,
            }
        }
        let text = before_nul(&text).replace('\\', "/");
        let (scheme, rest) = split_scheme(&text);
        let scheme = scheme.to_ascii_lowercase();
        let (host, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = host.to_ascii_lowercase();
                let is_here = scheme == "file:" && (host.is_empty() || host == "localhost");
                (Some(if is_here { String::new() } else { host }), path)
            }
            // `file:/a` is `file:///a`.
            None if scheme == "file:" && rest.starts_with('/') => (Some(String::new()), rest),
            None => (None, rest),
        };
        match host {
            Some(host) if self.host_is_path && !host.is_empty() => {
                format!("{scheme}//{}", self.path(&format!("{host}{path}")))
            }
            Some(host) => format!("{scheme}//{}{}", host.trim_end_matches('.'), self.path(path)),
            None => format!("{scheme}{}", self.path(path)),
        }
    }

    /// Without dot segments.
    fn path(self, path: &str) -> String {
        let mut kept: Vec<&str> = Vec::new();
        let is_absolute = path.starts_with('/');
        let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
        while let Some(segment) = segments.next() {
            let name = match segment.split_once(';') {
                Some((name, _)) if self.cuts_params => name,
                _ => segment,
            };
            let is_last = segments.peek().is_none();
            match name {
                "." => {}
                ".." => {
                    kept.pop();
                }
                "" if self.merges_slashes && !is_last => continue,
                name => {
                    kept.push(name);
                    continue;
                }
            }
            if is_last {
                kept.push("");
            }
        }
        let path = kept.join("/");
        if is_absolute { format!("/{path}") } else { path }
    }
}

/// Whether all readings are this text, up to case. The usual case, without an allocation.
fn is_unambiguous(uri: &str) -> bool {
    let (scheme, rest) = split_scheme(uri);
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let is_file = scheme.eq_ignore_ascii_case("file:");
    let is_host_plain = !host.bytes().any(|b| b.is_ascii_uppercase()) && !host.ends_with('.');
    !uri.bytes().any(|b| b < b' ' || matches!(b, b'%' | b'?' | b'#' | b';' | b'\\'))
        && !scheme.bytes().any(|b| b.is_ascii_uppercase())
        && is_host_plain
        && (!is_file || (rest.starts_with("///") && host.is_empty()))
        && !path.contains("//")
        && !path.split('/').chain([host]).any(|segment| segment == "." || segment == "..")
        && !uri.starts_with(' ')
        && !uri.ends_with(['.', ' ', '/'])
}

/// With its colon; empty if there is none.
fn split_scheme(uri: &str) -> (&str, &str) {
    let end = uri.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
    match end {
        Some(end) if end > 0 && uri[end..].starts_with(':') => uri.split_at(end + 1),
        Some(_) | None => ("", uri),
    }
}

/// As the URL parsers of browsers and node read it.
fn without_blanks(uri: &str) -> String {
    uri.trim_matches(|c| c <= ' ').replace(['\t', '\r', '\n'], "")
}

fn before_nul(uri: &str) -> &str {
    uri.split('\0').next().unwrap_or_default()
}

fn before_query(uri: &str) -> &str {
    uri.split(['?', '#']).next().unwrap_or_default()
}

/// Each text that comes of decoding the one before; `None` if there is no end of it.
fn decodings(uri: &str) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    while let Some(next) = decoded(&without_blanks(all.last().map_or(uri, String::as_str))) {
        if all.len() == MAX_DECODINGS {
            return None;
        }
        all.push(next);
    }
    Some(all)
}

/// With percent-encoding decoded once; `None` if there is none. What is no UTF-8 becomes a replacement character.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let digit = |b: u8| char::from(b).to_digit(16);
    while let [first, behind @ ..] = rest {
        rest = behind;
        if let (b'%', [high, low, behind @ ..]) = (first, behind)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            bytes.push((high * 16 + low) as u8);
            rest = behind;
        } else {
            bytes.push(*first);
        }
    }
    (bytes.len() < text.len()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn globs(globs: &[&str]) -> Vec<String> {
        globs.iter().map(|&glob| glob.to_owned()).collect()
    }

    #[test]
    fn disguised_uris_are_denied() {
        let deny = globs(&["*.env"]);
        for uri in [
            "file:///p/.env",
            "file:///p/.%65nv",
            "file:///p/%2Eenv",
            "file:///p/%2eenv",
            "file:///p/.%2565nv",
            "file:///p/.%25252565nv",
            "file:///p/.env?x",
            "file:///p/.env?x=1#y",
            "file:///p/.env#",
            "file:///p/.env%00",
            "file:///p/.env%00.txt",
            "file:///p/.env\0.txt",
            "file:///p/.env%3Fx",
            "file:///p/.env;v=1",
            "file:///p/.env;v=1/",
            "file:///p/.env/",
            "file:///p/.env/.",
            "file:///p/.env/x/..",
            "file:///p/.env.",
            "file:///p/.env%20",
            "file:///p/.ENV",
            "file:///p/.e\tnv",
            "file:///p/.env\n",
            "%20file:///p/.env%0a",
            "file:///p/.%6\t5nv",
            "file:///p/.%6%0d5nv",
            " file:///p/.env ",
            "file:///p/a\\.env",
            "FILE:///p/.env",
            "proxy://resource/ZG9jcwpmaWxlOi8vL3AvLmVudg", // docs, file:///p/.env
            "PROXY://resource/ZG9jcwpmaWxlOi8vL3AvLmVudg",
            "proxy://template/docs/file:///p/.%65nv",
            "proxy://template/docs/proxy://template/more/x://.env?",
        ] {
            assert!(denies(&deny, uri), "{uri}");
        }
        for uri in ["file:///p/env", "file:///p/.env.example", "file:///p/x?name=.env.md", "x://env"] {
            assert!(!denies(&deny, uri), "{uri}");
        }
    }

    #[test]
    fn disguised_folders_are_denied() {
        let deny = globs(&["file:///etc/*", "http://Example.com/a%20b/*"]);
        for uri in [
            "file:///etc/passwd",
            "file:/etc/passwd",
            " file:///etc/passwd",
            "file://localhost/etc/passwd",
            "file://LOCALHOST/etc/passwd",
            "file:////etc/passwd",
            "file:///./etc/passwd",
            "file:///p/../etc/passwd",
            "file:///p/%2e%2e/etc/passwd",
            "file:///p/..;x/etc/passwd",
            "file:///p//../../etc/passwd",
            "file:///etc//passwd",
            "file:\\\\\\etc\\passwd",
            "http://example.com/a%20b/c",
            "http://example.com./a b/c",
            "HTTP://EXAMPLE.COM/a%20b/c",
        ] {
            assert!(denies(&deny, uri), "{uri}");
        }
        assert!(!denies(&deny, "file:///p/etc/passwd"));
        assert!(!denies(&[], "file:///etc/passwd"));
    }

    /// A client may send such a URI with every request, and others wait meanwhile.
    #[test]
    fn a_hostile_uri_takes_bounded_time() {
        let uri = "x://h/".to_owned() + &"%25252525;a//../b?c#".repeat(LONGEST / 20 - 1);
        let started = std::time::Instant::now();
        assert!(!denies(&globs(&["*a*b*c*d*e*.env", "*/x/*/y/*/z"]), &uri));
        assert!(allows(&globs(&["x*"]), &uri));
        // It takes a hundredth of that.
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
        assert!(denies(&globs(&["nothing"]), &uri.repeat(2)), "it cannot be judged");
    }

    #[test]
    fn allow_needs_every_reading() {
        let check = |allow: &[&str], uri: &str, expect: bool| {
            assert_eq!(allows(&globs(allow), uri), expect, "{allow:?} {uri}");
        };
        for (uri, expect) in [
            ("file:///docs/a.md", true),
            ("file:///docs/a%20b.md", true),
            ("file:///docs/a.md?raw", true),
            ("file:///docs/x/../a.md", true),
            ("file:///docs/100%25.md", true),
            ("file:///docs/", true),
            ("file:///docs//a.md", true),
            ("file:///docs/../secret", false),
            ("file:///docs/%2e%2e/secret", false),
            ("file:///docs/..%2fsecret", false),
            ("file:///docs/%252e%252e/secret", false),
            ("file:///docs/..;/secret", false),
            ("file:///docs//../secret", false),
            ("file:///docs/..\\secret", false),
            ("file:///docs/.\t./secret", false),
            ("file:///docs/x?/../../secret", false),
            ("file:///docs/../x%2f..%2fdocs%2fy", false),
            ("file:///docs/%2525252525252e", false),
        ] {
            check(&["file:///docs/*"], uri, expect);
        }
        check(&["docs://public/*"], "docs://public/../secret", false);
        check(&["docs://public/*"], "docs://public/a", true);
        check(&["*.md"], "file:///secret.key?.md", false);
        check(&["*.md"], "file:///secret.key#.md", false);
        check(&["*.md"], "file:///secret.key%00.md", false);
        check(&["*.md"], "file:///a.md?raw", false);
    }

    #[test]
    fn globs_may_be_spelled_as_uris_are() {
        let check = |allow: &str, uri: &str, expect: bool| {
            assert_eq!(allows(&globs(&[allow]), uri), expect, "{allow} {uri}");
        };
        check("db://t?mode=ro", "db://t?mode=ro", true);
        check("db://t?mode=*", "db://t?mode=ro", true);
        check("db://t?mode=*", "db://t", false);
        check("file:///a%20b/*", "file:///a%20b/c", true);
        check("web://get/http://good.com/*", "web://get/http://good.com/x", true);
        check("web://get/http://good.com/*", "web://get/http://good.com/../bad.com", false);
        check("Notes://Me/*", "Notes://Me/a", true);
        check("file:///C:\\docs\\*", "file:///C:\\docs\\a", true);
    }

    proptest! {
        /// However its characters are encoded, and whatever is cut from it.
        #[test]
        fn every_spelling_is_denied(
            path in "[a-c/]{0,6}", encode in proptest::collection::vec(0usize..4, 24), tail in "(|[?#][a-z/.]{0,4}|%00[a-z]{0,3}|;[a-z]{0,3}|/|\\.)",
        ) {
            let text = format!("file:///{path}/.env");
            let spelled = text.bytes().enumerate().map(|(at, b)| match encode[at % encode.len()] {
                // The scheme cannot be encoded, or it would be none.
                _ if at < 7 => char::from(b).to_string(),
                1 => format!("%{b:02x}"),
                2 => format!("%25{b:02X}"),
                _ => char::from(b).to_string(),
            });
            let uri = spelled.collect::<String>() + &tail;
            prop_assert!(denies(&globs(&["*/.env"]), &uri), "{}", uri);
            prop_assert!(!allows(&globs(&["file:///docs/*"]), &uri), "{}", uri);
        }

        /// What is allowed is in the folder for whoever resolves the path, decoded or not.
        #[test]
        fn nothing_leaves_an_allowed_folder(path in "(\\.|%2e|/|%2f|a|;|\\\\|\\?){0,12}") {
            let uri = format!("file:///docs/{path}");
            if allows(&globs(&["file:///docs/*"]), &uri) {
                for text in [uri.clone(), decoded(&uri).unwrap_or_default()] {
                    let mut depth = 0i32;
                    for segment in text.trim_start_matches("file:///").split(['/', '\\']) {
                        match segment {
                            "" | "." => {}
                            ".." => depth -= 1,
                            _ => depth += 1,
                        }
                        prop_assert!(depth >= 0, "{}", uri);
                    }
                }
            }
        }

        /// Whatever the pattern is about. `fuzz/targets/uris.rs` tries the same.
        #[test]
        fn no_tail_or_encoding_undoes_a_denial(glob in "[a.*/:\\\\A ]{0,6}", uri in "[a./:\\\\A \t\u{130}]{0,10}") {
            let deny = globs(&[&glob]);
            prop_assert!(!allows(&deny, &uri) || denies(&deny, &uri), "{:?} {:?}", glob, uri);
            if denies(&deny, &uri) {
                for tail in ["?x", "#x", "%00", "\0"] {
                    prop_assert!(denies(&deny, &format!("{uri}{tail}")), "{:?} {:?} {:?}", glob, uri, tail);
                }
                let encoded: String = uri.bytes().map(|b| format!("%{b:02x}")).collect();
                prop_assert!(denies(&deny, &encoded), "{:?} {:?}", glob, uri);
            }
        }

        #[test]
        fn unambiguous_uris_have_one_reading(uri in "[a-bA-B:/.%?;]{0,10}") {
            if is_unambiguous(&uri) {
                for reading in Reading::all(2) {
                    prop_assert_eq!(reading.of(&uri), uri.clone());
                }
            }
        }
    }
}
