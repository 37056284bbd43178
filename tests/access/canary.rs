//! A token that is used in every possible way shows up nowhere: not in a server's environment, arguments or input, not in
//! our own arguments, not in a log at trace level with or without bodies, not in a panic, not in a status, and in no file.

use super::audit::records;
use super::token::{Place, create, showing, with_variable};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::http::{Talk, call, hello};
use switchboard_testkit::patience;
use switchboard_testkit::tree;

/// Files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let below = |path: PathBuf| if path.is_dir() && !path.is_symlink() { files(&path) } else { vec![path] };
    paths.flat_map(below).collect()
}

/// The secret part of the token, in the forms in which it could be written.
fn forms(token: &str) -> Vec<String> {
    let secret = token.strip_prefix("swb_").unwrap();
    // A part is enough to recognise it, and too long to be there by chance.
    vec![secret[..24].to_owned(), secret[40..].to_owned(), escaped(&secret[..24])]
}

/// As JSON may spell it too.
fn escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", c as u32)).collect()
}

/// Searches all files of a house; returns those with one of these texts.
fn with_any(house: &House, texts: &[String]) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let content = fs::read(path).unwrap_or_default();
        texts.iter().any(|text| content.windows(text.len()).any(|window| window == text.as_bytes()))
    };
    files(&house.path("")).into_iter().filter(holds).collect()
}

/// What all processes of a house show: their arguments, and the environment of all but windows, which were given it.
fn check_processes(house: &House, texts: &[String]) {
    let ours = house.processes();
    assert!(ours.len() >= 3, "a daemon, its warden and a server: {ours:?}");
    for process in ours.iter().flat_map(|process| tree::family(&[process.pid])) {
        let read = |name: &str| fs::read(format!("/proc/{}/{name}", process.pid)).unwrap_or_default();
        let is_window = read("cmdline").split(|byte| *byte == 0).nth(1) == Some(b"stdio");
        for name in ["cmdline", "environ"] {
            let shown = String::from_utf8_lossy(&read(name)).into_owned();
            let may = is_window && name == "environ";
            assert!(may || !texts.iter().any(|text| shown.contains(text)), "{name} of {process:?}: {shown}");
        }
    }
}

/// Sends the token in every member, in plain and in unusual spellings, in requests, notifications, batches and broken frames.
fn use_in_messages(client: &mut Client, token: &str, tool: &str) {
    for place in Place::BOTH {
        let mut params = json!({ "name": tool, "arguments": { "a": 1 } });
        place.put(&mut params, token);
        client.request("tools/call", params.clone());
        client.notify("notifications/other", params.clone());
        client.request("resources/subscribe", {
            params["uri"] = json!("memo://x");
            params.clone()
        });
        client.send(
            json!([{ "jsonrpc": "2.0", "id": "batch", "method": "ping", "params": params }]).to_string(),
        );
        client.recv_where("the batch", |answer| answer[0]["id"] == "batch");
    }
    // The keys and the token itself in escapes, which no redaction by pattern would find.
    let (key, text) = (escaped("authToken"), escaped(token));
    client.send(format!(
        r#"{{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{{"name":"{tool}","{}":{{"{key}":"{text}"}}}}}}"#,
        escaped("proxy")
    ));
    assert!(client.answer("odd").get("result").is_some());
    let facts = client.call(&tool.replace("echo", "facts"), json!({}));
    assert!(facts["result"]["argv"].is_array(), "{facts}");
}

/// Windows of one server and of all, with and without the daemon, whose token comes in each way.
fn use_over_stdio(house: &House, token: &str, texts: &[String]) {
    let all = || house.program("home").args(["stdio", "--config"]).arg(house.config());
    let loud = |start: Start, name: &str| {
        let start = start.args(["--log-level", "trace", "--log-bodies", "--log-file"]);
        start.arg(house.path(name))
    };
    let starts: [(&str, Start); 5] = [
        ("echo", house.window("home")),
        ("fake__echo", all()),
        ("echo", loud(house.window("home"), "window.log")),
        ("echo", loud(house.window("home").arg("--solo"), "solo.log")),
        ("fake__echo", all().arg("--solo")),
    ];
    for (number, (tool, start)) in starts.into_iter().enumerate() {
        let mut client = if number % 2 == 0 {
            let mut client = with_variable(start, token);
            client.request("initialize", initialize_params());
            client
        } else {
            let mut client = start.start();
            assert!(client.request("initialize", showing(Place::Meta, token)).get("result").is_some());
            client
        };
        client.notify("notifications/initialized", json!({}));
        use_in_messages(&mut client, token, tool);
        check_processes(house, texts);
        let said = client.stderr_so_far();
        assert!(!texts.iter().any(|text| said.contains(text)), "{said}");
        let end = client.finish();
        assert!(!texts.iter().any(|text| end.stderr.contains(text)), "{}", end.stderr);
    }
}

/// Every path, with the token in the header and in the body.
fn use_over_http(served: &Served, token: &str, texts: &[String]) {
    let web = super::token::web_with(served, token);
    for (path, tool) in [(FAKE, "echo"), ("/mcp", "fake__echo"), ("/profiles/p/mcp", "fake__echo")] {
        let talk = Talk::open(&web, path);
        assert!(talk.call(tool, json!({})).get("result").is_some(), "{path}");
        for place in Place::BOTH {
            let mut message = call(70, tool, json!({}));
            place.put(&mut message["params"], token);
            assert_eq!(talk.say(&message).send().status, 200);
            let mut knock = hello("2025-11-25", json!({}));
            place.put(&mut knock["params"], token);
            assert_eq!(
                web.without("Authorization").post(path, knock.to_string()).send().status,
                200,
                "{path}"
            );
        }
    }
    let mut stream = web.get("/sse").send();
    let to = stream.event().unwrap().data;
    assert_eq!(web.post(&to, hello("2024-11-05", json!({})).to_string()).send().status, 202);
    assert!(stream.message().is_some());
    // Places where a token does not belong, and refusals that must not repeat it.
    let other = web.with("Authorization", "Bearer swb_wrong");
    for ask in [
        other.post(&format!("{FAKE}?token={token}"), hello("2025-11-25", json!({})).to_string()),
        other.get("/readyz").header("Cookie", &format!("token={token}")),
        web.get(&format!("/servers/{token}/mcp")).header("Mcp-Session-Id", token),
    ] {
        assert!((400..500).contains(&ask.send().status));
    }
    check_processes(&served.house, texts);
}

fn config(log: Value) -> Value {
    json!({
        "log": log,
        "serve": { "tokenInBody": true },
        // Everything that can be recorded is: arguments, too, in which a client may repeat its token.
        "audit": { "clients": "all", "arguments": true },
        "profiles": { "p": ["fake"] },
        // Servers that outlive their clients for long enough to be looked at.
        "linger": "2s",
    })
}

#[test]
fn token_shows_up_nowhere() {
    for bodies in [false, true] {
        let server = json!({ "inheritEnv": "all", "passEnv": ["SWITCHBOARD_*"] });
        let house = House::with(config(json!({ "level": "trace", "bodies": bodies })), server, &[]);
        let token = create(&house, &["canary"]);
        let texts = forms(&token);
        use_over_stdio(&house, &token, &texts);
        patience::until_true("the windows' daemon has ended", || house.daemons().is_empty());
        let mut served = Served::start(house, &[]);
        use_over_http(&served, &token, &texts);
        use_over_stdio(&served.house, &token, &texts);
        for words in [
            &["status"][..],
            &["status", "--json"],
            &["token", "list"],
            &["token", "list", "--json"],
            &["logs"],
            &["logs", "--audit"],
            &["logs", "--audit", "--json"],
        ] {
            let said = served.house.say(words);
            assert!(!texts.iter().any(|text| said.contains(text)), "{words:?}: {said}");
        }
        // Everything that waits to be written is written at the end.
        served.program.signal(switchboard_testkit::pids::Word::Terminate);
        let end = served.program.wait_for_end();
        assert!(!texts.iter().any(|text| end.stderr.contains(text)), "{}", end.stderr);
        assert_eq!(with_any(&served.house, &texts), Vec::<PathBuf>::new(), "bodies: {bodies}");
        // The search finds what is there: names are logged, and bodies if asked for.
        let folder = served.house.state("logs");
        let logs = |text: &str| {
            with_any(&served.house, &[text.to_owned()]).iter().any(|path| path.starts_with(&folder))
        };
        assert!(logs("identity=\"canary\""), "the name of the identity is logged");
        assert!(logs("\"identity\":\"canary\""), "and recorded");
        assert!(logs("\"result\":\"unauthorized\""), "as are refusals");
        assert_eq!(logs("\\\"arguments\\\""), bodies);
    }
}

/// A token where none belongs: it reaches the server as the client wrote it, and still no record and no log.
#[test]
fn misplaced_token_is_masked() {
    for bodies in [false, true] {
        let house = House::with(config(json!({ "level": "trace", "bodies": bodies })), json!({}), &[]);
        let token = create(&house, &["canary"]);
        let texts = forms(&token);
        let mut served = Served::start(house, &[]);
        let web = served.web.with("Authorization", &format!("Bearer {token}"));
        let mut greeting = hello("2025-11-25", json!({}));
        greeting["params"]["clientInfo"] = json!({ "name": token, "version": format!("of {token}") });
        let session =
            web.post(FAKE, greeting.to_string()).send().header("mcp-session-id").unwrap().to_owned();
        let talk = Talk::of(&web, FAKE, &session);
        for (method, params) in [
            ("tools/call", json!({ "name": token, "arguments": {} })),
            ("tools/call", json!({ "name": "echo", "arguments": { "a": token, token.clone(): [1] } })),
            ("resources/read", json!({ "uri": format!("memo://{token}/x") })),
            ("prompts/get", json!({ "name": token, "arguments": { "text": format!("use {token}.") } })),
            ("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": token } })),
            (&*format!("odd/{token}"), json!({})),
        ] {
            talk.request(method, params);
        }
        // Refused by its rights, which name what was asked for.
        let narrow = create(&served.house, &["narrow", "--tools", "echo", "--methods", "tools/*"]);
        let mut window = with_variable(served.house.window("home"), &narrow);
        let greeting = window.request("initialize", initialize_params());
        assert!(greeting.get("result").is_some(), "{greeting}");
        for (method, params) in [
            ("tools/call", json!({ "name": token })),
            (&*format!("odd/{token}"), json!({})),
            ("prompts/get", json!({ "name": token })),
        ] {
            assert!(window.request(method, params).get("error").is_some(), "{method}");
        }
        assert_eq!(window.finish().code, Some(0));
        // Written by a thread of their own: four calls of the first client, three refusals of the second.
        records(&served.house, 7);
        for words in
            [&["logs", "--audit"][..], &["logs", "--audit", "--json"], &["status", "--json"], &["logs"]]
        {
            let said = served.house.say(words);
            assert!(!texts.iter().any(|text| said.contains(text)), "{words:?}: {said}");
        }
        served.program.signal(switchboard_testkit::pids::Word::Terminate);
        let end = served.program.wait_for_end();
        assert!(!texts.iter().any(|text| end.stderr.contains(text)), "{}", end.stderr);
        let record = served.house.path("record");
        let found = with_any(&served.house, &texts);
        let (own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| path.starts_with(&record));
        assert_eq!(others, Vec::<PathBuf>::new(), "bodies: {bodies}");
        assert!(!own.is_empty(), "the server got it, and the search finds it");
    }
}

/// The message of a panic, and the backtrace after it, go to the daemon's stderr.
#[test]
fn panic_does_not_show_the_token() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let house = House::with(config(json!({})), json!({}), &[]);
    let token = create(&house, &["canary"]);
    let file = house.path("panic");
    let window = house.window("home").env("RUST_BACKTRACE", "full");
    let window = window.env("SWITCHBOARD_PANIC_IN", format!("watching@{}", file.display()));
    let mut client = with_variable(window, &token);
    client.initialize();
    use_in_messages(&mut client, &token, "echo");
    let daemon = house.daemon();
    fs::write(&file, "").unwrap();
    patience::until_true("the daemon has ended", || !daemon.is_alive());
    fs::remove_file(&file).unwrap();
    patience::until_true("served again", || client.call("echo", json!({})).get("result").is_some());
    let said = fs::read_to_string(house.state("logs/daemon.stderr.log")).unwrap();
    assert!(said.contains("panicked") && said.contains("`watching`"), "{said}");
    client.finish();
    patience::until_true("all have ended", || house.daemons().is_empty());
    assert_eq!(with_any(&house, &forms(&token)), Vec::<PathBuf>::new());
}
