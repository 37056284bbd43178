//! Documents: links have targets, and the tests named behind promises exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).expect("the repository has this folder").flatten()
}

/// All documents of the repository.
fn documents() -> Vec<PathBuf> {
    let folders = ["", "docs", "docs/decisions", "examples", "crates/core/src/backends"]
        .map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|folder| entries(folder).map(|entry| entry.path()));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Text without code blocks.
fn prose(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a document that is there can be read");
    text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// Targets of `[…](target)` within the repository.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// Anchors of the headings, as GitHub makes them.
fn anchors(path: &Path) -> BTreeSet<String> {
    let text = prose(path);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn links_have_targets() {
    let mut broken = Vec::new();
    for document in documents() {
        for link in links(&prose(&document)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let leads = target.exists() && (anchor.is_empty() || anchors(&target).contains(anchor));
            if !leads {
                broken.push(format!("{}: {link}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn promises_name_existing_tests() {
    for page in ["docs/testing.md", "docs/security.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let named = text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| word.starts_with("tests/") || word.starts_with("crates/"));
        let missing: Vec<&str> = named.filter(|test| !test_exists(test)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{page} names them");
    }
}

/// Accepts a file, a folder, or `FILE::TEST`.
fn test_exists(test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return root().join(test).exists() };
    let text = fs::read_to_string(root().join(path)).unwrap_or_default();
    text.contains(&format!("fn {name}()"))
}

#[test]
fn decisions_are_listed() {
    let folder = root().join("docs/decisions");
    let list = fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in entries(&folder) {
        let name = entry.file_name().into_string().unwrap();
        assert!(
            name == "README.md" || list.contains(&format!("({name})")),
            "{name} is not in docs/decisions/README.md"
        );
    }
}

/// ARCHITECTURE.md names files as `crate/path`, and functions as `name()` or `Type::name`.
#[test]
fn architecture_names_existing_code() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let sources = source_texts();
    let words = text.split('`').skip(1).step_by(2);
    let missing: Vec<&str> = words.filter(|word| !names_existing_code(word, &sources)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "ARCHITECTURE.md names them");
}

fn names_existing_code(word: &str, sources: &str) -> bool {
    const CRATES: [&str; 5] = ["protocol", "core", "process", "gateway", "testkit"];
    if let Some((krate, path)) = word.split_once('/').filter(|(krate, _)| CRATES.contains(krate)) {
        let below = root().join("crates").join(krate).join("src").join(path);
        return below.exists() || below.with_extension("rs").exists();
    }
    let name = word.strip_suffix("()").or_else(|| word.split_once("::").map(|(_, name)| name));
    let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let Some(name) = name.filter(is_name) else { return true };
    // A function or an enum variant.
    let begins = [format!("fn {name}("), format!("fn {name}<"), format!(" {name} {{"), format!(" {name},")];
    begins.iter().any(|begin| sources.contains(begin.as_str()))
}

/// Text of all source files.
fn source_texts() -> String {
    let mut open = vec![root().join("crates"), root().join("src")];
    let mut all = String::new();
    while let Some(folder) = open.pop() {
        for path in entries(&folder).map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all += &fs::read_to_string(&path).expect("a source file can be read");
            }
        }
    }
    all
}
