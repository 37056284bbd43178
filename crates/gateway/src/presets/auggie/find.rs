//! Search for node and auggie's JS file: as named by the user, else through PATH, else in the folders of npm
//! and the version managers. A named file that does not exist is an error, and nothing else is tried.

use super::{AUGGIE, Options, Surroundings, homes, shim};
use crate::presets::Missing;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const NODE_FLAG: &str = "--node";
const NODE_VARIABLE: &str = "NODE_PATH";
const NODE_KEY: &str = "`node`";
const ENTRY_FLAG: &str = "--auggie-entry";
const ENTRY_KEY: &str = "`entry`";
const ENTRY_VARIABLE: &str = "AUGGIE_ENTRY";

const INSTALL_AUGGIE: &str = "install it with `npm install -g @augmentcode/auggie`, or name its JS file \
                              (…/@augmentcode/auggie/augment.mjs) with `--auggie-entry`, AUGGIE_ENTRY or \
                              `entry` in the config; then restart switchboard";
const INSTALL_NODE: &str = "install Node.js 20 or later, or name its program with `--node`, NODE_PATH or `node` in the \
                            config; then restart switchboard";

/// Node and script, as parts of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EntryPoint {
    pub(super) node: String,
    pub(super) script: String,
}

/// auggie's JS file, and the folder of the shim or link that led to it.
struct Script {
    file: PathBuf,
    led_from: Option<PathBuf>,
}

pub(super) fn find(options: &Options, around: &Surroundings<'_>) -> Result<EntryPoint, Missing> {
    let script = find_script(options, around);
    let node = find_node(options, script.as_ref().ok(), around);
    match (node, script) {
        (Ok(node), Ok(script)) => Ok(EntryPoint { node: text(node)?, script: text(script.file)? }),
        (Err(missing), Ok(_)) | (Ok(_), Err(missing)) => Err(missing),
        (Err(node), Err(script)) => Err(Missing {
            reason: format!("{}; and {}", script.reason, node.reason),
            hint: format!("node: {}; auggie: {}", node.hint, script.hint),
        }),
    }
}

fn text(path: PathBuf) -> Result<String, Missing> {
    path.into_os_string().into_string().map_err(|path| Missing {
        reason: format!("the path {} is not valid UTF-8", path.display()),
        hint: "give it another name".to_owned(),
    })
}

// ---- auggie

fn find_script(options: &Options, around: &Surroundings<'_>) -> Result<Script, Missing> {
    if let Some(path) = &options.entry {
        let how = if options.is_configured { ENTRY_KEY } else { ENTRY_FLAG };
        return named_script(how, path, around);
    }
    if let Some(path) = (around.vars)(ENTRY_VARIABLE).filter(|path| !path.is_empty()) {
        return named_script(ENTRY_VARIABLE, Path::new(&path), around);
    }
    let in_path = path_folders(around).find_map(|folder| follow_from(folder, around));
    in_path.or_else(|| in_homes(around)).ok_or_else(|| Missing {
        reason: format!(
            "auggie was not found: no `auggie` in PATH ({}) leads to it, and no package {} is in {}",
            shown(&around.path),
            AUGGIE.package,
            shown(&homes::patterns(around))
        ),
        hint: INSTALL_AUGGIE.to_owned(),
    })
}

/// Script that the user named: the file itself, or a shim, link or package that leads to it.
fn named_script(how: &str, path: &Path, around: &Surroundings<'_>) -> Result<Script, Missing> {
    let path = absolute(path, around);
    if let Some(file) = package_script(&path, around) {
        return Ok(Script { file, led_from: None });
    }
    let problem = match follow(&path, around) {
        Some(script) => return Ok(script),
        None if !around.disk.is_file(&path) => "there is no such file",
        None if is_shell_script(&path) => "this is a shell script that does not lead to auggie",
        None => return Ok(Script { file: path, led_from: None }),
    };
    Err(Missing {
        reason: format!("{how} is {}: {problem}", path.display()),
        hint: "name auggie's JS file, …/@augmentcode/auggie/augment.mjs, or leave it out to have it found"
            .to_owned(),
    })
}

/// Script that a folder of PATH leads to: by a link into the package, or a shim.
fn follow_from(folder: &Path, around: &Surroundings<'_>) -> Option<Script> {
    ["auggie", "auggie.cmd", "auggie.ps1"].iter().find_map(|name| follow(&folder.join(name), around))
}

fn follow(path: &Path, around: &Surroundings<'_>) -> Option<Script> {
    let led_from = path.parent().map(Path::to_owned);
    let real = around.disk.real(path).filter(|real| is_script(real) && is_in_package(real));
    if let Some(file) = real.filter(|real| around.disk.is_file(real)) {
        return Some(Script { file, led_from });
    }
    // A JS file outside the package is not a shim to read.
    if is_script(path) {
        return None;
    }
    let targets = shim::targets(&around.disk.text(path)?, path.parent()?);
    let file = targets.into_iter().find(|target| is_script(target) && around.disk.is_file(target))?;
    Some(Script { file, led_from })
}

fn in_homes(around: &Surroundings<'_>) -> Option<Script> {
    homes::prefixes(around).into_iter().find_map(|prefix| {
        homes::LAYOUTS.iter().find_map(|(modules, _)| {
            let file = package_script(&prefix.join(modules).join(AUGGIE.package), around)?;
            Some(Script { file, led_from: None })
        })
    })
}

/// Script that a package's description names.
fn package_script(package: &Path, around: &Surroundings<'_>) -> Option<PathBuf> {
    let description = around.disk.text(&package.join("package.json"))?;
    let description: serde_json::Value = serde_json::from_str(&description).ok()?;
    // Only the package itself: another one's script must not run in its place.
    if description["name"] != AUGGIE.package {
        return None;
    }
    let bin = &description["bin"];
    let script = bin.as_str().or_else(|| bin["auggie"].as_str())?;
    Some(package.join(script.trim_start_matches("./"))).filter(|file| around.disk.is_file(file))
}

fn is_in_package(file: &Path) -> bool {
    file.ancestors().any(|folder| folder.ends_with(AUGGIE.package))
}

fn is_script(file: &Path) -> bool {
    has_extension(file, &["js", "mjs", "cjs"])
}

fn is_shell_script(file: &Path) -> bool {
    has_extension(file, &["cmd", "bat", "ps1", "sh"])
}

fn has_extension(file: &Path, known: &[&str]) -> bool {
    let extension = file.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

// ---- node

fn find_node(
    options: &Options,
    script: Option<&Script>,
    around: &Surroundings<'_>,
) -> Result<PathBuf, Missing> {
    if let Some(path) = &options.node {
        let how = if options.is_configured { NODE_KEY } else { NODE_FLAG };
        return named_node(how, path, around);
    }
    // Node uses this variable for folders of packages, so only a program counts.
    let variable = (around.vars)(NODE_VARIABLE).map(PathBuf::from);
    if let Some(path) = variable.filter(|path| around.disk.is_absolute(path) && is_program(path, around)) {
        return Ok(path);
    }
    let candidates: Vec<PathBuf> = beside(script, around)
        .into_iter()
        .chain(path_folders(around).map(|folder| folder.join("node")))
        .chain(
            homes::prefixes(around)
                .iter()
                .flat_map(|prefix| homes::LAYOUTS.map(|(_, node)| prefix.join(node))),
        )
        .map(|path| with_ending(path, around.exe))
        .filter(|path| is_program(path, around))
        .collect();
    let itself = candidates.iter().find(|path| is_itself(path, around));
    // A version manager's shim is better than nothing.
    itself.or(candidates.first()).cloned().ok_or_else(|| Missing {
        reason: format!(
            "node was not found: it is not in PATH ({}), and not in {}",
            shown(&around.path),
            shown(&homes::patterns(around))
        ),
        hint: INSTALL_NODE.to_owned(),
    })
}

fn named_node(how: &str, path: &Path, around: &Surroundings<'_>) -> Result<PathBuf, Missing> {
    let is_bare = path.components().count() == 1 && !around.disk.is_absolute(path);
    let in_path = path_folders(around).map(|folder| with_ending(folder.join(path), around.exe));
    let found = match is_bare {
        true => in_path.into_iter().find(|path| is_program(path, around)),
        false => Some(absolute(path, around)).filter(|path| is_program(path, around)),
    };
    found.ok_or_else(|| Missing {
        reason: format!(
            "{how} is {}: there is no program of that name that runs without a shell",
            path.display()
        ),
        hint: "name node's own executable file, or leave it out to have it found".to_owned(),
    })
}

/// Candidates for the node that auggie was installed with: another may be too old.
fn beside(script: Option<&Script>, around: &Surroundings<'_>) -> Vec<PathBuf> {
    let Some(script) = script else { return Vec::new() };
    let modules = script
        .file
        .ancestors()
        .find(|folder| folder.ends_with(AUGGIE.package))
        .and_then(|package| package.ancestors().nth(2));
    let prefix = |layout: &str| {
        let depth = Path::new(layout).components().count();
        modules.filter(|modules| modules.ends_with(layout)).and_then(|modules| modules.ancestors().nth(depth))
    };
    let of_prefix = homes::LAYOUTS.iter().filter_map(|(layout, node)| Some(prefix(layout)?.join(node)));
    // A node in a project's folder must not run unasked.
    let led_from = script.led_from.iter().filter(|folder| around.path.contains(folder));
    led_from.map(|folder| folder.join("node")).chain(of_prefix).collect()
}

fn with_ending(path: PathBuf, exe: &str) -> PathBuf {
    let has_it = path.to_str().is_some_and(|text| text.ends_with(exe));
    if has_it {
        return path;
    }
    let mut name = path.into_os_string();
    name.push(exe);
    name.into()
}

/// Whether the file runs without a shell.
fn is_program(path: &Path, around: &Surroundings<'_>) -> bool {
    let is_script = || around.disk.text(path).is_some_and(|text| text.starts_with("#!"));
    around.disk.is_executable(path) && !is_shell_script(path) && !is_script()
}

/// Whether the file is node itself. Volta, mise and snap put links to their own program into PATH, which
/// starts the version that a project asks for.
fn is_itself(path: &Path, around: &Surroundings<'_>) -> bool {
    let real = around.disk.real(path);
    real.as_deref()
        .and_then(Path::file_name)
        .and_then(OsStr::to_str)
        .is_some_and(|name| name.starts_with("node"))
}

// ---- both

fn absolute(path: &Path, around: &Surroundings<'_>) -> PathBuf {
    if around.disk.is_absolute(path) { path.to_owned() } else { around.here.join(path) }
}

/// Absolute folders of PATH. A relative one would depend on the project, and might belong to it.
fn path_folders<'a>(around: &'a Surroundings<'_>) -> impl Iterator<Item = &'a Path> {
    around.path.iter().map(PathBuf::as_path).filter(|folder| around.disk.is_absolute(folder))
}

fn shown(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    folders.join(", ")
}
