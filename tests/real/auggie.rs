//! The real auggie without an account: it reports the missing login, and ends.

use super::peers::node_package;
use crate::support::{error, program};
use serde_json::json;
use std::path::PathBuf;
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::patience;
use switchboard_testkit::pids;

#[test]
fn missing_login_is_reported() {
    // npm's own link to it, as in a folder of PATH.
    let bin = node_package(".bin/auggie").parent().map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(bin.into_iter().chain(std::env::split_paths(&path))).unwrap();
    let start = program().args(["--backend", "auggie", "--mode", "default"]).env("PATH", path);
    let work = start.scratch().folder("my work");
    let mut client = start.cwd(work).start();
    let answer = client.request("initialize", initialize_params());
    let told = error(&answer, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("No auth provided"), "{told}");
    assert!(told["data"]["hint"].as_str().unwrap().contains("run `auggie login`"), "{told}");
    assert_eq!((&told["data"]["server"], &told["data"]["retryable"]), (&json!("auggie"), &json!(true)));

    // The workspace is in its command line, the home in its environment.
    let scratch = format!("{}/", client.scratch().path().display());
    assert_eq!(client.finish().code, Some(0));
    patience::until_true("nothing of it is left", || pids::with_trace(&scratch).is_empty());
}
