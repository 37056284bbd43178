//! The command line: subcommands and flags. Doc comments of items that clap reads are the `--help` texts.

pub(crate) mod approve;
mod asking;
mod daemon;
pub(crate) mod owner;
mod overrides;
mod token;
mod values;
mod overview;
mod tips;

use approve::ApproveArgs;
pub(crate) use asking::{CallArgs, GatewayArgs, GetArgs, ListArgs, ReadArgs};
pub(crate) use daemon::{DaemonArgs, DaemonCommand, LogArgs, ServeArgs};
use overrides::OverrideArgs;
use owner::OwnerArgs;
pub(crate) use token::{CreateArgs, TokenArgs, TokenCommand};
pub(crate) use values::{BackendArg, FormatArg, GuardArg, InheritArg, LevelArg, PackagesArg};
use values::{MAX_SECONDS, process_name};

use clap::builder::{FalseyValueParser, OsStringValueParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;

/// Lines that fit into 80 columns: clap wraps longer ones without regard for their layout.
const AFTER_STDIO: &str = "\
Examples:
  switchboard stdio
      serve all servers of the config file
  switchboard stdio --server github
      serve one of them
  switchboard stdio -- npx -y @modelcontextprotocol/server-everything
      serve a server that is not in a config file

In an IDE's MCP settings:
  { \"command\": \"switchboard\", \"args\": [\"stdio\"] }";

/// One MCP server for your IDE; every other MCP server behind it: started once, shared, routed by workspace,
/// and never left running.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, args_conflicts_with_subcommands = true)]
#[command(disable_help_subcommand = true)]
#[command(about = "One MCP server for your IDE; every other MCP server behind it")]
#[command(subcommand_value_name = "SUBCOMMAND", subcommand_help_heading = "Subcommands")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) stdio: StdioArgs,
}

impl Cli {
    /// Parses the command line; exits if it is wrong, or asks for help.
    pub(crate) fn read() -> Self {
        let read = Self::with_overview().try_get_matches();
        let cli = read.and_then(|matches| Self::from_arg_matches(&matches));
        cli.unwrap_or_else(|error| tips::with_tip(error).exit())
    }

    /// The command line with its help as users see it.
    pub(crate) fn with_overview() -> clap::Command {
        overview::apply(Self::command())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve an IDE or agent over stdin and stdout.
    ///
    /// Serves all servers of the config file as one, one of them (`--server`), or a server given after `--`. This is
    /// also what runs without a subcommand when stdin is not a terminal.
    #[command(after_help = AFTER_STDIO)]
    Stdio(Box<StdioArgs>),
    /// Run the daemon that all windows share, or stop it.
    ///
    /// It runs in the foreground. `stdio` starts one by itself if there is none.
    Daemon(Box<DaemonArgs>),
    /// Serve clients over HTTP.
    ///
    /// All servers of the config file are at /mcp, each one at /servers/NAME/mcp. This is the daemon with a listener:
    /// windows that run `stdio` with the same config share its servers.
    Serve(Box<ServeArgs>),
    /// Manage the tokens of clients.
    ///
    /// Clients over HTTP need one. The first token is the owner's; others have their own names, rights and limits.
    Token(TokenArgs),
    /// List the tools of the servers.
    Tools(Box<ListArgs>),
    /// List the prompts of the servers.
    Prompts(Box<ListArgs>),
    /// List the resources and resource templates of the servers.
    Resources(Box<ListArgs>),
    /// Call a tool and print its result.
    #[command(after_help = asking::AFTER_CALL)]
    Call(Box<CallArgs>),
    /// Print a resource.
    Read(Box<ReadArgs>),
    /// Print the messages of a prompt.
    Get(Box<GetArgs>),
    /// Show daemons, clients, servers and their instances.
    Status(StatusArgs),
    /// Show the log, or the stderr of a server.
    Logs(LogsArgs),
    /// Restart the instances of a server.
    Restart(OrderArgs),
    /// Stop a server until it is started again.
    Stop(OrderArgs),
    /// Re-enable a stopped server.
    Start(OrderArgs),
    /// Forget the facts, stored lists and approved tools of a server.
    ///
    /// The facts are its framing, and whether it is slow, keeps state or asks its client questions. Its next start
    /// learns them again, and approves its tools as they are then.
    Forget(ForgetArgs),
    /// Reload the config files now, and show what changed.
    ///
    /// The daemon reloads a changed file by itself within seconds; this does it at once and shows the outcome.
    Reload,
    /// Check the config file: problems, and what each server runs.
    Check(CheckArgs),
    /// Trust the `switchboard.json` of a project folder.
    ///
    /// A config file names commands to run. One in a project folder is ignored until you have read it and trusted it
    /// here. When it changes, it is ignored again.
    Trust(TrustArgs),
    /// Approve what has changed since it was approved before.
    Approve(ApproveArgs),
    /// Explain which workspace a request is routed to.
    ///
    /// Starts nothing and sends nothing.
    Explain(Box<ExplainArgs>),
    /// Show help for a subcommand or a topic.
    Help {
        /// A subcommand, or a topic such as `config`. Default: the general help.
        #[arg(value_name = "TOPIC")]
        words: Vec<String>,
    },
    /// See what Switchboard does, on a built-in example server.
    ///
    /// Takes a few seconds, needs nothing else on the machine, and ends with the entry for your IDE's settings.
    Demo,
    /// Print the JSON Schema of the config file, for editors.
    Schema,
    /// Print the completions for a shell.
    Completions { shell: clap_complete::Shell },
    /// A small MCP server over stdin and stdout, to try things on. The demo uses it.
    #[command(hide = true)]
    ExampleServer,
}

#[derive(Debug, Args)]
pub(crate) struct StdioArgs {
    /// Run the servers in this process, instead of sharing the daemon's with other windows.
    #[arg(long, env = "SWITCHBOARD_SOLO", value_parser = FalseyValueParser::new())]
    pub(crate) solo: bool,

    /// The config file. Default: $SWITCHBOARD_CONFIG, a trusted `switchboard.json` in this folder, or your own.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,

    /// A built-in server entry, which needs neither a config file nor a COMMAND.
    #[arg(long, value_name = "NAME", value_enum, group = "launched", conflicts_with = "server")]
    pub(crate) backend: Option<BackendArg>,

    // clap waives a requirement that conflicts with a given flag, so these flags
    // state their conflicts themselves.
    /// With `--backend auggie`: the node program. Default: $NODE_PATH if it names one, or the first that is found.
    #[arg(long, value_name = "FILE", requires = "backend", conflicts_with = "command")]
    pub(crate) node: Option<PathBuf>,

    /// With `--backend auggie`: its JS file. Default: $AUGGIE_ENTRY, or the first that is found.
    #[arg(long, value_name = "FILE", requires = "backend", conflicts_with = "command")]
    pub(crate) auggie_entry: Option<PathBuf>,

    /// With `--backend auggie`: its `-m` argument. Default: `default`.
    #[arg(long, value_name = "MODE", requires = "backend", conflicts_with = "command")]
    pub(crate) mode: Option<String>,

    /// Serve only this server of the config file, under its own names.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Serve only what this profile of the config file allows.
    #[arg(long, value_name = "NAME", conflicts_with = "launched")]
    pub(crate) profile: Option<String>,

    #[command(flatten)]
    pub(crate) roots: RootArgs,

    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,

    /// A tool argument that holds a path, which decides the workspace of a call; may be repeated.
    #[arg(long, value_name = "NAME", requires = "launched")]
    pub(crate) root_argument: Vec<String>,

    /// How much to log.
    #[arg(long, value_name = "LEVEL", value_enum, env = "SWITCHBOARD_LOG")]
    pub(crate) log_level: Option<LevelArg>,

    /// Log to this file instead of the daily one in the state folder; `-` is stderr, with `--solo`.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// The format of log lines.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<FormatArg>,

    /// Log the content of messages too, with likely secrets masked. For debugging.
    #[arg(long)]
    pub(crate) log_bodies: bool,

    /// Pass bytes on untouched; only start and stop the process.
    #[arg(long, requires = "command", conflicts_with = "backend")]
    pub(crate) raw: bool,

    /// Which environment variables the COMMAND gets: all (the default), those of the safe list, or none.
    #[arg(long, value_name = "WHICH", value_enum, requires = "launched")]
    pub(crate) inherit_env: Option<InheritArg>,

    /// With `--inherit-env safe` or `none`: pass on this variable too, such as GITHUB_TOKEN or `AWS_*`; may be repeated.
    #[arg(long, value_name = "NAME", requires = "launched")]
    pub(crate) pass_env: Vec<String>,

    /// Where npx and other package runners find the COMMAND's package: in the registry only, or in the workspace first.
    #[arg(long, value_name = "WHERE", value_enum, requires = "launched")]
    pub(crate) packages: Option<PackagesArg>,

    /// How leftover processes of the COMMAND are prevented: by a guard process, by a PID namespace too, or by a process
    /// group only.
    #[arg(long, value_name = "HOW", value_enum, requires = "launched")]
    pub(crate) guard: Option<GuardArg>,

    /// Leave processes of this name running when the COMMAND is stopped; may be repeated.
    #[arg(long, value_name = "NAME", requires = "launched", value_parser = process_name)]
    pub(crate) keep: Vec<String>,

    /// Keep running after the parent process has ended, while stdin stays open.
    #[arg(long)]
    pub(crate) ignore_parent: bool,

    /// The server to run: its command and arguments. Its tools keep their own names.
    #[arg(last = true, value_name = "COMMAND", group = "launched")]
    pub(crate) command: Vec<String>,
}

/// Workspaces of the client.
#[derive(Debug, Args)]
pub(crate) struct RootArgs {
    /// A workspace folder of the client; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// The workspace of all requests, whatever paths they name.
    // An IDE may set the variable to an empty value.
    #[arg(long, value_name = "DIR", env = "SWITCHBOARD_ROOT", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) pin_root: Option<PathBuf>,

    /// The workspace of requests that have no other. Overrides the config.
    #[arg(long, value_name = "DIR")]
    pub(crate) default_root: Option<PathBuf>,
}

impl StdioArgs {
    /// Whether no option was given: on a terminal that is a request for help.
    pub(crate) fn is_default(&self) -> bool {
        self.command.is_empty()
            && self.backend.is_none()
            && self.config.is_none()
            && self.server.is_none()
            && self.profile.is_none()
            && self.roots.root.is_empty()
            && !self.solo
    }
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Print one JSON object; with `--watch`, one on each line.
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the status again every second, until Ctrl-C.
    #[arg(short, long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Show the stderr of this server, instead of Switchboard's own log.
    pub(crate) server: Option<String>,

    /// Show the record of calls, instead of the log.
    #[arg(long, conflicts_with = "server")]
    pub(crate) audit: bool,

    /// With --audit: print the lines as they are in the file.
    #[arg(long, requires = "audit")]
    pub(crate) json: bool,

    /// Keep printing new lines.
    #[arg(short, long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OrderArgs {
    /// The server's name, or NAME@ROOT for the instance of one workspace.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The server's name.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// The config file. Default: the one that `stdio` would use.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The config file. Default: the one that `stdio` would use.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The request's method, such as `tools/call`.
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: String,

    /// The request's parameters: a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}", hide_default_value = true)]
    pub(crate) params: String,

    /// The config file. Default: the one that `stdio` would use, if there is one.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,

    /// The server of the config file. Default: all that are enabled.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    #[command(flatten)]
    pub(crate) roots: RootArgs,

    /// A folder that the client has open: a path or a `file:` URI; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) client_root: Vec<String>,

    /// A tool argument that holds a path, in addition to those of the config; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) root_argument: Vec<String>,

    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The file, or its folder. Default: `switchboard.json` in this folder.
    pub(crate) path: Option<PathBuf>,
    /// Revoke the trust.
    #[arg(long)]
    pub(crate) revoke: bool,
    /// List the trusted files.
    #[arg(long, conflicts_with_all = ["path", "revoke"])]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = include_str!("../docs/cli.md");

    /// Section of `docs/cli.md` about a subcommand.
    fn section(name: &str) -> &'static str {
        let (_, rest) =
            DOCS.split_once(&format!("\n## `switchboard {name}`\n")).expect("a heading per subcommand");
        rest.split("\n## ").next().unwrap_or_default()
    }

    #[test]
    fn definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// The form that IDEs have in their settings from the time before subcommands.
    #[test]
    fn founding_command_line_is_understood() {
        let line = "switchboard --backend auggie --node N --auggie-entry E --mode default --max-backends 3 \
                    --idle-ttl-seconds 600 --log-level info";
        let cli = Cli::try_parse_from(line.split(' ')).unwrap();
        assert!(cli.command.is_none());
        let args = cli.stdio;
        assert!(matches!(args.backend, Some(BackendArg::Auggie)) && !args.is_default());
        assert_eq!((args.overrides.max_backends, args.overrides.idle_ttl_seconds), (Some(3), Some(600)));
        assert!(matches!(args.log_level, Some(LevelArg::Info)));
    }

    #[test]
    fn numbers_have_bounds() {
        let parse = |flag: &str, value: &str| Cli::try_parse_from(["switchboard", "stdio", flag, value]);
        for (flag, value) in [("--max-backends", "0"), ("--max-backends", "x"), ("--idle-ttl-seconds", "-1")]
        {
            assert!(parse(flag, value).is_err(), "{flag} {value}");
        }
        assert!(parse("--idle-ttl-seconds", "99999999999").is_err());
        assert!(parse("--idle-ttl-seconds", "0").is_ok());
    }

    #[test]
    fn docs_and_command_line_say_the_same() {
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let (name, section) = (command.get_name(), section(command.get_name()));
            let nested = command.get_subcommands().flat_map(clap::Command::get_arguments);
            for arg in command.get_arguments().chain(nested) {
                let written = match arg.get_long() {
                    Some(long) => format!("--{long}"),
                    None => arg.get_value_names().map(|names| names[0].to_string()).unwrap_or_default(),
                };
                // A single positional argument is named in the text; flags are in
                // the table, with their values.
                let row = section.lines().find(|line| line.starts_with("| ") && line.contains(&written));
                assert!(row.is_some() || written == "SHELL", "docs/cli.md, {name}: {written} is missing");
                let values = arg.get_possible_values();
                for value in values.iter().filter(|_| arg.get_action().takes_values()) {
                    let value = format!("`{}`", value.get_name());
                    assert!(section.contains(&value), "docs/cli.md, {name}: {value} of {written} is missing");
                }
                if let Some(variable) = arg.get_env() {
                    let variable = format!("`{}`", variable.display());
                    assert!(DOCS.contains(&variable), "docs/cli.md: {variable} is missing");
                }
            }
        }
    }

    #[test]
    fn docs_name_only_what_exists() {
        let command = Cli::command();
        let nested = command.get_subcommands().flat_map(clap::Command::get_subcommands);
        let known: Vec<String> = command
            .get_subcommands()
            .chain(nested)
            .flat_map(|command| command.get_arguments().filter_map(|arg| arg.get_long()))
            .chain(["help", "version"])
            .map(|long| format!("--{long}"))
            .collect();
        let words = DOCS.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        for flag in words
            .filter(|word| word.strip_prefix("--").is_some_and(|rest| rest.starts_with(char::is_alphabetic)))
        {
            assert!(known.iter().any(|known| known == flag), "docs/cli.md: {flag} does not exist");
        }
        for heading in DOCS.lines().filter_map(|line| line.strip_prefix("## `switchboard ")) {
            let name = heading.trim_end_matches('`');
            assert!(command.find_subcommand(name).is_some(), "docs/cli.md: `{name}` does not exist");
        }
    }
}
