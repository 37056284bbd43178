//! Structure of the source tree, as rules that only get stricter: modules of a crate form no cycle and use only those that
//! `lib.rs` lists before them, a `# Layout` list names the modules below it, type names are unique, files and functions stay
//! short, blocks are not deeply nested. `known.txt` lists today's violations; an entry that no
//! longer applies must be deleted, so the list can only shrink.

mod functions;
mod source;

use functions::functions;
use source::{Crate, File};
use std::collections::{BTreeMap, BTreeSet};

const KNOWN: &str = include_str!("known.txt");

/// Maximum lines of a source file, its tests included.
const MAX_FILE_LINES: usize = 600;
/// Maximum definitions of one type name in a crate.
const MAX_SAME_NAME: usize = 2;
/// Maximum lines of a function.
const MAX_FUNCTION_LINES: usize = 100;
/// Maximum levels of blocks in a function, its body included.
const MAX_NESTING: usize = 5;

#[test]
fn structure_only_gets_better() {
    let crates = Crate::all();
    assert!(crates.len() >= 6 && crates.iter().all(|krate| !krate.files.is_empty()), "the tree is found");
    let mut found: BTreeSet<String> = crates.iter().flat_map(violations).collect();
    let test_files = Crate::test_files();
    let all = crates.iter().flat_map(|krate| &krate.files).chain(&test_files);
    found.extend(all.flat_map(function_violations));
    let known: BTreeSet<String> =
        KNOWN.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect();
    let new: Vec<&String> = found.difference(&known).collect();
    let mended: Vec<&String> = known.difference(&found).collect();
    assert!(new.is_empty(), "new violations: {new:#?}");
    assert!(mended.is_empty(), "mended; delete these lines from tests/structure/known.txt: {mended:#?}");
}

fn violations(krate: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    for ring in krate.cycles() {
        found.extend(ring.iter().map(|module| format!("cycle: {} {module}", krate.name)));
    }
    found.extend(
        krate
            .uses_of_later_modules()
            .into_iter()
            .map(|(module, used)| format!("order: {} {module} uses {used}", krate.name)),
    );
    for file in &krate.files {
        if file.text.lines().count() > MAX_FILE_LINES {
            found.push(format!("length: {}", file.path));
        }
        for name in file.layout_differences() {
            found.push(format!("layout: {} {name}", file.path));
        }
    }
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for name in krate.type_names() {
        *types.entry(name).or_default() += 1;
    }
    let repeated = types.into_iter().filter(|(_, count)| *count > MAX_SAME_NAME);
    found.extend(repeated.map(|(name, _)| format!("type: {} {name}", krate.name)));
    found
}

fn function_violations(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for function in functions(&file.text) {
        if function.lines > MAX_FUNCTION_LINES {
            found.push(format!("function: {} {}", file.path, function.name));
        }
        if function.nesting > MAX_NESTING {
            found.push(format!("nesting: {} {}", file.path, function.name));
        }
    }
    found
}

#[test]
fn cycles_are_found() {
    let krate = Crate::of_texts(&[
        ("src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
        ("src/a.rs", "use crate::b::B;\n"),
        ("src/b/mod.rs", "mod inner;\n"),
        ("src/b/inner.rs", "use crate::{c::C, d::D};\n"),
        ("src/c.rs", "fn f() { crate::a::f() }\n"),
        ("src/d.rs", "// crate::a in a comment\n"),
    ]);
    let rings: Vec<Vec<&str>> = krate.cycles();
    assert_eq!(rings, [["a", "b", "c"]]);
}

#[test]
fn layout_lists_are_compared() {
    let text = "//! Words.\n//!\n//! # Layout\n//! - `a`: first; `b`, [`c`]: more.\n//! - `gone`: not there.\n\nmod a;\nmod b;\npub mod c;\nmod d;\n";
    let krate = Crate::of_texts(&[("src/lib.rs", text)]);
    assert_eq!(krate.files[0].layout_differences(), ["d", "gone"]);
}

#[test]
fn system_variants_count_once() {
    let krate = Crate::of_texts(&[
        ("src/lib.rs", "mod p;\npub struct Handle;\n"),
        ("src/p/linux.rs", "pub struct Pipe;\nenum Handle {}\n"),
        ("src/p/windows.rs", "pub(crate) struct Pipe<T>(T);\n"),
        ("src/p/macos.rs", "struct Pipe { }\n#[cfg(test)]\nmod tests {\n    struct Pipe;\n}\n"),
    ]);
    assert_eq!(krate.type_names(), ["Handle", "Handle", "Pipe"]);
}

#[test]
fn uses_of_later_modules_are_found() {
    let krate = Crate::of_texts(&[
        (
            "src/lib.rs",
            "mod a;\n#[cfg(unix)]\npub mod b;\nmod c;\n\npub use c::{\n    Thing, inner::Other as Same,\n};\n",
        ),
        ("src/a.rs", "use crate::{\n    b::{c, B},\n    d,\n};\n// crate::c in a comment\n"),
        ("src/b/mod.rs", "use crate::a::A;\nfn f() -> crate::Same { crate::b::g() }\n"),
        ("src/c.rs", "use crate::{a, b};\n"),
        ("src/a/tests.rs", "use crate::c::C;\n"),
    ]);
    let found: Vec<(&str, &str)> = krate.uses_of_later_modules().into_iter().collect();
    assert_eq!(found, [("a", "b"), ("b", "c")]);
}

#[test]
fn functions_are_measured() {
    let text = r##"
        impl<T> Shape for Square<T> {
            // fn in a comment {
            fn flat(&self) -> Self { Self { side: '{', name: "{", raw: r#"{"# } }

            fn deep(&self) {
                let Some(Point { x, .. }) = self.point() else { return };
                match x {
                    Shown { y } if y == Colour::Red => Square { y },
                    _ => for z in y {
                        self.each(|w| {
                            if let Point { x } = w { x() }
                        });
                    }
                }
            }
        }
    "##;
    let measured: Vec<(String, usize, usize)> =
        functions(text).into_iter().map(|it| (it.name, it.lines, it.nesting)).collect();
    assert_eq!(measured, [("flat".to_owned(), 1, 1), ("deep".to_owned(), 11, 5)]);
}
