//! npm's machine-wide settings, which often name a company's registry. `--prefix` makes npm look for them
//! elsewhere, and it would then take the company's packages from the public registry.

use super::is_name;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Largest settings file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Path at which npm would find its machine-wide settings with this environment. `None`
/// if the environment names one.
pub(super) fn machine_wide(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let value = |name: &str| env.iter().rev().find(|(known, _)| is_name(known, name)).map(|(_, value)| value);
    if value("npm_config_globalconfig").is_some() {
        return None;
    }
    let home = value("HOME").or_else(|| value("USERPROFILE")).map(Path::new);
    let settings = value("npm_config_userconfig").map(PathBuf::from).or_else(|| Some(home?.join(".npmrc")));
    // npm's own order of precedence.
    let prefix = None
        .or_else(|| value("npm_config_prefix").map(PathBuf::from))
        .or_else(|| prefix_in(&settings?, home))
        .or_else(|| value("PREFIX").map(PathBuf::from))
        .or_else(|| value("APPDATA").filter(|_| cfg!(windows)).map(|folder| Path::new(folder).join("npm")))
        .or_else(|| beside_node(value("PATH")?))?;
    Some(prefix.join("etc").join("npmrc")).filter(|file| file.is_absolute() && file.is_file())
}

/// `prefix` in the user's own settings.
fn prefix_in(file: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if file.metadata().ok()?.len() > MAX_BYTES {
        return None;
    }
    let text = std::fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.trim().strip_prefix("prefix")?.trim().strip_prefix('='))?;
    let value = value.trim().trim_matches('"');
    let in_home = value.strip_prefix("~/").or_else(|| value.strip_prefix("${HOME}/"));
    match in_home {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(value)),
    }
}

/// npm's default prefix: `/usr/local` for `/usr/local/bin/node`.
fn beside_node(path: &OsString) -> Option<PathBuf> {
    let node = std::env::split_paths(path).map(|folder| folder.join("node")).find(|file| file.is_file())?;
    // npm derives its prefix from node's real path, behind links.
    Some(node.canonicalize().ok()?.parent()?.parent()?.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn global_settings_are_where_npm_looks() {
        let scratch = std::env::temp_dir().join(format!("npmrc-{}", std::process::id()));
        let file = |name: &str, text: &str| {
            let path = scratch.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        file("node/bin/node", "");
        let by_node = file("node/etc/npmrc", "");
        let by_home = file("home/global/etc/npmrc", "");
        let by_variable = file("other/etc/npmrc", "");
        let text = |name: &str| scratch.join(name).into_os_string();
        let mut env = vec![(OsString::from("PATH"), text("node/bin"))];
        assert_eq!(machine_wide(&env), Some(by_node.canonicalize().unwrap()));
        env.push(("HOME".into(), text("home")));
        file("home/.npmrc", "registry = https://x\n prefix = ~/global\n");
        assert_eq!(machine_wide(&env), Some(by_home));
        let by_settings = file("elsewhere/etc/npmrc", "");
        let settings = file("settings", &format!("prefix={}\n", text("elsewhere").display()));
        env.push(("NPM_CONFIG_USERCONFIG".into(), settings.into()));
        assert_eq!(machine_wide(&env), Some(by_settings));
        env.push(("NPM_CONFIG_PREFIX".into(), text("other")));
        assert_eq!(machine_wide(&env), Some(by_variable));
        env.push(("npm_config_globalconfig".into(), "/own".into()));
        assert_eq!(machine_wide(&env), None);
        fs::remove_dir_all(scratch).unwrap();
    }
}
