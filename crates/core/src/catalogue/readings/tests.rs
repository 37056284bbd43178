//! Tables of spellings, and properties that hold for every spelling.

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

fn check_denied(deny: &str, denied: &[&str], passed: &[&str]) {
    for uri in denied {
        assert!(denies(&globs(&[deny]), uri), "{deny} must deny {uri}");
        assert!(!allows(&globs(&["other:*"]), uri), "{uri}");
    }
    for uri in passed {
        assert!(!denies(&globs(&[deny]), uri), "{deny} must not deny {uri}");
    }
}

#[test]
fn file_hosts_are_dropped() {
    check_denied(
        "file:///etc/*",
        &[
            "file://other/etc/passwd",
            "file://127.0.0.1/etc/passwd",
            "file://localhost/etc/passwd",
            "file://user@localhost:80/etc/passwd",
            "file://%6fther/etc/passwd",
            "file://other\\etc\\passwd",
            "file:etc/passwd",
            "file:/etc/passwd",
            "file:./etc/passwd",
            "url:file:///etc/passwd",
            "URL:file:/etc/passwd",
        ],
        &["file://other/p/etc/passwd", "file://etc", "file:etc", "x://other/etc/passwd"],
    );
    check_denied(
        "file://server/share/*",
        &["file:////server/share/x", "file://///SERVER/share/x", "file:///%5C%5Cserver\\share\\x"],
        // The deny pattern names another machine.
        &["file:///share/x", "file://another/share/x"],
    );
}

#[test]
fn web_hosts_are_parsed() {
    check_denied(
        "http://example.com/*",
        &[
            "http://example.com:80/x",
            "http://example.com:080/x",
            "http://example.com:/x",
            "http://example.com.:80/x",
            "http:/example.com/x",
            "http:example.com/x",
            "http:///example.com/x",
            "http:////example.com/x",
            "http://user@example.com/x",
            "http://user:pw@example.com/x",
            "http://good.com@example.com/x",
            "http://good.com%40example.com/x",
            "http://good.com?@example.com/x",
            "http://good.com#@example.com/x",
            "http://good.com\\@example.com/x",
            "http://example.com\\@good.com/x",
            "http://example.com./x",
            "http:\\\\example.com\\x",
            "http:\\example.com/x",
            "http://example.com",
            "http://example.com?x",
            "http://ex\u{ad}ample\u{3002}com/x",
            "http://\u{ff45}xample.com/x",
            "http://ex%61mple.com/x",
        ],
        &[
            "http://example.com:8080/x",
            "http://example.com:443/x",
            "https://example.com/x",
            "http://example.com@good.com/x",
            "http://example.com.good.com/x",
            "http://good.com/example.com/x",
        ],
    );
    check_denied("https://h/*", &["https://h:443/x"], &["https://h:80/x"]);
    check_denied("ws://h/*", &["ws://h:80/x"], &["ws://h:443/x"]);
    check_denied("wss://h/*", &["wss://h:443/x"], &["wss://h:80/x"]);
    check_denied("db://h/*", &["db://user:pw@h/x"], &["db://h@other/x"]);
    check_denied(
        "http://127.0.0.1/*",
        &[
            "http://127.1/x",
            "http://2130706433/x",
            "http://0x7f000001/x",
            "http://0x7F.0.0.1/x",
            "http://0177.0.0.1:80/x",
            "http://[::ffff:127.0.0.1]/x",
            "http://[::ffff:7f00:1]:80/x",
        ],
        &["http://127.0.0.2/x", "http://128.1/x", "http://127.0.0.1.5/x", "http://99999999999/x"],
    );
    check_denied("http://[::1]/*", &["http://[0:0:0:0:0:0:0:1]/x", "http://[::1]:80/x"], &["http://[::2]/x"]);
}

#[test]
fn windows_names_are_resolved() {
    check_denied(
        "file:///c:/secret/*",
        &[
            "file:///C|/secret/x",
            "file:///c%7C/secret/x",
            "file:///c%3A/secret/x",
            "file://c:/secret/x",
            "file://C|/secret/x",
            "file:c:/secret/x",
            "file:/c|/secret/x",
            "file:///c:/secret./x",
            "file:///c:/secret.../x",
            "file:///c:/secret%20/x",
            "file:///c:/secret%20./x",
            "file:///c:/other/.. /secret/x",
            "file:///c:\\secret\\x",
            "file:\\\\\\c:\\secret\\x",
            "file:c:\\secret\\x",
            "file:///c:/secret::$INDEX_ALLOCATION/x",
            "file:///c:/secret:$I30:$INDEX_ALLOCATION/x",
            "file:////%3F/c:/secret/x",
            "file://%3F/c:/secret/x",
            "file:////./c:/secret/x",
            "file://localhost/c$/secret/x",
            "file://127.0.0.1/C$/secret/x",
        ],
        &["file:///c:/secrets/x", "file:///d:/secret/x", "file:///c:/a/secret/x", "file:///c:/.secret/x"],
    );
    check_denied(
        "*.env",
        &[
            "file:///w/.env::$DATA",
            "file:///w/.env:stream",
            "file:///w/.env%3Astream",
            "file:///w/.env. ::$DATA",
            "file:///w/.env:stream?x",
            "docs://.env:stream",
            "docs://.env:1",
            "docs:.env:stream",
            ".env:stream",
        ],
        &["file:///w/a.env.md:stream", "file:///w/a:.env.md", "urn:a:b"],
    );
}

/// A wildcard next to a part that a reading drops would match everything.
#[test]
fn deny_patterns_are_not_widened() {
    for (deny, uri, expect) in [
        ("http://*@*/*", "http://h/x", false),
        ("http://*@*/*", "http://u@h/x", true),
        ("http://*:80/*", "http://h:8080/x", false),
        ("http://*:80/*", "http://h:80/x", true),
        ("http://u@h/*", "http://h/x", false),
        ("http://h:80/*", "http://h/x", true),
        ("http://h:80/*", "http://h:81/x", false),
        ("http://h./*", "http://h/x", true),
        ("file://other/*", "file:///etc/passwd", false),
        ("file://c:/secret/*", "file:///c:/secret/x", true),
        ("file:///*:*", "file:///a", false),
        ("file:///*:*", "file:///a:b", true),
        ("*:stream", "file:///a", false),
        ("*.", "file:///a", false),
        ("url:*", "file:///a", false),
    ] {
        assert_eq!(denies(&globs(&[deny]), uri), expect, "{deny} {uri}");
    }
}

#[test]
fn ordinary_uris_have_one_reading() {
    for uri in [
        "file:///docs/a.md",
        "file:///docs/.hidden/a b.md",
        "file:///c:/docs/a.md",
        "http://example.com/x",
        "https://sub.example.com/a/b.html",
        "http://localhost:3000/x",
        "http://127.0.0.1:8080/x",
        "docs://public/a",
        "postgres://host/db/table",
        "note:a",
    ] {
        assert!(is_unambiguous(uri), "{uri}");
    }
    for (uri, most) in [("urn:isbn:1", 4), ("http://h/x?y", 6), ("file:///a%20b", 24)] {
        let count = Reading::all(uri, &decodings(uri).unwrap()).count();
        assert!(count <= most, "{uri} {count}");
    }
}

/// A client may send such a URI with every request, while others wait.
#[test]
fn hostile_uri_takes_bounded_time() {
    let uri = "x://h/".to_owned() + &"%25252525;a//../b:. \\@?c#".repeat(MAX_AMBIGUOUS_BYTES / 25 - 1);
    let started = std::time::Instant::now();
    assert!(!denies(&globs(&["*a*b*c*d*e*.env", "*/x/*/y/*/z"]), &uri));
    assert!(allows(&globs(&["x*"]), &uri));
    // A debug build takes a fiftieth of that.
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
    for (uri, expect) in [
        ("http://example.com/x", true),
        ("http://example.com/x?y=1:2", true),
        ("http://example.com/a:b", true),
        ("http://example.com:80/x", false),
        ("http://user@example.com/x", false),
    ] {
        check(&["http://example.com/*"], uri, expect);
    }
    check(&["http://example.com*"], "http://example.com:80/x", true);
    check(&["http://example.com*"], "http://example.com:80@evil.com/x", false);
    check(&["http://example.com*"], "http://example.com\\@evil.com/x", false);
    check(&["http://*:80/*"], "http://example.com:80/x", true);
    check(&["http://user@example.com/*"], "http://user@example.com/x", true);
    check(&["file://server/share/*"], "file://server/share/x", true);
    check(&["file:*/share/*"], "file://server/etc/share/../passwd", false);
    check(&["file://*"], "file://server/share/x", true);
    check(&["*server/share/*", "file:///docs/*"], "file://server/share/x", false);
    check(&["file:///c:/docs/*"], "file:///c:/docs/a.md", true);
    check(&["file:///docs/*"], "file:///docs/12:30.md", true);
    check(&["file:///docs/*"], "file:///docs/.. /secret", false);
    check(&["file:///docs/*"], "file:///docs/c:/secret", false);
    check(&["*.md"], "file:///secret.key:.md", false);
    check(&["urn:isbn:*"], "urn:isbn:1", true);
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
    /// However its characters are encoded, and whatever is cut off.
    #[test]
    fn every_spelling_is_denied(
        path in "[a-c/]{0,6}", encode in proptest::collection::vec(0usize..4, 24), tail in "(|[?#][a-z/.]{0,4}|%00[a-z]{0,3}|;[a-z]{0,3}|/|\\.)",
    ) {
        let text = format!("file:///{path}/.env");
        let spelled = text.bytes().enumerate().map(|(at, b)| match encode[at % encode.len()] {
            // The scheme cannot be encoded, or it would not be a scheme.
            _ if at < 7 => char::from(b).to_string(),
            1 => format!("%{b:02x}"),
            2 => format!("%25{b:02X}"),
            _ => char::from(b).to_string(),
        });
        let uri = spelled.collect::<String>() + &tail;
        prop_assert!(denies(&globs(&["*/.env"]), &uri), "{}", uri);
        prop_assert!(!allows(&globs(&["file:///docs/*"]), &uri), "{}", uri);
    }

    /// An allowed URI stays in the folder for every server that resolves the path, decoded or not.
    #[test]
    fn allowed_uris_stay_in_their_folder(path in "(\\.|%2e|/|%2f|a|;|\\\\|\\?){0,12}") {
        let uri = format!("file:///docs/{path}");
        if allows(&globs(&["file:///docs/*"]), &uri) {
            for text in [uri.clone(), decode_leniently(&uri).unwrap_or_default()] {
                let mut depth = 0i32;
                for segment in text.trim_start_matches("file:///").split(['/', '\\']) {
                    depth += match segment { "" | "." => 0, ".." => -1, _ => 1 };
                    prop_assert!(depth >= 0, "{}", uri);
                }
            }
        }
    }

    /// Whatever the pattern. `fuzz/targets/uris.rs` checks the same.
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
    fn unambiguous_uris_have_one_reading(uri in "(|file:|http:|x:)[a-bA-B:/.%?;@|$ 08\\\\]{0,10}") {
        if is_unambiguous(&uri) {
            for reading in every_reading(&uri) {
                prop_assert_eq!(reading.of(&uri), uri.clone(), "{:?}", reading);
            }
        }
    }

    /// Readings that `Reading::all` leaves out would add nothing.
    #[test]
    fn left_out_readings_add_nothing(uri in "(|file:|http:|url:)([a-bA:/.?;@|$ \t\0\\\\]|%2f|%3a|%5C|%2e|%40){0,10}") {
        let decoded = decodings(&uri).unwrap_or_default();
        let texts: Vec<String> = Reading::all(&uri, &decoded).map(|reading| reading.of(&uri)).collect();
        for reading in every_reading(&uri) {
            let text = reading.of(&uri);
            prop_assert!(texts.contains(&text), "{:?} {:?} {:?}", uri, text, reading);
        }
    }
}

fn every_reading(uri: &str) -> impl Iterator<Item = Reading> {
    let most = decodings(uri).unwrap_or_default().len();
    Reading::each(true, most, Authority::all(true, true), PathRules::all(true, true, true))
}
