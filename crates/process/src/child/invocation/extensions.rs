//! Candidate files for a command's name on Windows, in order. Pure.

/// Default for a missing PATHEXT.
const DEFAULT: [&str; 4] = ["com", "exe", "bat", "cmd"];
/// Extensions of files that we can start. PATHEXT also lists script types (`.JS`, `.VBS`, `.MSC`), which the
/// system's shell would open in a window; a package's `name.js` must not hide its `name.cmd`.
const STARTABLE: [&str; 5] = ["com", "exe", "bat", "cmd", "ps1"];

/// Names for a file `name`, in order: the name itself if its extension can be started, with each extension of
/// PATHEXT, and the name itself if it has another extension. An npm package installs a Unix script under the
/// bare name, so that one never counts.
pub(in crate::child) fn spellings(name: &str, path_ext: Option<&str>) -> Vec<String> {
    let own = name.rsplit_once('.').map(|(_, extension)| extension).filter(|own| !own.contains(['/', '\\']));
    let as_given = |wanted: bool| own.filter(|own| is_startable(own) == wanted).map(|_| name.to_owned());
    let listed = path_ext.into_iter().flat_map(|list| list.split(';'));
    let listed = listed.map(|word| word.trim().trim_start_matches('.')).filter(|word| is_startable(word));
    let mut extensions: Vec<String> = listed.map(str::to_ascii_lowercase).collect();
    if extensions.is_empty() {
        extensions = DEFAULT.map(str::to_owned).to_vec();
    }
    let extended = extensions.iter().map(|extension| format!("{name}.{extension}"));
    as_given(true).into_iter().chain(extended).chain(as_given(false)).collect()
}

fn is_startable(extension: &str) -> bool {
    STARTABLE.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

/// The way to start a file of this name.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::child) enum Kind {
    Program,
    Batch,
    PowerShell,
}

impl Kind {
    pub(in crate::child) fn of(name: &str) -> Self {
        // The system drops these at the end of a name, and would start `cmd.exe` for such a batch file.
        let name = name.trim_end_matches([' ', '.']);
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("cmd" | "bat") => Self::Batch,
            Some("ps1") => Self::PowerShell,
            Some(_) | None => Self::Program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, path_ext: Option<&str>, expect: &[&str]) {
        assert_eq!(spellings(name, path_ext), expect, "{name} {path_ext:?}");
    }

    #[test]
    fn extensions_come_in_the_order_of_pathext() {
        check("npx", None, &["npx.com", "npx.exe", "npx.bat", "npx.cmd"]);
        check(
            "npx",
            Some(".COM;.EXE;.BAT;.CMD;.VBS;.JS;.MSC"),
            &["npx.com", "npx.exe", "npx.bat", "npx.cmd"],
        );
        check("npx", Some(".CMD; .EXE"), &["npx.cmd", "npx.exe"]);
        check("npx", Some(""), &["npx.com", "npx.exe", "npx.bat", "npx.cmd"]);
        check("npx", Some(".VBS"), &["npx.com", "npx.exe", "npx.bat", "npx.cmd"]);
    }

    #[test]
    fn startable_extension_is_tried_first() {
        check("npx.cmd", Some(".EXE"), &["npx.cmd", "npx.cmd.exe"]);
        check("npx.CMD", Some(".EXE"), &["npx.CMD", "npx.CMD.exe"]);
        check(r"C:\a.b\npx", Some(".EXE"), &[r"C:\a.b\npx.exe"]);
        check("python3.12", Some(".EXE"), &["python3.12.exe", "python3.12"]);
        check("tool.ps1", Some(".EXE"), &["tool.ps1", "tool.ps1.exe"]);
    }

    #[test]
    fn kind_follows_the_extension() {
        for (name, expect) in [
            ("node.exe", Kind::Program),
            ("NPX.CMD", Kind::Batch),
            ("old.bat", Kind::Batch),
            ("sly.bat. .", Kind::Batch),
            ("tool.Ps1", Kind::PowerShell),
            ("ü", Kind::Program),
            ("cmd", Kind::Program),
        ] {
            assert_eq!(Kind::of(name), expect, "{name}");
        }
    }
}
