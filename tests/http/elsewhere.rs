//! Clients on other machines: folders that they name are not ours. A connection to this machine's own network
//! address looks like one from another machine.

use super::served::{FAKE, Served, refused, token};
use crate::daemon::house::House;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use switchboard_testkit::http::{Talk, Web, hello};
use switchboard_testkit::patience;
use switchboard_testkit::scratch::Scratch;

/// This machine's network address, if it has one. Sends nothing.
fn outside() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("203.0.113.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback())
}

/// A program that also listens on the network address, and the client for that address.
fn serve(file: Value, server: Value) -> Option<(Served, Web)> {
    let Some(address) = outside() else {
        #[expect(clippy::print_stderr, reason = "what was not tried is not to pass for tried")]
        {
            eprintln!("not tried: this machine is on no net");
        }
        return None;
    };
    let free = TcpListener::bind(SocketAddr::new(address, 0)).unwrap().local_addr().unwrap();
    let served = Served::start(House::with(file, server, &[]), &["--listen", &free.to_string()]);
    let there = Web::at(free).with("Authorization", &format!("Bearer {}", token(&served.house)));
    Some((served, there))
}

fn at(web: &Web, root: &Path) -> Web {
    web.with("Switchboard-Root", &root.display().to_string())
}

fn folder_of(web: &Web) -> Value {
    Talk::open(web, FAKE).call("facts", json!({}))["result"]["cwd"].clone()
}

#[test]
fn remote_client_names_only_mapped_roots() {
    let scratch = Scratch::new();
    let [shop, other] = ["shop", "other"].map(|name| scratch.folder(name));
    let file = json!({ "serve": { "rootMap": { "shop": shop } } });
    let Some((served, there)) = serve(file, json!({})) else { return };
    assert_eq!(folder_of(&there.with("Switchboard-Root", "shop")), json!(shop));
    // A local client may name a path as well as a mapped name.
    assert_eq!(folder_of(&at(&served.web, &other)), json!(other));
    assert_eq!(folder_of(&served.web.with("Switchboard-Root", "shop")), json!(shop));
    for root in [&*other, &*shop, Path::new("/no/such/folder"), Path::new("/")] {
        let said = refused(at(&there, root).post(FAKE, hello("2025-11-25", json!({})).to_string()), 403);
        // The error does not reveal whether the folder exists.
        assert!(said.contains("serve.rootMap") && !said.contains("not a folder"), "{said}");
    }
    assert_eq!(served.record().launches(), 2, "nothing was started for who was refused");
}

/// Plain HTTP on a public address causes a warning on stderr and in the log.
#[test]
fn public_address_without_tls_warns() {
    const WARNING: &str = "without TLS";
    let Some((served, there)) = serve(json!({}), json!({})) else { return };
    let address = format!(":{}", there.port());
    let is_said = |text: &str| {
        text.lines().any(|line| line.contains("WARN") && line.contains(WARNING) && line.contains(&address))
    };
    patience::until_true("a warning", || is_said(&served.program.stderr_so_far()));
    let logged = |path: &Path| is_said(&std::fs::read_to_string(path).unwrap_or_default());
    let logs = served.house.state("logs");
    patience::until_true("the same in the log", || {
        std::fs::read_dir(&logs).unwrap().flatten().any(|file| logged(&file.path()))
    });
    // No warning about the loopback address.
    let local = format!("127.0.0.1:{}", served.web.port());
    let said = served.program.stderr_so_far();
    assert!(!said.lines().any(|line| line.contains(WARNING) && line.contains(&local)), "{said}");
}

/// Another machine's file system: `/srv` there is not `/srv` here.
#[test]
fn roots_of_remote_client_are_ignored() {
    let scratch = Scratch::new();
    let [folder, usual] = ["mine", "usual"].map(|name| scratch.folder(name));
    let Some((served, there)) = serve(json!({ "defaultRoot": usual }), json!({ "cwd": "${root}" })) else {
        return;
    };
    let capabilities = json!({ "roots": { "listChanged": true } });
    let talk = Talk::open_as(&there, FAKE, "2025-11-25", capabilities);
    let facts = talk.call("facts", json!({ "path": folder, "uri": format!("file://{}", folder.display()) }));
    assert_eq!(facts["result"]["cwd"], json!(usual), "{facts}");
    let lines = served.record().all_lines();
    assert!(!lines.iter().any(|line| line.contains("roots/list")), "{lines:?}");
}

/// Paths in arguments of its calls are ignored too.
#[test]
fn paths_of_remote_client_are_ignored() {
    let scratch = Scratch::new();
    let [folder, usual] = ["mine", "usual"].map(|name| scratch.folder(name));
    std::fs::create_dir(folder.join(".git")).unwrap();
    let server = json!({ "cwd": "${root}", "rootArguments": ["path"] });
    let Some((served, there)) = serve(json!({ "defaultRoot": usual }), server) else { return };
    let cwd = |web: &Web| {
        let talk = Talk::open(web, FAKE);
        talk.call("facts", json!({ "path": folder }))["result"]["cwd"].clone()
    };
    assert_eq!(cwd(&served.web), json!(folder), "here they do");
    assert_eq!(cwd(&there), json!(usual));
}

/// Behind a local proxy every client seems to be local.
#[test]
fn clients_behind_a_proxy_are_remote() {
    let scratch = Scratch::new();
    let [shop, other] = ["shop", "other"].map(|name| scratch.folder(name));
    let file = json!({ "serve": { "rootMap": { "shop": shop }, "allowedHosts": ["mcp.example.com"] } });
    let served = Served::start(House::with(file, json!({}), &[]), &[]);
    for (header, value) in [("Host", "mcp.example.com"), ("X-Forwarded-For", "203.0.113.9")] {
        let proxied = served.web.with(header, value);
        assert_eq!(folder_of(&proxied.with("Switchboard-Root", "shop")), json!(shop), "{header}");
        let hello = hello("2025-11-25", json!({})).to_string();
        refused(at(&proxied, &other).post(FAKE, hello), 403);
    }
    assert_eq!(folder_of(&at(&served.web, &other)), json!(other));
}
