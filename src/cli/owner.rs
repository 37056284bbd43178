//! Accepted owners of config files.

use clap::Args;
use std::ffi::OsString;
use switchboard_gateway::config::owners::Owners;

#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct OwnerArgs {
    /// Also accept a config file owned by this user id, such as one mounted into a container. By default it must be
    /// owned by you or root.
    #[arg(long, value_name = "UID")]
    pub(crate) config_owner: Option<u32>,
}

impl OwnerArgs {
    pub(crate) fn owners(self) -> Owners {
        Owners { also: self.config_owner }
    }
}

/// Owners as words of a command line.
pub(crate) fn words(owners: Owners) -> Vec<OsString> {
    let flag = |owner: u32| ["--config-owner".into(), owner.to_string().into()];
    owners.also.map(flag).into_iter().flatten().collect()
}
