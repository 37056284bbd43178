//! The environment of an IDE on Windows: its job, its user's folders, and a config file with settings for other systems.

use super::{check_nothing_left, given, processes, program, shims};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::pids::{self, Word};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::{daemons, patience, wine};

/// A window whose parent is a node process, as in an IDE.
fn inside_node(scratch: &Scratch, kind: &str, args: &[&str], env: &[(&str, &str)]) -> Client {
    let program = wine::path(&given("WINDOWS_EXECUTABLES").join("switchboard.exe"));
    let mut start = Start::inside(scratch, given("WINDOWS_NODE")).env("NODE_SKIP_PLATFORM_CHECK", "1");
    for (name, value) in env {
        start = start.env(&format!("SET_{name}"), value);
    }
    start.arg(wine::path(&shims::ours("parent.js"))).arg(kind).arg(program).args(args).start()
}

fn fake() -> Value {
    json!({ "command": wine::path(&given("WINDOWS_EXECUTABLES").join("fake-backend.exe")) })
}

fn echo(client: &mut Client) {
    let answer = client.call("fake__echo", json!({}));
    assert!(answer.get("result").is_some(), "{answer}");
}

/// Node puts its children into a job that ends with it.
#[test]
fn daemon_outlives_the_job_of_its_client() {
    let scratch = Scratch::new();
    let config = scratch.file("config.json", json!({ "mcpServers": { "fake": fake() } }).to_string());
    let config = wine::path(&config);
    let open = || {
        let mut client = inside_node(&scratch, "in job", &["stdio", "--config", &config], &[]);
        client.initialize();
        echo(&mut client);
        client
    };
    let first = open();
    let mut second = open();
    let daemon = daemons::of(scratch.path());
    assert_eq!(daemon.len(), 1, "both share a daemon");
    // Each has a node process and an attachment.
    let windows = || {
        let all = pids::with_text(&scratch.path().display().to_string());
        all.into_iter().filter(|pid| pids::mentions(*pid, "stdio")).count()
    };
    assert_eq!(windows(), 4);
    first.signal(Word::Kill);
    patience::until_true("the first window is gone", || windows() == 2);
    echo(&mut second);
    assert_eq!(daemons::of(scratch.path()), daemon);
}

#[test]
fn folders_of_a_user_with_umlauts_are_used() {
    let scratch = Scratch::new();
    let [roaming, local] =
        ["Roaming", "Local"].map(|name| scratch.folder(&format!("Jörg Müller/AppData/{name}")));
    fs::create_dir_all(roaming.join("switchboard")).unwrap();
    let config = json!({ "mcpServers": { "fake": fake() } }).to_string();
    fs::write(roaming.join("switchboard/config.json"), config).unwrap();
    let (roaming, shown) = (wine::path(&roaming), wine::path(&local));
    let folders =
        [("APPDATA", &*roaming), ("LOCALAPPDATA", &*shown), ("XDG_CONFIG_HOME", ""), ("XDG_STATE_HOME", "")];
    let mut client = inside_node(&scratch, "in job", &["stdio"], &folders);
    client.initialize();
    echo(&mut client);
    patience::until_true("lists in the user's folder", || local.join("switchboard/catalogue").is_dir());
}

/// The real package, as installed by `npm install -g`.
#[test]
fn real_auggie_reports_the_missing_login() {
    let start = program();
    let folder = start.scratch().folder("npm");
    shims::write_node(&folder);
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/node_modules");
    symlink(modules, folder.join("node_modules")).unwrap();
    let shim = shims::old_shim(r"node_modules\@augmentcode\auggie\augment.mjs");
    fs::write(folder.join("auggie.cmd"), shim).unwrap();
    let path = wine::path(&folder) + r";C:\windows\system32";
    let start = start.args(["--backend", "auggie", "--pass-env", "NODE_SKIP_PLATFORM_CHECK"]);
    // Wine adds this before its own PATH.
    let start = start.env("WINEPATH", path).env("NODE_SKIP_PLATFORM_CHECK", "1");
    let work = start.scratch().folder("my work");
    let mut client = start.cwd(work).start();
    let answer = client.request("initialize", initialize_params());
    let error = &answer["error"];
    assert_eq!(
        (&error["code"], &error["data"]["kind"]),
        (&json!(-32001), &json!("backend_spawn_failed")),
        "{answer}"
    );
    assert!(error["data"]["hint"].as_str().unwrap().contains("run `auggie login`"), "{answer}");
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
    assert!(processes(&client).is_empty());
}

#[test]
fn keep_is_refused_with_a_reason() {
    let start = program();
    let mut entry = fake();
    entry["keep"] = json!(["adb"]);
    let config = start.scratch().file("config.json", json!({ "mcpServers": { "fake": entry } }).to_string());
    let scratch = start.scratch().lent();
    let check = |start: Start| {
        let end = start.start().finish();
        let said = format!("{}{}", String::from_utf8_lossy(&end.stdout), end.stderr);
        assert_ne!(end.code, Some(0), "{said}");
        assert!(said.contains("keep") && said.contains("Windows"), "{said}");
    };
    check(start.args(["check", "--config"]).arg(config));
    let exe = given("WINDOWS_EXECUTABLES").join("switchboard.exe");
    let fake = fake()["command"].as_str().unwrap().to_owned();
    check(Start::inside(&scratch, exe).args(["stdio", "--keep", "adb", "--", &fake]));
}

/// The root URI of an IDE becomes the server's working folder.
#[test]
fn root_uri_becomes_the_working_folder() {
    for spelling in ["file:///Z:", "file:///z%3A", "file:///z:"] {
        let start = program();
        let folder = start.scratch().folder("größe/my project");
        fs::create_dir(folder.join(".git")).unwrap();
        let entry = json!({ "command": fake()["command"], "env": { "ROOT": "${root}" } });
        let config = json!({ "mcpServers": { "fake": entry } }).to_string();
        let config = start.scratch().file("config.json", config);
        let mut client = start.args(["stdio", "--solo", "--server", "fake", "--config"]).arg(config).start();
        let mut params = initialize_params();
        params["capabilities"] = json!({ "roots": {} });
        let greeting = client.ask("initialize", params);
        assert!(client.answer(greeting).get("result").is_some());
        client.notify("notifications/initialized", json!({}));
        let path = folder.display().to_string().replace('ö', "%C3%B6").replace(' ', "%20");
        let result = json!({ "roots": [{ "uri": format!("{spelling}{path}") }] });
        let call = client.start_call("facts", json!({}));
        let is_it = |value: &Value| value["id"] == call || value["method"] == "roots/list";
        let answer = loop {
            let value = client.recv_where("the answer", is_it);
            if value.get("method").is_none() {
                break value;
            }
            client.send(json!({ "jsonrpc": "2.0", "id": value["id"], "result": result }).to_string());
        };
        assert_eq!(answer["result"]["cwd"], wine::path(&folder), "{spelling}: {answer}");
        assert_eq!(client.finish().code, Some(0));
    }
}
