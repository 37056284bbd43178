//! The general help: grouped subcommands and few options. Also the headings of `stdio --help`.

use crate::terminal::wrap_at;
use crate::topics::TOPIC_NAMES;
use clap::{Arg, Command};
use std::fmt::Write;

const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["demo", "check", "stdio", "help"]),
    ("Servers", &["status", "logs", "start", "stop", "restart", "reload", "forget", "trust", "approve"]),
    ("Inspect", &["tools", "call", "prompts", "get", "resources", "read", "explain"]),
    ("Daemon and HTTP", &["daemon", "serve", "token"]),
    ("Advanced", &["schema", "completions"]),
];

const BEFORE: &str = "\
One MCP server for your IDE; every other MCP server behind it

Usage: switchboard SUBCOMMAND [OPTIONS]
       switchboard [OPTIONS] [-- COMMAND ARGS…]   (the same as `stdio`)
";

const AFTER: &str = "
Options:
      --config FILE  The config file. Default: $SWITCHBOARD_CONFIG, a trusted
                     `switchboard.json` in this folder, or your own
  -h, --help         Print help; `switchboard SUBCOMMAND --help` has all options
  -V, --version      Print version

In an IDE's MCP settings, one entry serves all servers of your config file:
  { \"command\": \"switchboard\", \"args\": [\"stdio\"] }
or put Switchboard before the command of a single server:
  { \"command\": \"switchboard\",
    \"args\": [\"stdio\", \"--\", \"npx\", \"-y\", \"some-server\"] }

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 config file missing or
wrong, 130 interrupted (`switchboard help cli` has them all).
";

/// Options of `stdio` by heading; the others stay under "Options".
const HEADINGS: &[(&str, &[&str])] = &[
    ("Workspace", &["root", "pin_root", "default_root"]),
    ("Logging", &["log_level", "log_file", "log_format", "log_bodies"]),
    (
        "The server after `--`",
        &["root_argument", "raw", "inherit_env", "pass_env", "packages", "guard", "keep"],
    ),
    ("The server auggie", &["backend", "node", "auggie_entry", "mode"]),
];

pub(super) fn apply(command: Command) -> Command {
    let overview = text(&command);
    command.override_help(overview).mut_subcommand("stdio", |stdio| stdio.mut_args(with_heading))
}

fn with_heading(arg: Arg) -> Arg {
    let heading = HEADINGS.iter().find(|(_, ids)| ids.contains(&arg.get_id().as_str()));
    match heading {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}

fn text(command: &Command) -> String {
    let mut text = BEFORE.to_owned();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{group}:");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let _ = writeln!(text, "  {name:<11}  {}", about.map(ToString::to_string).unwrap_or_default());
        }
    }
    let _ = writeln!(text, "\nTopics, for `switchboard help TOPIC`:");
    let _ = writeln!(text, "{}", wrap_at(&TOPIC_NAMES.join(", "), 80, 2));
    text + AFTER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn each_subcommand_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let expect: BTreeSet<&str> = visible.map(|command| command.get_name()).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), expect);
        assert_eq!(grouped.len(), expect.len());
    }

    #[test]
    fn headings_name_options_of_stdio() {
        let command = Cli::command();
        let stdio = command.find_subcommand("stdio").unwrap();
        for id in HEADINGS.iter().flat_map(|(_, ids)| *ids) {
            assert!(stdio.get_arguments().any(|arg| arg.get_id() == id), "{id}");
        }
    }

    #[test]
    fn overview_fits_into_80_columns() {
        let text = text(&Cli::command());
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(long, Vec::<&str>::new());
    }
}
