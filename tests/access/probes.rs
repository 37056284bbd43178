//! Attempts to make Switchboard start a given command: in bodies, headers, paths, queries, `_meta`, roots, tokens, profile
//! names, on the local socket, and by a config of someone else. What ran decides, not the answer.

use super::token::{Place, create, web_with};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served, token};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use switchboard_testkit::client::initialize_params;
use switchboard_testkit::http::{Ask, Talk, Web, call, hello};
use switchboard_testkit::patience;
use switchboard_testkit::pids;

const ANOTHER: u32 = 54321;

/// A program that must not run: it leaves a mark.
struct Bait {
    program: PathBuf,
    marks: PathBuf,
    probes: usize,
}

impl Bait {
    fn new(house: &House) -> Self {
        let (program, marks) = (house.path("home/bait"), house.path("home/marks"));
        fs::create_dir_all(&marks).unwrap();
        fs::write(&program, format!("#!/bin/sh\n: > '{}'/\"$$\"\n", marks.display())).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        Self { program, marks, probes: 0 }
    }

    fn path(&self) -> String {
        self.program.display().to_string()
    }

    /// The forms in which a command is given to careless programs.
    fn spellings(&self) -> Vec<String> {
        let path = self.path();
        vec![
            path.clone(),
            format!("$({path})"),
            format!("`{path}`"),
            format!("; {path} ;"),
            format!("|{path}"),
            format!("file://{path}"),
        ]
    }

    /// A server of a config, as careless programs accept it.
    fn entry(&self) -> Value {
        json!({ "command": self.path(), "args": [], "type": "stdio", "transportType": "stdio", "env": {} })
    }

    /// The members of a message in which a command could hide.
    fn orders(&self) -> Vec<Value> {
        let (path, entry) = (self.path(), self.entry());
        vec![
            entry.clone(),
            json!({ "mcpServers": { "bait": entry } }),
            json!({ "server": entry, "servers": [entry], "backend": path, "launch": { "program": path, "args": [] } }),
            json!({ "config": { "mcpServers": { "bait": entry } }, "configPath": path, "reload": true }),
            json!({ "ad_hoc": { "command": path, "args": [] }, "adHoc": entry, "everything": true }),
            json!({ "cwd": path, "root": path, "roots": [{ "uri": format!("file://{path}") }], "shell": path }),
        ]
    }

    #[track_caller]
    fn check(&self) {
        let marks: Vec<_> = fs::read_dir(&self.marks).unwrap().flatten().collect();
        assert!(marks.is_empty(), "it ran: {marks:?}");
        assert_eq!(pids::with_text(&self.path()), Vec::<u32>::new(), "it runs");
    }

    fn count(&mut self, probes: usize) {
        self.probes += probes;
        self.check();
    }
}

/// Sends all; every answer must come, whatever it says.
fn send_all(asks: Vec<Ask>) -> usize {
    let count = asks.len();
    for ask in asks {
        let _ = ask.try_send();
    }
    count
}

fn in_bodies(web: &Web, bait: &Bait) -> Vec<Ask> {
    let mut asks = Vec::new();
    for path in [FAKE, "/mcp", "/profiles/p/mcp"] {
        for order in bait.orders() {
            let mut knock = hello("2025-11-25", json!({ "experimental": order.clone() }));
            knock["params"]["_meta"] = order.clone();
            knock["params"]["proxy"] = order.clone();
            knock["params"]["clientInfo"]["command"] = json!(bait.path());
            knock["mcpServers"] = json!({ "bait": bait.entry() });
            asks.push(web.post(path, knock.to_string()));
            asks.push(web.post(path, order.to_string()));
        }
    }
    asks
}

fn in_sessions(web: &Web, bait: &Bait) -> Vec<Ask> {
    let mut asks = Vec::new();
    for path in [FAKE, "/mcp"] {
        let talk = Talk::open(web, path);
        for order in bait.orders() {
            let mut message = call(1, "echo", order.clone());
            message["params"]["_meta"] = order.clone();
            asks.push(talk.say(&message));
            for method in [
                "switchboard/spawn",
                "switchboard/order",
                "switchboard/reload",
                "servers/add",
                "initialize",
                "roots/list",
            ] {
                asks.push(
                    talk.say(&json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": order })),
                );
            }
            asks.push(talk.say(
                &json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": order }),
            ));
            asks.push(talk.say(&json!({ "jsonrpc": "2.0", "id": 1, "result": order })));
        }
        for spelling in bait.spellings() {
            asks.push(talk.say(&call(2, &spelling, json!({}))));
            asks.push(talk.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": { "uri": spelling } })));
        }
    }
    asks
}

fn in_heads(web: &Web, bait: &Bait) -> Vec<Ask> {
    let knock = || hello("2025-11-25", json!({})).to_string();
    let segment = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let mut asks = Vec::new();
    for spelling in bait.spellings() {
        for header in [
            "Switchboard-Root",
            "Switchboard-Server",
            "Switchboard-Config",
            "X-Command",
            "Mcp-Session-Id",
            "Upgrade",
            "X-Forwarded-For",
        ] {
            asks.push(web.post(FAKE, knock()).header(header, &spelling));
        }
        let name = segment(&spelling);
        for path in [
            format!("/servers/{name}/mcp"),
            format!("/servers/fake%00{name}/mcp"),
            format!("/servers/..%2f{name}/mcp"),
            format!("/profiles/{name}/mcp"),
            format!("{FAKE}?command={name}&args={name}"),
            format!("/mcp?config={name}&server={name}&root={name}"),
            format!("/stdio?command={name}&transportType=stdio"),
            format!("/{name}"),
        ] {
            asks.push(web.post(&path, knock()));
        }
        asks.push(
            web.get(&format!("/sse?command={name}")).header("Mcp-Session-Id", "x").header("Host", &spelling),
        );
    }
    for path in [
        "/config",
        "/reload",
        "/servers",
        "/servers/bait",
        "/api/servers",
        "/connect",
        "/spawn",
        "/admin",
        "/token",
    ] {
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let mut ask = web.post(path, json!({ "mcpServers": { "bait": bait.entry() } }).to_string());
            if method != "POST" {
                ask = web.ask(method, path).header("Content-Type", "application/json");
            }
            asks.push(ask);
        }
    }
    asks
}

/// With the owner's token, with another, with one that may do little, and with none.
#[test]
fn no_http_request_starts_a_command() {
    let served = Served::start(House::with(json!({ "profiles": { "p": ["fake"] } }), json!({}), &[]), &[]);
    let mut bait = Bait::new(&served.house);
    let [ci, few] = [&["ci"][..], &["few", "--servers", "none"]].map(|words| create(&served.house, words));
    let all = [token(&served.house), ci, few, "swb_wrong".to_owned()];
    for token in &all {
        let web = served.web.with("Authorization", &format!("Bearer {token}"));
        bait.count(send_all(in_bodies(&web, &bait)));
        bait.count(send_all(in_heads(&web, &bait)));
    }
    for token in &all[..2] {
        let web = web_with(&served, token);
        bait.count(send_all(in_sessions(&web, &bait)));
    }
    bait.count(send_all(in_bodies(&served.web.without("Authorization"), &bait)));
    assert!(bait.probes >= 100, "{}", bait.probes);
    // Only the configured server ran, and it still serves.
    assert!(served.open().call("echo", json!({})).get("result").is_some());
    bait.check();
}

#[test]
fn no_window_starts_a_command() {
    let house = House::new();
    let mut bait = Bait::new(&house);
    let token = create(&house, &["ci"]);
    for is_all in [false, true] {
        let start = if is_all {
            house.program("home").args(["stdio", "--config"]).arg(house.config())
        } else {
            house.window("home")
        };
        let mut window = start.env("SWITCHBOARD_COMMAND", bait.path()).env("MCP_SERVER", bait.path()).start();
        for order in bait.orders() {
            let mut hello = initialize_params();
            hello["_meta"] = order.clone();
            hello["proxy"] = order.clone();
            hello["capabilities"] = json!({ "roots": {}, "experimental": order });
            window.request("initialize", hello);
            window.notify("notifications/initialized", order.clone());
            for method in ["switchboard/spawn", "switchboard/order", "switchboard/servers", "servers/add"] {
                window.request(method, order.clone());
            }
            let mut params = json!({ "name": "echo", "arguments": order });
            Place::Meta.put(&mut params, &token);
            window.request("tools/call", params);
            window.send(json!({ "jsonrpc": "2.0", "id": 1, "result": { "roots": [{ "uri": format!("file://{}", bait.path()) }] } }).to_string());
            bait.count(8);
        }
        for spelling in bait.spellings() {
            window.call(&spelling, json!({ "path": spelling }));
            window.request("resources/read", json!({ "uri": spelling }));
            bait.count(2);
        }
    }
}

/// Words on the daemon's socket, which every process of the user can reach.
#[test]
fn no_hello_starts_a_command() {
    let house = House::new();
    let mut bait = Bait::new(&house);
    let _window = house.open("home");
    let path = bait.path();
    let ad_hoc = json!({
        "command": path, "args": [], "max_backends": 8, "idle_ttl": null, "root_arguments": [],
        "inherit_env": "all", "pass_env": [], "packages": "isolated", "guard": "auto", "keep": [],
    });
    let newcomer = json!({ "server": "bait", "ad_hoc": ad_hoc, "env": [["PATH", "/usr/bin:/bin"]] });
    let order =
        |word: &str, server: &str| json!({ "order": { "order": word, "server": server, "root": null } });
    for wants in [
        json!({ "client": newcomer }),
        json!({ "client": { "server": path } }),
        json!({ "client": { "server": "fake", "ad_hoc": ad_hoc, "working_folder": path, "pinned": path } }),
        json!({ "client": { "server": "bait", "ad_hoc": ad_hoc, "token": "swb_wrong" } }),
        order("start", &path),
        order("restart", &path),
        order("start", "bait"),
        json!({ "reload": path }),
        json!({ "spawn": ad_hoc }),
    ] {
        let mut socket = UnixStream::connect(house.socket()).unwrap();
        let hello = json!({ "protocol": 1, "version": "0.1.0", "wants": wants });
        writeln!(socket, "{hello}").unwrap();
        let mut answer = String::new();
        BufReader::new(&socket).read_line(&mut answer).unwrap();
        let is_refused =
            serde_json::from_str::<Value>(&answer).is_ok_and(|answer| answer["error"].is_string());
        assert!(answer.is_empty() || is_refused, "{hello}: {answer}");
        bait.count(1);
    }
}

/// Names of tokens, profiles and servers are names, never commands.
#[test]
fn no_token_starts_a_command() {
    let served = Served::new();
    let mut bait = Bait::new(&served.house);
    for (number, spelling) in bait.spellings().into_iter().enumerate() {
        served.house.run(&["token", "create", &spelling]);
        let name = format!("t{number}");
        let said = served.house.run(&[
            "token",
            "create",
            &name,
            "--servers",
            &format!("{spelling},*"),
            "--tools",
            &spelling,
            "--methods",
            "*",
            "--resources",
            &spelling,
            "--profile",
            &spelling,
        ]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let token = String::from_utf8(said.stdout).unwrap().split_whitespace().last().unwrap().to_owned();
        let web = web_with(&served, &token);
        bait.count(2 + send_all(in_heads(&web, &bait)));
        served.house.run(&["token", "revoke", &spelling]);
    }
}

/// A config file that someone else can write, or that nobody has trusted, changes nothing.
#[test]
fn no_foreign_config_starts_a_command() {
    let served = Served::new();
    let mut bait = Bait::new(&served.house);
    let good = fs::read_to_string(served.house.config()).unwrap();
    let mut bad: Value = serde_json::from_str(&good).unwrap();
    bad["mcpServers"]["bait"] = json!({ "command": bait.path(), "lazy": false, "required": true });
    bad["mcpServers"]["fake"]["command"] = json!(bait.path());
    let path = served.house.config();
    let swap = |text: &str, mode: u32, owner: Option<u32>| {
        let draft = served.house.path("draft.json");
        fs::write(&draft, text).unwrap();
        fs::set_permissions(&draft, Permissions::from_mode(mode)).unwrap();
        chown(&draft, owner, None).unwrap();
        fs::rename(&draft, path).unwrap();
    };
    let is_root = rustix::process::geteuid().is_root();
    let faults: Vec<(u32, Option<u32>)> =
        if is_root { vec![(0o666, None), (0o600, Some(ANOTHER))] } else { vec![(0o666, None)] };
    for (mode, owner) in faults {
        swap(&bad.to_string(), mode, owner);
        let end = served.house.run(&["reload"]);
        assert_ne!(end.code, Some(0), "{}", end.stderr);
        for ask in ["/readyz", "/servers/bait/mcp", FAKE] {
            let _ = served.web.post(ask, hello("2025-11-25", json!({})).to_string()).try_send();
            let _ = served.web.get(ask).try_send();
        }
        served.house.run(&["start", "bait"]);
        served.house.run(&["tools", "--config", path.to_str().unwrap()]);
        bait.count(9);
        assert!(served.open().call("echo", json!({})).get("result").is_some(), "the good one is in use");
    }
    swap(&good, 0o600, is_root.then_some(0));
    // A project's file in the folder of a window.
    let project = served.house.path("project");
    fs::create_dir_all(&project).unwrap();
    fs::write(
        project.join("switchboard.json"),
        json!({ "mcpServers": { "bait": { "command": bait.path(), "lazy": false } } }).to_string(),
    )
    .unwrap();
    for words in [
        &["stdio"][..],
        &["tools"],
        &["daemon"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["check"],
        &["call", "bait__x"],
    ] {
        let mut client = served.house.program("project").args(words).start();
        client.ask("initialize", initialize_params());
        client.finish();
        bait.count(1);
    }
    patience::until_true("nothing but the server runs", || served.house.servers().len() <= 1);
    bait.check();
}
