//! Clients with different environments share a server, and none gets less than it would alone.

use super::house::{House, server_of};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids;

type Pairs = &'static [(&'static str, &'static str)];

/// Variables that each program gives its servers, besides HOME and PATH.
const CODEX: Pairs = &[("LANG", "C.UTF-8"), ("SHELL", "/bin/bash"), ("TERM", "xterm")];
const CLAUDE: Pairs = &[
    ("SSH_AUTH_SOCK", "/tmp/agent"),
    ("XDG_CONFIG_HOME", "/tmp/config"),
    ("CLAUDECODE", "1"),
    ("LANG", "de_DE.UTF-8"),
];
const GEMINI: Pairs =
    &[("SSH_AUTH_SOCK", "/tmp/agent"), ("DISPLAY", ":0"), ("GEMINI_CLI", "1"), ("LANG", "fr_FR.UTF-8")];
const TERMINAL: Pairs = &[
    ("SSH_AUTH_SOCK", "/tmp/agent"),
    ("XDG_CONFIG_HOME", "/tmp/config"),
    ("TZ", "UTC"),
    ("TERM", "xterm-256color"),
    ("COLORTERM", "truecolor"),
    ("TERM_PROGRAM", "tmux"),
    ("XDG_SESSION_ID", "7"),
    ("TMPDIR", "/tmp"),
];

/// Variables that describe a client and must not reach a shared server.
const OF_CLIENTS: &[&str] =
    &["CLAUDECODE", "CLAUDE_PROJECT_DIR", "GEMINI_CLI", "TERM", "COLORTERM", "TERM_PROGRAM"];
/// Variables that vary between sessions and do not separate clients.
const OF_SESSIONS: &[&str] = &["LANG", "SHELL", "XDG_SESSION_ID", "TMPDIR"];

fn with(start: Start, pairs: Pairs) -> Start {
    pairs.iter().fold(start, |start, (name, value)| start.env(name, value))
}

#[track_caller]
fn open(house: &House, pairs: Pairs) -> Client {
    let mut client = with(house.window("a"), pairs).env("CLAUDE_PROJECT_DIR", house.path("a")).start();
    client.initialize();
    client
}

fn variables_of(client: &mut Client) -> Value {
    client.call("facts", json!({}))["result"]["env"].clone()
}

fn permutations<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let first = |at: usize| {
        let mut rest = items.to_vec();
        let item = rest.remove(at);
        permutations(&rest).into_iter().map(move |mut order| {
            order.insert(0, item.clone());
            order
        })
    };
    (0..items.len()).flat_map(first).collect()
}

#[test]
fn any_arrival_order_ends_in_one_process() {
    for order in permutations(&[CODEX, CLAUDE, GEMINI, TERMINAL]) {
        let house = House::new();
        let mut windows: Vec<(Client, Pairs)> = Vec::new();
        for pairs in &order {
            let mut client = open(&house, pairs);
            let env = variables_of(&mut client);
            windows.push((client, pairs));
            // Earlier clients get at least the variables that they would get alone, with each request.
            for (client, pairs) in &mut windows {
                let env = variables_of(client);
                let counts = |name: &&str| !OF_CLIENTS.contains(name) && !OF_SESSIONS.contains(name);
                for (name, value) in pairs.iter().filter(|(name, _)| counts(name)) {
                    assert_eq!(env[*name], *value, "{name}: {env:#}");
                }
            }
            assert!(OF_CLIENTS.iter().all(|name| env.get(*name).is_none()), "{env:#}");
        }
        let servers: Vec<u32> = windows.iter_mut().map(|(client, _)| server_of(client)).collect();
        assert!(servers.iter().all(|server| *server == servers[0]), "{order:?}: {servers:?}");
        patience::until_true("the processes that were replaced are gone", || house.servers().len() == 1);
        assert!(house.record().launches() as usize <= order.len(), "{order:?}");
    }
}

#[test]
fn open_calls_finish_in_their_process() {
    let house = House::new();
    let mut codex = open(&house, CODEX);
    let old = server_of(&mut codex);
    let open_call = codex.start_call("work", json!({ "steps": 1, "ms": 1500 }));
    house.record().wait_for(1, "work");
    let mut claude = open(&house, CLAUDE);
    let new = server_of(&mut claude);
    assert_ne!(old, new);
    assert_eq!(server_of(&mut codex), new, "the next request goes to the new process");
    assert!(codex.answer(open_call)["result"].is_object());
    patience::until_true("the old process is gone", || !pids::is_alive(old));
}

#[test]
fn status_names_differing_variables() {
    let house = House::new();
    let mut one = open(&house, &[("DISPLAY", ":0")]);
    let mut other = open(&house, &[("DISPLAY", ":1"), ("TZ", "UTC")]);
    assert_ne!(server_of(&mut one), server_of(&mut other));
    let status = house.status();
    let instances = status["daemons"][0]["servers"][0]["instances"].as_array().unwrap();
    let why: Vec<_> = instances.iter().filter_map(|instance| instance["apart"].as_str()).collect();
    assert_eq!(why, ["its clients have different variables: DISPLAY"; 2], "{status:#}");
    assert!(
        house.say(&["status"]).contains("its clients have different variables: DISPLAY"),
        "{}",
        house.say(&["status"])
    );
}

#[test]
fn path_matters_only_to_find_the_command() {
    // The server's command is an absolute path, so PATH makes no difference.
    let house = House::new();
    let path = format!("/nowhere/at/all:{}", std::env::var("PATH").unwrap());
    let mut one = house.open("a");
    let mut other = house.window("a").env("PATH", &path).start();
    other.initialize();
    assert_eq!(server_of(&mut one), server_of(&mut other));
}
