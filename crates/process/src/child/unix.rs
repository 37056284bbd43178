//! Children on Unix, with or without a guard.

#[path = "unix/bare.rs"]
mod bare;
#[path = "unix/diagnose.rs"]
mod diagnose;
#[path = "unix/exit.rs"]
mod exit;
#[path = "unix/guarded.rs"]
pub(crate) mod guarded;
#[path = "unix/script.rs"]
mod script;

use super::{Ended, Launch, Remains, SpawnError, Spawned, Stopped, StoppedBy, resolve};
use crate::tree::OsTree;
use std::{
    borrow::Cow,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

pub(crate) use bare::spawn;
pub(super) use exit::signal_name;
pub(crate) use exit::{ExitWatch, reap};

/// The file to run, after a check that everything it needs exists.
pub(crate) fn find(launch: &Launch) -> Result<PathBuf, SpawnError> {
    let (cwd, path_var) = (launch.cwd.as_deref(), launch.path_var());
    // Checked by us: the system reports a missing folder exactly like a missing program.
    if let Some(cwd) = cwd.filter(|cwd| !can_be_entered(cwd)) {
        return Err(SpawnError::NoFolder { cwd: cwd.to_owned() });
    }
    let path = resolve(&launch.program, path_var, cwd)?;
    script::check_interpreter(&path, path_var, cwd)?;
    Ok(path)
}

pub(crate) enum OsChild {
    Bare(bare::BareChild),
    Guarded(guarded::GuardedChild),
}

impl From<OsChild> for super::Child {
    fn from(child: OsChild) -> Self {
        Self(child)
    }
}

impl OsChild {
    pub(super) fn pid(&self) -> u32 {
        match self {
            Self::Bare(child) => child.pid(),
            Self::Guarded(child) => child.pid(),
        }
    }

    pub(super) fn tree(&self) -> OsTree {
        match self {
            Self::Bare(child) => child.tree(),
            Self::Guarded(child) => child.tree(),
        }
    }

    pub(super) async fn wait(&mut self) -> Ended {
        match self {
            Self::Bare(child) => child.wait().await,
            Self::Guarded(child) => child.wait().await,
        }
    }

    pub(super) async fn stop(&mut self, grace: Duration) -> Stopped {
        match self {
            Self::Bare(child) => child.stop(grace).await,
            Self::Guarded(child) => child.stop(grace).await,
        }
    }

    pub(super) async fn terminate(&mut self, grace: Duration) -> Stopped {
        match self {
            Self::Bare(child) => child.terminate(grace).await,
            Self::Guarded(child) => child.terminate(grace).await,
        }
    }

    pub(super) fn kill_now(&mut self) {
        match self {
            Self::Bare(child) => child.kill_now(),
            Self::Guarded(child) => child.kill_now(),
        }
    }

    pub(super) async fn gone(&mut self) -> Remains {
        match self {
            Self::Bare(child) => {
                // Without a guard the descendants are unknown, so only the process itself can be waited for.
                child.wait().await;
                Remains::default()
            }
            Self::Guarded(child) => child.gone().await,
        }
    }
}

pub(super) fn is_path_var(name: &OsStr) -> bool {
    name == "PATH"
}

pub(super) fn is_separator(byte: u8) -> bool {
    byte == b'/'
}

/// Candidate file names: just the path itself. On Windows an extension may be missing.
pub(super) fn spellings(path: &Path) -> [Cow<'_, Path>; 1] {
    [Cow::Borrowed(path)]
}

pub(super) fn is_executable(path: &Path) -> bool {
    // Folders have the execute permission as well.
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn can_be_entered(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, rustix::fs::Access::EXEC_OK).is_ok()
}
