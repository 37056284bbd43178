//! Arguments of `token`.

use clap::{Args, Subcommand};
use std::num::NonZeroU32;
use std::time::Duration;
use switchboard_gateway::tokens::spelling;

const AFTER_CREATE: &str = "\
Patterns may contain `*` and `?`; one that starts with `!` denies. Without
patterns everything is allowed.

Examples:
  switchboard token create ci --servers files,github --expires 30d
      only two servers, for thirty days
  switchboard token create reader --tools 'read_*,!read_secret' --rate 60/min
      only tools that read, but not one of them, 60 calls a minute";

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token, and print it as the last word. It is not shown again.
    #[command(after_help = AFTER_CREATE)]
    Create(Box<CreateArgs>),
    /// List the tokens and what they allow; never the tokens themselves.
    List {
        /// Print a JSON array.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token. Its open sessions end within a second.
    Revoke {
        /// The token's name.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Print the owner's token. It is created if there is none.
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The token's name, for logs and `token list`.
    #[arg(value_name = "NAME", value_parser = spelling::name)]
    pub(crate) name: String,

    /// The servers that it may use.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', value_parser = spelling::pattern)]
    pub(crate) servers: Vec<String>,

    /// The tools that it may use. A pattern with `__` names the server too: `files__read_*`.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', value_parser = spelling::pattern)]
    pub(crate) tools: Vec<String>,

    /// The prompts that it may use, as with `--tools`.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', value_parser = spelling::pattern)]
    pub(crate) prompts: Vec<String>,

    /// The resources that it may use, by URI.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', value_parser = spelling::pattern)]
    pub(crate) resources: Vec<String>,

    /// The methods that it may use, such as `tools/*`.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', value_parser = spelling::pattern)]
    pub(crate) methods: Vec<String>,

    /// A profile of the config file, whose rights it has at most.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// When it expires, such as `12h` or `30d`. Default: never.
    #[arg(long, value_name = "TIME", value_parser = spelling::lifetime)]
    pub(crate) expires: Option<Duration>,

    /// How many calls it may make, such as `5/min` or `100/h`.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<String>,

    /// With `--rate`: how many calls may come at once. Default: those of one period.
    #[arg(long, value_name = "CALLS", requires = "rate")]
    pub(crate) burst: Option<NonZeroU32>,

    /// How many calls may be in progress at a time.
    #[arg(long, value_name = "CALLS")]
    pub(crate) concurrent: Option<NonZeroU32>,
}

/// Stored as written, so that `token list` shows the same.
fn rate(text: &str) -> Result<String, String> {
    spelling::rate(text).map(|_| text.to_owned())
}
