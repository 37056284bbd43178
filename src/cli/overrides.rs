//! Flags that override the config's settings for running servers, shared by `stdio` and `daemon`.

use super::values::{MAX_SECONDS, count, time};
use clap::Args;
use std::time::Duration;
use switchboard_gateway::Overrides;

#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct OverrideArgs {
    /// How many instances of a server may run at a time. Overrides the config.
    #[arg(long, value_name = "K", value_parser = count)]
    pub(crate) max_backends: Option<usize>,

    /// Stop an instance after this many seconds without a request; 0 means never. Overrides the config.
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(..=MAX_SECONDS))]
    pub(crate) idle_ttl_seconds: Option<u64>,

    /// Time limit for the server's first answer, such as `90s`. Overrides the config.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) start_timeout: Option<Duration>,

    /// Time limit for a call, such as `2m`. Overrides the config.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) timeout: Option<Duration>,
}

impl OverrideArgs {
    pub(crate) fn overrides(self) -> Overrides {
        Overrides {
            max_backends: self.max_backends,
            idle_ttl_seconds: self.idle_ttl_seconds,
            start_timeout: self.start_timeout,
            timeout: self.timeout,
        }
    }
}
