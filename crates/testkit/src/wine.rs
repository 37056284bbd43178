//! Runs Windows programs under Wine on Linux, so that the same tests cover Windows. `scripts/windows` sets the variables.
//! Each Windows process is also a Linux process, which the tests can see and kill.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The Wine loader; its presence makes the tests start the Windows program.
const LOADER: &str = "SWITCHBOARD_TEST_WINE";
/// Variables that Wine itself needs.
pub(crate) const VARIABLES: [&str; 4] = ["WINEPREFIX", "WINEDEBUG", "WINEDLLOVERRIDES", "WINEPATH"];

/// The loader, if the tests run the Windows program.
pub fn loader() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| std::env::var_os(LOADER).map(PathBuf::from)).as_deref()
}

/// A Windows executable built by `scripts/windows`.
pub fn executable(name: &str) -> Option<PathBuf> {
    loader()?;
    let folder = std::env::var_os("WINDOWS_EXECUTABLES").expect("scripts/windows sets it");
    Some(Path::new(&folder).join(name).with_extension("exe"))
}

/// The path as Windows programs see it: Wine shows the root as drive `Z:`.
pub fn path(path: &Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

/// Whether a process of Linux is one of our Wine prefix.
pub(crate) fn is_ours(pid: u32) -> bool {
    let Some(prefix) = std::env::var_os("WINEPREFIX") else { return false };
    let mark = [b"WINEPREFIX=", prefix.as_encoded_bytes()].concat();
    let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    variables.split(|byte| *byte == 0).any(|variable| variable == mark)
}

pub(crate) fn is_windows(binary: &Path) -> bool {
    loader().is_some() && binary.extension().is_some_and(|extension| extension == "exe")
}
