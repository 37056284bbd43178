//! Any text as a config file: reading, error messages and expansion never panic, and a file without an error
//! gives a config.
#![forbid(unsafe_code)]
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::OsString;
use std::path::Path;
use switchboard_gateway::config::environment::{Inherited, withheld_hint};
use switchboard_gateway::config::{Severity, expand, load};

fuzz_target!(|source: &str| {
    let loaded = load(Path::new("switchboard.json"), source);
    for problem in &loaded.problems {
        assert!(!problem.to_string().is_empty());
    }
    let has_error = loaded.problems.iter().any(|problem| problem.severity == Severity::Error);
    assert_eq!(loaded.config.is_some(), !has_error, "{:?}", loaded.problems);
    let Some(config) = loaded.config else { return };
    for server in &config.servers {
        for root in [None, Some(Path::new("/a root"))] {
            if let Err(error) = expand::launch_parts(server, root, &variable) {
                assert!(!error.to_string().is_empty());
            }
        }
        expand::uses_root(server, &variable);
        let ours = ["HOME", "PATH", "GITHUB_TOKEN", "a"].map(|name| (name.into(), "value".into()));
        let child = Inherited::new(ours, server.inherit_env, &server.pass_env).with(&server.env);
        withheld_hint(&child.withheld);
    }
    let _ = expand::log_file(&config.log, Path::new("/etc/switchboard.json"), &variable);
});

fn variable(name: &str) -> Option<OsString> {
    match name {
        "HOME" => Some("/home/someone".into()),
        "A" => Some("${B}".into()),
        "EMPTY" => Some(OsString::new()),
        _ => None,
    }
}
