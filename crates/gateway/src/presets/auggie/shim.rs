//! Targets of a shim: the small script (`auggie`, `auggie.cmd`, `auggie.ps1`) that npm and pnpm install
//! where a link is not possible. It is read, never run: the process below a `cmd.exe` or a shell is not the
//! one that its parent controls.

use std::path::{Path, PathBuf};

/// Spellings of the shim's own folder.
const OWN_FOLDER: [&str; 4] = ["$basedir", "%dp0%", "%~dp0", "$PSScriptRoot"];

/// Paths in a shim's text that lead into the package, in order.
pub(super) fn targets(text: &str, folder: &Path) -> Vec<PathBuf> {
    let quoted = text.lines().flat_map(|line| line.split('"').skip(1).step_by(2));
    // Windows accepts both slashes, other systems only this one.
    let paths = quoted.map(|word| word.replace('\\', "/"));
    paths.filter(|path| is_inside_package(path)).map(|path| from(folder, &path)).collect()
}

fn is_inside_package(path: &str) -> bool {
    path.contains("/@augmentcode/auggie/")
}

fn from(folder: &Path, path: &str) -> PathBuf {
    match OWN_FOLDER.iter().find_map(|own| path.strip_prefix(own)) {
        Some(rest) => folder.join(rest.trim_start_matches('/')),
        None => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let expect: Vec<PathBuf> = expect.iter().map(PathBuf::from).collect();
        assert_eq!(targets(text, Path::new("/home/me/npm")), expect, "{text}");
    }

    #[test]
    fn of_npm_for_windows() {
        let js = ["/home/me/npm/node_modules/@augmentcode/auggie/augment.mjs"];
        check(
            "@ECHO off\r\nIF EXIST \"%dp0%\\node.exe\" (\r\n  SET \"_prog=%dp0%\\node.exe\"\r\n)\r\n\
             endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \"%_prog%\"  \
             \"%dp0%\\node_modules\\@augmentcode\\auggie\\augment.mjs\" %*\r\n",
            &js,
        );
        check(
            "exec \"$basedir/node\"  \"$basedir/node_modules/@augmentcode/auggie/augment.mjs\" \"$@\"",
            &js,
        );
        check("& \"node$exe\"  \"$basedir/node_modules/@augmentcode/auggie/augment.mjs\" $args", &js);
        check("@\"%~dp0\\node_modules\\@augmentcode\\auggie\\augment.mjs\" %*", &js);
    }

    #[test]
    fn of_pnpm() {
        check(
            "export NODE_PATH=\"/p/5/.pnpm/node_modules\"\nexec node  \
             \"$basedir/global/5/node_modules/@augmentcode/auggie/augment.mjs\" \"$@\"\n",
            &["/home/me/npm/global/5/node_modules/@augmentcode/auggie/augment.mjs"],
        );
        check(
            "exec node \"/p/5/node_modules/@augmentcode/auggie/a.mjs\"",
            &["/p/5/node_modules/@augmentcode/auggie/a.mjs"],
        );
    }

    #[test]
    fn of_others() {
        check("exec \"/home/me/.asdf/bin/asdf\" exec \"auggie\" \"$@\"", &[]);
        check("\"$basedir/node_modules/@augmentcode/auggie-lsp/x.mjs\" \"", &[]);
        check("", &[]);
    }
}
