//! Possible meanings of a URI. Every server decodes URIs in its own way, so a filter that compared spellings
//! could be bypassed with another spelling of the same resource: `.%65nv`, `.env?x`, `docs/../secret`. A
//! reading is the interpretation by one kind of server. `deny` applies if any reading matches; `allow` only
//! if all readings do.
//!
//! Pure text processing. Must not know what is sent to a server, which is always the client's own spelling.

mod authority;
mod path;
#[cfg(test)]
mod tests;

use super::uris;
use crate::text::glob::matches;
use crate::text::percent::decode_leniently;
use authority::Authority;
use path::PathRules;

/// Limit on decodings; a URI that is still encoded after so many cannot be judged.
const MAX_DECODINGS: usize = 4;
/// Limit on the length of a URI with more than one reading; a longer one cannot be judged.
const MAX_AMBIGUOUS_BYTES: usize = 2 * 1024;
/// Limit on wrapped URIs within wrapped URIs.
const MAX_WRAPPERS: usize = 4;

/// One way to read a URI.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Treats query and fragment as separate from the path.
    cuts_query: bool,
    /// Number of rounds of percent-decoding.
    decodings: usize,
    authority: Authority,
    path: PathRules,
}

/// Whether one of the globs matches one reading. Ignores case, as many file systems and all host names do.
pub(super) fn denies(globs: &[String], uri: &str) -> bool {
    if globs.is_empty() {
        return false;
    }
    // A URI that cannot be judged is denied.
    let Some(readings) = all_readings(uri, 0) else { return true };
    let lower: Vec<String> = readings.iter().map(|text| text.to_lowercase()).collect();
    globs.iter().any(|glob| {
        let forms = glob_forms(glob);
        readings.iter().any(|text| matches(glob, text))
            || forms.iter().any(|form| lower.iter().any(|text| matches(form, text)))
    })
}

/// Lowercase readings of a `deny` glob. Readings that drop a host, a user or a stream are skipped, since they
/// would widen the glob: `http://*@*/*` would deny all of HTTP.
fn glob_forms(glob: &str) -> Vec<String> {
    let mut forms = vec![glob.to_lowercase()];
    let is_exact = authority::is_exact_web_host(glob);
    for reading in Reading::all(glob, &decodings(glob).unwrap_or_default()) {
        if !reading.path.windows_names && (is_exact || !reading.authority.drops_parts()) {
            push(&mut forms, reading.of(glob).to_lowercase());
        }
    }
    forms
}

/// Whether every reading is matched by one of the globs. A glob is read in the same way as the URI, so that
/// both may have the same unusual spelling.
pub(super) fn allows(globs: &[String], uri: &str) -> bool {
    // The URI as spelled is one of its readings, so a mismatch decides.
    if !globs.iter().any(|glob| matches(glob, uri)) {
        return false;
    }
    // A glob equal to this spelling means exactly this URI.
    if is_unambiguous(uri) || globs.iter().any(|glob| glob == uri) {
        return true;
    }
    let Some(decoded) = decodings(uri).filter(|_| uri.len() <= MAX_AMBIGUOUS_BYTES) else { return false };
    Reading::all(uri, &decoded).all(|reading| {
        let text = reading.of(uri);
        globs.iter().any(|glob| matches(glob, &text) || matches(&reading.of(glob), &text))
    })
}

/// All possible meanings of a URI; `None` if they cannot be determined.
fn all_readings(uri: &str, wrappers: usize) -> Option<Vec<String>> {
    let mut found = vec![uri.to_owned()];
    if !is_unambiguous(uri) {
        if uri.len() > MAX_AMBIGUOUS_BYTES {
            return None;
        }
        let decoded = decodings(uri)?;
        // Neither resolved nor trimmed: a pattern may be about dot segments or blanks.
        let raw = std::iter::successors(Some(uri.to_owned()), |text| decode_leniently(text));
        for text in raw.take(MAX_DECODINGS + 1).chain(decoded.iter().cloned()) {
            for text in [&*text, before_query(&text), before_nul(&text)] {
                push(&mut found, text.to_owned());
            }
        }
        for reading in Reading::all(uri, &decoded) {
            let text = reading.of(uri);
            // A server may also decode before it parses, and some file systems ignore trailing dots, blanks
            // and slashes.
            for text in [before_query(&text), &text] {
                push(&mut found, text.trim_end_matches(['.', ' ', '/']).to_owned());
                push(&mut found, text.to_owned());
            }
        }
    }
    // The server may itself be a switchboard, which wraps URIs.
    // A copy, because inner URIs are added to the same list.
    for text in found.clone() {
        let wrapped = uris::decode_resource(&text).map(|(_, uri)| uri);
        let wrapped = wrapped.or_else(|| uris::decode_template(&text).map(|(_, uri)| uri.to_owned()));
        if let Some(uri) = wrapped {
            // Too many wrappers: the URI cannot be judged.
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
    /// The readings that may differ for this URI, given its decoded texts. Choices that change none of the
    /// texts are left out, so that an ordinary URI has few readings.
    fn all(uri: &str, decoded: &[String]) -> impl Iterator<Item = Self> {
        let texts = || std::iter::once(uri).chain(decoded.iter().map(String::as_str));
        let rests = || texts().map(|text| authority::split_scheme(text).1);
        let rules = PathRules::all(
            texts().any(|text| text.contains(';')),
            rests().any(path::may_be_windows_name),
            rests().any(path::may_have_empty_segment),
        );
        let authorities =
            Authority::all(texts().any(authority::is_possible), texts().any(authority::may_hide_user));
        Self::each(uri.contains(['?', '#']), decoded.len(), authorities, rules)
    }

    fn each(
        has_query: bool,
        most_decodings: usize,
        authorities: &'static [Authority],
        rules: Vec<PathRules>,
    ) -> impl Iterator<Item = Self> {
        let queries = if has_query { &[false, true][..] } else { &[false] };
        rules.into_iter().flat_map(move |path| {
            authorities.iter().flat_map(move |&authority| {
                queries.iter().flat_map(move |&cuts_query| {
                    (0..=most_decodings).map(move |decodings| Self { cuts_query, decodings, authority, path })
                })
            })
        })
    }

    fn of(self, uri: &str) -> String {
        let text = if self.cuts_query { before_query(uri) } else { uri };
        let mut text = without_blanks(text);
        for _ in 0..self.decodings {
            match decode_leniently(&text) {
                Some(next) => text = without_blanks(before_nul(&next)),
                None => break,
            }
        }
        // Servers written in C stop at a NUL.
        let location = self.authority.locate(before_nul(&text));
        let scheme = location.scheme;
        match location.host {
            Some(host) if self.authority == Authority::Path && !host.is_empty() => {
                // In a web URI, a colon introduces a port, not an NTFS stream.
                let windows_names = self.path.windows_names && !authority::is_web(&scheme);
                let rules = PathRules { windows_names, ..self.path };
                format!("{scheme}//{}", rules.apply(&format!("{host}{}", location.path)))
            }
            Some(host) => {
                // A trailing dot makes a host name absolute, and names the same host.
                format!("{scheme}//{}{}", host.trim_end_matches('.'), self.path.apply(&location.path))
            }
            None => format!("{scheme}{}", self.path.apply(&location.path)),
        }
    }
}

/// Whether all readings equal this text, up to case. The usual case; does not allocate.
fn is_unambiguous(uri: &str) -> bool {
    let (scheme, rest) = authority::split_scheme(uri);
    !uri.bytes().any(|b| b < b' ' || matches!(b, b'%' | b'?' | b'#' | b';' | b'\\'))
        && !scheme.bytes().any(|b| b.is_ascii_uppercase())
        && authority::plain_path(scheme, rest).is_some_and(path::is_plain)
        && !uri.starts_with(' ')
        && !uri.ends_with(['.', ' ', '/'])
}

/// Removes blanks as the URL parsers of browsers and Node do.
fn without_blanks(uri: &str) -> String {
    uri.trim_matches(|c| c <= ' ').replace(['\t', '\r', '\n'], "")
}

fn before_nul(uri: &str) -> &str {
    uri.split('\0').next().unwrap_or_default()
}

fn before_query(uri: &str) -> &str {
    uri.split(['?', '#']).next().unwrap_or_default()
}

/// The result of each successive decoding; `None` if there are too many.
fn decodings(uri: &str) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    while let Some(next) = decode_leniently(&without_blanks(all.last().map_or(uri, String::as_str))) {
        if all.len() == MAX_DECODINGS {
            return None;
        }
        all.push(next);
    }
    Some(all)
}
