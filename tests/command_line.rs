//! Commands that act as a client (`tools`, `call`, …): the real program, which starts itself as the gateway.

use crate::support::{escape_percent, fake_backend, program, saying};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, End, Start};
use switchboard_testkit::pids::{Word, is_alive};

/// `switchboard COMMAND… --config config.json --server example`: tools keep their own names.
fn example(words: &[&str]) -> Start {
    configured(&[words, &["--server", "example"]].concat())
}

/// `switchboard COMMAND… --config config.json`, with the example server as the only one.
fn configured(words: &[&str]) -> Start {
    let server = json!({ "command": crate::support::switchboard(), "args": ["example-server"] });
    let start = program().args(words).args(["--config", "config.json"]);
    start.scratch().file("config.json", json!({ "mcpServers": { "example": server } }).to_string());
    start
}

/// `switchboard COMMAND… -- fake-backend OPTIONS…`
fn fake(words: &[&str], options: &[&str]) -> Start {
    let start = program();
    let record = start.record();
    start.args(words).arg("--").arg(fake_backend()).arg("--record").arg(record.folder()).args(options)
}

#[track_caller]
fn run(start: Start) -> (Option<i32>, String, String) {
    let End { code, stdout, stderr } = start.start().finish();
    (code, String::from_utf8(stdout).unwrap(), stderr)
}

/// Checks for success with this stdout and an empty stderr.
#[track_caller]
fn check(start: Start, expect: &str) {
    assert_eq!(run(start), (Some(0), expect.to_owned(), String::new()));
}

/// Checks for this exit code and stderr, with an empty stdout.
#[track_caller]
fn check_failure(start: Start, code: i32, expect: &str) {
    assert_eq!(run(start), (Some(code), String::new(), expect.to_owned()));
}

/// A call of `say` that makes the fake backend answer with `result`.
fn answering(words: &[&str], result: &str) -> Start {
    let template = format!(r#"{{"jsonrpc":"2.0","id":%ID,"result":{}}}"#, escape_percent(result));
    let arguments = saying(&template).to_string();
    fake(&[&["call", "say", &arguments], words].concat(), &[])
}

#[test]
fn lists_have_one_line_per_item() {
    check(
        example(&["tools"]),
        "echo   Returns the text.\n\
         add    The sum of two numbers, also as structured content.\n\
         wait   Answers after some seconds. Reports progress if the request has a progress token, and can be cancelled.\n\
         noise  Breaks the protocol: prints a log line before it answers.\n\
         crash  Ends the process without an answer.\n",
    );
    check(
        example(&["tools"]).env("COLUMNS", "30"),
        "echo   Returns the text.\n\
         add    The sum of two numbers…\n\
         wait   Answers after some sec…\n\
         noise  Breaks the protocol: p…\n\
         crash  Ends the process witho…\n",
    );
    check(configured(&["prompts", "example"]), "greet  Asks the model for a friendly greeting.\n");
    check(
        example(&["resources"]),
        "example://status  The process that serves you, and how often it was called.\n",
    );
    // A server without prompts is not asked for them.
    let (code, stdout, stderr) = run(fake(&["prompts"], &[]));
    assert_eq!((code, &*stdout, &*stderr), (Some(0), "", "No prompts are offered.\n"));
}

#[test]
fn json_output_is_what_the_server_sent() {
    let (code, stdout, stderr) = run(example(&["tools", "--json"]));
    assert_eq!((code, &*stderr), (Some(0), ""));
    let tools: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(tools[1]["name"], "add");
    assert_eq!(stdout.lines().count(), 2 + tools.as_array().unwrap().len());
    check(fake(&["resources", "--json"], &[]), "[]\n");

    let result = r#"{"content":[ ],"z":1.00,"a":12345678901234567890,"u":"é"}"#;
    check(answering(&["--json"], result), &format!("{result}\n"));
}

#[test]
fn commands_see_all_servers_as_one() {
    let many = |words: &[&str]| {
        let start = program().args(words).args(["--config", "config.json"]);
        let record = start.record();
        let example = json!({ "command": crate::support::switchboard(), "args": ["example-server"] });
        let fake =
            json!({ "command": fake_backend(), "args": ["--record", record.folder()], "tools": ["echo"] });
        let servers = json!({ "example": example, "fake": fake });
        start.scratch().file("config.json", json!({ "mcpServers": servers, "pageSize": 2 }).to_string());
        start
    };
    let (code, stdout, stderr) = run(many(&["tools"]));
    let names: Vec<&str> = stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((code, &*stderr), (Some(0), ""));
    assert_eq!(
        names,
        ["example__echo", "example__add", "example__wait", "example__noise", "example__crash", "fake__echo"]
    );
    check(many(&["call", "example__add", "a=1", "b=2"]), "3\n");
    check(many(&["call", "fake__echo", "a=1"]), "{\"a\":1}\n");
    check(many(&["get", "example__greet", "name=Ada"]), "user:\nGreet Ada in one friendly sentence.\n");
    let (code, stdout, _) = run(many(&["resources", "--json"]));
    let resources: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, resources.as_array().unwrap().len()), (Some(0), 1));
    let (code, stdout, stderr) = run(many(&["read", resources[0]["uri"].as_str().unwrap()]));
    assert!(code == Some(0) && stdout.contains("calls"), "{stdout}{stderr}");
    let (code, _, stderr) = run(many(&["call", "add", "a=1", "b=2"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("(unknown_name)") && stderr.contains("`example__add`"), "{stderr}");
}

#[test]
fn all_pages_are_requested() {
    // A small server that pages.
    const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    heard = json.loads(line)
    if "id" not in heard: continue
    page = int(heard.get("params", {}).get("cursor", "0"))
    result = {"tools": [{"name": "t%d" % page, "note": 1.0}]}
    if page < 3: result["nextCursor"] = str(page + 1)
    if heard["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": heard["id"], "result": result}), flush=True)
"#;
    check(program().args(["tools", "--", "python3", "-c", SERVER]), "t0\nt1\nt2\nt3\n");
}

#[test]
fn arguments_have_several_spellings() {
    check(example(&["call", "add", "a=1", "b=41"]), "42\n");
    check(example(&["call", "echo", "text=41"]), "41\n");
    check(example(&["call", "add", "{\"a\": 1,\n\"b\": 2}"]), "3\n");
    let start = example(&["call", "add", "@arguments.json"]);
    start.scratch().file("arguments.json", r#"{ "a": 2, "b": 2 }"#);
    check(start, "4\n");
    let mut client = example(&["call", "add", "-"]).start();
    client.send(r#"{ "a": 3, "b": 2 }"#);
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), b"5\n".to_vec()));
    // Arguments keep their bytes.
    let written = r#"{ "n": 1.00, "m": 12345678901234567890 }"#;
    let mut client = fake(&["call", "echo", written], &[]).start();
    assert_eq!(client.finish().code, Some(0));
    client.record().wait_for(1, written);
}

#[test]
fn non_text_content_is_one_line() {
    let content = json!({ "content": [
        { "type": "text", "text": "one" },
        { "type": "image", "data": "AAAA", "mimeType": "image/png" },
        { "type": "text", "text": "two\n" },
    ] });
    check(answering(&[], &content.to_string()), "one\n[image, image/png, 3 bytes]\ntwo\n");
    let structured = json!({ "content": [], "structuredContent": { "a": 1 } });
    check(answering(&[], &structured.to_string()), "{\n  \"a\": 1\n}\n");
}

#[test]
fn resources_and_prompts_are_printed() {
    let (code, stdout, _) = run(example(&["read", "example://status"]));
    assert_eq!((code, stdout.contains(r#""calls":0"#)), (Some(0), true), "{stdout}");
    check(example(&["get", "greet", "name=7"]), "user:\nGreet 7 in one friendly sentence.\n");
    let (_, stdout, _) = run(example(&["get", "greet", "name=Ada", "--json"]));
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["messages"][0]["role"], "user");
}

#[test]
fn failure_comes_with_a_hint() {
    check_failure(
        example(&["call", "eco", "text=x"]),
        1,
        "switchboard: Unknown tool: eco (-32602)\n  hint: did you mean `echo`?\n",
    );
    check_failure(
        example(&["get", "gret"]),
        1,
        "switchboard: Unknown prompt: gret (-32602)\n  hint: did you mean `greet`?\n",
    );
    check_failure(
        example(&["read", "example://stats"]),
        1,
        "switchboard: Resource not found (-32002)\n  hint: did you mean `example://status`?\n",
    );
    check_failure(
        example(&["call", "crash"]),
        1,
        "switchboard: the server `example` died during this request: exit code 3; it said: fatal: the \
         example's database is on fire (backend_unavailable)\n  hint: it is being restarted; whether this \
         request took effect is unknown\n  stderr: fatal: the example's database is on fire\n",
    );
    let failed = json!({ "isError": true, "content": [{ "type": "text", "text": "no such file" }] });
    check_failure(answering(&[], &failed.to_string()), 1, "no such file\n");
    let refused = r#"{"jsonrpc":"2.0","id":%ID,"error":{"code":-32603,"message":"no","data":{"kind":"k","hint":"h","nearest":["a"]}}}"#;
    check_failure(
        fake(&["call", "say", &saying(refused).to_string()], &[]),
        1,
        "switchboard: no (k)\n  hint: h\n  hint: did you mean `a`?\n",
    );
}

#[test]
fn start_failure_is_passed_on() {
    let (code, _, stderr) = run(program().args(["tools", "--config", "nowhere.json"]));
    assert_eq!(code, Some(3));
    assert!(stderr.starts_with("switchboard: cannot read the config file nowhere.json"), "{stderr}");
    assert_eq!(run(configured(&["tools", "other"])).0, Some(3));
    assert_eq!(run(example(&["tools", "--root", "nowhere"])).0, Some(2));
    let (code, _, stderr) = run(program().args(["call", "x", "--", "no-such-program"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("(backend_spawn_failed)\n  hint: "), "{stderr}");
    // After a successful call, the server's stderr is not shown.
    check(fake(&["call", "complain", "text=words"], &[]), "");
}

#[test]
fn progress_and_log_messages_are_shown() {
    let lines = [
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1,"total":2,"message":"half"}}"#,
        r#"{"jsonrpc":"2.0","id":%ID,"result":{"content":[{"type":"text","text":"done"}]}}"#,
    ];
    let arguments = saying(&lines.join("\n")).to_string();
    let (code, stdout, stderr) = run(fake(&["call", "say", &arguments], &[]));
    assert_eq!((code, &*stdout), (Some(0), "done\n"));
    assert_eq!(stderr, "[info] begun\nprogress: 1/2 (50 %) half\n");
}

/// Checks that the server got the cancellation and has ended.
#[track_caller]
fn check_cancelled(mut client: Client, code: i32) {
    let end = client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(code), Vec::new()), "{}", end.stderr);
    client.record().wait_for(1, "notifications/cancelled");
    assert!(!is_alive(client.record().pid(1)), "the server has gone too");
}

#[test]
fn interrupted_call_is_cancelled() {
    let client = fake(&["call", "hang"], &[]).start();
    client.record().wait_for(1, "tools/call");
    client.signal(Word::Interrupt);
    check_cancelled(client, 130);
}

#[test]
fn timed_out_call_is_cancelled() {
    check_cancelled(fake(&["call", "hang", "--timeout", "1"], &[]).start(), 1);
}

#[test]
fn servers_get_the_folder_as_root() {
    let start = fake(
        &[
            "call",
            "ask",
            r#"{"id":"7","request":"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}"}"#,
        ],
        &[],
    );
    let folder = start.scratch().folder("my work");
    let (code, stdout, _) = run(start.cwd(&folder));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("/my%20work\""), "{stdout}");
}

#[test]
fn unsupported_server_requests_are_refused() {
    let ask = |method: &str| {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": {} }).to_string();
        let arguments = json!({ "id": "7", "request": request }).to_string();
        run(fake(&["call", "ask", &arguments], &[])).1
    };
    assert!(ask("sampling/createMessage").contains("-32601"));
    assert!(ask("ping").contains(r#""result":{}"#));
}
