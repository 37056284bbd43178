//! Example config files: they load without a warning, and `switchboard check` accepts them.

use crate::support::program;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn examples() -> Vec<PathBuf> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

#[test]
fn examples_pass_check() {
    assert!(examples().len() >= 5);
    for path in examples() {
        let start = program().args(["check", "--config", "config.json"]);
        // A copy, so that the mode does not depend on how the repository was cloned.
        start.scratch().file("config.json", fs::read_to_string(&path).unwrap());
        let end = start.start().finish();
        let stdout = String::from_utf8(end.stdout).unwrap();
        assert_eq!((end.code, &*end.stderr), (Some(0), ""), "{}: {stdout}", path.display());
        // A runner may be missing on this machine.
        let is_other = |line: &&str| line.contains("warning:") && !line.contains("was not found");
        let warnings: Vec<&str> = stdout.lines().filter(is_other).collect();
        assert_eq!(warnings, Vec::<&str>::new(), "{}", path.display());
        assert!(stdout.contains("0 errors"), "{stdout}");
    }
}

#[test]
fn readme_lists_all_examples() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for path in examples() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(readme.contains(&format!("| [{name}]({name}) |")), "{name} is missing in examples/README.md");
    }
}
