//! Folders of our own files. Pure: the environment is an argument.

use std::path::PathBuf;

use super::os;
use super::variables::Lookup;

/// Name of our folder inside the user's folders for settings and state.
const FOLDER_NAME: &str = "switchboard";

/// The environment names no home folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no home folder: set HOME (on Windows USERPROFILE), or {instead}")]
pub struct NoHome {
    instead: &'static str,
}

/// Folder of the user's config file: `$XDG_CONFIG_HOME/switchboard`, else `~/.config/switchboard`, on
/// Windows `%APPDATA%\switchboard`.
pub fn config_dir(vars: Lookup<'_>) -> Result<PathBuf, NoHome> {
    let base = folder(vars, "XDG_CONFIG_HOME")
        .or_else(|| appdata(vars, "APPDATA"))
        .or_else(|| Some(home(vars)?.join(".config")));
    Ok(base.ok_or(NoHome { instead: "XDG_CONFIG_HOME" })?.join(FOLDER_NAME))
}

/// Folder of persistent state: `$SWITCHBOARD_STATE_DIR`, else `$XDG_STATE_HOME/switchboard`, else
/// `~/.local/state/switchboard`, on Windows `%LOCALAPPDATA%\switchboard`.
pub fn state_dir(vars: Lookup<'_>) -> Result<PathBuf, NoHome> {
    if let Some(folder) = folder(vars, "SWITCHBOARD_STATE_DIR") {
        return Ok(folder);
    }
    let base = folder(vars, "XDG_STATE_HOME")
        .or_else(|| appdata(vars, "LOCALAPPDATA"))
        .or_else(|| Some(home(vars)?.join(".local").join("state")));
    Ok(base.ok_or(NoHome { instead: "SWITCHBOARD_STATE_DIR" })?.join(FOLDER_NAME))
}

/// Variables that name the user's home folder; the first one set is used.
pub(crate) const HOME_VARIABLES: &[&str] = &["HOME", "USERPROFILE"];

/// The user's home folder.
pub fn home(vars: Lookup<'_>) -> Option<PathBuf> {
    HOME_VARIABLES.iter().find_map(|name| folder(vars, name))
}

fn appdata(vars: Lookup<'_>, name: &str) -> Option<PathBuf> {
    if os::HAS_APPDATA { folder(vars, name) } else { None }
}

/// Value of a variable as an absolute path. Relative paths are ignored, as XDG specifies: they would mean
/// another folder in every project, and a project must not bring its own state.
fn folder(vars: Lookup<'_>, name: &str) -> Option<PathBuf> {
    vars(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::lookup;

    fn absolute(path: &str) -> PathBuf {
        PathBuf::from(if cfg!(windows) { format!("C:{path}") } else { path.to_owned() })
    }

    #[test]
    fn the_named_folders_come_first() {
        let (state, xdg, home) = (absolute("/state"), absolute("/xdg"), absolute("/home/me"));
        let [state, xdg, home] = [&state, &xdg, &home].map(|path| path.to_str().unwrap());
        let vars = [("SWITCHBOARD_STATE_DIR", state), ("XDG_CONFIG_HOME", xdg), ("HOME", home)];
        assert_eq!(state_dir(&lookup(&vars)), Ok(absolute("/state")));
        assert_eq!(config_dir(&lookup(&vars)), Ok(absolute("/xdg").join("switchboard")));
        let vars = [("XDG_STATE_HOME", xdg), ("HOME", home)];
        assert_eq!(state_dir(&lookup(&vars)), Ok(absolute("/xdg").join("switchboard")));
    }

    #[test]
    fn relative_folders_are_ignored() {
        let home = absolute("/home/me");
        let vars =
            [("XDG_CONFIG_HOME", "here"), ("SWITCHBOARD_STATE_DIR", "."), ("HOME", home.to_str().unwrap())];
        assert_eq!(config_dir(&lookup(&vars)), Ok(home.join(".config/switchboard")));
        assert_eq!(state_dir(&lookup(&vars)), Ok(home.join(".local/state/switchboard")));
    }

    #[test]
    fn without_a_home_it_says_what_to_set() {
        let error = state_dir(&lookup(&[])).unwrap_err();
        assert!(error.to_string().contains("SWITCHBOARD_STATE_DIR"), "{error}");
    }
}
