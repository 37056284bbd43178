//! Expansion of variables in a line of a batch file.

/// The file's own folder, with a separator at its end.
const OWN_FOLDER: &str = "%~dp0";
/// The loop variable that holds the folder of npm's global packages.
const NPM_PREFIX: &str = "%%F";

/// Replaces `%NAME%`, `%NAME:from=to%`, `%~dp0` and `%%F`. An unknown variable is empty, as in any batch
/// file. `None` for other uses of the percent sign.
pub(super) fn expand(
    text: &str,
    folder: &str,
    npm_prefix: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        done.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = strip(rest, OWN_FOLDER) {
            done.push_str(folder.trim_end_matches(['\\', '/']));
            done.push('\\');
            rest = behind;
            continue;
        }
        if let Some(behind) = strip(rest, NPM_PREFIX) {
            done.push_str(npm_prefix?);
            rest = behind;
            continue;
        }
        let (name, behind) = rest[1..].split_once('%')?;
        done.push_str(&value(name, variable)?);
        rest = behind;
    }
    done.push_str(rest);
    Some(done)
}

fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn value(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if name.is_empty() || name.starts_with(['~', '*']) || name.contains([' ', '"']) {
        return None;
    }
    let Some((name, change)) = name.split_once(':') else { return Some(variable(name).unwrap_or_default()) };
    let (from, to) =
        change.split_once('=').filter(|(from, _)| !from.is_empty() && !from.starts_with(['~', '*']))?;
    Some(replace(&variable(name).unwrap_or_default(), from, to))
}

/// Replaces every occurrence, ignoring the case of ASCII letters.
fn replace(text: &str, from: &str, to: &str) -> String {
    let (lower, from) = (text.to_ascii_lowercase(), from.to_ascii_lowercase());
    let mut done = String::new();
    let mut at = 0;
    while let Some(found) = lower[at..].find(&from) {
        done.push_str(&text[at..at + found]);
        done.push_str(to);
        at += found + from.len();
    }
    done.push_str(&text[at..]);
    done
}
