//! `switchboard explain`: the workspace of a request and the reason, for real folders.

use crate::support::program;
use serde_json::{Value, json};
use switchboard_testkit::client::{End, Start};

/// A scratch folder with some projects; `@` in a text stands for its path.
struct House {
    start: Start,
    folder: String,
}

impl House {
    fn new() -> Self {
        let start = program();
        let scratch = start.scratch();
        for folder in ["a/src", "a/inner/src", "b", "c/.git", "c/src", "plain", "w", "home", "a b"] {
            scratch.folder(folder);
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(scratch.join("b"), scratch.join("link")).unwrap();
        let folder = scratch.path().canonicalize().unwrap().display().to_string();
        Self { start, folder }
    }

    fn config(self, config: &Value) -> Self {
        self.start.scratch().file("config.json", config.to_string());
        self.args(&["--config", "@/config.json"])
    }

    fn args(mut self, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| arg.replace('@', &self.folder));
        self.start = self.start.args(args);
        self
    }

    /// Runs in `cwd` with these variables; returns the end, and stdout with `@` for the folder.
    fn run(mut self, cwd: &str, vars: &[(&str, &str)]) -> (End, String) {
        let path = |text: &str| text.replace('@', &self.folder);
        for (name, value) in vars {
            self.start = self.start.env(name, path(value));
        }
        let end = self.start.cwd(path(cwd)).env("COLUMNS", "80").start().finish();
        let shown = String::from_utf8_lossy(&end.stdout).replace(&self.folder, "@");
        (end, shown)
    }
}

/// The decision as `root: why` or `none: why`, with the error's code if there is one.
#[track_caller]
fn decided(house: House, cwd: &str, vars: &[(&str, &str)]) -> String {
    let (end, shown) = house.args(&["--json"]).run(cwd, vars);
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    let explained: Value = serde_json::from_str(&shown).unwrap();
    let [answer] = explained["answers"].as_array().unwrap().as_slice() else { panic!("{explained}") };
    let used = answer["considered"].as_array().unwrap().iter().filter(|rung| rung["used"] == true);
    // A global server needs no root.
    let expect = usize::from(answer["instances"] != "one for all clients" || answer["root"].is_string());
    assert_eq!(used.count(), expect, "{answer}");
    let code = answer["error"]["code"].as_i64().map(|code| format!(" ({code})")).unwrap_or_default();
    let (root, why) = (answer["root"].as_str().unwrap_or("none"), answer["why"].as_str().unwrap());
    format!("{root}: {why}{code}")
}

fn ask(method: &str, params: &str, args: &[&str]) -> House {
    House::new().args(&["explain", "--method", method, "--params", params]).args(args)
}

#[track_caller]
fn check(params: &str, args: &[&str], expect: &str) {
    // The home is the parent of all folders, so the working folder decides nothing.
    assert_eq!(
        decided(ask("tools/call", params, args), "@", &[("HOME", "@/home")]),
        expect,
        "{params} {args:?}"
    );
}

const ROOTS: &[&str] = &["--client-root", "@/a", "--client-root", "@/b"];

#[test]
fn uri_in_a_root_selects_it() {
    let uri = |path: &str| format!(r#"{{"uri":"file://{path}"}}"#);
    check(&uri("@/b/x"), ROOTS, "@/b: the URI is inside it");
    check(&uri("@/b/../a/x"), ROOTS, "@/a: the URI is inside it");
    check(&uri("@/bb/x"), ROOTS, "@/a: it is the client's root");
    let spaced = ["--client-root", "@/a", "--client-root", "@/a b"];
    check(&uri("@/a%20b/x"), &spaced, "@/a b: the URI is inside it");
    check(&uri("@/a%20b/x"), &["--client-root", "file://@/a%20b/"], "@/a b: the URI is inside it");
    let nested = ["--client-root", "@/a", "--root", "@/a/inner"];
    check(&uri("@/a/inner/src/x"), &nested, "@/a/inner: the URI is inside it");
    check(&uri("@/a/src/x"), &nested, "@/a: the URI is inside it");
    let pinned = [ROOTS, &["--pin-root", "@/w"]].concat();
    check(&uri("@/b/x"), &pinned, "@/w: it is pinned");
}

#[cfg(unix)]
#[test]
fn symlinks_are_resolved() {
    check(r#"{"uri":"file://@/link/x"}"#, ROOTS, "@/b: the URI is inside it");
    check(
        r#"{"uri":"file://@/b/x"}"#,
        &["--client-root", "@/a", "--root", "@/link"],
        "@/b: the URI is inside it",
    );
}

#[test]
fn path_arguments_select_the_root() {
    let path = |path: &str| format!(r#"{{"name":"t","arguments":{{"path":"{path}","x":"1"}}}}"#);
    let by_path = [ROOTS, &["--root-argument", "path"]].concat();
    check(&path("@/b/x"), &by_path, "@/b: the argument `path` is inside it");
    check(&path("@/b/x"), ROOTS, "@/a: it is the client's root");
    check(&path("file://@/b/x"), ROOTS, "@/b: the argument `path` is inside it");
    let opened = "@/c: the argument `path` is in no known root, and this is its project";
    check(&path("@/c/src/x"), &by_path, opened);
    check(&path("@/plain/x"), &by_path, "@/a: it is the client's root");
    let closed = json!({ "mcpServers": {}, "openRoots": false });
    let house = ask("tools/call", &path("@/c/src/x"), &by_path).config(&closed);
    assert_eq!(decided(house, "@", &[("HOME", "@/home")]), "@/a: it is the client's root");
}

#[test]
fn fallbacks_apply_without_a_path() {
    let check = |args: &[&str], cwd: &str, vars: &[(&str, &str)], expect: &str| {
        let house = ask("tools/list", "{}", args);
        let vars = [&[("HOME", "@/home")], vars].concat();
        assert_eq!(decided(house, cwd, &vars), expect, "{args:?} {cwd} {vars:?}");
    };
    let named = [("CLAUDE_PROJECT_DIR", "@/c")];
    check(ROOTS, "@/w", &named, "@/a: it is the client's root");
    check(&[], "@/w", &named, "@/c: the client's environment names it");
    check(&[], "@/w", &[("SWITCHBOARD_ROOT", "@/b")], "@/b: it is pinned");
    check(&["--default-root", "@/b"], "@/w", &[], "@/w: the client was started there");
    check(&["--default-root", "@/b"], "@/home", &[], "@/b: it is the default root");
    check(&["--default-root", "@/b"], "@", &[], "@/b: it is the default root");
    check(&["--root", "@/c", "--root", "@/b"], "@/home", &[], "@/c: it is the first known root");
    check(&[], "/", &[], "none: no workspace is known for this request");
}

/// A config with one server and these extra keys.
fn with_server(file: Value, server: Value) -> Value {
    let mut config = json!({ "mcpServers": { "s": { "command": "true" } } });
    config.as_object_mut().unwrap().extend(file.as_object().unwrap().clone());
    config["mcpServers"]["s"].as_object_mut().unwrap().extend(server.as_object().unwrap().clone());
    config
}

#[test]
fn config_settings_decide() {
    let check = |file: Value, server: Value, expect: &str| {
        let params = r#"{"arguments":{"dir":"@/b/x"}}"#;
        let house = ask("tools/call", params, &[]).config(&with_server(file.clone(), server.clone()));
        assert_eq!(decided(house, "@", &[("HOME", "@/home")]), expect, "{file} {server}");
    };
    check(json!({ "defaultRoot": "a" }), json!({}), "@/a: it is the default root");
    check(json!({ "defaultRoot": "~/../b" }), json!({}), "@/b: it is the default root");
    check(json!({ "defaultRoot": "nowhere" }), json!({}), "none: no workspace is known for this request");
    let unknown = "none: no workspace is known for this request";
    check(json!({}), json!({}), unknown);
    check(json!({ "fallback": "off" }), json!({}), &format!("{unknown}, and `fallback` is off (-32004)"));
    let needs = format!("{unknown}, and the server needs one (-32004)");
    check(json!({}), json!({ "args": ["${root}"] }), &needs);
    check(json!({}), json!({ "args": ["${root}"], "scope": "global" }), &needs);
    let at_home = "none: the server needs no workspace and runs in the home folder";
    check(json!({ "fallback": "off" }), json!({ "scope": "global" }), at_home);
}

/// The description of a server's instances by `explain`.
#[track_caller]
fn instances(server: Value) -> String {
    let house = ask("ping", "{}", ROOTS).config(&with_server(json!({}), server)).args(&["--json"]);
    let (_, shown) = house.run("@", &[]);
    let explained: Value = serde_json::from_str(&shown).unwrap();
    explained["answers"][0]["instances"].as_str().unwrap().to_owned()
}

#[test]
fn instances_are_described() {
    assert_eq!(instances(json!({ "args": ["${root}"] })), "one for each workspace");
    assert_eq!(instances(json!({ "cwd": "sub" })), "one for each workspace");
    assert_eq!(instances(json!({ "rootArguments": ["path"] })), "one for each workspace");
    assert_eq!(instances(json!({ "cwd": "sub", "scope": "client" })), "one for each workspace and client");
    assert_eq!(instances(json!({})), "one for each set of roots; clients with the same roots share it");
    assert_eq!(instances(json!({ "state": "client" })), "one for each client, for all its roots");
    assert_eq!(instances(json!({ "scope": "global" })), "one for all clients");
}

/// A server for all roots of a client does not move with the path that a request names.
#[test]
fn differing_servers_are_explained_apart() {
    let server = |more: Value| with_server(json!({}), more)["mcpServers"]["s"].clone();
    let config = json!({ "mcpServers": {
        "whole": server(json!({})),
        "split": server(json!({ "args": ["${root}"] })),
        "other": server(json!({})),
        "off": server(json!({ "disabled": true })),
    } });
    let params = r#"{"uri":"file://@/b/x"}"#;
    let ask = |args: &[&str]| {
        let house = ask("resources/read", params, ROOTS).config(&config).args(args).args(&["--json"]);
        let (_, shown) = house.run("@", &[]);
        let explained: Value = serde_json::from_str(&shown).unwrap();
        let answers = explained["answers"].as_array().unwrap().clone();
        answers.iter().map(|answer| (answer["servers"].clone(), answer["root"].clone())).collect::<Vec<_>>()
    };
    let (whole, split) = ((json!(["other", "whole"]), json!("@/a")), (json!(["split"]), json!("@/b")));
    assert_eq!(ask(&[]), [whole, split.clone()]);
    assert_eq!(ask(&["--server", "split"]), [split]);
}

#[test]
fn explanation_matches_snapshots() {
    let params = r#"{"name":"t","arguments":{"dir":"@/c/src","path":"@/plain"}}"#;
    let house = ask("tools/call", params, ROOTS).args(&["--root", "@/w"]);
    let config = with_server(json!({}), json!({ "rootArguments": ["path", "dir"] }));
    let (_, shown) = house.config(&config).run("@/home", &[("HOME", "@/home")]);
    insta::assert_snapshot!("explain_project", shown);

    let nowhere = with_server(json!({ "fallback": "off" }), json!({ "scope": "client" }));
    let (_, shown) = ask("ping", "{}", &[]).config(&nowhere).run("@/home", &[("HOME", "@/home")]);
    insta::assert_snapshot!("explain_nowhere", shown);

    let (_, shown) = ask("ping", "{}", &[]).run("@/home", &[("HOME", "@/home")]);
    insta::assert_snapshot!("explain_fallback", shown);

    let global = with_server(json!({}), json!({ "scope": "global" }));
    let (_, shown) = ask("tools/call", r#"{"uri":"file://@/b"}"#, ROOTS).config(&global).run("@/w", &[]);
    insta::assert_snapshot!("explain_global", shown);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn usage_errors_are_reported() {
    let check = |args: &[&str], code: i32, expect: &str| {
        let (end, _) = House::new().args(&["explain"]).args(args).run("@", &[("HOME", "@/home")]);
        assert_eq!(end.code, Some(code), "{args:?}: {}", end.stderr);
        assert!(end.stderr.contains(expect), "{args:?}: {}", end.stderr);
        assert!(end.stdout.is_empty());
    };
    check(&[], 2, "--method <METHOD>");
    check(&["--method", "m", "--params", "{"], 2, "--params is not JSON: ");
    check(&["--method", "m", "--params", "[]"], 2, "--params is not a JSON object");
    check(&["--method", "m", "--pin-root", "nowhere"], 2, "--pin-root nowhere: ");
    check(&["--method", "m", "--server", "s"], 3, "there is no config file to find `s` in");
    check(&["--method", "m", "--config", "nowhere.json"], 3, "nowhere.json");
    let house = ask("m", "{}", &["--server", "t"]).config(&with_server(json!({}), json!({})));
    let (end, _) = house.run("@", &[]);
    assert_eq!(end.code, Some(3));
    assert!(end.stderr.contains("has no server `t`"), "{}", end.stderr);
}

#[test]
fn explain_starts_no_server() {
    let house = ask("tools/list", "{}", ROOTS);
    let record = house.start.record();
    let server = json!({ "command": crate::support::fake_backend(), "args": ["--record", record.folder()] });
    let (end, _) = house.config(&json!({ "mcpServers": { "s": server } })).run("@", &[]);
    assert_eq!((end.code, record.launches()), (Some(0), 0));
}
