//! Source text of one crate: its files, the modules that each uses, and the types that each defines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders that hold a crate, below the root of the repository. The first is the program.
const CRATES: [&str; 7] =
    ["", "crates/protocol", "crates/core", "crates/process", "crates/gateway", "crates/testkit", "bench"];

/// Folders with other code: tests, examples, fuzz targets.
const TEST_FOLDERS: [&str; 7] = [
    "tests",
    "crates/protocol/tests",
    "crates/core/tests",
    "crates/process/tests",
    "crates/testkit/tests",
    "examples",
    "fuzz/targets",
];

pub(super) struct Crate {
    pub(super) name: String,
    pub(super) files: Vec<File>,
}

pub(super) struct File {
    /// Relative to the root of the repository.
    pub(super) path: String,
    pub(super) text: String,
}

impl Crate {
    pub(super) fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |folder: &&str| {
            let mut files = Vec::new();
            gather(root, &root.join(folder).join("src"), &mut files);
            files.sort_by(|one, other| one.path.cmp(&other.path));
            let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("switchboard");
            Self { name: name.to_owned(), files }
        };
        CRATES.iter().map(read).collect()
    }

    /// Files of tests, examples and fuzz targets, which are crates of their own.
    pub(super) fn test_files() -> Vec<File> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        for folder in TEST_FOLDERS {
            gather(root, &root.join(folder), &mut files);
        }
        files
    }

    pub(super) fn of_texts(texts: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        Self { name: "example".to_owned(), files: texts.iter().map(file).collect() }
    }

    /// Sets of top-level modules that use each other in a ring.
    pub(super) fn cycles(&self) -> Vec<Vec<&str>> {
        let modules: BTreeSet<&str> = self.files.iter().filter_map(File::module).collect();
        let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for file in &self.files {
            let Some(module) = file.module() else { continue };
            let used = self.modules_used_by(file).filter(|used| *used != module);
            uses.entry(module).or_default().extend(used.filter_map(|used| modules.get(used)));
        }
        let reach: BTreeMap<&str, BTreeSet<&str>> =
            modules.iter().map(|module| (*module, reachable(module, &uses))).collect();
        let mut rings: Vec<Vec<&str>> = Vec::new();
        for module in &modules {
            let ring: Vec<&str> = modules
                .iter()
                .copied()
                .filter(|other| reach[module].contains(other) && reach[other].contains(module))
                .collect();
            if ring.len() > 1 && !rings.contains(&ring) {
                rings.push(ring);
            }
        }
        rings
    }

    /// Pairs of a module and another that it uses, although `lib.rs` lists the other one after it.
    pub(super) fn uses_of_later_modules(&self) -> BTreeSet<(&str, &str)> {
        let Some(root) = self.files.iter().find(|file| file.path.ends_with("src/lib.rs")) else {
            return BTreeSet::new();
        };
        let order: Vec<&str> = root.text.lines().filter_map(module_line).collect();
        let place = |module: &str| order.iter().position(|listed| *listed == module);
        let mut found = BTreeSet::new();
        for file in self.files.iter().filter(|file| !file.is_test()) {
            let Some(module) = file.module().filter(|module| order.contains(module)) else { continue };
            let later = self.modules_used_by(file).filter(|used| place(used) > place(module));
            found.extend(later.map(|used| (module, used)));
        }
        found
    }

    /// Top-level modules that a file uses, directly or through a name that the root re-exports.
    fn modules_used_by<'a>(&'a self, file: &'a File) -> impl Iterator<Item = &'a str> {
        let exports: BTreeMap<&str, &str> =
            self.files.iter().filter(|file| file.module().is_none()).flat_map(File::exports).collect();
        file.used_names().into_iter().map(move |name| exports.get(name).copied().unwrap_or(name))
    }

    /// Names of all types outside tests, sorted; variants for different systems count once.
    pub(super) fn type_names(&self) -> Vec<&str> {
        let mut seen: BTreeSet<(String, &str)> = BTreeSet::new();
        for file in self.files.iter().filter(|file| !file.is_test()) {
            seen.extend(file.type_names().map(|name| (file.path_without_system(), name)));
        }
        let mut names: Vec<&str> = seen.into_iter().map(|(_, name)| name).collect();
        names.sort_unstable();
        names
    }
}

impl File {
    /// The top-level module that this file belongs to; none for the crate's root.
    fn module(&self) -> Option<&str> {
        let below = self.path.split_once("src/")?.1;
        let module = below.split('/').next()?.trim_end_matches(".rs");
        (!matches!(module, "lib" | "main" | "bin")).then_some(module)
    }

    /// Names that the root re-exports, each with the module that it is from.
    fn exports(&self) -> Vec<(&str, &str)> {
        let statements = self.text.split("pub use ").skip(1).filter_map(|rest| rest.split_once(';'));
        let all = statements.flat_map(|(path, _)| {
            let path = path.trim_start_matches("self::");
            let (module, names) = (first_word(path), path.rsplit_once("::").map_or("", |(_, names)| names));
            let names = names.trim_matches(['{', '}']).split(',').map(str::trim);
            names
                .filter(|name| !name.is_empty())
                .map(move |name| (name.rsplit_once(" as ").map_or(name, |(_, name)| name), module))
        });
        all.collect()
    }

    /// First path segments after `crate::`, also in `crate::{…}`.
    fn used_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let (mut rest, mut depth) = (self.text.as_str(), 0);
        while let Some((before, after)) = rest.split_once("crate::") {
            rest = after;
            let line = before.rsplit('\n').next().unwrap_or_default();
            if line.trim_start().starts_with("//") {
                continue;
            }
            if !after.starts_with('{') {
                names.push(first_word(after));
                continue;
            }
            // Only names directly in the group: those further inside belong to the modules named here.
            for (at, c) in after.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                if depth == 1 && matches!(c, '{' | ',') {
                    names.push(first_word(after[at + 1..].trim_start()));
                }
            }
        }
        names
    }

    /// Modules that the `# Layout` list lacks, and names in the list that are neither modules nor functions of this file.
    pub(super) fn layout_differences(&self) -> Vec<&str> {
        let doc = self.text.lines().map_while(|line| line.strip_prefix("//!"));
        let mut listed = doc.skip_while(|line| !line.starts_with(" # Layout")).skip(1).peekable();
        if listed.peek().is_none() {
            return Vec::new();
        }
        let items: Vec<&str> = listed.take_while(|line| !line.trim().is_empty()).collect();
        let modules: Vec<&str> =
            self.text.lines().filter_map(module_line).filter(|module| *module != "tests").collect();
        let is_listed = |module: &&&str| items.iter().any(|item| item.contains(&format!("`{module}`")));
        let missing = modules.iter().filter(|module| !is_listed(module)).copied();
        // Names that an item opens with.
        let heads = items.iter().filter_map(|item| item.trim_start().strip_prefix("- "));
        let named = heads
            .filter_map(|head| head.split_once(':'))
            .flat_map(|(head, _)| head.split('`').skip(1).step_by(2));
        let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let gone = named.filter(is_name).filter(|name| !modules.contains(name));
        let gone = gone.filter(|name| !self.text.contains(&format!("fn {name}(")));
        missing.chain(gone).collect()
    }

    fn type_names(&self) -> impl Iterator<Item = &str> {
        // Only unindented lines: types inside functions and test modules are private.
        self.text.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            let is_type = !line.starts_with(' ')
                && matches!(words.next()?, "struct" | "enum" | "trait" | "type" | "union");
            is_type.then(|| first_word(words.next().unwrap_or_default()))
        })
    }

    fn is_test(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("/tests/")
    }

    fn path_without_system(&self) -> String {
        let is_system = |part: &&str| {
            !matches!(
                part.trim_end_matches(".rs"),
                "linux" | "macos" | "windows" | "unix" | "other" | "elsewhere"
            )
        };
        self.path.split('/').filter(is_system).collect::<Vec<_>>().join("/")
    }
}

fn gather(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a crate has sources").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        // Installed by `scripts/setup`, and not ours.
        if name == "node_modules" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            gather(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file can be read");
            let path = path.strip_prefix(root).expect("sources lie in the repository");
            files.push(File { path: path.to_string_lossy().replace('\\', "/"), text });
        }
    }
}

fn reachable<'a>(from: &'a str, uses: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        open.extend(uses.get(module).into_iter().flatten().filter(|next| reached.insert(**next)));
    }
    reached
}

/// The module that a line such as `pub mod name;` declares.
fn module_line(line: &str) -> Option<&str> {
    let (head, name) = line.strip_suffix(';')?.split_once("mod ")?;
    (head.is_empty() || head.starts_with("pub")).then_some(name)
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}
