//! Where npm, its like and the version managers of node put what is installed for all projects: the folders that
//! npm calls prefixes. One table for all systems, since what belongs to another is not there.

use super::Surroundings;
use std::cmp::Reverse;
use std::path::PathBuf;

/// `{NAME}` at the start is a variable, `{~}` the home folder; a line whose variable is not set is left out.
/// `*` is each folder there is, the highest version first.
const HOMES: &[&str] = &[
    // npm, as it was told; what the user's .npmrc says comes before these.
    "{npm_config_prefix}",
    "{NPM_CONFIG_PREFIX}",
    // nvm, and nvm for Windows
    "{NVM_DIR}/versions/node/*",
    "{~}/.nvm/versions/node/*",
    "{NVM_SYMLINK}",
    "{NVM_HOME}/*",
    // Volta: a package has a prefix of its own, and so has node
    "{VOLTA_HOME}/tools/image/packages/@augmentcode/auggie",
    "{~}/.volta/tools/image/packages/@augmentcode/auggie",
    "{LOCALAPPDATA}/Volta/tools/image/packages/@augmentcode/auggie",
    "{VOLTA_HOME}/tools/image/node/*",
    "{~}/.volta/tools/image/node/*",
    "{LOCALAPPDATA}/Volta/tools/image/node/*",
    // fnm
    "{FNM_DIR}/node-versions/*/installation",
    "{~}/.local/share/fnm/node-versions/*/installation",
    "{~}/Library/Application Support/fnm/node-versions/*/installation",
    "{APPDATA}/fnm/node-versions/*/installation",
    // mise, asdf, nodenv, n
    "{MISE_DATA_DIR}/installs/node/*",
    "{~}/.local/share/mise/installs/node/*",
    "{ASDF_DATA_DIR}/installs/nodejs/*",
    "{~}/.asdf/installs/nodejs/*",
    "{NODENV_ROOT}/versions/*",
    "{~}/.nodenv/versions/*",
    "{N_PREFIX}",
    // pnpm, Bun, Yarn
    "{PNPM_HOME}/global/*",
    "{~}/.local/share/pnpm/global/*",
    "{BUN_INSTALL}/install/global",
    "{~}/.bun/install/global",
    "{~}/.config/yarn/global",
    "{LOCALAPPDATA}/Yarn/Data/global",
    // a prefix of one's own, as npm's documentation has it, and the systems'
    "{~}/.npm-global",
    "{~}/.local",
    "{APPDATA}/npm",
    "{ProgramFiles}/nodejs",
    "/opt/homebrew",
    "/usr/local",
    "/usr",
    "/snap/node/current",
];

/// A prefix holds either of these pairs: packages, and node. The second is that of Windows, and of those that
/// have no node.
pub(super) const LAYOUTS: [(&str, &str); 2] = [("lib/node_modules", "bin/node"), ("node_modules", "node")];

/// The prefixes that there may be on this machine, with each `*` as it is, to be shown.
pub(super) fn patterns(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    let told = told(surroundings).into_iter();
    let mut patterns: Vec<PathBuf> = Vec::new();
    for pattern in told.chain(HOMES.iter().filter_map(|home| begin(home, surroundings))) {
        // What is relative would be another folder in every project, and might be the project's.
        if surroundings.disk.is_absolute(&pattern) && !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns
}

/// The same with each `*` filled in.
pub(super) fn prefixes(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    patterns(surroundings).into_iter().flat_map(|pattern| fill(pattern, surroundings)).collect()
}

fn home(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let vars = surroundings.vars;
    vars("HOME").filter(|home| !home.is_empty()).or_else(|| vars("USERPROFILE")).map(PathBuf::from)
}

/// What npm was told in the user's `.npmrc`.
fn told(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let home = home(surroundings)?;
    let text = surroundings.disk.text(&home.join(".npmrc"))?;
    let (_, value) =
        text.lines().filter_map(|line| line.split_once('=')).rfind(|(key, _)| key.trim() == "prefix")?;
    let value = value.trim().trim_matches(['"', '\'']);
    let below = value.strip_prefix("~/").or_else(|| value.strip_prefix("${HOME}/"));
    Some(below.map_or_else(|| PathBuf::from(value), |below| home.join(below)))
}

/// Fills in the variable.
fn begin(pattern: &str, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let Some((name, rest)) = pattern.strip_prefix('{').and_then(|inside| inside.split_once('}')) else {
        return Some(PathBuf::from(pattern));
    };
    let base = match name {
        "~" => home(surroundings)?,
        name => (surroundings.vars)(name).map(PathBuf::from)?,
    };
    let rest = rest.trim_start_matches('/');
    Some(if rest.is_empty() { base } else { base.join(rest) })
}

/// Fills in the `*`, of which there is one at most.
fn fill(pattern: PathBuf, surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    let mut parts = pattern.iter();
    let before: PathBuf = parts.by_ref().take_while(|part| *part != "*").collect();
    if before == pattern {
        return vec![pattern];
    }
    let after: PathBuf = parts.collect();
    let mut names = surroundings.disk.names(&before);
    names.sort_by_cached_key(|name| Reverse(version(name)));
    names
        .iter()
        .map(
            |name| {
                if after.as_os_str().is_empty() { before.join(name) } else { before.join(name).join(&after) }
            },
        )
        .collect()
}

/// The numbers in a name, so that `v9.1.0` is less than `v20.0.1`.
fn version(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}
