//! Embedded gateway: `examples/embed.rs` serves a client over in-memory streams and leaves nothing;
//! `examples/policy.rs` does so under a policy of its own.

use crate::support::{example, fake_backend};
use switchboard_testkit::client::Start;
use switchboard_testkit::pids;

#[test]
fn embedded_gateway_serves_and_ends() {
    let start = Start::new(example("embed"));
    let record = start.record();
    let start = start.arg(fake_backend()).arg("--record").arg(record.folder());
    let end = start.start().finish();
    let shown = String::from_utf8(end.stdout).unwrap();
    assert_eq!((end.code, &*end.stderr), (Some(0), ""), "{shown}");
    assert!(shown.contains("connected to \"switchboard\""), "{shown}");
    assert!(shown.contains("tool \"embedded__echo\""), "{shown}");
    let folder = record.folder().to_string_lossy().into_owned();
    assert_eq!(pids::with_text(&folder), Vec::<u32>::new(), "the server was stopped");
}

#[test]
fn another_policy_decides() {
    let start = Start::new(example("policy"));
    let record = start.record();
    let end = start.arg(fake_backend()).arg("--record").arg(record.folder()).start().finish();
    let shown = String::from_utf8(end.stdout).unwrap();
    assert_eq!((end.code, &*end.stderr), (Some(0), ""), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[..2], ["without a badge: unauthorized", "with a badge: ok"]);
    let tools = lines[2].strip_prefix("tools: ").unwrap();
    assert!(tools.split(' ').all(|name| name.starts_with("embedded__e")), "{tools}");
    assert_eq!(lines[3..], ["call 1: ok", "call 2: ok", "call 3: rate_limited"]);
}

#[test]
fn embedded_gateway_reports_bad_usage() {
    let end = Start::new(example("embed")).start().finish();
    assert_eq!(end.code, Some(1));
    assert!(end.stderr.contains("usage: embed COMMAND"), "{}", end.stderr);
}
