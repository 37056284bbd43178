use super::*;
use crate::config::tests::Scratch;
use crate::config::{Pinning, ServerConfig};
use bytes::Bytes;
use std::fs;
use std::sync::Arc;
use switchboard_core::catalogue::Digest;
use switchboard_core::pins::{PinNews, Pins, Sight};

fn server(pinning: Pinning) -> ServerConfig {
    ServerConfig { pinning, ..ServerConfig::for_command("s", "command", Vec::new()) }
}

fn definition(tool: &str, text: &str) -> (Digest, Bytes) {
    let text = format!(r#"{{"name":"{tool}","description":"{text}"}}"#);
    (Digest::of_json(text.as_bytes()), text.into())
}

fn first(tool: &str, text: &str) -> PinNews {
    let (digest, definition) = definition(tool, text);
    PinNews::FirstSight { tool: tool.into(), digest, sight: Sight(7), definition }
}

fn changed(tool: &str, text: &str) -> PinNews {
    let (digest, definition) = definition(tool, text);
    PinNews::Changed { tool: tool.into(), digest, sight: Sight(8), definition }
}

fn names(pins: &Pins) -> Vec<Arc<str>> {
    pins.changed().cloned().collect()
}

fn shown(stored: &StoredPins) -> Vec<(String, Vec<String>)> {
    let digests = |tool: &StoredTool| tool.changed.iter().map(|it| it.sha256.clone()).collect();
    stored.changed().map(|(name, tool)| (name.clone(), digests(tool))).collect()
}

#[test]
fn pins_survive_the_disk() {
    let (scratch, server) = (Scratch::new(), server(Pinning::Hold));
    let store = PinStore::new(&scratch.path("state"));
    assert_eq!(store.load(&server).0, Pins::default());
    store.apply(&server, &[first("a", "1"), first("b", "1"), changed("a", "2")]).unwrap();
    let (pins, lost) = store.load(&server);
    assert!(lost.is_none());
    assert_eq!(names(&pins), ["a".into()]);
    let other = ServerConfig::for_command("s", "another command", Vec::new());
    assert_eq!(store.load(&other).0, Pins::default(), "another launch has pins of its own");
    let stored = store.read(&PinStore::key(&server)).unwrap().unwrap();
    assert_eq!(stored.tools()["a"].approved[0].text.as_deref(), Some(r#"{"name":"a","description":"1"}"#));
    assert!(stored.tools()["a"].changed[0].date.starts_with("20"), "{stored:?}");
}

#[test]
fn approval_keeps_what_others_stored() {
    let (scratch, server) = (Scratch::new(), server(Pinning::Hold));
    let store = PinStore::new(&scratch.path("state"));
    let key = PinStore::key(&server);
    store.apply(&server, &[first("a", "1"), changed("a", "2")]).unwrap();
    let shown = shown(&store.read(&key).unwrap().unwrap());
    // Meanwhile the tool changes once more, and another is seen.
    store.apply(&server, &[changed("a", "3"), first("b", "1")]).unwrap();
    store.approve(&key, &shown).unwrap();
    let stored = store.read(&key).unwrap().unwrap();
    assert_eq!(stored.tools()["a"].changed.len(), 1, "nobody was shown the third definition");
    assert_eq!(stored.tools()["a"].approved.len(), 2);
    assert!(stored.tools().contains_key("b"));
    // A process that has not heard of the approval yet reports the change again.
    store.apply(&server, &[changed("a", "2")]).unwrap();
    assert_eq!(store.read(&key).unwrap().unwrap(), stored);
}

/// Each of many writers adds one tool, and none is lost.
#[test]
fn writers_do_not_lose_each_others_pins() {
    let (scratch, server) = (Scratch::new(), server(Pinning::Hold));
    let store = PinStore::new(&scratch.path("state"));
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (store, server) = (store.clone(), &server);
            scope.spawn(move || {
                for tool in 0..5 {
                    store.apply(server, &[first(&format!("{writer}-{tool}"), "1")]).unwrap();
                }
            });
        }
    });
    assert_eq!(store.read(&PinStore::key(&server)).unwrap().unwrap().tools().len(), 40);
}

#[test]
fn damaged_file_approves_nothing_with_hold() {
    let scratch = Scratch::new();
    let store = PinStore::new(&scratch.path("state"));
    let (warn, hold) = (server(Pinning::Warn), server(Pinning::Hold));
    store.apply(&hold, &[first("a", "1")]).unwrap();
    let path = scratch.path("state/pins").join(format!("{}.json", PinStore::key(&hold)));
    let whole = fs::read_to_string(&path).unwrap();
    for damage in
        [&whole[..whole.len() / 2], "", "[]", &whole.replacen("\"sha256\": \"", "\"sha256\": \"x", 1)]
    {
        fs::write(&path, damage).unwrap();
        let (pins, lost) = store.load(&hold);
        assert!(lost.is_some() && pins.is_closed(), "{damage}");
        let (pins, lost) = store.load(&warn);
        assert!(lost.is_some() && !pins.is_closed(), "{damage}");
    }
    // What is found next replaces the file, and still nothing is approved at first sight.
    store.apply(&hold, &[changed("a", "1"), changed("b", "1")]).unwrap();
    let (pins, lost) = store.load(&hold);
    assert!(lost.is_none() && pins.is_closed());
    let key = PinStore::key(&hold);
    let all = shown(&store.read(&key).unwrap().unwrap());
    store.approve(&key, &all[..1]).unwrap();
    assert!(store.load(&hold).0.is_closed(), "one tool is not approved yet");
    store.approve(&key, &all[1..]).unwrap();
    assert!(!store.load(&hold).0.is_closed());
}

#[cfg(unix)]
#[test]
fn file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (scratch, server) = (Scratch::new(), server(Pinning::Warn));
    let store = PinStore::new(&scratch.path("state"));
    store.apply(&server, &[first("a", "1")]).unwrap();
    let path = scratch.path("state/pins").join(format!("{}.json", PinStore::key(&server)));
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn long_definitions_are_stored_without_text() {
    let (scratch, server) = (Scratch::new(), server(Pinning::Warn));
    let store = PinStore::new(&scratch.path("state"));
    let long = "x".repeat(100_000);
    let many: Vec<PinNews> = (0..200).map(|tool| first(&format!("t{tool}"), &long[..60_000])).collect();
    store.apply(&server, &many).unwrap();
    store.apply(&server, &[first("a", &long), changed("a", "2")]).unwrap();
    let stored = store.read(&PinStore::key(&server)).unwrap().unwrap();
    assert_eq!(stored.tools()["a"].approved[0].text, None);
    assert!(stored.tools()["a"].changed[0].text.is_some());
    let texts =
        |tool: &StoredTool| tool.approved.iter().filter_map(|it| it.text.as_ref()).map(String::len).sum();
    let total: usize = stored.tools().values().map(|tool| -> usize { texts(tool) }).sum();
    assert!((1 << 20..=8 << 20).contains(&total), "{total}");
}

#[test]
fn forgotten_pins_leave_no_file() {
    let (scratch, server) = (Scratch::new(), server(Pinning::Warn));
    let store = PinStore::new(&scratch.path("state"));
    store.forget(&server).unwrap();
    store.apply(&server, &[first("a", "1")]).unwrap();
    store.apply(&server, &[PinNews::Forgotten]).unwrap();
    assert!(store.read(&PinStore::key(&server)).unwrap().is_none());
    store.apply(&server, &[first("a", "2")]).unwrap();
    store.forget(&server).unwrap();
    assert!(store.read(&PinStore::key(&server)).unwrap().is_none());
}
