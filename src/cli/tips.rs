//! Tips for a command line that cannot be parsed.

use super::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, builder::StyledStr};
use switchboard_gateway::nearest_name;

/// Adds a tip to the error about a bare word: the nearest subcommand if it is the first word, otherwise the
/// `--` that must precede a server's command.
pub(super) fn with_tip(mut error: clap::Error) -> clap::Error {
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if !word.starts_with('-') => word.clone(),
        _ => return error,
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    // clap does not tell at which position the word stands.
    let is_first = std::env::args().nth(1).as_ref() == Some(&word);
    if let Some(near) = nearest_subcommand(&word).filter(|_| is_first) {
        return unknown_subcommand(word, &near, error.get(ContextKind::Usage).cloned());
    }
    let mut tips: Vec<StyledStr> =
        vec![format!("a server's command comes after `--`: `switchboard stdio -- {word} …`").into()];
    if is_first {
        tips.push("`switchboard --help` lists the subcommands".into());
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

fn unknown_subcommand(word: String, near: &str, usage: Option<ContextValue>) -> clap::Error {
    let mut error = clap::Error::new(ErrorKind::InvalidSubcommand).with_cmd(&Cli::command());
    let tip = format!("did you mean `switchboard {near}`?").into();
    error.insert(ContextKind::InvalidSubcommand, ContextValue::String(word));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    if let Some(usage) = usage {
        error.insert(ContextKind::Usage, usage);
    }
    error
}

fn nearest_subcommand(word: &str) -> Option<String> {
    let command = Cli::command();
    let names: Vec<String> =
        command.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name().to_owned()).collect();
    nearest_name(word, &names).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_subcommand_is_suggested() {
        for (word, expect) in [
            ("chekc", Some("check")),
            ("tool", Some("tools")),
            ("list", None),
            ("statsu", Some("status")),
            ("npx", None),
        ] {
            assert_eq!(nearest_subcommand(word).as_deref(), expect, "{word}");
        }
    }
}
