//! Tool pinning: a changed tool is reported, or held back from every client on every route until its owner approves
//! it. Re-ordered keys are no change.

use super::definitions::{CHANGES, DEFINITION, REORDERINGS, edited};
use crate::aggregate::servers::{Servers, greet_with, say, tools};
use crate::isolation::routes::{Make, Route, SERVER, Site, on_every_route, servers};
use crate::support::error;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use switchboard_testkit::client::{Client, End};
use switchboard_testkit::patience;

const LIST_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const HINT: &str = "`switchboard approve tools s` shows what has changed, and approves it";

const OFFER: &str = r#"{ "tools": [{ "name": "say" }, { "name": "read", "description": "Read a file" }] }"#;
const CHANGED: &str =
    r#"{ "tools": [{ "name": "say" }, { "name": "read", "description": "Read and send a file" }] }"#;

/// One server named `s`.
fn server(pinning: &str, offer: &str) -> Servers {
    Servers::none().and_offer(SERVER, json!({ "pinning": pinning }), offer)
}

/// The server's entry in `status --json`; null without a daemon.
fn status(servers: &Servers) -> Value {
    let status: Value = serde_json::from_str(&servers.say(&["status", "--json"])).unwrap();
    status["daemons"][0]["servers"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|it| it["name"] == SERVER)
        .cloned()
        .unwrap_or_default()
}

fn run(servers: &Servers, args: &[&str]) -> End {
    let config = servers.config().display().to_string();
    servers.program().args(["approve", "tools"]).args(args).args(["--config", &config]).start().finish()
}

/// Output of `switchboard approve tools`.
#[track_caller]
fn approve(servers: &Servers, args: &[&str]) -> String {
    let end = run(servers, args);
    assert_eq!(end.code, Some(0), "{args:?}: {}", end.stderr);
    String::from_utf8(end.stdout).unwrap()
}

/// The file with the server's pins.
fn pins_file(servers: &Servers) -> PathBuf {
    let files = fs::read_dir(servers.state("pins")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Waits for a line of the log.
fn logged(servers: &Servers, text: &str) {
    patience::until_true(text, || servers.log().contains(text));
}

/// Waits until no process is left.
fn end(servers: &Servers, client: Client) {
    drop(client);
    patience::until_true("everything has ended", || servers.processes().is_empty());
}

/// The offer with one tool for each row of both tables, and their edits if `is_edited`.
fn table(is_edited: bool) -> String {
    let rows = CHANGES.iter().enumerate().map(|(at, row)| (format!("change_{at:02}"), row));
    let harmless = REORDERINGS.iter().enumerate().map(|(at, row)| (format!("order_{at:02}"), row));
    let tools = rows.chain(harmless).map(|(name, (_, edits))| match is_edited {
        true => edited(&name, edits),
        false => DEFINITION.replace("NAME", &name),
    });
    format!(r#"{{ "tools": [{}, {{ "name": "say" }}] }}"#, tools.collect::<Vec<_>>().join(",\n"))
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{prefix}_{at:02}")).collect()
}

#[test]
fn changes_are_reported() {
    let servers = server("warn", &table(false));
    let mut client = servers.open_shared();
    let all = tools(&mut client);
    assert_eq!(status(&servers)["changedTools"], json!([]));
    servers.offers(SERVER, &table(true));
    say(&mut client, "s__say", &[LIST_CHANGED]);
    client.told("notifications/tools/list_changed");
    assert_eq!(tools(&mut client), all, "reported, not hidden");
    let status = status(&servers);
    assert_eq!(status["changedTools"], json!(names("change", CHANGES.len())));
    assert_eq!(status["heldTools"], json!([]));
    logged(&servers, "tools have changed since they were approved");
}

#[test]
fn changes_are_held() {
    let servers = server("hold", &table(false));
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client).len(), CHANGES.len() + REORDERINGS.len() + 1);
    servers.offers(SERVER, &table(true));
    say(&mut client, "s__say", &[LIST_CHANGED]);
    client.told("notifications/tools/list_changed");
    let left: Vec<String> =
        names("order", REORDERINGS.len()).iter().map(|name| format!("s__{name}")).collect();
    assert_eq!(tools(&mut client), [left, vec!["s__say".to_owned()]].concat());
    for (name, (what, _)) in names("change", CHANGES.len()).iter().zip(CHANGES) {
        let answer = client.call(&format!("s__{name}"), json!({}));
        assert_eq!(error(&answer, -32603, "forbidden")["data"]["hint"], HINT, "{what}");
    }
    assert_eq!(servers.told(SERVER, r#""name":"change"#), 0);
    assert_eq!(status(&servers)["heldTools"], json!(names("change", CHANGES.len())));
    // Everything as before: nothing is left to approve.
    servers.offers(SERVER, &table(false));
    say(&mut client, "s__say", &[LIST_CHANGED]);
    client.told("notifications/tools/list_changed");
    assert_eq!(tools(&mut client).len(), CHANGES.len() + REORDERINGS.len() + 1);
    assert_eq!(status(&servers)["changedTools"], json!([]));
}

/// A change is one warning, however often and by however many clients it is listed.
#[test]
fn change_is_one_warning() {
    let servers = server("warn", OFFER);
    let mut client = servers.open_shared();
    tools(&mut client);
    servers.offers(SERVER, CHANGED);
    say(&mut client, "s__say", &[LIST_CHANGED]);
    client.told("notifications/tools/list_changed");
    for _ in 0..3 {
        tools(&mut client);
        let mut other = servers.shared().args(["--server", SERVER]).start();
        other.initialize();
        tools(&mut other);
    }
    let shown = servers.say(&["status"]);
    assert!(shown.contains("warning: tools changed since they were approved: read"), "{shown}");
    assert!(shown.contains(HINT), "{shown}");
    // The log is complete when everything has ended.
    end(&servers, client);
    let log = servers.log();
    assert_eq!(log.matches("tools have changed").count(), 1, "{log}");
}

#[test]
fn held_on_every_route() {
    check_held(servers);
}

pub(crate) fn check_held(servers: Make) {
    let offer = |what: &str| {
        format!(
            r#"{{ "capabilities": {{ "tools": {{ "listChanged": true }} }},
                "tools": [{{ "name": "change" }}, {{ "name": "read", "description": "{what}" }}] }}"#
        )
    };
    on_every_route(
        || servers(json!({ "pinning": "hold" }), &offer("Read a file")),
        |site| {
            let mut client = site.open();
            let both = ["change", "read"].map(|name| site.route.tool(name));
            assert_eq!(client.names("tools"), both);
            site.servers.offers(SERVER, &offer("Read and send a file"));
            site.open_gate();
            client.announce(json!({ "list": "tools" }));
            // The process has announced other tools, so the call waits until they were compared.
            let answer = client.call("read", json!({}));
            assert_eq!(error(&answer, -32603, "forbidden")["data"]["hint"], HINT);
            client.told("notifications/tools/list_changed");
            assert_eq!(client.names("tools"), both[..1]);
            // A process of its own may be faster than the store, and show the definition that was approved.
            patience::until_true("other windows do not see it", || {
                let mut other = site.open();
                let listed = other.request("tools/list", json!({})).to_string();
                assert!(!listed.contains("Read and send a file"), "{listed}");
                other.names("tools") == both[..1]
            });
            let odd = client.request("tools/odd", json!({ "name": site.route.tool("read") }));
            assert!(odd.get("error").is_some(), "{odd}");
            let near = client.call("reed", json!({}));
            assert!(!near.to_string().contains("`read`"), "{near}");
            assert_eq!(site.told(r#""name":"read""#), 0);
            check_approved(site, &both);
        },
    );
}

/// Connected clients see an approved tool at once. A window without a daemon sees it at its next start.
#[track_caller]
fn check_approved(site: &Site, tools: &[String]) {
    let mut client = site.open();
    client.names("tools");
    assert!(approve(&site.servers, &[SERVER]).ends_with("s: 1 tool approved\n"));
    let mut client = match site.route {
        Route::SoloOne | Route::SoloAll => site.open(),
        Route::WindowOne | Route::WindowAll | Route::HttpOne | Route::HttpAll | Route::HttpProfile => {
            client.told("notifications/tools/list_changed");
            client
        }
    };
    assert_eq!(client.names("tools"), tools);
    let answer = client.call("read", json!({}));
    assert_eq!(site.told(r#""name":"read""#), 1, "{answer}");
}

/// The first call to a new process waits for the comparison, also if stored lists would allow it.
#[test]
fn restart_checks_before_the_first_call() {
    let servers = server("hold", OFFER);
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client), ["s__say", "s__read"]);
    end(&servers, client);
    servers.offers(SERVER, CHANGED);
    let mut client = servers.open_shared();
    error(&client.call("s__read", json!({})), -32603, "forbidden");
    end(&servers, client);
    // The next run knows it from the start.
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client), ["s__say"]);
    end(&servers, client);
    approve(&servers, &[SERVER]);
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client), ["s__say", "s__read"]);
    assert_eq!(servers.told(SERVER, r#""name":"read""#), 0);
    client.call("s__read", json!({}));
    assert_eq!(servers.told(SERVER, r#""name":"read""#), 1);
}

/// A tool that goes and comes back, or that is new, is no change. Another launch has pins of its own.
#[test]
fn harmless_changes_are_not_reported() {
    let mut servers = server("hold", OFFER);
    let mut client = servers.open_shared();
    tools(&mut client);
    for names in [&["say"][..], &["say", "read"], &["say", "read", "new"]] {
        let tool = |name: &&str| match *name {
            "read" => r#"{"description":"Read a file","name":"read"}"#.to_owned(),
            name => format!(r#"{{"name":"{name}"}}"#),
        };
        let offer = names.iter().map(tool).collect::<Vec<_>>().join(",");
        servers.offers(SERVER, &format!(r#"{{"tools":[{offer}]}}"#));
        say(&mut client, "s__say", &[LIST_CHANGED]);
        client.told("notifications/tools/list_changed");
        assert_eq!(tools(&mut client).len(), names.len());
    }
    assert_eq!(status(&servers)["changedTools"], json!([]));
    end(&servers, client);
    servers.offers(SERVER, CHANGED);
    servers.edit(SERVER, &json!({ "env": { "OTHER": "launch" } }));
    let mut client = servers.open_shared();
    patience::until_true("its tools are listed", || tools(&mut client) == ["s__say", "s__read"]);
    assert_eq!(status(&servers)["changedTools"], json!([]));
}

/// A client with other capabilities may be shown other definitions.
#[test]
fn capabilities_have_their_own_definitions() {
    let keys = json!({ "pinning": "hold", "capabilities": "exact" });
    let servers = Servers::none().and_offer(SERVER, keys, OFFER);
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client), ["s__say", "s__read"]);
    servers.offers(SERVER, CHANGED);
    let mut other = greet_with(servers.shared(), json!({ "sampling": {} }));
    assert_eq!(tools(&mut other), ["s__say", "s__read"]);
    logged(&servers, "tools are defined otherwise for clients with other capabilities");
    // Both are approved from now on, for all.
    say(&mut client, "s__say", &[LIST_CHANGED]);
    client.told("notifications/tools/list_changed");
    assert_eq!(tools(&mut client), ["s__say", "s__read"]);
    assert_eq!(status(&servers)["changedTools"], json!([]));
    // A third definition is neither.
    servers.offers(SERVER, &CHANGED.replace("send", "delete"));
    say(&mut other, "s__say", &[LIST_CHANGED]);
    other.told("notifications/tools/list_changed");
    assert_eq!((tools(&mut other), tools(&mut client)), (vec!["s__say".into()], vec!["s__say".into()]));
}

#[test]
fn approve_shows_the_difference() {
    let servers = server("hold", OFFER);
    let nothing = "s: no tool has changed; there is nothing to approve\n";
    assert_eq!(approve(&servers, &[SERVER]), nothing);
    let mut client = servers.open_shared();
    tools(&mut client);
    assert_eq!(approve(&servers, &[SERVER]), nothing);
    servers.offers(SERVER, CHANGED);
    say(&mut client, "s__say", &[LIST_CHANGED]);
    client.told("notifications/tools/list_changed");
    let shown = approve(&servers, &[SERVER, "--list"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("read (approved 20") && lines[0].contains(", changed 20"), "{shown}");
    assert_eq!(
        lines[1..3],
        [r#"  - description: "Read a file""#, r#"  + description: "Read and send a file""#]
    );
    assert!(shown.contains("s: 1 tool changed\n  hint: `switchboard approve tools s`"), "{shown}");
    let told: Value = serde_json::from_str(&approve(&servers, &[SERVER, "--list", "--json"])).unwrap();
    assert_eq!((&told["server"], &told["isApproved"]), (&json!("s"), &json!(false)));
    let definition = &told["tools"][0]["changed"][0]["definition"];
    assert_eq!(definition, r#"{ "name": "read", "description": "Read and send a file" }"#);
    assert_eq!(told["tools"][0]["approved"]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(tools(&mut client), ["s__say"], "a list approves nothing");
    assert_eq!(approve(&servers, &[SERVER, "say"]), "s: say is as approved\n");
    for (args, expect) in [(&["ss"][..], "did you mean `s`?"), (&[SERVER, "raed"], "did you mean `read`?")] {
        let end = run(&servers, args);
        assert_eq!(end.code, Some(1), "{}", end.stderr);
        assert!(end.stderr.contains(expect), "{}", end.stderr);
    }
    assert!(approve(&servers, &[SERVER, "read"]).ends_with("s: 1 tool approved\n"));
    client.told("notifications/tools/list_changed");
    assert_eq!(tools(&mut client), ["s__say", "s__read"]);
    assert_eq!(approve(&servers, &[SERVER]), nothing);
}

/// Nothing is approved silently if the approvals are lost.
#[test]
fn damaged_pins_hold_everything() {
    let servers = server("hold", OFFER);
    let mut client = servers.open_shared();
    tools(&mut client);
    end(&servers, client);
    fs::write(pins_file(&servers), "{").unwrap();
    let refused = run(&servers, &[SERVER]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("`switchboard tools s` lists them"), "{}", refused.stderr);
    let mut client = servers.open_shared();
    error(&client.call("s__read", json!({})), -32603, "forbidden");
    assert_eq!(tools(&mut client), Vec::<String>::new());
    logged(&servers, "all tools are held back");
    patience::until_true("its tools are known", || status(&servers)["heldTools"] == json!(["read", "say"]));
    assert!(approve(&servers, &[SERVER]).ends_with("s: 2 tools approved\n"));
    client.told("notifications/tools/list_changed");
    assert_eq!(tools(&mut client), ["s__say", "s__read"]);
}

#[test]
fn forget_approves_anew() {
    let servers = server("hold", OFFER);
    let mut client = servers.open_shared();
    tools(&mut client);
    end(&servers, client);
    servers.offers(SERVER, CHANGED);
    servers.say(&["forget", SERVER, "--config", &servers.config().display().to_string()]);
    let mut client = servers.open_shared();
    client.call("s__read", json!({}));
    assert_eq!(tools(&mut client), ["s__say", "s__read"]);
    assert_eq!(servers.told(SERVER, r#""name":"read""#), 1);
}

/// Off for one server, and held by default for all others.
#[test]
fn pinning_has_a_default_for_all() {
    let servers = Servers::none().and_offer("off", json!({ "pinning": "off" }), OFFER).and_offer(
        SERVER,
        json!({}),
        OFFER,
    );
    let servers = servers.with("defaults", json!({ "pinning": "hold" }));
    let mut client = servers.open_shared();
    assert_eq!(tools(&mut client), ["off__say", "off__read", "s__say", "s__read"]);
    for name in ["off", SERVER] {
        servers.offers(name, CHANGED);
        say(&mut client, &format!("{name}__say"), &[LIST_CHANGED]);
        client.told("notifications/tools/list_changed");
    }
    assert_eq!(tools(&mut client), ["off__say", "off__read", "s__say"]);
    assert_eq!(pins_file(&servers).extension().unwrap(), "json");
}
