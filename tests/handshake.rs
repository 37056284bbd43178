//! Start and end of a connection: the server's `initialize` answer arrives byte for byte; at the end,
//! requests in flight are answered and the program ends in order.

use crate::support::{Mode, configured, error, fake, fake_backend, greet, greeted, program, text};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::pids::{self, Word};

#[test]
fn initialize_answer_keeps_its_bytes() {
    let result = r#"{ "serverInfo":{"version":"1.0e0","name":"f\u00e9"},"instructions":"a\/b", "capabilities":{"tools":{"listChanged":true},"experimental":{"x":0.10}},"protocolVersion":"2024-11-05","_meta":{"k":[1.50]} }"#;
    let template = format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":%ID}}\n");
    let mut client = fake(&["--greeting", &template]).start();
    let initialize = r#"{"jsonrpc":"2.0","id":"i-0","method":"initialize","params":{"clientInfo":{"version":"0","name":"t"}, "capabilities":{"sampling":{},"roots":{"listChanged":true},"new":{}},"protocolVersion":"2025-06-18"}}"#;
    client.send(initialize);
    assert_eq!(client.recv_text(), format!(r#"{{"result":{result},"jsonrpc":"2.0","id":"i-0"}}"#));
    let heard = client.record().wait_for(1, "initialize");
    assert_eq!(
        heard.replacen(r#""id":1,"#, r#""id":"i-0","#, 1),
        initialize,
        "the server hears the client's words"
    );
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized","x":1}"#);
    let heard = client.record().wait_for(1, "initialized");
    assert_eq!(heard, r#"{"jsonrpc":"2.0","method":"notifications/initialized","x":1}"#);
}

#[test]
fn refused_initialize_can_be_retried() {
    let refusal =
        r#"{"jsonrpc":"2.0","id":%ID,"error":{"code":-32602,"message":"Unsupported protocol version"}}"#;
    let mut client = fake(&["--greeting", &format!("{refusal}\n")]).start();
    for id in [1, 2] {
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{}}}}"#));
        assert_eq!(client.recv_text(), refusal.replace("%ID", &id.to_string()));
    }
}

#[test]
fn discover_is_answered_by_the_gateway() {
    let mut client = fake(&[]).start();
    client.send(r#"{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{}}"#);
    let answer = client.answer("d");
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    client.initialize();
    client.record().wait_for(1, "initialized");
    assert!(!String::from_utf8(client.record().heard(1)).unwrap().contains("discover"));
}

/// As in `printf '…' | switchboard stdio -- server`: all input at once, then its end.
#[test]
fn requests_before_eof_are_answered() {
    let mut client = fake(&[]).start();
    let mut lines = format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params() })
    );
    lines += "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    for id in 1..=50 {
        lines += &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
    }
    client.send_bytes(lines);
    client.close_input();
    for id in 0..=50 {
        assert!(client.answer(id)["result"].is_object());
    }
    let end = client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
    let heard = client.record().lines(1);
    assert!(heard[0].contains("\"initialize\"") && heard[1].contains("initialized"), "in order: {heard:?}");
}

#[test]
fn empty_input_ends_the_program() {
    let mut client = fake(&[]).start();
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

/// A call that the server answers only after its client has answered a request; returns both ids.
fn call_that_waits(client: &mut Client) -> (u64, Value) {
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let call = client.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    (call, client.told("roots/list")["id"].clone())
}

/// For a solo window. A window of the daemon also lets calls finish, but reads no more input.
#[test]
fn signal_lets_open_calls_finish() {
    for word in [Word::Terminate, Word::Interrupt, Word::HangUp] {
        let mut client = greet(Mode::Solo.configured(
            json!({ "shutdownGrace": "1h" }),
            json!({ "shutdownGrace": "5s" }),
            &[],
        ));
        let (call, asked) = call_that_waits(&mut client);
        client.signal(word);
        // Refused requests show that the drain has begun.
        let refused = loop {
            let answer = client.request("ping", json!({}));
            if answer.get("error").is_some() {
                break answer;
            }
        };
        error(&refused, -32603, "shutting_down");
        client.send(json!({ "jsonrpc": "2.0", "id": asked, "result": { "roots": [] } }).to_string());
        assert!(text(&client.answer(call)).contains("roots"), "{word:?}");
        let end = client.wait_for_end();
        assert_eq!((end.code, end.stdout), (Some(0), vec![]), "{word:?}");
    }
}

#[test]
fn second_signal_ends_everything_at_once() {
    // Without the second signal this would take an hour.
    let shell = ["-c", "trap '' TERM; exec \"$@\"", "sh"];
    let start = program();
    let record = start.record();
    let mut args: Vec<String> = shell.map(String::from).to_vec();
    args.extend([
        fake_backend().display().to_string(),
        "--record".into(),
        record.folder().display().to_string(),
    ]);
    args.push("--ignore-eof".into());
    let server = json!({ "command": "sh", "args": args, "shutdownGrace": "1h" });
    let config = json!({ "mcpServers": { "fake": server }, "shutdownGrace": "1h" });
    let path = start.scratch().file("config.json", config.to_string());
    let mut client = greet(Mode::Solo.window(start, &path));
    let call = client.start_call("hang", json!({}));
    client.record().wait_for(1, "hang");
    client.signal(Word::Terminate);
    while client.request("ping", json!({})).get("error").is_none() {}
    client.signal(Word::Terminate);
    error(&client.answer(call), -32603, "shutting_down");
    let end = client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
    assert!(!pids::is_alive(record.pid(1)));
}

#[test]
fn grace_period_ends_hanging_calls() {
    let grace = json!({ "shutdownGrace": "200ms" });
    let mut client = greet(configured(grace.clone(), grace, &[]));
    let call = client.start_call("hang", json!({}));
    client.record().wait_for(1, "hang");
    client.close_input();
    error(&client.answer(call), -32603, "shutting_down");
    let end = client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

/// A client that closed its input cannot answer: its server is told so and can finish.
#[test]
fn server_learns_that_its_client_left() {
    let mut client = greeted(&[]);
    let (call, _) = call_that_waits(&mut client);
    client.close_input();
    assert!(text(&client.answer(call)).contains("error"));
    assert_eq!(client.wait_for_end().code, Some(0));
}

#[test]
fn shutdown_drains_and_exit_ends() {
    let mut client = greeted(&[]);
    let pid = client.record().pid(1);
    let (call, asked) = call_that_waits(&mut client);
    client.send(r#"{"jsonrpc":"2.0","id":"bye","method":"shutdown"}"#);
    let late = client.request("tools/list", json!({}));
    error(&late, -32603, "shutting_down");
    client.send(json!({ "jsonrpc": "2.0", "id": asked, "result": {} }).to_string());
    assert!(text(&client.answer(call)).contains("result"));
    assert_eq!(client.recv_text(), r#"{"jsonrpc":"2.0","id":"bye","result":null}"#);
    switchboard_testkit::patience::until_true("the server is stopped", || !pids::is_alive(pid));
    assert!(!client.has_ended(), "it waits for `exit`");
    client.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    let end = client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
    let heard = client.record().all_lines();
    assert!(!heard.iter().any(|line| line.contains("shutdown") || line.contains("exit")), "{heard:?}");
}

#[test]
fn exit_alone_ends_at_once() {
    let mut client = greet(configured(json!({ "shutdownGrace": "1h" }), json!({}), &[]));
    let call = client.start_call("hang", json!({}));
    client.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    error(&client.answer(call), -32603, "shutting_down");
    assert_eq!(client.wait_for_end().code, Some(0));
}

/// Both ends of the client are closed.
#[test]
fn vanished_client_ends_the_program() {
    let mut client = fake(&[]).not_reading().start();
    client.ask("initialize", initialize_params());
    client.record().wait_for(1, "initialize");
    client.close_output();
    client.close_input();
    assert_eq!(client.wait_for_end().code, Some(0));
}

/// Some clients close only the end that they read. The next write then fails.
#[test]
fn client_that_stops_reading_ends_program() {
    let mut client = fake(&[]).not_reading().start();
    client.ask("initialize", initialize_params());
    client.record().wait_for(1, "initialize");
    client.close_output();
    client.ask("ping", json!({}));
    assert_eq!(client.wait_for_end().code, Some(0));
}

/// Files instead of pipes: `switchboard stdio -- server < asked > answered`.
#[cfg(unix)]
#[test]
fn stdin_and_stdout_may_be_files() {
    let start = Start::new("sh");
    let record = start.record();
    let lines = (1..=20).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"));
    start.scratch().file("asked", lines.collect::<String>());
    let line = r#"exec "$@" < asked > answered"#;
    let start = start.args(["-c", line, "sh", env!("CARGO_BIN_EXE_switchboard"), "stdio", "--"]);
    let mut client = start.arg(fake_backend()).arg("--record").arg(record.folder()).start();
    assert_eq!(client.wait_for_end().code, Some(0));
    let answered = std::fs::read_to_string(client.scratch().join("answered")).unwrap();
    assert_eq!(answered.lines().count(), 20, "{answered}");
    for (line, id) in answered.lines().zip(1..) {
        assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

/// Some clients send `shutdown` without `exit`.
#[test]
fn shutdown_without_exit_ends_at_eof() {
    let mut client = greeted(&[]);
    assert_eq!(client.request("shutdown", json!({}))["result"], Value::Null);
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}
