//! Many roots, visited round-robin, for a minute.

use super::census::Census;
use crate::roots::editor::Editor;
use crate::support::configured;
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::pids;

#[test]
fn fifty_roots_stay_within_the_cap() {
    const CAP: usize = 3;
    let server = json!({ "rootArguments": ["path"], "maxBackends": CAP });
    let start = configured(json!({}), server, &[]);
    let roots: Vec<_> = (0..50).map(|n| start.scratch().folder(&format!("root-{n}"))).collect();
    let mut editor = Editor::open(start, &roots);
    let record = editor.record();
    let ours = record.folder().display().to_string();
    let census = Census::of(&ours, Duration::from_millis(50));
    let started = Instant::now();
    let mut visits = 0;
    for root in roots.iter().cycle() {
        if started.elapsed() > Duration::from_secs(60) {
            break;
        }
        assert_eq!(editor.facts(json!({ "path": root.join("x") })).cwd, *root);
        visits += 1;
    }
    let left = pids::with_text(&ours);
    editor.finish();
    let count = census.finish();
    assert!(visits > roots.len(), "every root was there more than once: {visits} visits");
    assert_eq!(count.most, CAP, "{count:?} of {} processes in {visits} visits", record.launches());
    assert!(!left.is_empty() && !left.into_iter().any(pids::is_alive));
    assert_eq!(pids::with_text(&ours), Vec::<u32>::new());
}
