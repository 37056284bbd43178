//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use switchboard_gateway::config::{LogFormat, LogLevel};

const AFTER: &str = "\
Examples:
  switchboard demo                                  see what it does, on an example server
  switchboard stdio -- npx -y @modelcontextprotocol/server-everything
                                                    stand between a client and one server
  switchboard stdio                                 serve what the config file names
  switchboard check                                 say what is wrong with the config file

In an IDE's MCP settings, put `switchboard` before a server's own command:
  { \"command\": \"switchboard\", \"args\": [\"stdio\", \"--\", \"npx\", \"-y\", \"some-server\"] }

Exit codes: 0 ended in order, 1 failure, 2 wrong usage, 3 config missing or wrong;
with --raw the command's own, 126 if it cannot be executed, 127 if it is not found.";

/// One MCP server for your IDE; every other MCP server behind it: started once, shared, routed by workspace,
/// and never left running.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, after_help = AFTER, args_conflicts_with_subcommands = true)]
#[command(about = "One MCP server for your IDE; every other MCP server behind it")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) stdio: StdioArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Speak MCP over stdin and stdout: to one server given after `--`, or to what the config file names.
    ///
    /// This is also what runs without a subcommand when stdin is not a terminal.
    #[command(after_help = AFTER)]
    Stdio(StdioArgs),
    /// Read the config file and say what is wrong with it, where, and what to do.
    Check(CheckArgs),
    /// Allow the `switchboard.json` of a project folder to be used, as it is now.
    ///
    /// A config file names commands to run. One that lies in a project is ignored until you have looked at it
    /// and said so here; when it changes, it is ignored again.
    Trust(TrustArgs),
    /// Print the JSON Schema of the config file, for editors.
    Schema,
    /// Print the completions for a shell.
    Completions {
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StdioArgs {
    /// Keep everything in this one process. (At present it always is.)
    #[arg(long)]
    pub(crate) solo: bool,

    /// The config file. Otherwise $SWITCHBOARD_CONFIG, a trusted `switchboard.json` here, or the user's.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Which server of the config file to serve, if it names several.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// A workspace folder; may be given several times. `${root}` in the config is the first.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// How much is written to the log file.
    #[arg(long, value_name = "LEVEL", value_enum, env = "SWITCHBOARD_LOG")]
    pub(crate) log_level: Option<LevelArg>,

    /// A log file instead of the daily one in the state folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// How log lines are written.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<FormatArg>,

    /// Log what messages say, with what looks like a secret masked. For finding faults.
    #[arg(long)]
    pub(crate) log_bodies: bool,

    /// Pass bytes untouched and only govern the process.
    #[arg(long, requires = "command")]
    pub(crate) raw: bool,

    /// The server to run: its command and arguments. Its names stay as they are.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl StdioArgs {
    /// Nothing was said: on a terminal that is a request for help.
    pub(crate) fn is_default(&self) -> bool {
        self.command.is_empty() && self.config.is_none() && self.server.is_none() && self.root.is_empty() && !self.solo
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The config file. Otherwise the one that would be used.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The file, or the folder that it lies in. Otherwise this folder's `switchboard.json`.
    pub(crate) path: Option<PathBuf>,
    /// Take it back.
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Show what is trusted.
    #[arg(long, conflicts_with_all = ["path", "revoke"])]
    pub(crate) list: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LevelArg {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl From<LevelArg> for LogLevel {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Error => Self::Error,
            LevelArg::Warn => Self::Warn,
            LevelArg::Info => Self::Info,
            LevelArg::Debug => Self::Debug,
            LevelArg::Trace => Self::Trace,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FormatArg {
    Human,
    Json,
}

impl From<FormatArg> for LogFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Human => Self::Human,
            FormatArg::Json => Self::Json,
        }
    }
}
