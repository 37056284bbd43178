//! Paths: segments that servers and file systems resolve, drop or rename. Must not know about schemes and hosts.

use std::borrow::Cow;

/// A server's interpretation of a path. Dot segments are always resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathRules {
    /// `;v=1` after a segment is not part of its name.
    pub(super) cuts_params: bool,
    /// Windows names: `a.`, `a ` and `a:stream` equal `a`, and a drive starts the path.
    pub(super) windows_names: bool,
    /// `a//b` equals `a/b`, as in a file system.
    pub(super) merges_slashes: bool,
}

impl PathRules {
    /// All combinations of the rules that matter.
    pub(super) fn all(has_params: bool, may_be_windows: bool, may_be_empty: bool) -> Vec<Self> {
        let choices = |matters: bool| if matters { &[false, true][..] } else { &[false] };
        let mut all = Vec::new();
        for &cuts_params in choices(has_params) {
            for &windows_names in choices(may_be_windows) {
                // A segment may also become empty when all of it is cut.
                for &merges_slashes in choices(has_params || may_be_windows || may_be_empty) {
                    all.push(Self { cuts_params, windows_names, merges_slashes });
                }
            }
        }
        all
    }

    pub(super) fn apply(self, path: &str) -> String {
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        let is_absolute = path.starts_with('/');
        let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
        while let Some(segment) = segments.next() {
            let mut name = match segment.split_once(';') {
                Some((name, _)) if self.cuts_params => name,
                _ => segment,
            };
            if self.windows_names {
                if is_drive(name) {
                    kept.clear();
                    kept.push(Cow::Owned(format!("{}:", &name[..1])));
                    continue;
                }
                name = windows_name(name);
            }
            let is_last = segments.peek().is_none();
            match name {
                "." => {}
                ".." => {
                    kept.pop();
                }
                "" if self.merges_slashes && !is_last => continue,
                name => {
                    kept.push(Cow::Borrowed(name));
                    continue;
                }
            }
            // A dot segment at the end leaves a trailing slash, as in RFC 3986.
            if is_last {
                kept.push(Cow::Borrowed(""));
            }
        }
        let path = kept.join("/");
        if is_absolute { format!("/{path}") } else { path }
    }
}

/// A drive: `c:`, `c|` as in old URLs, or `c$` as a share.
pub(super) fn is_drive(segment: &str) -> bool {
    matches!(segment.as_bytes(), [letter, b':' | b'|' | b'$'] if letter.is_ascii_alphabetic())
}

/// Removes the stream, and trailing dots and blanks.
fn windows_name(segment: &str) -> &str {
    let name = segment.split(':').next().unwrap_or_default();
    match name.trim_end_matches(' ') {
        // Not a name with trailing dots, but a segment to resolve.
        dots @ ("." | "..") => dots,
        name => name.trim_end_matches(['.', ' ']),
    }
}

/// Whether Windows may read a name after the scheme differently. May return true too often, never too seldom.
pub(super) fn may_be_windows_name(rest: &str) -> bool {
    let is_end = |at: usize| rest.as_bytes().get(at + 1).is_none_or(|next| !next.is_ascii_alphanumeric());
    rest.bytes()
        .enumerate()
        .any(|(at, b)| matches!(b, b':' | b'|' | b'$' | b' ') || (b == b'.' && is_end(at)))
}

/// Whether the path after the scheme may have an empty segment. May return true too often, never too seldom.
pub(super) fn may_have_empty_segment(rest: &str) -> bool {
    rest.strip_prefix("//").unwrap_or(rest).contains("//") || rest.bytes().any(|b| b <= b' ' || b == b'\\')
}

/// Whether all rules leave this path unchanged.
pub(super) fn is_plain(path: &str) -> bool {
    let inner = path.strip_prefix('/').unwrap_or(path);
    inner.split('/').enumerate().all(|(at, segment)| {
        let is_first_drive = at == 0 && is_drive(segment) && segment.ends_with(':');
        is_first_drive || (!segment.contains(':') && !is_drive(segment) && !segment.ends_with(['.', ' ']))
    }) && !path.contains("//")
}
