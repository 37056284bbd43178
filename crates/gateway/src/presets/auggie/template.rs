//! Arguments of auggie: a template with the placeholders `{mode}` and `{root}`.
//!
//! The template is split into words first, so that a root with blanks stays one word. The mode is known here;
//! the root is expanded later, as in a config file.

use super::{AUGGIE, Options};
use crate::presets::EnvLookup;

/// Words after the script, as a config file would spell them.
pub(super) fn arguments(options: &Options, vars: EnvLookup<'_>) -> Vec<String> {
    let of_environment = || vars(AUGGIE.template_variable).and_then(|template| template.into_string().ok());
    let own = options.args_template.clone().or_else(of_environment);
    let template = own.filter(|template| !template.trim().is_empty());
    let template = template.as_deref().unwrap_or(AUGGIE.args_template);
    let mode = literally(options.mode.as_deref().unwrap_or(AUGGIE.default_mode));
    template.split_whitespace().map(|word| fill(word, &mode)).collect()
}

/// Escapes a text against the `${…}` of a config file.
pub(super) fn literally(text: &str) -> String {
    text.replace("${", "$${")
}

/// Fills in the placeholders of a word in one pass: inserted text is not scanned again.
fn fill(mut word: &str, mode: &str) -> String {
    const PLACEHOLDERS: [&str; 2] = ["{mode}", "{root}"];
    let mut filled = String::new();
    while let Some((at, place)) =
        PLACEHOLDERS.iter().filter_map(|name| Some((word.find(name)?, *name))).min_by_key(|(at, _)| *at)
    {
        // `${root}`, as in a config file, means the same.
        filled += &literally(word[..at].strip_suffix('$').unwrap_or(&word[..at]));
        filled += if place == "{root}" { "${root}" } else { mode };
        word = &word[at + place.len()..];
    }
    filled + &literally(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::tests::lookup;

    #[track_caller]
    fn check(template: Option<&str>, mode: Option<&str>, expect: &[&str]) {
        let vars: Vec<(&str, &str)> =
            template.map(|template| (AUGGIE.template_variable, template)).into_iter().collect();
        let options = Options { mode: mode.map(str::to_owned), ..Options::default() };
        assert_eq!(arguments(&options, &lookup(&vars)), expect, "{template:?}");
    }

    #[test]
    fn default_template() {
        let words = ["--mcp", "-m", "default", "--workspace-root", "${root}"];
        for template in [None, Some(""), Some("  "), Some(AUGGIE.args_template)] {
            check(template, None, &words);
        }
        check(None, Some("fast lane"), &["--mcp", "-m", "fast lane", "--workspace-root", "${root}"]);
    }

    #[test]
    fn template_from_environment() {
        check(Some(" --mcp\t--root={root}! "), None, &["--mcp", "--root=${root}!"]);
        check(Some("{mode}{mode} {other}"), Some("m"), &["mm", "{other}"]);
        check(Some("${root} ${mode}"), None, &["${root}", "default"]);
    }

    #[test]
    fn filled_in_text_is_not_filled_again() {
        check(Some("{mode}"), Some("{root}"), &["{root}"]);
        check(Some("{mode}"), Some("${HOME}"), &["$${HOME}"]);
        check(Some("${HOME} $$ a$"), None, &["$${HOME}", "$$", "a$"]);
    }
}
