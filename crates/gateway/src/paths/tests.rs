//! Tests with real folders and links.

use super::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A test's own folder, removed at its end. No part of its path is a link.
struct Scratch(PathBuf);

impl Scratch {
    /// Creates these entries: a name that ends in `/` is a folder, the others are files.
    fn with(names: &[&str]) -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("switchboard-paths-{}-{unique}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let scratch = Self(PathBuf::from(canonical(&path).unwrap()));
        for name in names {
            let path = scratch.0.join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        scratch
    }

    fn text(&self, name: &str) -> String {
        let path = if name.is_empty() { self.0.clone() } else { self.0.join(name) };
        path.to_str().unwrap().to_owned()
    }

    /// Path relative to the folder.
    fn short(&self, path: &str) -> String {
        let path = Path::new(path).strip_prefix(&self.0).unwrap_or(Path::new(path));
        path.to_str().unwrap().replace('\\', "/")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn vars<'a>(pairs: &'a [(&'a str, String)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
}

#[test]
fn project_is_repository_or_marked_folder() {
    let scratch = Scratch::with(&[
        "home/.git/",
        "home/package.json",
        "home/one/.git/",
        "home/one/src/deep/file.rs",
        "home/one/src/Makefile",
        "home/one/part/package.json",
        "home/two/part/go.mod",
        "home/tree/.git",
        "home/tree/x",
        "home/loose/file",
        "away/Cargo.toml",
        ".git/",
    ]);
    let check = |name: &str, expect: Option<&str>| {
        let named = vec![(NamedBy::Uri, scratch.text(name))];
        let found = look_up_beside(named, Some(&scratch.text("home")));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, scratch.text(name));
        assert_eq!(found[0].project.as_deref().map(|path| scratch.short(path)).as_deref(), expect, "{name}");
    };
    check("home/one", Some("home/one"));
    check("home/one/src/deep/file.rs", Some("home/one"));
    check("home/one/src/deep/not/yet", Some("home/one"));
    check("home/one/src/deep/file.rs/below", Some("home/one"));
    // A package of a repository is not a workspace of its own.
    check("home/one/part/x", Some("home/one"));
    check("home/two/part/x", Some("home/two/part"));
    // In a worktree, `.git` is a file.
    check("home/tree/x", Some("home/tree"));
    check("home/loose/file", None);
    check("home", None);
    check("home/not/yet", None);
    check("away/x", Some("away"));
    // It contains the home folder.
    check("", None);
}

#[test]
fn a_path_is_followed_as_far_as_it_exists() {
    let scratch = Scratch::with(&["a/b/file"]);
    let check = |name: &str, expect: &str| {
        assert_eq!(canonical(Path::new(&scratch.text(name))), Some(scratch.text(expect)), "{name}");
    };
    check("a/b", "a/b");
    check("a/b/", "a/b");
    check("a//b/.", "a/b");
    check("a/b/file", "a/b/file");
    check("a/b/..", "a");
    check("a/b/new/folder/", "a/b/new/folder");
    check("a/new/../b", "a/b");
    check("a/b/file/x", "a/b/file/x");
    let here = std::env::current_dir().unwrap().join("src");
    assert_eq!(canonical(Path::new("src")), canonical(&here));
    assert_eq!(working_folder(), canonical(&std::env::current_dir().unwrap()));
}

#[cfg(unix)]
#[test]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::with(&["real/project/.git/", "real/project/src/", "other/x"]);
    symlink(scratch.text("real/project"), scratch.text("root")).unwrap();
    symlink("../real/project/src", scratch.text("other/src")).unwrap();
    symlink("nowhere", scratch.text("other/dangling")).unwrap();
    symlink("ring", scratch.text("other/ring")).unwrap();
    let check = |name: &str, expect: &str, project: Option<&str>| {
        let found = look_up_beside(vec![(NamedBy::Uri, scratch.text(name))], None).remove(0);
        assert_eq!(scratch.short(&found.path), expect, "{name}");
        let found = found.project.filter(|found| Path::new(found).starts_with(&scratch.0));
        assert_eq!(found.map(|found| scratch.short(&found)).as_deref(), project, "{name}");
    };
    let project = Some("real/project");
    check("root", "real/project", project);
    check("root/", "real/project", project);
    check("root/src/new.rs", "real/project/src/new.rs", project);
    check("other/src", "real/project/src", project);
    check("other/src/new/er", "real/project/src/new/er", project);
    // As the system does: up from the link's target.
    check("other/src/..", "real/project", project);
    check("other/src/../new", "real/project/new", project);
    check("other/dangling/x", "other/dangling/x", None);
    check("other/ring/x", "other/ring/x", None);
}

#[cfg(target_os = "linux")]
#[test]
fn non_utf8_paths_are_not_resolved() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::with(&[]);
    let odd = scratch.0.join(std::ffi::OsStr::from_bytes(b"\xff"));
    assert_eq!(canonical(&odd), None);
    fs::create_dir(&odd).unwrap();
    std::os::unix::fs::symlink(&odd, scratch.text("link")).unwrap();
    assert_eq!(canonical(Path::new(&scratch.text("link"))), None);
    // It keeps the name that the message used.
    let found = look_up_beside(vec![(NamedBy::Uri, scratch.text("link"))], None);
    assert_eq!(found[0].path, scratch.text("link"));
}

#[test]
fn the_environment_names_a_folder() {
    let scratch = Scratch::with(&["one/", "two/", "a,b/", "file"]);
    let [one, two, comma] = ["one", "two", "a,b"].map(|name| scratch.text(name));
    let missing = scratch.text("missing");
    let check = |pairs: &[(&str, String)], expect: Option<&String>| {
        assert_eq!(of_environment(&vars(pairs)).as_ref(), expect, "{pairs:?}");
    };
    let (claude, cursor) = ("CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS");
    check(&[], None);
    check(&[(claude, one.clone())], Some(&one));
    check(&[(claude, one.clone()), (cursor, two.clone())], Some(&one));
    check(&[(claude, missing.clone()), (cursor, two.clone())], Some(&two));
    check(&[(claude, scratch.text("file"))], None);
    check(&[(claude, String::new()), (cursor, ".".into())], None);
    check(&[(cursor, format!("{two}, {one}"))], Some(&two));
    check(&[(cursor, format!("{two}{LIST_SEPARATOR}{one}"))], Some(&two));
    check(&[(cursor, format!("{missing},{one}"))], Some(&one));
    check(&[(cursor, comma.clone())], Some(&comma));
    assert_eq!(home(&vars(&[("HOME", one.clone())])), Some(one));
    assert_eq!(home(&vars(&[])), None);
}

#[test]
fn resolved_paths_are_cached_briefly() {
    let named = |path: &str| vec![(NamedBy::Uri, path.to_owned())];
    let place = |path: &str| NamedPath {
        named_by: NamedBy::Uri,
        path: format!("/real{path}"),
        project: Some("/real".into()),
    };
    let mut resolver = Resolver::new();
    let now = Instant::now();
    assert_eq!(resolver.known(&[], now), Some(vec![]));
    assert_eq!(resolver.known(&named("/a"), now), None);
    resolver.remember(&named("/a"), &[place("/a")], now);
    assert_eq!(resolver.known(&named("/a"), now), Some(vec![place("/a")]));
    let both = [named("/a"), named("/b")].concat();
    assert_eq!(resolver.known(&both, now), None, "one of them has to be looked up");
    // Whatever named it this time.
    let argument = NamedBy::Argument("dir".into());
    let known = resolver.known(&[(argument.clone(), "/a".into())], now).unwrap();
    assert_eq!(known, [NamedPath { named_by: argument, ..place("/a") }]);
    assert!(resolver.known(&named("/a"), now + CACHE_TTL - Duration::from_millis(1)).is_some());
    assert_eq!(resolver.known(&named("/a"), now + CACHE_TTL), None);
}

#[test]
fn not_more_is_kept_than_that() {
    let named = |number: u64| vec![(NamedBy::Uri, format!("/{number}"))];
    let mut resolver = Resolver::new();
    let start = Instant::now();
    let at = |number: u64| start + Duration::from_millis(number);
    let most = MAX_CACHED_PATHS as u64;
    for number in 0..most + 10 {
        let found = look_up_beside(named(number), None);
        resolver.remember(&named(number), &found, at(number));
    }
    assert_eq!(resolver.known.len(), MAX_CACHED_PATHS);
    assert!(resolver.known(&named(9), at(most)).is_none(), "the oldest went");
    assert!(resolver.known(&named(10), at(most)).is_some());
    let late = start + CACHE_TTL * 2;
    resolver.remember(&named(0), &look_up_beside(named(0), None), late);
    assert_eq!(resolver.known.len(), 1, "what is no longer fresh goes first");
}
