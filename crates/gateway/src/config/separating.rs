//! Variables of the safe list that reach a server but never separate two clients: they differ from one
//! terminal or desktop session to the next, and a server works with either value. `docs/config.md` repeats
//! the list; a test compares the two.

use super::environment::matches;
use super::os;

/// Names; `*` stands for any characters.
pub(crate) const SESSION: &[&str] = &[
    // Compared by the program that it leads to, see `environments`.
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
    // New for each login.
    "XDG_SESSION_*",
    "XDG_SEAT*",
    "XDG_VTNR",
    "SESSIONNAME",
    "WSL_INTEROP",
    // New for each shell.
    "FNM_MULTISHELL_PATH",
    "MISE_SHELL",
    // The shell's current folder.
    "PYENV_DIR",
    "NODENV_DIR",
];

/// Whether clients with different values of a variable of the safe list need different backends.
pub(crate) fn separates(name: &str) -> bool {
    !SESSION.iter().any(|pattern| matches(pattern, name, os::NAMES_IGNORE_CASE))
}
