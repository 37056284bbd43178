//! Screens in a real terminal of 80 and 120 columns. Snapshots are in `snapshots/`.

use crate::support::{fake_backend, program};
use insta::assert_snapshot;
use serde_json::{Value, json};
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;

fn example() -> Value {
    json!({ "command": crate::support::switchboard(), "args": ["example-server"] })
}

/// `switchboard WORDS…` with the user's config file.
fn configured(words: &[&str], servers: Value) -> Start {
    let start = program().args(words).env("TERM", "xterm").env("NO_COLOR", "1");
    let config = json!({ "mcpServers": servers }).to_string();
    start.scratch().file("home/.config/switchboard/config.json", config);
    start
}

/// Output in a terminal of this width, with everything masked that differs from run to run.
#[track_caller]
fn screen(start: Start, columns: u16) -> String {
    let mut terminal = start.in_terminal(columns);
    let (code, text) = terminal.finish();
    let folder = terminal.scratch().path().display().to_string();
    let text = plain(&text).replace(&folder, "[folder]");
    format!("exit code {}\n{text}", code.map_or("none".to_owned(), |code| code.to_string()))
}

/// The text without lines that were overwritten.
fn plain(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| line.rsplit("\r\x1b[K").next().unwrap_or(line));
    lines.collect()
}

#[test]
fn lists_fit_the_terminal() {
    let servers = || json!({ "example": example(), "notes": example() });
    for columns in [80, 120] {
        for what in ["tools", "resources", "prompts"] {
            let text = screen(configured(&[what], servers()), columns);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
            assert!(widest <= usize::from(columns), "{text}");
            assert_snapshot!(format!("{what}_{columns}"), text);
        }
    }
}

/// A server that does not answer until a file exists.
fn waiting(words: &[&str]) -> (Start, std::path::PathBuf) {
    let start = program().args(words).env("TERM", "xterm");
    let (record, gate) = (start.record(), start.scratch().path().join("gate"));
    let script = "while [ ! -e \"$1\" ]; do sleep 0.05; done; shift; exec \"$@\"";
    let server = json!({
        "command": "sh",
        "args": ["-c", script, "sh", gate, fake_backend(), "--record", record.folder()],
    });
    let config = json!({ "mcpServers": { "slow": server } }).to_string();
    start.scratch().file("home/.config/switchboard/config.json", config);
    (start, gate)
}

#[test]
fn servers_that_start_are_named() {
    for words in [&["tools"][..], &["tools", "slow"], &["call", "slow__echo"]] {
        let (start, gate) = waiting(words);
        let mut terminal = start.in_terminal(80);
        terminal.wait_for("starting `slow`… ");
        std::fs::write(gate, "").unwrap();
        let (code, text) = terminal.finish();
        assert_eq!(code, Some(0), "{text}");
        assert!(!plain(&text).contains("starting"), "{text:?}");
    }
}

#[test]
fn stdio_in_a_terminal_explains_itself() {
    let mut terminal = configured(&["stdio"], json!({ "example": example() })).in_terminal(80);
    terminal.wait_for("Ctrl-C ends it.");
    let text = terminal.text().replace(env!("CARGO_BIN_EXE_switchboard"), "[switchboard]");
    assert_snapshot!("stdio_in_terminal", text);
    // The program serves nevertheless.
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    terminal.type_in(&format!("{hello}\n"));
    terminal.wait_for(r#""result":{}"#);
    terminal.type_in("\u{4}");
    assert_eq!(terminal.finish().0, Some(0));
}

#[test]
fn status_can_be_watched() {
    let terminal = configured(&["status", "--watch"], json!({ "example": example() })).in_terminal(80);
    terminal.wait_for("\x1b[H\x1b[JNo daemon is running.");
    let shown = || terminal.text().matches("\x1b[H\x1b[J").count();
    patience::until_true("it is shown again", || shown() >= 2);

    // For programs: one line each; ends when the reader is gone.
    let watch = || configured(&["status", "--watch", "--json"], json!({ "example": example() }));
    let mut client = watch().start();
    for _ in 0..2 {
        assert_eq!(client.recv_json()["daemons"], json!([]));
    }
    let mut client = watch().not_reading().start();
    client.close_output();
    assert_eq!(client.wait_for_end().code, Some(0));
}
