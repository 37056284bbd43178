//! Framing: messages are split in any form, and each peer is answered in its own framing.

use super::MODE;
use crate::support::{config, error, greet, program, say_with_id};
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::client::{Client, Framing};
use switchboard_testkit::record::Record;
use switchboard_testkit::scratch::Scratch;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// Checks that these bytes are answered as one ping, in this framing.
#[track_caller]
fn check_pong(framing: Framing, bytes: &str) {
    for size in [1, 7, bytes.len()] {
        let mut client = MODE.fake(&[]).framing(framing).start();
        client.send_in_pieces(bytes, size);
        assert_eq!(client.recv(), PONG, "{bytes:?} in pieces of {size}");
        let end = client.finish();
        assert_eq!((end.code, end.stdout), (Some(0), vec![]), "{bytes:?}");
    }
}

#[test]
fn line_endings_bom_and_blanks_are_accepted() {
    check_pong(Framing::Newline, &format!("{PING}\n"));
    check_pong(Framing::Newline, &format!("{PING}\r\n"));
    check_pong(Framing::Newline, &format!("\u{feff}{PING}\n"));
    check_pong(Framing::Newline, &format!("\n\r\n  \n\t\n{PING}\n\n\r\n"));
    check_pong(Framing::Newline, &format!("  {PING}\t \n"));
}

#[test]
fn last_line_needs_no_newline() {
    let mut client = MODE.fake(&[]).start();
    client.send_bytes(PING);
    client.close_input();
    assert_eq!(client.recv(), PONG);
    assert_eq!(client.wait_for_end().code, Some(0));
}

#[test]
fn headers_may_have_noise_and_any_case() {
    let length = PING.len();
    check_pong(Framing::ContentLength, &format!("Content-Length: {length}\r\n\r\n{PING}"));
    check_pong(Framing::ContentLength, &format!("content-length:{length}\n\n{PING}"));
    check_pong(
        Framing::ContentLength,
        &format!(
            "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{PING}"
        ),
    );
    check_pong(
        Framing::ContentLength,
        &format!("CONTENT-LENGTH: {length}\r\nX-Trace: a:b\r\nContent-Type: x\r\n\r\n{PING}\r\n"),
    );
}

#[test]
fn conversation_with_headers_works() {
    let mut client = greet(MODE.fake(&[]).framing(Framing::ContentLength));
    for number in 0..20 {
        let id = client.start_call("echo", json!({ "number": number, "text": "é\n" }));
        let body = String::from_utf8(client.recv()).unwrap();
        assert!(body.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)), "{body}");
    }
    let end = client.finish();
    assert_eq!((end.code, end.stdout), (Some(0), vec![]));
}

/// Pieces that cut headers, and several frames at a time.
#[test]
fn headers_survive_any_cut() {
    for size in [1, 13, 4096] {
        let mut client = MODE.fake(&[]).framing(Framing::ContentLength).start();
        let framed = format!("Content-Length: {}\r\n\r\n{PING}", PING.len());
        client.send_in_pieces(framed.repeat(20), size);
        for _ in 0..20 {
            assert_eq!(client.recv(), PONG);
        }
    }
}

#[test]
fn multi_line_body_becomes_one_line() {
    let mut client = greet(MODE.fake(&[]).framing(Framing::ContentLength));
    let pretty = "{\r\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 5,\n  \"method\": \"test/pretty\",\n  \"params\": {\n    \"text\": \"a\\nb\"\n  }\n}\n";
    client.send(pretty);
    let answer = client.answer(5);
    let heard = answer["result"]["heard"].as_str().unwrap();
    assert!(!heard.contains(['\n', '\r']), "{heard}");
    let (mut heard, mut sent): (Value, Value) =
        (serde_json::from_str(heard).unwrap(), serde_json::from_str(pretty).unwrap());
    (heard["id"], sent["id"]) = (json!(null), json!(null));
    assert_eq!(heard, sent);
    let line = client.record().wait_for(1, "test/pretty");
    assert!(line.trim_end().ends_with('}') && line.contains(r#""text": "a\nb""#), "{line}");
}

#[test]
fn servers_bom_and_crlf_are_accepted() {
    let mut client = greet(MODE.fake(&["--bom", "--crlf"]));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    say_with_id(&client, "1", "\r\n\n\u{feff}{\"jsonrpc\":\"2.0\",\"id\":%ID,\"result\":{}}\r");
    assert_eq!(client.recv(), PONG);
}

#[test]
fn server_may_answer_lines_with_headers() {
    let body = r#"{"jsonrpc":"2.0","id":%ID,"result":{}}"#;
    let length = body.len() - 2;
    let greeting =
        format!("Content-Length: {length}\r\nX: y\r\n\r\n{body}Content-Length: 5\r\n\r\n{{}} \r\n");
    let mut client = MODE.fake(&["--greeting", &greeting]).start();
    client.send(PING.replace("ping", "initialize"));
    assert_eq!(client.recv(), PONG);
}

/// A server that is run several times with the same home, with no process in between.
struct Runs {
    scratch: Scratch,
    record: Record,
    options: Vec<&'static str>,
}

impl Runs {
    fn of(options: &[&'static str]) -> Self {
        let scratch = Scratch::new();
        let record = Record::in_folder(scratch.folder("record"));
        Self { scratch, record, options: options.to_vec() }
    }

    fn next(&self) -> Client {
        let file = config(json!({}), json!({ "startTimeout": "1s" }), self.record.folder(), &self.options);
        let path = self.scratch.file("config.json", file.to_string());
        MODE.window(program().home(self.scratch.home()), &path).start()
    }

    /// A run that succeeds.
    #[track_caller]
    fn next_works(&self) {
        let mut client = self.next();
        client.initialize();
        assert!(client.call("echo", json!({})).get("result").is_some());
        self.end(client);
    }

    /// A run in which no process answers.
    #[track_caller]
    fn next_fails(&self) {
        let mut client = self.next();
        error(&client.request("initialize", json!({})), -32003, "backend_timeout");
        self.end(client);
    }

    #[track_caller]
    fn end(&self, mut client: Client) {
        assert_eq!(client.finish().code, Some(0));
        self.scratch.stop_daemons();
    }

    /// The framing that each process was spoken to in.
    fn framings(&self) -> Vec<&'static str> {
        let of = |launch| match self.record.heard(launch).first() {
            Some(b'{') => "lines",
            Some(b'C') => "headers",
            _ => "nothing",
        };
        (1..=self.record.launches()).map(of).collect()
    }
}

/// The server understands only `Content-Length`: this is detected, and remembered for the next run.
#[test]
fn detected_framing_is_remembered() {
    let runs = Runs::of(&["--framing", "content-length"]);
    runs.next_works();
    assert_eq!(runs.framings(), ["lines", "headers"], "a fresh process for each");
    let records = fs::read_dir(runs.scratch.state("launches")).unwrap();
    let records: Vec<String> =
        records.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(matches!(&records[..], [only] if only.contains(r#""framing": "content-length""#)), "{records:?}");
    runs.next_works();
    assert_eq!(runs.framings(), ["lines", "headers", "headers"]);
}

#[test]
fn newline_framing_is_remembered() {
    let runs = Runs::of(&[]);
    runs.next_works();
    runs.next_works();
    assert_eq!(runs.framings(), ["lines", "lines"]);
}

/// The first run learns nothing, as when the client gives up early: the next run begins with the other
/// framing, and still falls back to the first.
#[test]
fn undecided_framing_is_remembered() {
    let runs = Runs::of(&["--framing", "content-length", "--silent", "--faulty", "2"]);
    runs.next_fails();
    runs.next_works();
    assert_eq!(runs.framings(), ["lines", "headers", "headers"]);

    let runs = Runs::of(&["--silent", "--faulty", "2"]);
    runs.next_fails();
    runs.next_works();
    assert_eq!(runs.framings(), ["lines", "headers", "headers", "lines"]);
    runs.next_works();
    assert_eq!(runs.framings()[4], "lines");
}

/// A server with newline framing that was too slow once, and that answers headers with an error, as the
/// Python SDK does: any output must not count as understanding.
#[test]
fn error_at_headers_is_not_understanding() {
    let protest = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"?"}}
{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
"#;
    let runs = Runs::of(&["--silent", "--faulty", "2", "--protest", protest]);
    runs.next_fails();
    runs.next_works();
    assert_eq!(runs.framings(), ["lines", "headers", "headers", "lines"]);
    runs.next_works();
    assert_eq!(runs.framings()[4], "lines");
}

/// Messages behind `initialize` survive the detection.
#[test]
fn messages_survive_framing_detection() {
    let mut client =
        MODE.configured(json!({}), json!({ "startTimeout": "1s" }), &["--framing", "content-length"]).start();
    let first = client.ask("initialize", json!({}));
    client.notify("notifications/initialized", json!({}));
    let second = client.ask("tools/list", json!({}));
    assert!(client.answer(first)["result"].is_object());
    assert!(client.answer(second)["result"]["tools"].is_array());
    let heard = String::from_utf8(client.record().heard(2)).unwrap();
    let at = |text: &str| heard.find(text).unwrap_or_else(|| panic!("{text} in {heard}"));
    assert!(at("\"initialize\"") < at("initialized") && at("initialized") < at("tools/list"), "{heard}");
}

#[test]
fn silence_in_both_framings_is_an_error() {
    let mut client = MODE.configured(json!({}), json!({ "startTimeout": "300ms" }), &["--silent"]).start();
    let answer = client.request("initialize", json!({}));
    error(&answer, -32003, "backend_timeout");
    assert_eq!(client.record().launches(), 2);
}

#[test]
fn config_can_fix_the_framing() {
    let server = json!({ "framing": "content-length" });
    let mut client = greet(MODE.configured(json!({}), server, &["--framing", "content-length"]));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.record().launches(), 1);

    // A client whose first message is broken is answered in the configured framing.
    let file = json!({ "framing": "content-length" });
    let mut client = MODE.configured(file, json!({}), &[]).framing(Framing::ContentLength).start();
    client.send("not json");
    assert_eq!(client.recv_json()["error"]["code"], -32700);
}
