//! Folders in which npm, similar tools and version managers of node install global packages: npm's prefixes.
//! One table for all systems, since other systems' folders do not exist here.

use super::Surroundings;
use std::cmp::Reverse;
use std::path::PathBuf;

/// `{NAME}` at the start is a variable, `{~}` the home folder; a line with an unset variable is skipped. `*`
/// matches each folder, the highest version first.
const HOMES: &[&str] = &[
    // npm's own variables; the user's .npmrc takes precedence.
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
    // A user's own prefix, as npm's documentation suggests, and those of the systems
    "{~}/.npm-global",
    "{~}/.local",
    "{APPDATA}/npm",
    "{ProgramFiles}/nodejs",
    "/opt/homebrew",
    "/usr/local",
    "/usr",
    "/snap/node/current",
];

/// Layouts of a prefix: packages, and node. The second is used on Windows, and by tools that install no node.
pub(super) const LAYOUTS: [(&str, &str); 2] = [("lib/node_modules", "bin/node"), ("node_modules", "node")];

/// Prefixes that may exist on this machine, with `*` unexpanded, for messages.
pub(super) fn patterns(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    let told = told(surroundings).into_iter();
    let mut patterns: Vec<PathBuf> = Vec::new();
    for pattern in told.chain(HOMES.iter().filter_map(|home| begin(home, surroundings))) {
        // A relative folder would depend on the project, and might belong to it.
        if surroundings.disk.is_absolute(&pattern) && !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns
}

/// Prefixes with `*` expanded.
pub(super) fn prefixes(surroundings: &Surroundings<'_>) -> Vec<PathBuf> {
    patterns(surroundings).into_iter().flat_map(|pattern| fill(pattern, surroundings)).collect()
}

fn home(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let vars = surroundings.vars;
    vars("HOME").filter(|home| !home.is_empty()).or_else(|| vars("USERPROFILE")).map(PathBuf::from)
}

/// Prefix in the user's `.npmrc`.
fn told(surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let home = home(surroundings)?;
    let text = surroundings.disk.text(&home.join(".npmrc"))?;
    let (_, value) =
        text.lines().filter_map(|line| line.split_once('=')).rfind(|(key, _)| key.trim() == "prefix")?;
    let value = value.trim().trim_matches(['"', '\'']);
    let below = value.strip_prefix("~/").or_else(|| value.strip_prefix("${HOME}/"));
    Some(below.map_or_else(|| PathBuf::from(value), |below| home.join(below)))
}

/// Expands the variable.
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

/// Expands the `*`, of which there is at most one.
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

/// Numbers in a name, so that `v9.1.0` is less than `v20.0.1`.
fn version(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}
