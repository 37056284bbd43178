//! The arguments: a template in which `{mode}` and `{root}` are filled in.
//!
//! It is cut into words first, so that a root with blanks stays one word. The mode is known now; the root is
//! left to be filled in as in a config file, once per root.

use super::Options;
use crate::config::Lookup;
use crate::config::preset::DEFAULT_TEMPLATE;

/// The variable that the template stands in.
pub const TEMPLATE: &str = "AUGGIE_ARGS_TEMPLATE";
const DEFAULT_MODE: &str = "default";

/// The words after the script, in the spelling of a config file.
pub(super) fn arguments(options: &Options, vars: Lookup<'_>) -> Vec<String> {
    let of_environment = || vars(TEMPLATE).and_then(|template| template.into_string().ok());
    let own = options.args_template.clone().or_else(of_environment);
    let template = own.filter(|template| !template.trim().is_empty());
    let template = template.as_deref().unwrap_or(DEFAULT_TEMPLATE);
    let mode = literally(options.mode.as_deref().unwrap_or(DEFAULT_MODE));
    template.split_whitespace().map(|word| fill(word, &mode)).collect()
}

/// A text that a config file's `${…}` must not be looked for in.
pub(super) fn literally(text: &str) -> String {
    text.replace("${", "$${")
}

/// Goes through the word once: what was filled in is not looked at again.
fn fill(mut word: &str, mode: &str) -> String {
    const PLACES: [&str; 2] = ["{mode}", "{root}"];
    let mut filled = String::new();
    while let Some((at, place)) =
        PLACES.iter().filter_map(|place| Some((word.find(place)?, *place))).min_by_key(|(at, _)| *at)
    {
        // Whoever writes `${root}`, as in a config file, means the same.
        filled += &literally(word[..at].strip_suffix('$').unwrap_or(&word[..at]));
        filled += if place == "{root}" { "${root}" } else { mode };
        word = &word[at + place.len()..];
    }
    filled + &literally(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auggie::tests::lookup;
    use crate::config::ServerConfig;
    use crate::config::expand::launch_parts;
    use std::path::Path;

    /// What auggie gets in the end.
    #[track_caller]
    fn check(template: Option<&str>, mode: Option<&str>, expect: &[&str]) {
        let vars: Vec<(&str, &str)> = template.map(|template| (TEMPLATE, template)).into_iter().collect();
        let options = Options { mode: mode.map(str::to_owned), ..Options::default() };
        let words = arguments(&options, &lookup(&vars));
        let server = ServerConfig { expand: true, ..ServerConfig::for_command("a", "node", words) };
        let parts = launch_parts(&server, Some(Path::new("/my work/${x} {mode}")), &lookup(&[]));
        assert_eq!(parts.unwrap().args, expect, "{template:?}");
    }

    const ROOT: &str = "/my work/${x} {mode}";

    #[test]
    fn by_default() {
        let words = ["--mcp", "-m", "default", "--workspace-root", ROOT];
        for template in [None, Some(""), Some("  "), Some(DEFAULT_TEMPLATE)] {
            check(template, None, &words);
        }
        check(None, Some("fast lane"), &["--mcp", "-m", "fast lane", "--workspace-root", ROOT]);
    }

    #[test]
    fn a_template_of_ones_own() {
        let inside = format!("--root={ROOT}!");
        check(Some(" --mcp\t--root={root}! "), None, &["--mcp", &inside]);
        check(Some("{mode}{mode} {other}"), Some("m"), &["mm", "{other}"]);
        check(Some("${root} ${mode}"), None, &[ROOT, "default"]);
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        check(Some("{mode}"), Some("{root}"), &["{root}"]);
        check(Some("{mode}"), Some("${HOME}"), &["${HOME}"]);
        check(Some("${HOME} $$ a$"), None, &["${HOME}", "$$", "a$"]);
    }
}
