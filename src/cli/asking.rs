//! Arguments of the commands that query servers.

use super::{InheritArg, MAX_SECONDS, OwnerArgs, RootArgs};
use clap::Args;
use clap::builder::FalseyValueParser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Lines that fit into 80 columns.
pub(super) const AFTER_CALL: &str = "\
Examples:
  switchboard call github__search_repositories query=mcp limit=5
  switchboard call files__write_file '{\"path\": \"a.txt\", \"content\": \"hello\"}'
  switchboard call files__write_file @arguments.json
  generate-arguments | switchboard call files__write_file -

The text of the result goes to stdout; progress and log messages of the
server go to stderr. Exit codes: 1 if the tool or the call failed, 130 if
interrupted, which cancels the call.";

/// How the gateway is started, and how long to wait. The flags are those of `stdio`, so
/// that it is the same gateway.
#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    /// Start the servers for this command alone, instead of using the daemon's.
    #[arg(long, env = "SWITCHBOARD_SOLO", value_parser = FalseyValueParser::new())]
    pub(crate) solo: bool,

    /// The config file. Default: the one that `stdio` would use.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,

    /// Use only this server of the config file, under its own names.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Use only what this profile of the config file allows.
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) profile: Option<String>,

    #[command(flatten)]
    pub(crate) roots: RootArgs,

    /// Give up after this many seconds. Default: the timeouts of the config file.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
    pub(crate) timeout: Option<u64>,

    /// Which environment variables the COMMAND gets: all (the default), those of the safe list, or none.
    #[arg(long, value_name = "WHICH", value_enum, requires = "command")]
    pub(crate) inherit_env: Option<InheritArg>,

    /// With `--inherit-env safe` or `none`: pass on this variable too, such as GITHUB_TOKEN or `AWS_*`; may be repeated.
    #[arg(long, value_name = "NAME", requires = "command")]
    pub(crate) pass_env: Vec<String>,

    /// A server to run instead of those of the config file: its command and arguments.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "server")]
    pub(crate) command: Vec<String>,
}

impl GatewayArgs {
    /// Our own command line for the gateway. `server` is one that was named in another way.
    pub(crate) fn words(&self, server: Option<&str>) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["stdio".into()];
        let mut add = |flag: &str, value: Option<OsString>| {
            words.extend(value.map(|value| [flag.into(), value]).into_iter().flatten());
        };
        add("--config", self.config.clone().map(Into::into));
        add("--config-owner", self.owner.config_owner.map(|owner| owner.to_string().into()));
        add("--server", self.server.as_deref().or(server).map(Into::into));
        add("--profile", self.profile.as_deref().map(Into::into));
        for root in &self.roots.root {
            add("--root", Some(root.into()));
        }
        // The variable may be empty, which is not a folder.
        let pinned = self.roots.pin_root.clone().map(OsString::from).filter(|root| !root.is_empty());
        add("--pin-root", pinned);
        add("--default-root", self.roots.default_root.clone().map(Into::into));
        let inherit = self.inherit_env.as_ref().and_then(clap::ValueEnum::to_possible_value);
        add("--inherit-env", inherit.map(|which| which.get_name().into()));
        for name in &self.pass_env {
            add("--pass-env", Some(name.into()));
        }
        if self.solo {
            words.push("--solo".into());
        }
        if !self.command.is_empty() {
            words.push("--".into());
            words.extend(self.command.iter().map(Into::into));
        }
        words
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs)
    }
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List only this server's items, under their own names. The same as `--server`.
    #[arg(value_name = "SERVER", conflicts_with_all = ["server", "command"])]
    pub(crate) only: Option<String>,

    /// Print a JSON array of the items as the servers sent them.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) gateway: GatewayArgs,
}

/// Flags of the commands that print one result.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Print the whole result as JSON, as the server sent it.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) gateway: GatewayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool, as `switchboard tools` lists it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The arguments: KEY=VALUE for each, a JSON object, or `@FILE` or `-` (stdin) that holds one.
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) output: ResultArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The resource, as `switchboard resources` lists it, or made from a template.
    #[arg(value_name = "URI")]
    pub(crate) uri: String,

    #[command(flatten)]
    pub(crate) output: ResultArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The prompt, as `switchboard prompts` lists it.
    #[arg(value_name = "PROMPT")]
    pub(crate) name: String,

    /// The arguments: KEY=VALUE for each, a JSON object, or `@FILE` or `-` (stdin) that holds one.
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) output: ResultArgs,
}

#[cfg(test)]
mod tests {
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn words(line: &str) -> String {
        let cli = Cli::try_parse_from(line.split(' ')).expect("a sound command line");
        let words = match &cli.command {
            Some(Command::Tools(args)) => args.gateway.words(args.only.as_deref()),
            Some(Command::Call(args)) => args.output.gateway.words(None),
            _ => Vec::new(),
        };
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn gateway_is_started_with_the_same_flags() {
        assert_eq!(words("switchboard tools"), "stdio");
        assert_eq!(words("switchboard tools github --json"), "stdio --server github");
        assert_eq!(words("switchboard tools --profile work"), "stdio --profile work");
        assert_eq!(
            words("switchboard call --config c --server s --root a --root b --default-root d --solo t k=v"),
            "stdio --config c --server s --root a --root b --default-root d --solo"
        );
        assert_eq!(words("switchboard call t k=v --timeout 5 -- npx -y x"), "stdio -- npx -y x");
    }

    #[test]
    fn a_server_is_named_once() {
        for line in [
            "tools a --server b",
            "tools --server b -- c",
            "tools a -- c",
            "call t --timeout 0",
            "tools --profile p -- c",
        ] {
            let words = ["switchboard"].into_iter().chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }
}
