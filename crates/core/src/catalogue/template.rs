//! Matching of URIs against URI templates (RFC 6570). Lenient: it serves to find the owner of a URI, and the
//! server itself decides about the content. Must not know whose template it is.

/// Longest URI compared with templates: the time is the product of both lengths.
const MAX_URI_BYTES: usize = 2 * 1024;

/// The text before the first expression.
pub(super) fn literal_start(template: &str) -> &str {
    template.split('{').next().unwrap_or_default()
}

pub(super) fn matches(template: &str, uri: &str) -> bool {
    if !uri.starts_with(literal_start(template)) || uri.len() > MAX_URI_BYTES {
        return false;
    }
    let uri = uri.as_bytes();
    // Offsets in the URI at which the template, as far as processed, may end.
    let mut reached = vec![false; uri.len() + 1];
    reached[0] = true;
    let mut rest = template;
    while let Some((literal, behind)) = rest.split_once('{') {
        // An unclosed brace is literal text.
        let Some((expression, behind)) = behind.split_once('}') else { break };
        reached = after_literal(&reached, uri, literal.as_bytes());
        after_expression(&mut reached, uri, expression);
        rest = behind;
    }
    after_literal(&reached, uri, rest.as_bytes())[uri.len()]
}

/// A glob for everything that may come from a template, even decoded.
pub(super) fn as_glob(template: &str) -> String {
    let mut glob = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((literal, behind)) = rest.split_once('{') {
        // An unclosed brace is literal text.
        let Some((_, behind)) = behind.split_once('}') else { break };
        glob.push_str(literal);
        glob.push('*');
        rest = behind;
    }
    glob + rest
}

fn after_literal(reached: &[bool], uri: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (at, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
        if uri[at..].starts_with(literal) {
            next[at + literal.len()] = true;
        }
    }
    next
}

/// Applies an expression. It may expand to nothing, so all offsets stay reachable.
fn after_expression(reached: &mut [bool], uri: &[u8], expression: &str) {
    let sign = expression.bytes().next().filter(|b| b"+#./;?&".contains(b));
    let begins = |b: u8| match sign {
        None => is_value(b),
        Some(b'+') => true,
        Some(sign) => b == sign,
    };
    let goes_on = |b: u8| match sign {
        None | Some(b'.' | b';') => is_value(b) || Some(b) == sign,
        Some(b'/') => is_value(b) || b == b'/',
        Some(b'?' | b'&') => b != b'#',
        Some(_) => true,
    };
    let mut inside = false;
    for at in 0..uri.len() {
        inside = (inside && goes_on(uri[at])) || (reached[at] && begins(uri[at]));
        reached[at + 1] |= inside;
    }
}

/// Whether a byte may occur in the value of a plain variable. Servers are lenient about encoding, so
/// everything except the delimiters of a URI.
fn is_value(b: u8) -> bool {
    !matches!(b, b'/' | b'?' | b'#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_match_their_templates() {
        for (template, uri, expect) in [
            ("file:///{name}", "file:///a.txt", true),
            ("file:///{name}", "file:///a/b.txt", false),
            ("file:///{+path}", "file:///a/b.txt", true),
            ("file:///{+path}", "http:///a/b.txt", false),
            ("{+all}", "x://y/z", true),
            ("db://{table}/rows/{row}", "db://users/rows/7", true),
            ("db://{table}/rows/{row}", "db://users/columns/7", false),
            ("db://t{/path*}", "db://t/a/b", true),
            ("db://t{/path*}", "db://t", true),
            ("db://t{/path*}", "db://tx", false),
            ("s://x{?q,r}", "s://x?q=1&r=2", true),
            ("s://x{?q,r}", "s://x", true),
            ("s://x{?q,r}", "s://xq=1", false),
            ("s://x?a=1{&b}", "s://x?a=1&b=2", true),
            ("s://x{.ext}", "s://x.txt", true),
            ("s://x{;v}", "s://x;v=1", true),
            ("s://x{#part}", "s://x#a/b", true),
            ("s://x", "s://x", true),
            ("s://x", "s://xy", false),
            ("s://{broken", "s://{broken", true),
        ] {
            assert_eq!(matches(template, uri), expect, "{template} {uri}");
        }
    }

    #[test]
    fn hostile_template_takes_bounded_time() {
        assert!(!matches(&("x".to_owned() + &"{+a}x".repeat(50) + "y"), &"x".repeat(2000)));
    }
}
