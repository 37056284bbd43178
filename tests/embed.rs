//! Embedded gateway: `examples/embed.rs` serves a client over in-memory streams and leaves nothing.

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
fn embedded_gateway_reports_bad_usage() {
    let end = Start::new(example("embed")).start().finish();
    assert_eq!(end.code, Some(1));
    assert!(end.stderr.contains("usage: embed COMMAND"), "{}", end.stderr);
}
