//! Failed servers, named with their cause by the commands that list things and by `status`.

use super::servers::Servers;
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use switchboard_testkit::client::End;
use switchboard_testkit::patience;
use switchboard_testkit::web::Web;

/// Values of `SWITCHBOARD_SOLO`: through the daemon (the default), and alone.
const MODES: [&str; 2] = ["0", "1"];

const GOOD: &str =
    r#"{ "tools": [{"name":"echo"}], "prompts": [{"name":"p"}], "resources": [{"uri":"x://1","name":"1"}] }"#;

const NPM: &str = "npm error code E404
npm error 404 Not Found - GET http://127.0.0.1:1/no-such-server - Not found
npm error 404
npm error A complete log of this run can be found in: /home/me/.npm/_logs/x-debug-0.log";

/// Three servers: a missing command, one that exits, one that hangs.
fn broken() -> Servers {
    let exits =
        json!({ "command": "sh", "args": ["-c", "echo \"$NPM\" >&2; exit 1"], "env": { "NPM": NPM } });
    Servers::none()
        .and("missing", json!({ "command": "no-such-mcp-server" }), &[])
        .and("exits", exits, &[])
        .and("hangs", json!({ "command": "sleep", "args": ["1000"], "startTimeout": "300ms" }), &[])
}

fn run(servers: &Servers, mode: &str, words: &[&str]) -> (Option<i32>, String, String) {
    let start = servers.program().env("SWITCHBOARD_SOLO", mode).args(words);
    let End { code, stdout, stderr } = start.arg("--config").arg(servers.config()).start().finish();
    (code, String::from_utf8(stdout).unwrap(), stderr)
}

/// Checks that all three servers are named with their cause.
#[track_caller]
fn check_reasons(text: &str) {
    for part in [
        "the server `missing` could not be started: `no-such-mcp-server` was not found",
        "the server `exits` ended before it answered `initialize`: exit code 1; it said: npm error 404 Not Found - GET ",
        "the server `hangs` did not answer `initialize` within 0.",
    ] {
        assert!(text.contains(part), "{part}\n\n{text}");
    }
    assert!(!text.contains("signal 9") && !text.contains("A complete log"), "{text}");
}

#[test]
fn lists_name_failed_servers() {
    let servers = broken().and_offer("good", json!({}), GOOD);
    for mode in MODES {
        for (list, expect) in
            [("tools", "good__echo"), ("prompts", "good__p"), ("resources", "x://1  good: ")]
        {
            let (code, stdout, stderr) = run(&servers, mode, &[list]);
            assert_eq!(code, Some(0), "{stderr}");
            assert!(stdout.contains(expect) && !stdout.contains("server"), "{list}: {stdout}");
            check_reasons(&stderr);
            assert_eq!(stderr.matches("switchboard: ").count(), 3, "{stderr}");
        }
        let (code, stdout, stderr) = run(&servers, mode, &["tools", "--json"]);
        let tools: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((code, &tools[0]["name"]), (Some(0), &json!("good__echo")));
        check_reasons(&stderr);
    }
}

#[test]
fn lists_fail_when_all_servers_failed() {
    let servers = broken();
    for mode in MODES {
        for list in ["tools", "prompts", "resources"] {
            let (code, stdout, stderr) = run(&servers, mode, &[list]);
            assert_eq!((code, &*stdout), (Some(1), ""), "{stderr}");
            check_reasons(&stderr);
            assert!(!stderr.contains("are offered"), "{stderr}");
        }
    }
}

/// Checks that the wording is the same as for a single server.
#[test]
fn cause_matches_single_server_output() {
    let servers = broken();
    let (code, _, alone) = run(&servers, "0", &["tools", "exits"]);
    let reason = alone.lines().next().unwrap();
    assert_eq!(code, Some(1));
    assert!(reason.contains("npm error 404 Not Found"), "{alone}");
    let (_, _, all) = run(&servers, "0", &["tools"]);
    assert!(all.lines().any(|line| line == reason), "{reason}\n\n{all}");
}

/// A single server that hangs is a timeout too.
#[test]
fn hang_of_one_server_is_a_timeout() {
    let (code, _, stderr) = run(&broken(), "0", &["tools", "hangs"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("the server `hangs` did not answer `initialize` within 0."), "{stderr}");
}

#[test]
fn refused_handshake_is_named() {
    const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    error = {"code": -32000, "message": "no license, token=abcdefghijkl"}
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "error": error}), flush=True)
"#;
    let refuses = json!({ "command": "python3", "args": ["-c", SERVER] });
    let servers = Servers::none().and("refuses", refuses, &[]);
    let (code, _, stderr) = run(&servers, "0", &["tools"]);
    assert_eq!(code, Some(1));
    let reason = "the server `refuses` refused `initialize`: no license, token=[redacted]";
    assert!(stderr.contains(reason), "{stderr}");
}

#[test]
fn status_shows_last_error() {
    let servers = broken();
    let mut client = servers.open_shared();
    client.request("tools/list", json!({}));
    let status = || serde_json::from_str::<Value>(&servers.say(&["status", "--json"])).unwrap();
    let errors = |status: &Value| {
        let servers = status["daemons"][0]["servers"].as_array().unwrap().clone();
        servers.into_iter().map(|server| server["lastError"].clone()).collect::<Vec<Value>>()
    };
    let known = patience::until("all three have failed", || {
        Some(errors(&status())).filter(|errors| errors.iter().all(Value::is_object))
    });
    let kinds: Vec<&str> = known.iter().map(|error| error["kind"].as_str().unwrap()).collect();
    // Sorted by name: `exits`, `hangs`, `missing`.
    assert_eq!(kinds, ["backend_spawn_failed", "backend_timeout", "backend_spawn_failed"]);
    assert!(known.iter().all(|error| error["secondsAgo"].is_u64()), "{known:?}");
    // No other event refreshes the status meanwhile.
    patience::until_true("the error grows older", || errors(&status())[2]["secondsAgo"].as_u64() >= Some(1));
    let text = servers.say(&["status"]);
    check_reasons(&text);
    assert_eq!((text.matches("last error, ").count(), text.matches("next try: ").count()), (3, 3), "{text}");
}

/// A working server shows no error; a server that is down shows the error that made it restart.
#[test]
fn last_error_is_cleared_by_success() {
    let servers = Servers::none();
    let gate = servers.path("gate");
    let script = format!("test -e {} || {{ echo no gate >&2; exit 1; }}; exec \"$0\" \"$@\"", gate.display());
    let mut servers = servers.and_offer("late", json!({}), GOOD);
    let offer = servers.path("offers/late");
    let fake = crate::support::fake_backend();
    let record = servers.record("late");
    let args = json!(["-c", script, fake, "--record", record.folder(), "--offer", offer]);
    servers.put("late", json!({ "command": "sh", "args": args }), &[]);
    let mut client = servers.open_shared();
    let error = || {
        let status: Value = serde_json::from_str(&servers.say(&["status", "--json"])).unwrap();
        status["daemons"][0]["servers"][0]["lastError"].clone()
    };
    assert!(error()["message"].as_str().unwrap().ends_with("exit code 1; it said: no gate"), "{}", error());
    fs::write(&gate, "").unwrap();
    patience::until_true("it is listed", || super::servers::tools(&mut client) == ["late__echo"]);
    assert_eq!(error(), Value::Null);
}

/// Output of the real npm, for a registry without the package and for an unreachable registry.
#[test]
fn npm_failures_quote_the_cause() {
    // npm repeats the reason phrase, so it matters here.
    let web = Web::start(|_, wire| {
        wire.write("HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
    });
    let registry = web.url("/");
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let npx = |registry: &str| {
        let env = json!({ "npm_config_registry": registry, "npm_config_fetch_retries": "0" });
        json!({ "command": "npx", "args": ["-y", "no-such-mcp-server"], "env": env })
    };
    let servers = Servers::none().and("unknown", npx(&registry), &[]).and("offline", npx(&closed), &[]);
    let (code, _, stderr) = run(&servers, "0", &["tools"]);
    assert_eq!(code, Some(1));
    let unknown = format!("it said: npm error 404 Not Found - GET {registry}no-such-mcp-server");
    assert!(stderr.contains(&unknown), "{stderr}");
    assert!(stderr.contains("ECONNREFUSED") && !stderr.contains("A complete log"), "{stderr}");
}
