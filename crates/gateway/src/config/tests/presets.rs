//! Presets as servers: the table, and the located command line, expanded like any other entry.

use super::lookup;
use crate::config::{Capabilities, Preset, expand};
use crate::presets::{PresetCommand, table};
use std::path::Path;

#[test]
fn word_is_the_name_in_the_table() {
    assert_eq!(Preset::Auggie.word(), table::AUGGIE.name);
}

#[test]
fn server_is_what_a_user_would_write() {
    let args = ["/x/$${y}/e.mjs", "-m", "$${HOME}", "--workspace-root", "${root}"];
    let args = args.map(str::to_owned).to_vec();
    let found = PresetCommand { command: "/usr/bin/node".to_owned(), args, missing: None };
    let server = Preset::Auggie.server_with(found);
    let root = Path::new("/my work/${x} {mode}");
    let parts = expand::launch_parts(&server, Some(root), &lookup(&[])).unwrap();
    assert_eq!(parts.command, "/usr/bin/node");
    assert_eq!(parts.args, ["/x/${y}/e.mjs", "-m", "${HOME}", "--workspace-root", "/my work/${x} {mode}"]);
    assert_eq!(*parts.env, [("AUGMENT_DISABLE_AUTO_UPDATE".to_owned(), "1".to_owned())]);
    assert_eq!(server.root_arguments, ["directory_path"]);
    assert_eq!(server.capabilities, Capabilities::Shared);
    assert_eq!((parts.cwd, server.pass_env.as_slice()), (None, &["AUGMENT_*".to_owned()][..]));
    assert!(expand::uses_root(&server, &lookup(&[])), "each root has a backend of its own");
    assert_eq!(server.missing, None);
}
