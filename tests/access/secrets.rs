//! Secrets of the config appear in no log, error, `status`, record, command line or other server's environment,
//! wherever a server repeats them. A server's answers to its client are the client's business, and pass.

use crate::daemon::house::House;
use crate::http::served::Served;
use crate::support::fake_backend;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::patience;
use switchboard_testkit::web::{Web, mcp};

/// Known by its name in the config.
const NAMED: &str = "canary of the named kind";
/// Known by its shape.
const SHAPED: &str = "c4n4ry-0f-th3-sh4p3d-k1nd";
/// From a variable of the window.
const OF_WINDOW: &str = "canary.of~the/window+kind";
/// A variable that the server inherits.
const INHERITED: &str = "canary-of-the-inherited-kind";
/// In the arguments.
const ARGUMENT: &str = "canary-of-the-argument-kind";
/// With characters that are written differently in JSON and in addresses.
const AWKWARD: &str = "canary \"of\" the\\awkward/kind ä&=";
/// A line of a private key.
const KEY_LINE: &str = "Y2FuYXJ5LW9mLXRoZS1rZXktbGluZS1raW5k";
const HEADER: &str = "canary-of-the-header-kind";
const PASSWORD: &str = "canary-of-the-password-kind";
const QUERY: &str = "canary-of-the-query-kind";

const ALL: &[&str] =
    &[NAMED, SHAPED, OF_WINDOW, INHERITED, ARGUMENT, AWKWARD, KEY_LINE, HEADER, PASSWORD, QUERY];

/// Number of those that servers on this machine have.
const LOCAL: usize = 7;

/// All canaries, in the spellings in which programs repeat them.
fn spellings() -> Vec<String> {
    let escaped = |text: &str| json!(text).to_string().trim_matches('"').to_owned();
    let percent = |text: &str| percent_encoding(text);
    let spellings = |text: &&str| {
        // Without the last characters, which depend on what follows.
        let base64 = STANDARD.encode(text);
        [(*text).to_owned(), escaped(text), percent(text), base64[..base64.len() - 4].to_owned()]
    };
    ALL.iter().flat_map(spellings).collect()
}

fn percent_encoding(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[track_caller]
fn check_clean(what: &str, text: &str) {
    for canary in spellings() {
        assert!(!text.contains(&canary), "{canary} in {what}:\n{text}");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Checks every file of the state folder: logs, the audit, stored lists and records.
#[track_caller]
fn check_files(house: &House) -> String {
    let mut all = String::new();
    for path in files(&house.state("")).into_iter().filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        check_clean(&path.display().to_string(), &text);
        all += &text;
    }
    all
}

fn key() -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{KEY_LINE}\n{KEY_LINE}AA==\n-----END PRIVATE KEY-----\n")
}

/// The fake backend with canaries in its entry, and more words for it.
fn entry(words: &[&str]) -> Value {
    let mut args = words.to_vec();
    args.extend(["--", "--token", ARGUMENT, "--db", "postgres://me:${OF_WINDOW}@db/x"]);
    json!({
        "command": fake_backend(),
        "args": args,
        "env": { "API_KEY": NAMED, "X": SHAPED, "Y": "${OF_WINDOW}", "AWKWARD_TOKEN": AWKWARD, "SSH_KEY": key() },
        "passEnv": ["MY_SECRET"],
    })
}

/// A home with these servers, the most talkative log, and the whole audit.
fn house(servers: Value) -> House {
    let house = House::with(
        json!({
            "log": { "level": "trace", "bodies": true },
            "audit": { "clients": "all", "arguments": true },
            "listGrace": "10s",
        }),
        json!({ "disabled": true }),
        &[],
    );
    let mut config: Value = serde_json::from_str(&fs::read_to_string(house.config()).unwrap()).unwrap();
    config["mcpServers"].as_object_mut().unwrap().extend(servers.as_object().unwrap().clone());
    fs::write(house.config(), config.to_string()).unwrap();
    house
}

/// A program with the window's variables.
fn program(house: &House) -> Start {
    house.program("home").env("OF_WINDOW", OF_WINDOW).env("MY_SECRET", INHERITED)
}

#[track_caller]
fn window(house: &House) -> Client {
    let mut window = program(house).args(["stdio", "--config"]).arg(house.config()).start();
    let hello = window.initialize();
    check_clean("the handshake", &hello.to_string());
    window
}

/// Output and errors of a command, without canaries.
#[track_caller]
fn run(house: &House, args: &[&str]) -> String {
    let end = program(house).args(args).start().finish();
    let text = format!("{}\n{}", String::from_utf8_lossy(&end.stdout), end.stderr);
    check_clean(&format!("{args:?}"), &text);
    text
}

#[test]
fn talkative_server_reveals_no_secret() {
    let noise = format!("noise {SHAPED} {NAMED}");
    let house = house(
        json!({ "loud": entry(&["--stderr", &format!("using {OF_WINDOW}"), "--say", &format!("{noise}\n")]) }),
    );
    let mut window = window(&house);
    let encoded = STANDARD.encode(format!("me:{NAMED}"));
    let own = &ALL[..LOCAL];
    for text in own.iter().map(|text| (*text).to_owned()).chain([key(), percent_encoding(AWKWARD), encoded]) {
        window.call("loud__complain", json!({ "text": format!("it is {text}!") }));
        // The server's answer to its client passes as it is.
        assert!(
            window
                .call("loud__echo", json!({ "text": text }))
                .to_string()
                .contains(&json!(text).to_string()[1..8])
        );
        let noise = format!("not a message: {text}\n{{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{{}}}}\n");
        window.call("loud__say", json!({ "text": noise.replace('%', "%%").replace("%%ID", "%ID") }));
        let log = json!({ "level": "info", "data": text });
        let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": log }).to_string();
        let answer = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}"#;
        window.call("loud__say", json!({ "text": format!("{}\n{answer}\n", log.replace('%', "%%")) }));
    }
    let calls = 4 * (own.len() + 3);
    patience::until_true("the last call in the audit", || {
        fs::read_to_string(house.state("logs/audit.jsonl")).unwrap_or_default().lines().count() >= calls
    });
    // There was something to hide, and the rest can still be read.
    for text in
        ["it is [redacted]!", "using [redacted]", "not a message: [redacted]", "noise [redacted] [redacted]"]
    {
        patience::until_true(text, || check_files(&house).contains(text));
    }
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["logs"],
        &["logs", "loud"],
        &["logs", "--audit"],
        &["logs", "--audit", "--json"],
    ] {
        run(&house, args);
    }
    assert_eq!(window.finish().code, Some(0));
    house.check_empty(patience::LIMIT);
    check_files(&house);
}

#[test]
fn failures_reveal_no_secret() {
    let refusal =
        format!(r#"{{"jsonrpc":"2.0","id":%ID,"error":{{"code":1,"message":"no {SHAPED}"}}}}"#) + "\n";
    let mut missing = entry(&[]);
    missing["command"] = json!("/no/such/${OF_WINDOW}");
    let house = house(json!({
        "ends": entry(&["--exit-at-start", "3", "--stderr", &format!("fatal: {OF_WINDOW} {NAMED}")]),
        "refuses": entry(&["--greeting", &refusal]),
        "missing": missing,
        "crashes": entry(&[]),
    }));
    let mut window = window(&house);
    check_clean("a list", &window.request("tools/list", json!({})).to_string());
    let said = format!("Error: {SHAPED}\n    at {}", key().lines().nth(1).unwrap());
    let answer =
        window.call("crashes__crash", json!({ "stderr": said, "stdout": format!("last {NAMED}\n") }));
    check_clean("an error", &answer.to_string());
    assert!(answer.to_string().contains("Error: [redacted]"), "{answer}");
    for server in ["ends", "refuses", "missing"] {
        let answer = window.call(&format!("{server}__x"), json!({}));
        check_clean(server, &answer.to_string());
        assert!(answer.get("error").is_some(), "{answer}");
    }
    let status = run(&house, &["status", "--json"]);
    assert!(status.contains("fatal: [redacted]") && status.contains("no [redacted]"), "{status}");
    run(&house, &["status"]);
    let config = house.config().to_str().unwrap().to_owned();
    run(&house, &["tools", "--config", &config]);
    run(&house, &["call", "--config", &config, "ends__x"]);
    let end = window.finish();
    check_clean("stderr", &end.stderr);
    house.check_empty(patience::LIMIT);
    check_files(&house);
}

#[test]
fn remote_server_reveals_no_secret() {
    let far = Web::start(|seen, wire| {
        let said = format!("{:?} {} {HEADER}", seen.headers, seen.path);
        match (seen.what(), seen.tool()) {
            ("tools/call", "odd") => wire.reply(500, &[("content-type", "text/plain")], said),
            ("tools/call", "denied") => wire.reply(403, &[], said),
            ("tools/call", "moved") => {
                wire.reply(307, &[("location", &format!("http://127.0.0.1:1/?token={QUERY}"))], "")
            }
            ("tools/call", "typed") => wire.reply(200, &[("content-type", &format!("text/{HEADER}"))], said),
            _ => mcp(seen, wire, "s-1"),
        }
    });
    let closed = Web::start(|seen, wire| wire.reply(401, &[], format!("bad {:?}", seen.headers)));
    let at = |web: &Web| {
        web.url(&format!("/mcp?key={QUERY}")).replace("http://", &format!("http://me:{PASSWORD}@"))
    };
    let headers = json!({ "Authorization": "Bearer ${FAR_TOKEN}", "X-Api-Key": NAMED });
    let house = house(json!({
        "far": { "url": at(&far), "headers": headers },
        "closed": { "url": at(&closed), "headers": headers },
        "gone": { "url": format!("http://me:{PASSWORD}@127.0.0.1:1/x?key={QUERY}"), "headers": headers },
    }));
    let program = |args: &[&str]| program(&house).env("FAR_TOKEN", HEADER).args(args);
    let mut window = program(&["stdio", "--config"]).arg(house.config()).start();
    window.initialize();
    for tool in ["far__odd", "far__denied", "far__moved", "far__typed", "closed__x", "gone__x"] {
        let answer = window.call(tool, json!({}));
        assert!(answer.get("error").is_some(), "{answer}");
        check_clean(tool, &answer.to_string());
    }
    assert!(
        far.seen().iter().any(|seen| seen.header("authorization").is_some()),
        "the server has its secrets"
    );
    for args in [&["status"][..], &["status", "--json"], &["logs"], &["logs", "far"]] {
        let end = program(args).start().finish();
        check_clean(&format!("{args:?}"), &format!("{}{}", String::from_utf8_lossy(&end.stdout), end.stderr));
    }
    let end = program(&["check", "--config"]).arg(house.config()).start().finish();
    check_clean("check", &format!("{}{}", String::from_utf8_lossy(&end.stdout), end.stderr));
    check_clean("stderr", &window.finish().stderr);
    house.check_empty(patience::LIMIT);
    check_files(&house);
}

#[test]
fn commands_reveal_no_secret() {
    let house = house(json!({ "loud": entry(&[]) }));
    let config = house.config().to_str().unwrap().to_owned();
    let check = run(&house, &["check", "--config", &config]);
    assert!(
        check.contains("--token [redacted]") && check.contains("postgres://me:[redacted]@db/x"),
        "{check}"
    );
    run(&house, &["explain", "--config", &config]);
    run(&house, &["explain", "--config", &config, "--json"]);
    run(&house, &["tools", "--config", &config]);
    // A config that cannot be read is quoted in part.
    let text = fs::read_to_string(house.config()).unwrap().replacen("\"passEnv\"", "\"passEnvs\" 1", 1);
    fs::write(house.config(), text).unwrap();
    for args in [&["check"][..], &["explain"], &["tools"], &["stdio"]] {
        run(&house, &[args, &["--config", &config]].concat());
    }
}

/// What everybody can see on this machine.
#[test]
fn secrets_in_arguments_are_warned_of() {
    let house = house(json!({
        "loud": entry(&[]),
        "quiet": { "command": fake_backend(), "args": ["--", "${HOME}", "--mode", "production"], "env": { "API_KEY": NAMED } },
    }));
    let check = run(&house, &["check", "--config", house.config().to_str().unwrap()]);
    for warning in [
        "warning: `${OF_WINDOW}` in the arguments of `loud` is visible to every process",
        "warning: what looks like a secret in the arguments of `loud` is visible",
        "help: pass it in `env`",
    ] {
        assert!(check.contains(warning), "{warning} in {check}");
    }
    assert!(!check.contains("arguments of `quiet`"), "{check}");
}

#[test]
fn rejected_config_reveals_no_secret() {
    let house = house(json!({ "loud": entry(&[]) }));
    let mut window = window(&house);
    window.call("loud__echo", json!({}));
    let good = fs::read_to_string(house.config()).unwrap();
    fs::write(house.config(), good.replacen("\"passEnv\"", "\"passEnvs\" 1", 1)).unwrap();
    let told = run(&house, &["reload"]);
    assert!(told.contains("config.json"), "{told}");
    run(&house, &["status"]);
    check_clean("stderr", &window.finish().stderr);
    house.check_empty(patience::LIMIT);
    assert!(check_files(&house).contains("config file rejected"));
}

/// Of all our own processes, and of other servers.
#[test]
fn processes_hold_no_foreign_secret() {
    let other = json!({ "command": fake_backend(), "args": ["--stderr", "hello"] });
    let house = house(json!({ "loud": entry(&[]), "other": other }));
    let mut window = window(&house);
    let pid_of = |window: &mut Client, server: &str| {
        window.call(&format!("{server}__facts"), json!({}))["result"]["pid"].as_u64().unwrap()
    };
    let (loud, other) = (pid_of(&mut window, "loud"), pid_of(&mut window, "other"));
    let read = |pid: u64, file: &str| {
        String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/{file}")).unwrap()).into_owned()
    };
    assert!(read(loud, "environ").contains(NAMED), "its own");
    for file in ["environ", "cmdline"] {
        check_clean(&format!("{file} of another server"), &read(other, file));
    }
    let ours: Vec<_> =
        house.processes().into_iter().filter(|process| process.name != "fake-backend").collect();
    let names: Vec<&str> = ours.iter().map(|process| process.name.as_str()).collect();
    assert!(
        names.contains(&"sb-warden") && names.contains(&"sb-guard") && names.contains(&"switchboard"),
        "{names:?}"
    );
    for process in &ours {
        check_clean(&process.name, &read(u64::from(process.pid), "cmdline"));
    }
    assert_eq!(window.finish().code, Some(0));
}

#[test]
fn panic_reveals_no_secret() {
    if cfg!(not(debug_assertions)) {
        return;
    }
    let house = house(json!({ "loud": entry(&[]) }));
    let file = house.path("panic");
    let wish = format!("stderr@{}", file.display());
    let start = program(&house).env("SWITCHBOARD_PANIC_IN", wish).args(["stdio", "--solo", "--config"]);
    let mut window = start.arg(house.config()).start();
    window.initialize();
    window.call("loud__echo", json!({}));
    // At once with its content.
    fs::write(house.path("draft"), format!("{NAMED} {SHAPED} ghp_abcdefghijklmnopqrst")).unwrap();
    fs::rename(house.path("draft"), file).unwrap();
    let end = window.wait_for_end();
    assert_eq!(end.code, None, "a signal ends it");
    assert!(end.stderr.contains("in the task `stderr`: [redacted] [redacted] [redacted]"), "{}", end.stderr);
    check_clean("stderr", &end.stderr);
    house.check_empty(patience::LIMIT);
    check_files(&house);
}

/// Modes, levels, numbers, folders and names stay visible.
#[test]
fn other_values_can_be_read() {
    let env = json!({
        "NODE_ENV": "production", "LOG_LEVEL": "critical", "PORT": "80808080", "DEBUG": "true",
        "WORKSPACE": "/srv/app-2026", "DB_PASSWORD": "readable", "MODEL": "claude-sonnet-4-20250514",
    });
    let house = house(json!({ "readable": { "command": fake_backend(), "env": env } }));
    let mut window = window(&house);
    let text = "production critical 80808080 true /srv/app-2026 claude-sonnet-4-20250514";
    window.call("readable__complain", json!({ "text": text }));
    // A line may be read while it is written.
    patience::until_true("the words are written", || {
        let log =
            files(&house.state("logs")).into_iter().map(|path| fs::read_to_string(path).unwrap_or_default());
        let log: String = log.collect();
        log.contains(text) && log.contains("server=\"readable\"")
    });
    assert_eq!(window.finish().code, Some(0));
}

/// The token of the HTTP front itself.
#[test]
fn http_token_is_shown_on_request_only() {
    let served = Served::with(json!({ "log": { "level": "trace", "bodies": true } }), json!({}), &[]);
    let token = served.house.say(&["token", "show"]).trim().to_owned();
    let talk = served.open();
    talk.call("complain", json!({ "text": format!("it is {token}") }));
    talk.call("echo", json!({ "text": token }));
    patience::until_true("the words are written", || {
        files(&served.house.state("logs"))
            .iter()
            .any(|path| fs::read_to_string(path).unwrap().contains("it is [redacted]"))
    });
    for path in files(&served.house.state("")).iter().filter(|path| !path.ends_with("token")) {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        assert!(!text.contains(&token), "{}", path.display());
    }
}
