//! Detection of a package in the workspace that an isolated runner could not start, for a hint.

use crate::command_line;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use switchboard_process::child::Launch;

/// Words after the runner that may name the package.
const MAX_CANDIDATES: usize = 4;
/// Largest package.json that is read.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
struct Manifest {
    name: Option<String>,
    bin: Option<Value>,
}

/// Hint for a failed launch; takes the launch before isolation.
pub(crate) fn hint(launch: &Launch) -> Option<String> {
    let found = command_line::find(&launch.program, &launch.args)?;
    let words = launch.args.get(found.flags_at..)?.iter().map(|word| word.to_string_lossy());
    let named = words.filter_map(|word| match word.strip_prefix("--package=") {
        Some(package) => Some(package.to_owned()),
        None => Some(word.into_owned()).filter(|word| !word.starts_with('-')),
    });
    let cwd = launch.cwd.as_deref()?;
    let package = named.take(MAX_CANDIDATES).map(without_version).find(|name| has(cwd, name))?;
    Some(format!(
        "`{package}` is in the workspace {}, whose packages are not used; if you trust it, set `\"packages\": \
         \"workspace\"` for this server (or `--packages workspace`)",
        cwd.display()
    ))
}

/// Strips the version: `@scope/name@1.2` becomes `@scope/name`.
fn without_version(package: String) -> String {
    match package.rfind('@') {
        // The `@` at the start belongs to a scope, not to a version.
        Some(at) if at > 0 => package[..at].to_owned(),
        Some(_) | None => package,
    }
}

fn has(cwd: &Path, package: &str) -> bool {
    // The name becomes part of a path, which must not leave `node_modules`.
    if package.is_empty() || Path::new(package).is_absolute() || package.contains("..") {
        return false;
    }
    // A scoped package usually names its program without the scope.
    let program = package.rsplit('/').next().unwrap_or(package);
    // Runners search the folders above as well.
    cwd.ancestors().any(|folder| {
        let modules = folder.join("node_modules");
        modules.join(".bin").join(program).exists() || modules.join(package).exists() || is(folder, package)
    })
}

/// Whether the folder itself is the package.
fn is(folder: &Path, package: &str) -> bool {
    let file = folder.join("package.json");
    if !file.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES) {
        return false;
    }
    let manifest = std::fs::read(file).ok().and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
    manifest.is_some_and(|manifest| {
        let has_program = manifest.bin.is_some_and(|bin| bin.get(package).is_some());
        manifest.name.as_deref() == Some(package) || has_program
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn workspace_package_is_named() {
        let scratch = std::env::temp_dir().join(format!("local-package-{}", std::process::id()));
        fs::create_dir_all(scratch.join("node_modules/@scope/thing")).unwrap();
        fs::create_dir_all(scratch.join("deep/er")).unwrap();
        fs::write(scratch.join("deep/package.json"), r#"{"name":"own","bin":{"tool":"x.js"}}"#).unwrap();
        let hint = |words: &[&str]| {
            let args = words[1..].iter().map(Into::into).collect();
            hint(&Launch { program: words[0].into(), args, env: vec![], cwd: Some(scratch.join("deep/er")) })
        };
        for words in [
            &["npx", "-y", "@scope/thing@1.0"][..],
            &["npx", "--package=@scope/thing", "other"],
            &["npm", "exec", "-y", "--", "own"],
            &["bunx", "tool", "--flag"],
        ] {
            assert!(
                hint(words).is_some_and(|hint| hint.contains("\"packages\": \"workspace\"")),
                "{words:?}"
            );
        }
        for words in [&["npx", "-y", "elsewhere"][..], &["node", "own"], &["npx", "../thing"]] {
            assert_eq!(hint(words), None, "{words:?}");
        }
        fs::remove_dir_all(scratch).unwrap();
    }
}
