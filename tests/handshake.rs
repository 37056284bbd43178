//! The beginning and the end: the client hears its server's greeting byte for byte; whatever ends the
//! conversation, what is in flight is answered and the program ends in order.

use crate::support::{Mode, configured, error, fake, fake_backend, greet, greeted, program, text};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::pids::{self, Word};

#[test]
fn the_greeting_arrives_byte_for_byte() {
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
fn a_servers_refusal_is_passed_on_and_may_be_tried_again() {
    let refusal =
        r#"{"jsonrpc":"2.0","id":%ID,"error":{"code":-32602,"message":"Unsupported protocol version"}}"#;
    let mut client = fake(&["--greeting", &format!("{refusal}\n")]).start();
    for id in [1, 2] {
        client.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{}}}}"#));
        assert_eq!(client.recv_text(), refusal.replace("%ID", &id.to_string()));
    }
}

#[test]
fn discover_is_answered_by_us() {
    let mut client = fake(&[]).start();
    client.send(r#"{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{}}"#);
    let answer = client.answer("d");
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    client.initialize();
    client.record().wait_for(1, "initialized");
    assert!(!String::from_utf8(client.record().heard(1)).unwrap().contains("discover"));
}

/// As in `printf '…' | switchboard stdio -- server`: everything at once, and the end.
#[test]
fn everything_that_came_before_the_end_is_answered() {
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
fn nothing_but_the_end_is_an_end() {
    let mut client = fake(&[]).start();
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

/// A call that the server can only answer once its client has said something; gives both ids.
fn call_that_waits(client: &mut Client) -> (u64, Value) {
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let call = client.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    (call, client.told("roots/list")["id"].clone())
}

/// Of a window that serves itself. One that is served by the daemon lets it finish too, but does not read on.
#[test]
fn a_signal_lets_what_is_in_flight_finish() {
    for word in [Word::Terminate, Word::Interrupt, Word::HangUp] {
        let mut client = greet(Mode::Solo.configured(
            json!({ "shutdownGrace": "1h" }),
            json!({ "shutdownGrace": "5s" }),
            &[],
        ));
        let (call, asked) = call_that_waits(&mut client);
        client.signal(word);
        // The drain has begun when new requests are refused.
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
fn a_second_signal_ends_everything_at_once() {
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
fn the_grace_ends_what_does_not_finish() {
    let grace = json!({ "shutdownGrace": "200ms" });
    let mut client = greet(configured(grace.clone(), grace, &[]));
    let call = client.start_call("hang", json!({}));
    client.record().wait_for(1, "hang");
    client.close_input();
    error(&client.answer(call), -32603, "shutting_down");
    let end = client.wait_for_end();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

/// A client that closed its end cannot answer any more: its server is told so and can finish.
#[test]
fn a_server_that_waits_for_a_client_that_left_is_told() {
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

/// A client that is gone, both ends: nobody is answered, and the program ends.
#[test]
fn a_client_that_vanishes_ends_the_program() {
    let mut client = fake(&[]).not_reading().start();
    client.ask("initialize", initialize_params());
    client.record().wait_for(1, "initialize");
    client.close_output();
    client.close_input();
    assert_eq!(client.wait_for_end().code, Some(0));
}

/// Some clients only close the end that they read. What they are told next shows that nobody is there.
#[test]
fn a_client_that_no_longer_reads_ends_the_program() {
    let mut client = fake(&[]).not_reading().start();
    client.ask("initialize", initialize_params());
    client.record().wait_for(1, "initialize");
    client.close_output();
    client.ask("ping", json!({}));
    assert_eq!(client.wait_for_end().code, Some(0));
}

/// Not only pipes: `switchboard stdio -- server < asked > answered`.
#[cfg(unix)]
#[test]
fn input_and_output_may_be_files() {
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

/// Not every client that says `shutdown` says `exit`.
#[test]
fn shutdown_and_the_end_of_the_input_end_it_too() {
    let mut client = greeted(&[]);
    assert_eq!(client.request("shutdown", json!({}))["result"], Value::Null);
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}
