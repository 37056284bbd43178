//! `--backend auggie`: found and started without a config file. The package is a stand-in in npm's layout;
//! `real/auggie.rs` tests the real one.

use crate::support::{error, greet, log_with, program, text};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::scratch::Scratch;

const STAND_IN: &str = include_str!("auggie/augment.mjs");
const PACKAGE: &str = "prefix/lib/node_modules/@augmentcode/auggie";

/// The program on a machine where `npm install -g` has put auggie into its own prefix, with a link in PATH.
fn with_auggie(args: &[&str]) -> Start {
    let start = program().args(args);
    let scratch = start.scratch();
    scratch.file(&format!("{PACKAGE}/augment.mjs"), STAND_IN);
    let description =
        json!({ "name": "@augmentcode/auggie", "type": "module", "bin": { "auggie": "augment.mjs" } });
    scratch.file(&format!("{PACKAGE}/package.json"), description.to_string());
    let bin = scratch.folder("prefix/bin");
    std::os::unix::fs::symlink("../lib/node_modules/@augmentcode/auggie/augment.mjs", bin.join("auggie"))
        .unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: OsString = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let work = scratch.folder("my work");
    start.env("PATH", path).env("AUGMENT_SESSION_AUTH", "secret").cwd(work)
}

/// Arguments, folder and environment that auggie was started with.
#[track_caller]
fn started(start: Start) -> Value {
    let mut client = greet(start);
    let answer = client.call("codebase-retrieval", json!({ "information_request": "x" }));
    serde_json::from_str(text(&answer)).unwrap()
}

#[test]
fn auggie_is_started_in_the_workspace() {
    let start = with_auggie(&["stdio", "--backend", "auggie"])
        .env("AUGMENT_API_URL", "https://example.invalid")
        .env("AUGMENT_DISABLE_AUTO_UPDATE", "0")
        .env("GITHUB_TOKEN", "secret");
    let root = start.scratch().join("my work");
    let script = start.scratch().join(PACKAGE).join("augment.mjs");
    let started = started(start);
    assert_eq!(started["argv"], json!(["--mcp", "-m", "default", "--workspace-root", root]));
    assert_eq!((&started["cwd"], &started["script"]), (&json!(root), &json!(script)));
    let env = &started["env"];
    assert_eq!(
        [&env["AUGMENT_SESSION_AUTH"], &env["AUGMENT_API_URL"], &env["AUGMENT_DISABLE_AUTO_UPDATE"]],
        ["secret", "https://example.invalid", "1"]
    );
    assert!(env.get("GITHUB_TOKEN").is_none() && env["PATH"].is_string(), "{env}");
}

#[test]
fn flags_set_root_mode_and_variables() {
    let args =
        ["stdio", "--backend", "auggie", "--root", "../a b", "--mode", "fast lane", "--pass-env", "GITHUB_*"];
    let start = with_auggie(&args).env("GITHUB_TOKEN", "token");
    let root = start.scratch().folder("a b");
    let started = started(start);
    assert_eq!(started["argv"], json!(["--mcp", "-m", "fast lane", "--workspace-root", root]));
    assert_eq!(started["cwd"], json!(root));
    assert_eq!(
        [&started["env"]["GITHUB_TOKEN"], &started["env"]["AUGMENT_SESSION_AUTH"]],
        ["token", "secret"]
    );
}

#[test]
fn template_is_split_before_substitution() {
    let template = "--mcp  --model={mode} {root}";
    let start = with_auggie(&["stdio", "--backend", "auggie"]).env("AUGGIE_ARGS_TEMPLATE", template);
    let root = start.scratch().join("my work");
    assert_eq!(started(start)["argv"], json!(["--mcp", "--model=default", root]));
}

/// The command line of the founding document, as written there.
#[test]
fn founding_command_line_works() {
    let start = with_auggie(&["--backend", "auggie"]);
    let entry = start.scratch().file("else where/entry.mjs", STAND_IN);
    let start = start.arg("--node").arg(node()).arg("--auggie-entry").arg(&entry);
    let start = start.args(["--mode", "default", "--max-backends", "3", "--idle-ttl-seconds", "600"]);
    assert_eq!(started(start.args(["--log-level", "info"]))["script"], json!(entry));
}

/// A call goes to the workspace that it names; the limit of instances holds.
#[test]
fn call_is_routed_by_the_path_it_names() {
    let start = with_auggie(&["--backend", "auggie", "--max-backends", "2"]);
    let roots = ["one", "two", "three"].map(|name| {
        start.scratch().folder(&format!("{name}/.git"));
        start.scratch().folder(&format!("{name}/deep/inside"));
        start.scratch().join(name)
    });
    let mut client = greet(start);
    let mut pids = Vec::new();
    for root in roots.iter().chain(&roots) {
        let named = root.join("deep/inside");
        let arguments = json!({ "information_request": "x", "directory_path": named });
        let answer = client.call("codebase-retrieval", arguments);
        let started: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(started["argv"], json!(["--mcp", "-m", "default", "--workspace-root", root]));
        pids.push(started["pid"].as_u64().unwrap() as u32);
        let living = pids.iter().filter(|&&pid| pids::is_alive(pid)).count();
        assert!(living <= 2, "{living} of {pids:?} live");
    }
    pids.dedup();
    assert_eq!(pids.len(), 6, "with three in turn and room for two, each has to be started anew");
    client.finish();
    client.scratch().stop_daemons();
    assert!(!pids.iter().any(|&pid| pids::is_alive(pid)), "{pids:?}");
}

/// Two windows with the same flags share a daemon and one instance per workspace.
#[test]
fn windows_share_an_instance_per_workspace() {
    let scratch = Scratch::new();
    let runtime = scratch.folder("r");
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).unwrap();
    let first = with_auggie(&["--backend", "auggie"]);
    let (entry, work) = (first.scratch().join(PACKAGE).join("augment.mjs"), first.scratch().join("my work"));
    // Both windows need the same user and PATH: auggie gets both, and different values would need another
    // instance.
    let bin = first.scratch().join("prefix/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let home = scratch.folder("home");
    let shared = |start: Start| start.env("XDG_RUNTIME_DIR", &runtime).home(&home).env("PATH", &path);
    // The second window is told the path where the first has found auggie.
    let second = with_auggie(&["--backend", "auggie", "--auggie-entry", entry.to_str().unwrap()]).cwd(work);
    let mut windows = [first, second].map(|start| greet(shared(start)));
    let pids = windows.each_mut().map(|window| {
        let answer = window.call("codebase-retrieval", json!({ "information_request": "x" }));
        let started: Value = serde_json::from_str(text(&answer)).unwrap();
        started["pid"].as_u64().unwrap() as u32
    });
    assert_eq!(pids[0], pids[1]);
    let status = shared(program().args(["status", "--json"])).start().finish();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let [daemon] = &status["daemons"].as_array().unwrap()[..] else { panic!("one daemon: {status}") };
    assert_eq!(daemon["clients"].as_array().unwrap().len(), 2);
    pids::tell(daemon["pid"].as_u64().unwrap() as u32, Word::Terminate);
    patience::until_true("it is gone with its daemon", || !pids::is_alive(pids[0]));
}

/// Without a known workspace, auggie would index the whole home folder.
#[test]
fn home_folder_is_not_a_workspace() {
    let start = with_auggie(&["--backend", "auggie"]);
    let home = start.scratch().folder("home");
    let mut client = start.cwd(home).start();
    let answer = client.request("initialize", switchboard_testkit::client::initialize_params());
    error(&answer, -32004, "routing_failed");
}

#[test]
fn variables_name_node_and_entry() {
    let start = with_auggie(&["--backend", "auggie"]);
    let entry = start.scratch().file("entry.mjs", STAND_IN);
    let node = start.scratch().join("my-node");
    std::os::unix::fs::symlink(self::node(), &node).unwrap();
    let start = start.env("NODE_PATH", &node).env("AUGGIE_ENTRY", &entry).env("PATH", "/no/such/folder");
    assert_eq!(started(start)["script"], json!(entry));
}

/// Path of the real Node.
fn node() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("node")).find(|node| node.is_file());
    found.expect("node is in PATH").canonicalize().unwrap()
}

#[test]
fn missing_file_is_reported_to_the_client() {
    for (args, variable, named, remedy) in [
        (&["--node", "/no/node"][..], "", "--node is /no/node", "executable"),
        (&["--auggie-entry", "/no/x.mjs"], "", "--auggie-entry is /no/x.mjs", "augment.mjs"),
        (&[], "/no/y.mjs", "AUGGIE_ENTRY is /no/y.mjs", "augment.mjs"),
    ] {
        let start = with_auggie(&["stdio", "--backend", "auggie"]).args(args).env("AUGGIE_ENTRY", variable);
        let mut client = start.start();
        let answer = client.request("initialize", json!({}));
        let told = error(&answer, -32001, "backend_spawn_failed");
        assert!(told["message"].as_str().unwrap().contains(named), "{told}");
        assert!(told["data"]["hint"].as_str().unwrap().contains(remedy), "{told}");
        let end = client.finish();
        assert_eq!(end.code, Some(0));
        assert!(end.stderr.contains(named) && end.stderr.contains("hint: "), "{}", end.stderr);
    }
}

#[test]
fn missing_login_is_reported_with_a_hint() {
    let mut client = with_auggie(&["stdio", "--backend", "auggie"])
        .env("AUGMENT_SESSION_AUTH", "")
        .env("GITHUB_TOKEN", "secret")
        .start();
    let answer = client.request("initialize", json!({}));
    let told = error(&answer, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("No auth provided"), "{told}");
    let hint = told["data"]["hint"].as_str().unwrap();
    assert!(hint.contains("run `auggie login`") && hint.contains("AUGMENT_SESSION_AUTH"), "{hint}");
    let scratch = format!("{}/", client.scratch().path().display());
    assert_eq!(client.finish().code, Some(0));
    patience::until_true("nothing of it is left", || pids::with_text(&scratch).is_empty());
}

#[test]
fn conflicting_flags_are_refused() {
    for args in [
        &["stdio", "--backend", "auggie", "--", "true"][..],
        &["stdio", "--backend", "auggie", "--server", "x"],
        &["stdio", "--backend", "auggie", "--raw"],
        &["stdio", "--backend", "other"],
        &["stdio", "--node", "/usr/bin/node", "--", "true"],
        &["--mode", "default"],
    ] {
        let end = program().args(args).start().finish();
        assert_eq!((end.code, end.stdout.as_slice()), (Some(2), &b""[..]), "{args:?}: {}", end.stderr);
    }
}

// ---- auggie's log variable

#[test]
fn mcp_proxy_log_sets_the_log_level() {
    let tells_routes = |start: Start| {
        let mut client = greet(start);
        client.call("codebase-retrieval", json!({}));
        // Log lines keep their order: the answer's line follows the route's.
        log_with(&client, "tools/call").contains("routed")
    };
    let start = || with_auggie(&["--backend", "auggie"]);
    assert!(!tells_routes(start()));
    assert!(tells_routes(start().env("MCP_PROXY_LOG", "DEBUG")));
    assert!(!tells_routes(start().env("MCP_PROXY_LOG", "debug").env("SWITCHBOARD_LOG", "info")));
    let mut client = start().env("MCP_PROXY_LOG", "my_crate=debug").start();
    let end = client.finish();
    assert_eq!(end.code, Some(0));
    assert!(end.stderr.contains("MCP_PROXY_LOG is not"), "{}", end.stderr);
}

/// One server or all, solo or shared: given keys are used, missing ones are found.
#[test]
fn preset_works_in_a_config_entry() {
    let routes: [(&[&str], &str); 4] = [
        (&["--server", "ctx"], "codebase-retrieval"),
        (&["--server", "ctx", "--solo"], "codebase-retrieval"),
        (&[], "ctx__codebase-retrieval"),
        (&["--solo"], "ctx__codebase-retrieval"),
    ];
    for (flags, tool) in routes {
        let start = with_auggie(&["stdio"]).args(flags);
        let entry = json!({ "preset": "auggie", "mode": "fast", "argsTemplate": "--mcp {mode} {root}", "maxBackends": 5 });
        let config = json!({ "mcpServers": { "ctx": entry } });
        let path = start.scratch().file("config.json", config.to_string());
        let (root, script) =
            (start.scratch().join("my work"), start.scratch().join(PACKAGE).join("augment.mjs"));
        let mut client = greet(start.arg("--config").arg(path));
        let answer = client.call(tool, json!({ "information_request": "x" }));
        let started: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(started["argv"], json!(["--mcp", "fast", root]), "{flags:?}");
        assert_eq!(started["script"], json!(script), "{flags:?}");
        let env = &started["env"];
        assert_eq!([&env["AUGMENT_SESSION_AUTH"], &env["AUGMENT_DISABLE_AUTO_UPDATE"]], ["secret", "1"]);
    }
}

#[test]
fn preset_uses_named_files() {
    let entry = |entry: &str| json!({ "mcpServers": { "ctx": { "preset": "auggie", "node": node(), "entry": entry } } });
    let start = with_auggie(&["stdio", "--server", "ctx", "--config"]);
    let script = start.scratch().file("else where/entry.mjs", STAND_IN);
    // A relative path starts at the config file's folder.
    let path = start.scratch().file("config.json", entry("else where/entry.mjs").to_string());
    assert_eq!(started(start.arg(path))["script"], json!(script));

    let start = with_auggie(&["check", "--config"]);
    let path = start.scratch().file("config.json", entry("nowhere.mjs").to_string());
    let end = start.arg(path).start().finish();
    let said = String::from_utf8(end.stdout).unwrap();
    assert!(said.contains("`entry` is") && said.contains("there is no such file"), "{said}");
}

#[test]
fn defaults_apply_to_the_backend_flag() {
    for flags in [&["--solo"][..], &[]] {
        let start = with_auggie(&["stdio", "--backend", "auggie"]).args(flags).env("MINE", "1");
        let config = json!({ "defaults": { "passEnv": ["MINE"] }, "mcpServers": {} });
        start.scratch().file("home/.config/switchboard/config.json", config.to_string());
        let env = &started(start)["env"];
        assert_eq!([&env["MINE"], &env["AUGMENT_SESSION_AUTH"]], ["1", "secret"], "{flags:?}");
    }
}
