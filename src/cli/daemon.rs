//! Arguments of the processes that serve many clients: `daemon` and `serve`.

use super::overrides::OverrideArgs;
use super::owner::OwnerArgs;
use super::values::{BackendArg, FormatArg, LevelArg};
use clap::{Arg, Args, Subcommand};
use std::path::PathBuf;

/// Where and how the daemon logs.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogArgs {
    /// How much to log. Overrides the config.
    #[arg(long, value_name = "LEVEL", value_enum, env = "SWITCHBOARD_LOG")]
    pub(crate) log_level: Option<LevelArg>,

    /// Log to this file instead of the daily one in the state folder; `-` is stderr. Overrides the config.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// Format of log lines. Overrides the config.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<FormatArg>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on: HOST:PORT or `unix:PATH`; may be repeated. Overrides the config. The default is
    /// 127.0.0.1:7411.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,

    /// The config file. Default: the one that `stdio` would use.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,

    /// Require no token. Only for addresses of this machine.
    #[arg(long)]
    pub(crate) no_auth: bool,

    /// The certificate file, as PEM. Overrides the config.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The file with the certificate's key, as PEM. Overrides the config.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
#[command(mut_args(shared_with_stdio))]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DaemonCommand>,

    /// The config file. Default: the one that `stdio` would use.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) owner: OwnerArgs,

    /// The config file is a project's, and counts only while it is trusted.
    #[arg(long, hide = true, requires = "config", global = true)]
    pub(crate) project: bool,

    /// A window has started it, and it ends with the last of them: servers with `lazy: false` do not keep it.
    #[arg(long, hide = true, global = true)]
    pub(crate) detached: bool,

    /// Serve a built-in server entry, instead of the servers of a config file.
    #[arg(long, value_name = "NAME", value_enum, global = true)]
    pub(crate) backend: Option<BackendArg>,

    /// With `--backend auggie`: the node program, as with `stdio`.
    #[arg(long, value_name = "FILE", requires = "backend", global = true)]
    pub(crate) node: Option<PathBuf>,

    /// With `--backend auggie`: its JS file, as with `stdio`.
    #[arg(long, value_name = "FILE", requires = "backend", global = true)]
    pub(crate) auggie_entry: Option<PathBuf>,

    /// With `--backend auggie`: its `-m` argument. Default: `default`.
    #[arg(long, value_name = "MODE", requires = "backend", global = true)]
    pub(crate) mode: Option<String>,

    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl DaemonArgs {
    /// Arguments of the daemon that `serve` runs.
    pub(crate) fn for_serving(args: &ServeArgs) -> Self {
        Self {
            command: None,
            config: args.config.clone(),
            owner: args.owner,
            project: false,
            detached: false,
            backend: None,
            node: None,
            auggie_entry: None,
            mode: None,
            overrides: OverrideArgs::default(),
            log: args.log.clone(),
        }
    }
}

/// Flags that `stdio` has too. Here they may follow `stop`, and two of them have other help texts.
fn shared_with_stdio(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "config_owner" => {
            arg.global(true).help("Also accept a config file owned by this user id, as with `stdio`")
        }
        "start_timeout" => arg
            .global(true)
            .help("Time limit for a server's first answer, such as `90s`. Overrides the config"),
        "max_backends" | "idle_ttl_seconds" | "timeout" => arg.global(true),
        "log_level" => arg.help("How much to log"),
        _ => arg,
    }
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Stop the daemon and all its servers.
    Stop,
}
