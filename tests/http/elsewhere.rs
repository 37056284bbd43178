//! Clients on other machines: their folders are none of ours. Somebody who comes to this machine's own address on the net
//! comes from there, and looks like another machine.

use super::served::{FAKE, Served, refused, token};
use crate::daemon::house::House;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use switchboard_testkit::http::{Talk, Web, hello};
use switchboard_testkit::patience;
use switchboard_testkit::scratch::Scratch;

/// This machine's address on the net, if it is on one. Nothing is sent.
fn outside() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("203.0.113.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback())
}

/// One that listens there too; and the way there.
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
fn it_names_only_what_the_config_gives_it_a_name_for() {
    let scratch = Scratch::new();
    let [shop, other] = ["shop", "other"].map(|name| scratch.folder(name));
    let file = json!({ "serve": { "rootMap": { "shop": shop } } });
    let Some((served, there)) = serve(file, json!({})) else { return };
    assert_eq!(folder_of(&there.with("Switchboard-Root", "shop")), json!(shop));
    // Here it is a path, and the name too.
    assert_eq!(folder_of(&at(&served.web, &other)), json!(other));
    assert_eq!(folder_of(&served.web.with("Switchboard-Root", "shop")), json!(shop));
    for root in [&*other, &*shop, Path::new("/no/such/folder"), Path::new("/")] {
        let said = refused(at(&there, root).post(FAKE, hello("2025-11-25", json!({})).to_string()), 403);
        // Whether there is such a folder is not told.
        assert!(said.contains("serve.rootMap") && !said.contains("no folder"), "{said}");
    }
    assert_eq!(served.record().launches(), 2, "nothing was started for who was refused");
}

/// Where others could read along, that is said: to whoever starts it, and in the log.
#[test]
fn a_public_address_without_tls_is_warned_about() {
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
    // None about the address of this machine.
    let local = format!("127.0.0.1:{}", served.web.port());
    let said = served.program.stderr_so_far();
    assert!(!said.lines().any(|line| line.contains(WARNING) && line.contains(&local)), "{said}");
}

/// A file system of another machine: `/srv` there is not `/srv` here.
#[test]
fn its_own_roots_are_not_asked_for_and_not_used() {
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

/// Nor do the places that its calls name lead anywhere.
#[test]
fn arguments_that_name_places_do_not_choose_an_instance() {
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

/// Behind a proxy of this machine everybody comes from here.
#[test]
fn clients_behind_a_proxy_are_elsewhere() {
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
