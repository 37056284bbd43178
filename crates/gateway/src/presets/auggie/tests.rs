//! Machines as data: the installed files, and the result of the search.

use super::disk::Disk;
use super::find::{EntryPoint, find};
use super::{Options, PresetCommand, Surroundings, command_on};
use crate::presets::Missing;
use crate::presets::tests::lookup;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// One entry on a disk.
#[derive(Clone, Copy)]
enum Thing {
    Program,
    Text(&'static str),
    /// Link to another absolute path.
    Link(&'static str),
    /// Executable shell script.
    Script(&'static str),
}
use Thing::{Link, Program, Script, Text};

/// Works with paths of any system: both slashes are separators.
struct Machine(BTreeMap<String, Thing>);

fn key(path: &Path) -> String {
    let text = path.to_str().unwrap().replace('\\', "/");
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in Path::new(&text).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.iter().collect::<PathBuf>().to_str().unwrap().to_owned()
}

impl Machine {
    fn new(things: &[(&'static str, Thing)]) -> Self {
        Self(things.iter().map(|(path, thing)| (key(Path::new(path)), *thing)).collect())
    }

    fn thing(&self, path: &Path) -> Option<(String, Thing)> {
        let key = key(path);
        match *self.0.get(&key)? {
            Link(to) => self.thing(Path::new(to)),
            thing => Some((key, thing)),
        }
    }
}

impl Disk for Machine {
    fn is_absolute(&self, path: &Path) -> bool {
        path.has_root() || path.to_str().unwrap().as_bytes().get(1) == Some(&b':')
    }

    fn is_file(&self, path: &Path) -> bool {
        self.thing(path).is_some()
    }

    fn is_executable(&self, path: &Path) -> bool {
        matches!(self.thing(path), Some((_, Program | Script(_))))
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        self.thing(path).map(|(path, _)| path.into())
    }

    fn text(&self, path: &Path) -> Option<String> {
        match self.thing(path)?.1 {
            Text(text) | Script(text) => Some(text.to_owned()),
            Program | Link(_) => None,
        }
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let folder = key(folder) + "/";
        let below = self.0.keys().filter_map(|path| path.strip_prefix(&folder));
        let mut names: Vec<String> =
            below.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()).collect();
        names.dedup();
        names
    }
}

const PACKAGE_JSON: Thing = Text(r#"{"name":"@augmentcode/auggie","bin":{"auggie":"augment.mjs"}}"#);
const JS: Thing = Text("#!/usr/bin/env node\n");
const CMD: Thing = Text("\"%_prog%\"  \"%dp0%\\node_modules\\@augmentcode\\auggie\\augment.mjs\" %*\r\n");

/// A machine, and its user's settings.
#[derive(Clone, Copy)]
struct Case {
    disk: &'static [(&'static str, Thing)],
    vars: &'static [(&'static str, &'static str)],
    path: &'static [&'static str],
    exe: &'static str,
    node: Option<&'static str>,
    entry: Option<&'static str>,
}

const CASE: Case =
    Case { disk: &[], vars: &[("HOME", "/home/me")], path: &["/usr/bin"], exe: "", node: None, entry: None };

/// Windows, with npm's folder and node's in PATH.
const WINDOWS: Case = Case {
    vars: &[
        ("USERPROFILE", r"C:\Users\me"),
        ("APPDATA", r"C:\Users\me\AppData\Roaming"),
        ("ProgramFiles", r"C:\Program Files"),
    ],
    path: &[r"C:\Windows", r"C:\Program Files\nodejs", r"C:\Users\me\AppData\Roaming\npm"],
    exe: ".exe",
    ..CASE
};

fn with<T>(case: &Case, then: impl FnOnce(&Options, &Surroundings<'_>) -> T) -> T {
    let machine = Machine::new(case.disk);
    let options = Options {
        node: case.node.map(PathBuf::from),
        entry: case.entry.map(PathBuf::from),
        ..Options::default()
    };
    let vars = lookup(case.vars);
    let surroundings = Surroundings {
        vars: &vars,
        path: case.path.iter().map(PathBuf::from).collect(),
        here: "/projects/app".into(),
        exe: case.exe,
        disk: &machine,
    };
    then(&options, &surroundings)
}

#[track_caller]
fn check(case: Case, node: &str, script: &str) {
    let EntryPoint { node: got_node, script: got_script } = with(&case, find).unwrap();
    assert_eq!((key(Path::new(&got_node)).as_str(), key(Path::new(&got_script)).as_str()), (node, script));
}

#[track_caller]
fn missing(case: Case, expect: &[&str]) -> Missing {
    let missing = with(&case, find).unwrap_err();
    let shown = missing.to_string();
    for expect in expect {
        assert!(shown.contains(expect), "{expect} is not in {shown}");
    }
    missing
}

// ---- installations

#[test]
fn npm_with_the_systems_node() {
    let script = "/usr/lib/node_modules/@augmentcode/auggie/augment.mjs";
    let disk = &[
        ("/usr/bin/node", Program),
        ("/usr/bin/auggie", Link("/usr/lib/node_modules/@augmentcode/auggie/augment.mjs")),
        ("/usr/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
    ];
    check(Case { disk, ..CASE }, "/usr/bin/node", script);
    check(Case { disk, path: &["/opt/x", "", "/usr/bin"], ..CASE }, "/usr/bin/node", script);
}

#[test]
fn npm_with_a_prefix_of_its_own() {
    let disk = &[
        ("/usr/bin/node", Program),
        ("/home/me/pre/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        ("/home/me/pre/lib/node_modules/@augmentcode/auggie/package.json", PACKAGE_JSON),
    ];
    let script = "/home/me/pre/lib/node_modules/@augmentcode/auggie/augment.mjs";
    for vars in [
        &[("HOME", "/home/me"), ("NPM_CONFIG_PREFIX", "/home/me/pre")],
        &[("HOME", "/home/me"), ("npm_config_prefix", "/home/me/pre")],
    ] {
        check(Case { disk, vars, ..CASE }, "/usr/bin/node", script);
    }
    missing(Case { disk, ..CASE }, &["auggie was not found"]);
}

#[test]
fn npm_with_a_prefix_in_npmrc() {
    let disk = &[
        ("/usr/bin/node", Program),
        ("/home/me/.npmrc", Text("//registry/:_authToken=x=y\n prefix = ~/pre\n")),
        ("/home/me/pre/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        ("/home/me/pre/lib/node_modules/@augmentcode/auggie/package.json", PACKAGE_JSON),
    ];
    let script = "/home/me/pre/lib/node_modules/@augmentcode/auggie/augment.mjs";
    check(Case { disk, ..CASE }, "/usr/bin/node", script);
}

/// An IDE that is started from a dock has a short PATH.
#[test]
fn nvm_outside_of_path() {
    let disk = &[
        ("/usr/bin/node", Program),
        ("/home/me/.nvm/versions/node/v9.11.2/bin/node", Program),
        ("/home/me/.nvm/versions/node/v9.11.2/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        (
            "/home/me/.nvm/versions/node/v9.11.2/lib/node_modules/@augmentcode/auggie/package.json",
            PACKAGE_JSON,
        ),
        ("/home/me/.nvm/versions/node/v22.3.0/bin/node", Program),
        ("/home/me/.nvm/versions/node/v22.3.0/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        (
            "/home/me/.nvm/versions/node/v22.3.0/lib/node_modules/@augmentcode/auggie/package.json",
            PACKAGE_JSON,
        ),
        ("/home/me/.nvm/versions/node/v24.0.0/bin/node", Program),
    ];
    let at = "/home/me/.nvm/versions/node/v22.3.0";
    let script = format!("{at}/lib/node_modules/@augmentcode/auggie/augment.mjs");
    check(Case { disk, ..CASE }, &format!("{at}/bin/node"), &script);
    let vars = &[("NVM_DIR", "/home/me/.nvm")];
    check(Case { disk, vars, ..CASE }, &format!("{at}/bin/node"), &script);
}

/// A package's link in PATH decides, along with the node it was installed with.
#[test]
fn nvm_in_path() {
    let disk = &[
        ("/usr/bin/node", Program),
        ("/n/v20/bin/node", Program),
        ("/n/v20/bin/auggie", Link("/n/v20/lib/node_modules/@augmentcode/auggie/augment.mjs")),
        ("/n/v20/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
    ];
    let case = Case { disk, path: &["/usr/bin", "/n/v20/bin"], ..CASE };
    check(case, "/n/v20/bin/node", "/n/v20/lib/node_modules/@augmentcode/auggie/augment.mjs");
}

/// Volta's entries in PATH are Volta itself, which starts the node that the project asks for.
#[test]
fn volta() {
    const AT: &str = "/home/me/.volta/tools/image/packages/@augmentcode/auggie";
    let disk = &[
        ("/home/me/.volta/bin/volta-shim", Program),
        ("/home/me/.volta/bin/node", Link("/home/me/.volta/bin/volta-shim")),
        ("/home/me/.volta/bin/auggie", Link("/home/me/.volta/bin/volta-shim")),
        ("/home/me/.volta/tools/image/node/20.9.0/bin/node", Program),
        ("/home/me/.volta/tools/image/node/22.1.0/bin/node", Program),
        (
            "/home/me/.volta/tools/image/packages/@augmentcode/auggie/lib/node_modules/@augmentcode/auggie/augment.mjs",
            JS,
        ),
        (
            "/home/me/.volta/tools/image/packages/@augmentcode/auggie/lib/node_modules/@augmentcode/auggie/package.json",
            PACKAGE_JSON,
        ),
    ];
    let script = format!("{AT}/lib/node_modules/@augmentcode/auggie/augment.mjs");
    let node = "/home/me/.volta/tools/image/node/22.1.0/bin/node";
    check(Case { disk, path: &["/home/me/.volta/bin", "/usr/bin"], ..CASE }, node, &script);
    check(Case { disk, vars: &[("VOLTA_HOME", "/home/me/.volta")], ..CASE }, node, &script);
}

/// asdf and nodenv put shell scripts into PATH, which are skipped.
#[test]
fn version_managers_with_scripts() {
    let disk = &[
        ("/home/me/.asdf/shims/node", Script("#!/usr/bin/env bash\nexec asdf exec \"node\" \"$@\"")),
        ("/home/me/.asdf/shims/auggie", Script("#!/usr/bin/env bash\nexec asdf exec \"auggie\" \"$@\"")),
        ("/home/me/.asdf/installs/nodejs/22.1.0/bin/node", Program),
        ("/home/me/.asdf/installs/nodejs/22.1.0/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        (
            "/home/me/.asdf/installs/nodejs/22.1.0/lib/node_modules/@augmentcode/auggie/package.json",
            PACKAGE_JSON,
        ),
    ];
    let at = "/home/me/.asdf/installs/nodejs/22.1.0";
    let script = format!("{at}/lib/node_modules/@augmentcode/auggie/augment.mjs");
    check(Case { disk, path: &["/home/me/.asdf/shims"], ..CASE }, &format!("{at}/bin/node"), &script);
}

#[test]
fn node_shim_is_better_than_none() {
    let disk = &[("/snap/bin/node", Link("/usr/bin/snap")), ("/usr/bin/snap", Program), ("/e.mjs", JS)];
    let case = Case { disk, path: &["/snap/bin"], entry: Some("/e.mjs"), ..CASE };
    check(case, "/snap/bin/node", "/e.mjs");
}

#[test]
fn pnpm() {
    let disk = &[
        ("/usr/bin/node", Program),
        (
            "/p/auggie",
            Script(
                "#!/bin/sh\nexport NODE_PATH=\"/p/global/5/node_modules/@augmentcode/auggie/node_modules\"\n\
                    exec node  \"$basedir/global/5/node_modules/@augmentcode/auggie/augment.mjs\" \"$@\"\n",
            ),
        ),
        ("/p/global/5/node_modules/@augmentcode/auggie/augment.mjs", JS),
    ];
    let script = "/p/global/5/node_modules/@augmentcode/auggie/augment.mjs";
    check(Case { disk, path: &["/p", "/usr/bin"], ..CASE }, "/usr/bin/node", script);
}

#[test]
fn npm_on_windows() {
    let disk = &[
        (r"C:\Program Files\nodejs\node.exe", Program),
        (r"C:\Users\me\AppData\Roaming\npm\auggie.cmd", CMD),
        (r"C:\Users\me\AppData\Roaming\npm\node_modules\@augmentcode\auggie\augment.mjs", JS),
        (r"C:\Users\me\AppData\Roaming\npm\node_modules\@augmentcode\auggie\package.json", PACKAGE_JSON),
    ];
    let node = "C:/Program Files/nodejs/node.exe";
    let script = "C:/Users/me/AppData/Roaming/npm/node_modules/@augmentcode/auggie/augment.mjs";
    check(Case { disk, ..WINDOWS }, node, script);
    check(Case { disk, path: &[r"C:\Windows"], ..WINDOWS }, node, script);
}

/// npm's node package puts a shell script named `node` beside the others.
#[test]
fn nvm_for_windows() {
    let disk = &[
        (r"D:\nvm\v20.10.0\node.exe", Program),
        (r"D:\nvm\v20.10.0\node", Script("#!/bin/sh\n")),
        (r"D:\nvm\v20.10.0\node_modules\@augmentcode\auggie\augment.mjs", JS),
        (r"D:\nvm\v20.10.0\node_modules\@augmentcode\auggie\package.json", PACKAGE_JSON),
    ];
    let vars = &[("NVM_HOME", r"D:\nvm")];
    check(
        Case { disk, vars, ..WINDOWS },
        "D:/nvm/v20.10.0/node.exe",
        "D:/nvm/v20.10.0/node_modules/@augmentcode/auggie/augment.mjs",
    );
}

// ---- named files

/// As the founding document has it.
#[test]
fn named_files_are_used() {
    let disk = &[
        (r"C:\Program Files\nodejs\node.exe", Program),
        (r"C:\Users\me\node_modules\x\auggie\y\entry.js", JS),
        (r"D:\other\node.exe", Program),
        (r"D:\e.mjs", JS),
    ];
    let case = Case {
        disk,
        vars: &[("NODE_PATH", r"D:\other\node.exe"), ("AUGGIE_ENTRY", r"D:\e.mjs")],
        node: Some(r"C:\Program Files\nodejs\node.exe"),
        entry: Some(r"C:\Users\me\node_modules\x\auggie\y\entry.js"),
        ..WINDOWS
    };
    check(case, "C:/Program Files/nodejs/node.exe", "C:/Users/me/node_modules/x/auggie/y/entry.js");
    check(Case { node: None, entry: None, ..case }, "D:/other/node.exe", "D:/e.mjs");
}

#[test]
fn relative_and_bare_names_are_resolved() {
    let disk =
        &[("/projects/app/tools/node", Program), ("/projects/app/e.mjs", JS), ("/usr/bin/node22", Program)];
    let case = Case { disk, node: Some("tools/node"), entry: Some("e.mjs"), ..CASE };
    check(case, "/projects/app/tools/node", "/projects/app/e.mjs");
    check(Case { node: Some("node22"), ..case }, "/usr/bin/node22", "/projects/app/e.mjs");
}

#[test]
fn shim_link_or_package_may_be_named() {
    let disk = &[
        ("/usr/bin/node", Program),
        ("/p/auggie.cmd", CMD),
        ("/p/link", Link("/p/node_modules/@augmentcode/auggie/augment.mjs")),
        ("/p/node_modules/@augmentcode/auggie/augment.mjs", JS),
        ("/p/node_modules/@augmentcode/auggie/package.json", PACKAGE_JSON),
    ];
    for entry in ["/p/auggie.cmd", "/p/link", "/p/node_modules/@augmentcode/auggie"] {
        let script = "/p/node_modules/@augmentcode/auggie/augment.mjs";
        check(Case { disk, entry: Some(entry), ..CASE }, "/usr/bin/node", script);
    }
}

/// Node's own use of the variable: folders of packages.
#[test]
fn a_node_path_of_folders_is_left_to_node() {
    let disk =
        &[("/usr/bin/node", Program), ("/lib/x.js", JS), ("/e.mjs", JS), ("/lib/node", Script("#!/bin/sh"))];
    for value in ["/lib", "/lib:/usr/lib", "", "node", "/lib/x.js", "/lib/node"] {
        let vars: &'static [(&str, &str)] = Vec::leak(vec![("NODE_PATH", value)]);
        check(Case { disk, vars, entry: Some("/e.mjs"), ..CASE }, "/usr/bin/node", "/e.mjs");
    }
}

// ---- missing files

#[test]
fn missing_files_name_the_searched_places() {
    let case = Case {
        disk: &[("/usr/bin/node", Program)],
        vars: &[("HOME", "/home/me"), ("N_PREFIX", "/n")],
        ..CASE
    };
    missing(
        case,
        &[
            "auggie was not found",
            "PATH (/usr/bin)",
            "/home/me/.nvm/versions/node/*",
            "/n,",
            "npm install -g @augmentcode/auggie",
            "AUGGIE_ENTRY",
        ],
    );
    let case = Case { disk: &[("/e.mjs", JS)], entry: Some("/e.mjs"), ..CASE };
    let told = missing(case, &["node was not found", "PATH (/usr/bin)", "Node.js 20", "--node"]);
    assert!(!told.reason.contains("auggie was not found"), "{told}");
    missing(CASE, &["auggie was not found", "node was not found", "npm install -g", "Node.js 20"]);
}

#[test]
fn named_missing_file_ends_the_search() {
    let disk = &[
        ("/usr/bin/node", Program),
        ("/usr/bin/auggie", Link("/usr/lib/node_modules/@augmentcode/auggie/augment.mjs")),
        ("/usr/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        ("/x/node.cmd", Script("@node %*")),
        ("/x/other.cmd", CMD),
    ];
    let case = Case { disk, ..CASE };
    missing(Case { node: Some("/no/node"), ..case }, &["--node is /no/node"]);
    missing(Case { node: Some("/x/node.cmd"), ..case }, &["--node is /x/node.cmd", "without a shell"]);
    missing(
        Case { entry: Some("no.mjs"), ..case },
        &["--auggie-entry is /projects/app/no.mjs", "no such file"],
    );
    missing(Case { entry: Some("/x/other.cmd"), ..case }, &["/x/other.cmd", "a shell script"]);
    missing(Case { vars: &[("AUGGIE_ENTRY", "/no.mjs")], ..case }, &["AUGGIE_ENTRY is /no.mjs"]);
}

/// Cloning a repository must not run its programs.
#[test]
fn project_files_are_not_run_unasked() {
    let disk = &[
        ("/projects/app/bin/node", Program),
        ("/projects/app/lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        ("/projects/app/lib/node_modules/@augmentcode/auggie/package.json", PACKAGE_JSON),
        ("bin/node", Program),
        ("bin/auggie", Link("/projects/app/lib/node_modules/@augmentcode/auggie/augment.mjs")),
        ("lib/node_modules/@augmentcode/auggie/augment.mjs", JS),
        ("lib/node_modules/@augmentcode/auggie/package.json", PACKAGE_JSON),
    ];
    let vars = &[("HOME", ""), ("N_PREFIX", ""), ("NPM_CONFIG_PREFIX", "."), ("NODE_PATH", "bin/node")];
    missing(
        Case { disk, vars, path: &["bin", "", "."], ..CASE },
        &["auggie was not found", "node was not found"],
    );
}

#[test]
fn other_package_at_that_place_is_refused() {
    let disk = &[
        ("/usr/bin/node", Program),
        ("/usr/bin/auggie", Link("/usr/lib/node_modules/auggie/cli.js")),
        ("/usr/lib/node_modules/auggie/cli.js", JS),
        (
            "/usr/lib/node_modules/@augmentcode/auggie/package.json",
            Text(r#"{"name":"auggie","bin":"x.mjs"}"#),
        ),
        ("/usr/lib/node_modules/@augmentcode/auggie/x.mjs", JS),
    ];
    missing(Case { disk, ..CASE }, &["auggie was not found"]);
}

// ---- the command

#[test]
fn command_is_spelt_as_in_a_config() {
    let disk = &[("/usr/bin/node", Program), ("/x/${y}/e.mjs", JS)];
    let found = with(&Case { disk, entry: Some("/x/${y}/e.mjs"), ..CASE }, command_on);
    let args = ["/x/$${y}/e.mjs", "--mcp", "-m", "default", "--workspace-root", "${root}"];
    let args = args.map(str::to_owned).to_vec();
    assert_eq!(found, PresetCommand { command: "/usr/bin/node".to_owned(), args, missing: None });
}
