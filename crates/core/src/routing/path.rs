//! Paths as text: extracted from URIs, normalised, compared. Pure. Must not resolve links.

use crate::text::percent;
use std::borrow::Cow;

/// Notation of a system's paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Unix,
    /// Drive letters, two kinds of separators, case-insensitive.
    Windows,
}

impl Style {
    pub const OWN: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };
}

/// The path of a `file:` URI; `None` for any other URI, another machine, or characters that no path can contain.
///
/// The crate `url` does not fit: it reads `file:relative` as `/relative`, drops tabs and line breaks, and
/// supports only the paths of the system it was built for.
pub fn of_uri(uri: &str, style: Style) -> Option<String> {
    let scheme = uri.get(..5)?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let rest = uri[5..].split(['?', '#']).next()?;
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let path = decode(path)?;
    let is_local = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    match style {
        Style::Unix if is_local => clean(&path, style),
        Style::Unix => None,
        Style::Windows if is_local => of_local_part(&path),
        Style::Windows => {
            let host = decode(host)?;
            // Many programs write two slashes in front of a drive.
            let start = if has_drive(&host) { "" } else { "//" };
            clean(&format!("{start}{host}{path}"), style)
        }
    }
}

/// The Windows path of a URI without a host: `/C:/folder` or, as Java writes it, `//machine/share`.
fn of_local_part(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    let plain = path.trim_start_matches('/');
    let is_share = path.starts_with("//") && !has_drive(plain);
    clean(&if is_share { format!("//{plain}") } else { plain.to_owned() }, Style::Windows)
}

/// Whether a path begins with a drive letter.
fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// The `file:` URI of a normalised path.
pub fn to_uri(path: &str, style: Style) -> String {
    let start = match style {
        Style::Unix => "file://",
        // The machine of a share takes the place of the URI's host.
        Style::Windows if path.starts_with(r"\\") => "file:",
        Style::Windows => "file:///",
    };
    match style {
        Style::Unix => format!("{start}{}", percent::encode_path(path)),
        Style::Windows => format!("{start}{}", percent::encode_path(&path.replace('\\', "/"))),
    }
}

/// Returns `None` if the text cannot be decoded or contains a zero.
fn decode(text: &str) -> Option<String> {
    percent::decode(text).filter(|text| !text.contains('\0')).map(Cow::into_owned)
}

/// Normalises an absolute path: removes `.`, `..`, doubled and trailing separators. `None` if it is not absolute.
pub fn clean(path: &str, style: Style) -> Option<String> {
    if path.contains('\0') {
        return None;
    }
    match style {
        Style::Unix => path.starts_with('/').then(|| joined("/", path.split('/'), '/')),
        Style::Windows => {
            let path = path.replace('/', "\\");
            // The prefix for long paths has no further meaning.
            let path = strip_unc(&path).map(|rest| format!(r"\\{rest}")).unwrap_or(path);
            let path = path.strip_prefix(r"\\?\").unwrap_or(&path);
            if let Some(share) = path.strip_prefix(r"\\") {
                let mut parts = share.splitn(3, '\\');
                let (machine, name) = (parts.next()?, parts.next()?);
                let start = format!(r"\\{machine}\{name}\");
                return (!machine.is_empty() && !name.is_empty())
                    .then(|| joined(&start, parts.next().unwrap_or_default().split('\\'), '\\'));
            }
            let (drive, rest) = path.split_at_checked(2)?;
            let letter = drive.strip_suffix(':')?.chars().next().filter(char::is_ascii_alphabetic)?;
            let rest = rest.strip_prefix('\\')?;
            Some(joined(&format!(r"{}:\", letter.to_ascii_uppercase()), rest.split('\\'), '\\'))
        }
    }
}

/// A share behind the prefix for long paths.
fn strip_unc(path: &str) -> Option<&str> {
    let (unc, rest) = path.strip_prefix(r"\\?\")?.split_at_checked(4)?;
    unc.eq_ignore_ascii_case(r"UNC\").then_some(rest)
}

fn joined<'a>(start: &str, parts: impl Iterator<Item = &'a str>, separator: char) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            // The parent of the root folder is the root folder.
            ".." => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    let mut path = start.to_owned();
    path.push_str(&kept.join(&separator.to_string()));
    // A share has no trailing separator; a drive and the root folder keep theirs.
    if kept.is_empty() && path.len() > 3 {
        path.pop();
    }
    path
}

/// Whether a path is this folder or lies inside. Both must be normalised.
pub fn is_within(path: &str, folder: &str, style: Style) -> bool {
    let (path, folder) = match style {
        Style::Unix => (path.to_owned(), folder.to_owned()),
        Style::Windows => (path.to_lowercase(), folder.to_lowercase()),
    };
    let separator = match style {
        Style::Unix => '/',
        Style::Windows => '\\',
    };
    // A drive and the root folder end with their separator.
    path.strip_prefix(&folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(separator) || folder.ends_with(separator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Style::{Unix, Windows};

    #[test]
    fn uris_name_paths() {
        let check = |uri: &str, style, expect: Option<&str>| {
            assert_eq!(of_uri(uri, style).as_deref(), expect, "{uri} {style:?}");
        };
        check("file:///home/me/project", Unix, Some("/home/me/project"));
        check("file:///home/me/project/", Unix, Some("/home/me/project"));
        check("FILE:///home/me", Unix, Some("/home/me"));
        check("file://localhost/home/me", Unix, Some("/home/me"));
        check("file:/home/me", Unix, Some("/home/me"));
        check("file:///", Unix, Some("/"));
        check("file:///a%20b/%C3%A4%2fc", Unix, Some("/a b/ä/c"));
        check("file:///a/../b/./c//d", Unix, Some("/b/c/d"));
        check("file:///a/%2e%2e/b", Unix, Some("/b"));
        check("file:///a?query#part", Unix, Some("/a"));
        check("file:///a%3Fb%23c", Unix, Some("/a?b#c"));
        check("file:///a%", Unix, None);
        check("file:///a%zz", Unix, None);
        check("file:///a%00b", Unix, None);
        check("file:///a%ff", Unix, None);
        check("file://server/share/x", Unix, None);
        check("file:relative", Unix, None);
        check("http://host/a", Unix, None);
        check("/home/me", Unix, None);
        check("file", Unix, None);
        check("fil\u{e9}:///a", Unix, None);
        check("file:///C:/Users/me", Windows, Some(r"C:\Users\me"));
        check("file:///c%3A/Users/me/", Windows, Some(r"C:\Users\me"));
        check("file:///c:/", Windows, Some(r"C:\"));
        check("file://server/share/folder", Windows, Some(r"\\server\share\folder"));
        check("file:///home/me", Windows, None);
        // Not correct, but written by many programs.
        check("file://C:/Users/me", Windows, Some(r"C:\Users\me"));
        check("file://c%3A/Users/me", Windows, Some(r"C:\Users\me"));
        check(r"file://C:\Users\m%20e", Windows, Some(r"C:\Users\m e"));
        check(r"file:///C:\Users\me", Windows, Some(r"C:\Users\me"));
        check("file:////C:/Users/me", Windows, Some(r"C:\Users\me"));
        check("file://C:/Users/me", Unix, None);
        check("file://C:", Windows, None);
        // As Java writes a share.
        check("file:////server/share/folder", Windows, Some(r"\\server\share\folder"));
        check(r"file:\\server\share\folder", Windows, Some(r"\\server\share\folder"));
        check("file:////server", Windows, None);
        check("file:////home/me", Unix, Some("/home/me"));
    }

    #[test]
    fn paths_become_uris_and_come_back() {
        let check = |path: &str, style, expect: &str| {
            assert_eq!(to_uri(path, style), expect);
            assert_eq!(of_uri(expect, style).as_deref(), Some(path));
        };
        check("/", Unix, "file:///");
        check("/home/me", Unix, "file:///home/me");
        check("/a b/100%/c#?d", Unix, "file:///a%20b/100%25/c%23%3Fd");
        check("/\u{e4}/\u{65e5}\u{1f600}", Unix, "file:///%C3%A4/%E6%97%A5%F0%9F%98%80");
        check(r"/a\b:c", Unix, "file:///a%5Cb:c");
        check(r"C:\", Windows, "file:///C:/");
        check(r"C:\Users\m e", Windows, "file:///C:/Users/m%20e");
        check(r"\\server\share", Windows, "file://server/share");
        check(r"\\server\share\a#b", Windows, "file://server/share/a%23b");
    }

    /// Every one-byte character, and some longer ones, in every position.
    #[test]
    fn no_character_is_lost() {
        let wide = ['\u{e4}', '\u{2028}', '\u{ffff}', '\u{10ffff}'];
        for c in (1..=127).map(char::from).chain(wide).filter(|c| !matches!(c, '/' | '.')) {
            for path in [format!("/{c}"), format!("/a{c}b/{c}{c}/%{c}41")] {
                assert_eq!(of_uri(&to_uri(&path, Unix), Unix).as_ref(), Some(&path));
            }
            for start in [r"C:\", r"\\machine\share\"] {
                let path = format!(r"{start}a{c}b\%{c}41");
                let path = clean(&path, Windows).unwrap();
                assert_eq!(of_uri(&to_uri(&path, Windows), Windows).as_ref(), Some(&path));
            }
        }
    }

    #[test]
    fn paths_are_cleaned() {
        let check = |path: &str, style, expect: Option<&str>| {
            assert_eq!(clean(path, style).as_deref(), expect, "{path} {style:?}");
        };
        check("/a/b/", Unix, Some("/a/b"));
        check("/", Unix, Some("/"));
        check("/..", Unix, Some("/"));
        check("//a///b", Unix, Some("/a/b"));
        check("a/b", Unix, None);
        check("~/a", Unix, None);
        check("", Unix, None);
        check(r"c:\a\..\b\", Windows, Some(r"C:\b"));
        check("c:/a/b", Windows, Some(r"C:\a\b"));
        check(r"\\?\C:\a", Windows, Some(r"C:\a"));
        check(r"\\?\UNC\server\share\a", Windows, Some(r"\\server\share\a"));
        check(r"\\?\unc\server\share\a", Windows, Some(r"\\server\share\a"));
        check(r"\\server\share\..\a", Windows, Some(r"\\server\share\a"));
        check(r"\\server\share\", Windows, Some(r"\\server\share"));
        check(r"\\server", Windows, None);
        check("c:a", Windows, None);
        check(r"\a", Windows, None);
    }

    #[test]
    fn folder_contains_descendants_not_siblings() {
        let check = |path: &str, folder: &str, style, expect: bool| {
            assert_eq!(is_within(path, folder, style), expect, "{path} in {folder}");
        };
        check("/a/b", "/a", Unix, true);
        check("/a", "/a", Unix, true);
        check("/ab", "/a", Unix, false);
        check("/a", "/a/b", Unix, false);
        check("/a", "/", Unix, true);
        check("/A/b", "/a", Unix, false);
        check(r"C:\Users\ME\x", r"c:\users\me", Windows, true);
        check(r"C:\x", r"C:\", Windows, true);
        check(r"D:\x", r"C:\", Windows, false);
    }
}
