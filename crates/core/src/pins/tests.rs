//! What is approved at first sight, what counts as a change, and the limits.

use super::table::{MAX_SIGHTS, MAX_TOOLS};
use super::*;
use crate::catalogue::{Digest, Held, Sighting};
use bytes::Bytes;
use std::sync::Arc;

const IDE: Sight = Sight(1);
const AGENT: Sight = Sight(2);

/// `a=1 b=2`: tools and their descriptions.
fn seen(tools: &str) -> Sighting {
    let item = |tool: &str| {
        let (name, text) = tool.split_once('=').unwrap();
        format!(r#"{{"name":"{name}","description":"{text}"}}"#)
    };
    let items: Vec<String> = tools.split_whitespace().map(item).collect();
    Sighting::of_page(&Bytes::from(format!(r#"{{"tools":[{}]}}"#, items.join(",")))).unwrap()
}

fn digest(tool: &str) -> Digest {
    seen(tool).tools()[0].digest
}

fn names(all: &[Arc<str>]) -> Vec<&str> {
    all.iter().map(|name| &**name).collect()
}

/// Compares, and returns the names of the tools with a new change.
fn changed(pins: &mut Pins, sight: Sight, tools: &str) -> String {
    names(&pins.compare(sight, &seen(tools)).changed).join(" ")
}

fn all_changed(pins: &Pins) -> String {
    pins.changed().map(|name| &**name).collect::<Vec<_>>().join(" ")
}

#[test]
fn first_sight_approves() {
    let mut pins = Pins::default();
    let first = pins.compare(IDE, &seen("a=1 b=1"));
    assert_eq!((first.changed.len(), first.unapproved.len(), first.news.len()), (0, 0, 2));
    assert_eq!(pins.compare(IDE, &seen("a=1 b=1")), Comparison::default(), "nothing new, nothing to store");
    assert_eq!(changed(&mut pins, IDE, "a=1 b=1 c=1"), "", "a new name is a first sight");
    assert_eq!(pins.held(false), None);
}

#[test]
fn other_definition_is_a_change_once() {
    let mut pins = Pins::default();
    pins.compare(IDE, &seen("a=1 b=1"));
    let second = pins.compare(IDE, &seen("a=2 b=1"));
    assert_eq!(names(&second.changed), ["a"]);
    assert!(matches!(&second.news[..], [PinNews::Changed { tool, .. }] if &**tool == "a"));
    let again = pins.compare(IDE, &seen("a=2 b=1"));
    assert_eq!((again.changed.len(), again.news.len()), (0, 0), "reported once");
    assert_eq!(again.unapproved, [("a".into(), digest("a=2"))], "still not approved");
    assert_eq!(changed(&mut pins, IDE, "a=3"), "a", "another change");
    assert_eq!(all_changed(&pins), "a");
    let Some(Held::These(held)) = pins.held(false) else { panic!("nothing is held") };
    assert_eq!(held.iter().map(|name| &**name).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn tool_that_comes_back_is_no_change() {
    let mut pins = Pins::default();
    pins.compare(IDE, &seen("a=1 b=1"));
    assert_eq!(changed(&mut pins, IDE, "b=1"), "");
    assert_eq!(changed(&mut pins, IDE, "a=1 b=1"), "");
    pins.compare(IDE, &seen("a=2"));
    let back = pins.compare(IDE, &seen("a=1"));
    assert_eq!((names(&back.restored), back.unapproved.len()), (vec!["a"], 0));
    assert_eq!(all_changed(&pins), "a", "other processes may still show the change");
    assert_eq!(pins.restore("a"), Some(PinNews::Restored { tool: "a".into() }));
    assert_eq!((pins.restore("a"), all_changed(&pins)), (None, String::new()));
}

#[test]
fn other_capabilities_are_a_first_sight() {
    let mut pins = Pins::default();
    pins.compare(IDE, &seen("a=1"));
    let other = pins.compare(AGENT, &seen("a=2"));
    assert_eq!((other.changed.len(), names(&other.variants)), (0, vec!["a"]));
    // From now on both are approved for both.
    assert_eq!(changed(&mut pins, IDE, "a=2"), "");
    assert_eq!(changed(&mut pins, AGENT, "a=1"), "");
    assert_eq!(changed(&mut pins, AGENT, "a=3"), "a");
    assert_eq!(changed(&mut pins, Sight(3), "a=1"), "", "an approved one");
    assert_eq!(changed(&mut pins, Sight(3), "a=4"), "a", "has seen it already");
}

/// Otherwise any client with other capabilities would approve what is held back.
#[test]
fn changed_tool_is_not_approved_by_others() {
    let mut pins = Pins::default();
    pins.compare(IDE, &seen("a=1"));
    pins.compare(IDE, &seen("a=2"));
    assert_eq!(changed(&mut pins, AGENT, "a=2"), "");
    assert_eq!(changed(&mut pins, AGENT, "a=3"), "a");
    assert_eq!(pins.compare(AGENT, &seen("a=2")).unapproved.len(), 1);
    pins.restore("a");
    assert_eq!(changed(&mut pins, AGENT, "a=2"), "a", "it was seen with the change");
}

#[test]
fn approval_elsewhere_is_adopted() {
    let mut pins = Pins::default();
    pins.compare(IDE, &seen("a=1 b=1"));
    pins.compare(IDE, &seen("a=2 b=2"));
    let stored = Pins::new([("a".into(), Pin::new(vec![digest("a=2")], vec![], vec![]))], false);
    pins.adopt(&stored);
    assert_eq!(all_changed(&pins), "b");
    assert_eq!(changed(&mut pins, IDE, "a=1"), "", "approvals of our own stay");
    assert_eq!(changed(&mut pins, IDE, "a=2"), "");
    assert_eq!(changed(&mut pins, IDE, "a=3"), "a");
}

#[test]
fn lost_pins_approve_nothing() {
    let mut pins = Pins::lost();
    let Some(Held::AllBut(shown)) = pins.held(false) else { panic!("not everything is held") };
    assert!(shown.is_empty());
    assert_eq!(changed(&mut pins, IDE, "a=1 b=1"), "a b");
    let stored = Pins::new([("a".into(), Pin::new(vec![digest("a=1")], vec![], vec![]))], true);
    pins.adopt(&stored);
    let held = pins.held(false).unwrap();
    assert!(!held.hides("a") && held.hides("b") && held.hides("never seen"));
    pins.adopt(&Pins::new([("b".into(), Pin::new(vec![digest("b=1")], vec![], vec![]))], false));
    assert_eq!(pins.held(false), None);
    assert_eq!(changed(&mut pins, IDE, "a=1 b=1 c=1"), "");
}

#[test]
fn oldest_unused_definition_makes_room() {
    let mut pins = Pins::default();
    for kind in 0..MAX_APPROVED as u64 {
        pins.compare(Sight(kind), &seen(&format!("a={kind}")));
    }
    // In use again, so that the second one is the oldest.
    pins.compare(Sight(0), &seen("a=0"));
    let more = pins.compare(Sight(100), &seen("a=100"));
    assert!(more.news.contains(&PinNews::Dropped { tool: "a".into(), digest: digest("a=1") }), "{more:?}");
    assert_eq!(changed(&mut pins, Sight(0), "a=0"), "");
    assert_eq!(changed(&mut pins, Sight(1), "a=1"), "a");
}

#[test]
fn limits_never_approve() {
    let mut pins = Pins::default();
    for kind in 0..MAX_SIGHTS as u64 + 5 {
        pins.compare(Sight(kind), &seen("a=1"));
    }
    assert_eq!(changed(&mut pins, Sight(9999), "a=2"), "a", "too many kinds of clients");
    for text in 0..MAX_CHANGED + 5 {
        pins.compare(IDE, &seen(&format!("a=x{text}")));
    }
    assert_eq!(pins.tools["a"].changed.len(), MAX_CHANGED);

    let mut pins = Pins::default();
    let all: Vec<String> = (0..MAX_TOOLS).map(|tool| format!("t{tool}=1")).collect();
    assert!(!pins.compare(IDE, &seen(&all.join(" "))).is_full);
    let more = pins.compare(IDE, &seen("more=1 t0=1"));
    assert!(more.is_full && more.news.is_empty());
    assert!(!pins.compare(IDE, &seen("more=1")).is_full, "told once");
    let held = pins.held(false).unwrap();
    assert!(held.hides("more") && !held.hides("t0"));

    let long = "x".repeat(2000);
    let mut pins = Pins::default();
    assert!(pins.compare(IDE, &seen(&format!("a=1 {long}=1"))).is_full);
    let held = pins.held(false).unwrap();
    assert!(held.hides(&long) && !held.hides("a"));
}

#[test]
fn tools_of_one_name_are_approved_together() {
    let mut pins = Pins::default();
    assert_eq!(changed(&mut pins, IDE, "a=1 a=2"), "");
    assert_eq!(changed(&mut pins, IDE, "a=2 a=1"), "");
    assert_eq!(changed(&mut pins, IDE, "a=1 a=3"), "a");
}

#[test]
fn stored_lists_need_an_approval() {
    use crate::catalogue::{List, Listing, NameStyle, Naming, Offer};
    let offer = |items: &str| {
        let page = format!(r#"{{"tools":[{items}]}}"#);
        let naming = Naming::new("s", NameStyle::Prefixed);
        let tools = Listing::read(List::Tools, &[page.into()], &naming).unwrap();
        Offer::new("{}".into()).with(Arc::new(tools))
    };
    let (one, two) = (r#"{"description":"1","name":"a"}"#, r#"{"name":"a","description":"2"}"#);
    let mut pins = Pins::default();
    assert!(!pins.vouch_for(&offer(one)), "never seen");
    pins.compare(IDE, &seen("a=1"));
    assert!(pins.vouch_for(&offer(one)) && !pins.vouch_for(&offer(two)));
    assert!(pins.vouch_for(&Offer::new("{}".into())), "no tools at all");
    assert!(!pins.vouch_for(&offer(&format!("{one},7"))), "no name to approve");
    pins.compare(IDE, &seen("a=2"));
    assert!(pins.vouch_for(&offer(two)), "it is held");
    assert!(!Pins::default().vouch_for(&offer(two)));
    assert!(!Pins::lost().vouch_for(&offer(two)), "the server must be asked");
}
