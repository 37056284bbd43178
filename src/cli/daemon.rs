//! The processes that serve many clients: `daemon` and `serve`.

use super::owner::OwnerArgs;
use super::values::{A_YEAR, BackendArg, FormatArg, LevelArg, count, time};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use switchboard_gateway::Overrides;
use switchboard_gateway::config::owners::Owners;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on: HOST:PORT or `unix:PATH`; may be repeated. Overrides the config. The default is
    /// 127.0.0.1:7411.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,

    /// The config file. Otherwise the one that `stdio` would use.
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
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DaemonCommand>,

    /// The config file. Otherwise the one that `stdio` would use.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,

    /// Take the config file of the user with this number, too. As with `stdio`.
    #[arg(long, value_name = "UID", global = true)]
    pub(crate) config_owner: Option<u32>,

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

    /// With `--backend auggie`: its `-m` argument. Otherwise `default`.
    #[arg(long, value_name = "MODE", requires = "backend", global = true)]
    pub(crate) mode: Option<String>,

    /// How many instances of a server may run at a time. Overrides the config.
    #[arg(long, value_name = "K", value_parser = count, global = true)]
    pub(crate) max_backends: Option<usize>,

    /// Stop an instance after so many seconds without a request; 0 is never. Overrides the config.
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(..=A_YEAR), global = true)]
    pub(crate) idle_ttl_seconds: Option<u64>,

    /// Time limit for a server's first answer, such as `90s`. Overrides the config.
    #[arg(long, value_name = "TIME", value_parser = time, global = true)]
    pub(crate) start_timeout: Option<Duration>,

    /// Time limit for a call, such as `2m`. Overrides the config.
    #[arg(long, value_name = "TIME", value_parser = time, global = true)]
    pub(crate) timeout: Option<Duration>,

    /// How much to log.
    #[arg(long, value_name = "LEVEL", value_enum, env = "SWITCHBOARD_LOG")]
    pub(crate) log_level: Option<LevelArg>,

    /// Log to this file instead of the daily one in the state folder; `-` is stderr. Overrides the config.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// Format of log lines. Overrides the config.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<FormatArg>,
}

impl DaemonArgs {
    /// The daemon that `serve` is.
    pub(crate) fn for_serving(args: &ServeArgs) -> Self {
        Self {
            command: None,
            config: args.config.clone(),
            config_owner: args.owner.config_owner,
            project: false,
            detached: false,
            backend: None,
            node: None,
            auggie_entry: None,
            mode: None,
            max_backends: None,
            idle_ttl_seconds: None,
            start_timeout: None,
            timeout: None,
            log_level: args.log_level,
            log_file: args.log_file.clone(),
            log_format: args.log_format,
        }
    }

    pub(crate) fn owners(&self) -> Owners {
        Owners { also: self.config_owner }
    }

    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            max_backends: self.max_backends,
            idle_ttl_seconds: self.idle_ttl_seconds,
            start_timeout: self.start_timeout,
            timeout: self.timeout,
        }
    }
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Stop the daemon and all its servers.
    Stop,
}
