//! Variables of the safe list that reach a server but never keep two clients apart: they differ from one terminal or
//! desktop session to the next, and a server works with either value. Stated in `docs/config.md` too; a test compares the two.

use super::environment::matches;
use super::os;

/// Names; a `*` stands for any characters.
pub(crate) const SESSION: &[&str] = &[
    // Counts through the program that is found in it.
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "__CF_USER_TEXT_ENCODING",
    "NO_COLOR",
    "SHELL",
    "TMPDIR",
    "TEMP",
    "TMP",
    "BROWSER",
    // A new one for each login.
    "XDG_SESSION_*",
    "XDG_SEAT*",
    "XDG_VTNR",
    "SESSIONNAME",
    "WSL_INTEROP",
    // A new one for each shell.
    "FNM_MULTISHELL_PATH",
    "MISE_SHELL",
    // The folder that the shell is in.
    "PYENV_DIR",
    "NODENV_DIR",
];

/// Whether clients with different values of a variable of the safe list need different backends.
pub(crate) fn separates(name: &str) -> bool {
    !SESSION.iter().any(|pattern| matches(pattern, name, os::NAMES_IGNORE_CASE))
}
