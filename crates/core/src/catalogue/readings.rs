//! What a URI may mean. Every server decodes URIs in its own way, so a filter that compares spellings is passed by another
//! spelling of the same resource: `.%65nv`, `.env?x`, `docs/../secret`. A reading is what one kind of server makes of a
//! URI. `deny` holds if one reading matches; `allow` only if all of them do.
//!
//! Pure texts: nothing here knows what is sent to a server, which is always the client's own spelling.

mod authority;
mod path;
#[cfg(test)]
mod tests;

use super::filter::matches;
use super::uris;
use crate::text::percent::decode_leniently;
use authority::Authority;
use path::PathRules;

/// A URI that is still encoded after so many decodings cannot be judged.
const MAX_DECODINGS: usize = 4;
/// Nor can a longer one that has more than one reading.
const MAX_AMBIGUOUS_BYTES: usize = 2 * 1024;
/// Wrapped URIs within wrapped URIs.
const MAX_WRAPPERS: usize = 4;

/// One way of reading a URI.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Query and fragment are not part of the path.
    cuts_query: bool,
    /// How often percent-encoding is decoded.
    decodings: usize,
    authority: Authority,
    path: PathRules,
}

/// Whether one of the globs matches one reading. Case does not count: on many disks, and in every host, it does not.
pub(super) fn denies(globs: &[String], uri: &str) -> bool {
    if globs.is_empty() {
        return false;
    }
    let Some(readings) = all_readings(uri, 0) else { return true };
    let lower: Vec<String> = readings.iter().map(|text| text.to_lowercase()).collect();
    globs.iter().any(|glob| {
        let forms = glob_forms(glob);
        readings.iter().any(|text| matches(glob, text))
            || forms.iter().any(|form| lower.iter().any(|text| matches(form, text)))
    })
}

/// Lowercase readings of a `deny` glob. A reading that drops a host, a user or a stream would widen the glob:
/// `http://*@*/*` would deny all of HTTP.
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
    let Some(decoded) = decodings(uri).filter(|_| uri.len() <= MAX_AMBIGUOUS_BYTES) else { return false };
    Reading::all(uri, &decoded).all(|reading| {
        let text = reading.of(uri);
        globs.iter().any(|glob| matches(glob, &text) || matches(&reading.of(glob), &text))
    })
}

/// All that a URI may mean; `None` if that cannot be said.
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
    /// Readings that may differ for this URI, which decodes to these texts. A choice that cannot change any of the texts
    /// is left out, so that an ordinary URI has few.
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
        let location = self.authority.locate(before_nul(&text));
        let scheme = location.scheme;
        match location.host {
            Some(host) if self.authority == Authority::Path && !host.is_empty() => {
                // A port is not a stream.
                let windows_names = self.path.windows_names && !authority::is_web(&scheme);
                let rules = PathRules { windows_names, ..self.path };
                format!("{scheme}//{}", rules.apply(&format!("{host}{}", location.path)))
            }
            Some(host) => {
                format!("{scheme}//{}{}", host.trim_end_matches('.'), self.path.apply(&location.path))
            }
            None => format!("{scheme}{}", self.path.apply(&location.path)),
        }
    }
}

/// Whether all readings are this text, up to case. The usual case, without an allocation.
fn is_unambiguous(uri: &str) -> bool {
    let (scheme, rest) = authority::split_scheme(uri);
    !uri.bytes().any(|b| b < b' ' || matches!(b, b'%' | b'?' | b'#' | b';' | b'\\'))
        && !scheme.bytes().any(|b| b.is_ascii_uppercase())
        && authority::plain_path(scheme, rest).is_some_and(path::is_plain)
        && !uri.starts_with(' ')
        && !uri.ends_with(['.', ' ', '/'])
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
    while let Some(next) = decode_leniently(&without_blanks(all.last().map_or(uri, String::as_str))) {
        if all.len() == MAX_DECODINGS {
            return None;
        }
        all.push(next);
    }
    Some(all)
}
