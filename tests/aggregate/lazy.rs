//! Stored catalogues: the next start needs no server.

use super::servers::{Servers, listed, pid, say, tools, with_tools};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use switchboard_testkit::client::Client;

const OFFER: &str = r#"{
    "tools": [{"name":"facts","q":0.70},{"name":"say"}], "prompts": [{"name":"p"}],
    "resources": [{"uri":"x://1","name":"1"}], "resourceTemplates": [{"uriTemplate":"x://{n}","name":"t"}]
}"#;

fn two() -> Servers {
    Servers::none().and_offer("a", json!({}), OFFER).and_offer("b", json!({}), OFFER)
}

/// All lists that a client reads at its start.
#[track_caller]
fn all(client: &mut Client) -> Vec<String> {
    let lists =
        [("tools", "name"), ("prompts", "name"), ("resources", "uri"), ("resourceTemplates", "uriTemplate")];
    lists.iter().flat_map(|(list, member)| listed(client, list, member)).collect()
}

impl Servers {
    /// Requests every list once; the catalogue is on disk when the program has ended.
    #[track_caller]
    pub(super) fn warmed(self) -> Self {
        let mut client = self.open();
        all(&mut client);
        assert_eq!(client.finish().code, Some(0));
        self
    }
}

#[test]
fn warm_start_starts_no_server() {
    let servers = two();
    let mut client = servers.start().start();
    let greeting = client.initialize();
    let cold = all(&mut client);
    assert_eq!(cold.len(), 10);
    assert_eq!(client.finish().code, Some(0));
    assert_eq!(servers.launches(["a", "b"]), [1, 1]);

    let mut client = servers.start().start();
    assert_eq!(client.initialize(), greeting);
    assert_eq!(all(&mut client), cold);
    client.request("ping", json!({}));
    assert_eq!(servers.launches(["a", "b"]), [1, 1], "nothing was called");
    pid(&mut client, "b__facts");
    assert_eq!(servers.launches(["a", "b"]), [1, 2], "only what is called is started");
    assert_eq!(all(&mut client), cold);
}

/// Works even before `notifications/initialized`.
#[test]
fn prompt_or_resource_starts_its_server() {
    let servers = two().warmed();
    let mut client = servers.open();
    let answer = client.request("prompts/get", json!({ "name": "a__p" }));
    assert!(answer.get("result").is_some(), "{answer}");
    assert_eq!(servers.launches(["a", "b"]), [2, 1]);
    let uri = listed(&mut client, "resources", "uri").pop().unwrap();
    let answer = client.request("resources/read", json!({ "uri": uri }));
    assert!(answer.get("result").is_some(), "{answer}");
    assert_eq!(servers.launches(["a", "b"]), [2, 2]);
}

#[test]
fn eager_server_is_started_at_once() {
    let servers = two().and_offer("c", json!({ "lazy": false }), OFFER).warmed();
    assert_eq!(servers.launches(["a", "b", "c"]), [1, 1, 1]);
    let _client = servers.open();
    servers.record("c").pid(2);
    assert_eq!(servers.launches(["a", "b", "c"]), [1, 1, 2]);
}

/// The change shows when the server is used.
#[test]
fn changed_offer_replaces_stored_catalogue() {
    let servers = two().warmed();
    servers.offers("a", &with_tools(&["say", "new"]));
    let mut client = servers.open();
    assert_eq!(tools(&mut client), ["a__facts", "a__say", "b__facts", "b__say"]);
    say(&mut client, "a__say", &[]);
    client.told("notifications/tools/list_changed");
    assert_eq!(tools(&mut client), ["a__say", "a__new", "b__facts", "b__say"]);
    assert_eq!(client.finish().code, Some(0));
    // The new list is stored too.
    assert_eq!(tools(&mut servers.open()), ["a__say", "a__new", "b__facts", "b__say"]);
    assert_eq!(servers.launches(["a", "b"]), [2, 1]);
}

/// Another command line is another server, with no stored catalogue.
#[test]
fn changed_config_entry_is_listed_anew() {
    let mut servers = two().warmed();
    let path = servers.offers("b", &with_tools(&["other"])).display().to_string();
    servers.put("b", json!({ "env": { "X": "1" } }), &["--offer", &path]);
    let mut client = servers.open();
    assert_eq!(tools(&mut client), ["a__facts", "a__say", "b__other"]);
    assert_eq!(servers.launches(["a", "b"]), [1, 2]);
}

fn files(servers: &Servers) -> Vec<PathBuf> {
    fn below(folder: PathBuf) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.flat_map(|path| if path.is_dir() { below(path) } else { vec![path] }).collect()
    }
    below(servers.state("catalogue"))
}

#[test]
fn garbage_catalogue_files_are_replaced() {
    for garbage in [
        &b""[..],
        b"{",
        b"\xff\xfe\0garbage",
        br#"{"format":1,"welcome":{},"tools":[{]}"#,
        br#"{"format":99}"#,
    ] {
        let servers = two().warmed();
        let kept = files(&servers);
        assert!(!kept.is_empty(), "offers are kept in the state folder");
        kept.iter().for_each(|path| fs::write(path, garbage).unwrap());
        fs::write(servers.state("catalogue/something-else"), garbage).unwrap();
        let mut client = servers.open();
        assert_eq!(all(&mut client).len(), 10);
        assert_eq!(servers.launches(["a", "b"]), [2, 2]);
        assert_eq!(client.finish().code, Some(0));
        // The catalogue has been replaced.
        assert_eq!(all(&mut servers.open()).len(), 10);
        assert_eq!(servers.launches(["a", "b"]), [2, 2]);
    }
}

#[test]
fn truncated_catalogue_is_ignored() {
    let servers = two().warmed();
    for path in files(&servers) {
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    }
    assert_eq!(all(&mut servers.open()).len(), 10);
}

/// Without storage, every start is a cold start.
#[test]
fn unwritable_catalogue_folder_is_tolerated() {
    let servers = two();
    fs::create_dir_all(servers.state("")).unwrap();
    // Root may write to any folder, so a file replaces the folder.
    fs::write(servers.state("catalogue"), "").unwrap();
    for run in 1..=2 {
        let mut client = servers.open();
        assert_eq!(all(&mut client).len(), 10);
        assert_eq!(client.finish().code, Some(0));
        assert_eq!(servers.launches(["a", "b"]), [run, run]);
    }
}

/// A folder replaces each catalogue file.
#[test]
fn folder_in_place_of_file_is_tolerated() {
    let servers = two().warmed();
    for path in files(&servers) {
        fs::remove_file(&path).unwrap();
        fs::create_dir_all(path.join("deeper")).unwrap();
    }
    let mut client = servers.open();
    assert_eq!(all(&mut client).len(), 10);
}
