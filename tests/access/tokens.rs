//! `switchboard token`: tokens are shown once, stored as hashes, and listed by name.

use super::token::{create, web_of};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served, refused, token};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use switchboard_testkit::http::{Talk, hello};
use switchboard_testkit::patience;

#[test]
fn token_is_printed_once_and_hashed() {
    let house = House::new();
    let token =
        create(&house, &["ci", "--servers", "fake", "--tools", "read_*,!read_secret", "--rate", "5/min"]);
    let stored = house.state("tokens.json");
    assert_eq!(fs::metadata(&stored).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&stored).unwrap();
    let secret = token.strip_prefix("swb_").unwrap();
    assert_eq!(secret.len(), 64, "256 bits");
    let hash =
        serde_json::from_str::<Value>(&text).unwrap()["tokens"][0]["sha256"].as_str().unwrap().to_owned();
    for words in
        [&["token", "list"][..], &["token", "list", "--json"], &["token", "show"], &["status", "--json"]]
    {
        let said = house.say(words);
        assert!(!said.contains(secret) && !said.contains(&hash), "{said}");
    }
    assert!(!text.contains(secret), "{text}");
    let list: Value = serde_json::from_str(&house.say(&["token", "list", "--json"])).unwrap();
    assert_eq!(
        (&list[0]["name"], &list[0]["rights"], &list[0]["rate"], &list[0]["expires"], &list[0]["isExpired"]),
        (
            &json!("ci"),
            &json!({ "servers": ["fake"], "tools": ["read_*", "!read_secret"] }),
            &json!("5/min"),
            &json!(null),
            &json!(false)
        )
    );
}

#[test]
fn wrong_words_are_refused() {
    let house = House::new();
    create(&house, &["builds"]);
    for (words, said) in [
        (&["create", "builds"][..], "there is a token `builds` already"),
        (&["create", "a b"], "letters, digits"),
        (&["create", "../x"], "letters, digits"),
        (&["create", "owner"], "reserved"),
        (&["create", "anonymous"], "reserved"),
        (&["create", "x", "--rate", "5/minute"], "`5/min`"),
        (&["create", "x", "--rate", "0/min"], "`5/min`"),
        (&["create", "x", "--burst", "5"], "--rate"),
        (&["create", "x", "--concurrent", "0"], "--concurrent"),
        (&["create", "x", "--expires", "30"], "`30d`"),
        (&["create", "x", "--expires", "3 moons"], "`30d`"),
        (&["create", "x", "--tools", "a,,b"], "pattern"),
        (&["revoke", "build"], "did you mean `builds`?"),
    ] {
        let end = house.run(&[&["token"], words].concat());
        assert_eq!(end.code, Some(2), "{words:?}: {}", end.stderr);
        assert!(end.stderr.contains(said), "{words:?}: {}", end.stderr);
    }
    let list: Value = serde_json::from_str(&house.say(&["token", "list", "--json"])).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
}

#[test]
fn unknown_names_are_doubted() {
    let house = House::with(json!({ "profiles": { "work": ["fake"] } }), json!({}), &[]);
    let file = house.path("home/.config/switchboard/config.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::copy(house.config(), file).unwrap();
    let warned = |words: &[&str]| house.run(&[&["token", "create"], words].concat()).stderr;
    assert!(warned(&["a", "--servers", "faek"]).contains("no server `faek`; did you mean `fake`?"));
    assert!(warned(&["b", "--profile", "wokr"]).contains("no profile `wokr`; did you mean `work`?"));
    assert_eq!(warned(&["c", "--servers", "fake,f*,!fake", "--profile", "work"]), "");
}

/// Concurrent processes do not overwrite each other's tokens.
#[test]
fn concurrent_commands_lose_no_token() {
    let house = House::new();
    let names: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
    let start = |name: &String| house.program("home").args(["token", "create", name]).start();
    let mut all: Vec<_> = names.iter().map(start).collect();
    for program in &mut all {
        assert_eq!(program.finish().code, Some(0));
    }
    let list: Value = serde_json::from_str(&house.say(&["token", "list", "--json"])).unwrap();
    let mut found: Vec<&str> =
        list.as_array().unwrap().iter().filter_map(|token| token["name"].as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, names);
}

/// A file that cannot be relied on is not replaced, and lets only the owner in.
#[test]
fn unreliable_file_lets_only_the_owner_in() {
    let served = Served::new();
    let web = web_of(&served, &["ci"]);
    let path = served.house.state("tokens.json");
    let good = fs::read_to_string(&path).unwrap();
    let status = |web: &switchboard_testkit::http::Web| {
        web.post(FAKE, hello("2025-11-25", json!({})).to_string()).send().status
    };
    let breaks: [(&str, &dyn Fn()); 3] = [
        ("damaged", &|| fs::write(&path, "{").unwrap()),
        ("newer release", &|| fs::write(&path, good.replace("\"version\": 1", "\"version\": 9")).unwrap()),
        ("chmod go-w", &|| fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap()),
    ];
    for (said, break_it) in breaks {
        break_it();
        patience::until_true(said, || status(&web) == 401);
        assert_eq!(status(&served.web), 200, "the owner");
        let before = fs::read_to_string(&path).unwrap();
        for words in [&["list"][..], &["create", "x"], &["revoke", "ci"]] {
            let end = served.house.run(&[&["token"], words].concat());
            assert_eq!(end.code, Some(1), "{}", end.stderr);
            assert!(end.stderr.contains(said) && end.stderr.contains("hint:"), "{}", end.stderr);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "it is kept");
        fs::write(&path, &good).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        patience::until_true("it is good again", || status(&web) == 200);
    }
}

/// A token that was made before the first start of a daemon, and one after it.
#[test]
fn new_token_needs_no_restart() {
    let house = House::new();
    let early = create(&house, &["early"]);
    let served = Served::start(house, &[]);
    let web = served.web.with("Authorization", &format!("Bearer {early}"));
    assert_eq!(Talk::open(&web, FAKE).call("echo", json!({}))["result"]["content"][0]["text"], "{}");
    let late = web_of(&served, &["late"]);
    Talk::open(&late, FAKE).call("echo", json!({}));
    assert!(early != token(&served.house));
    refused(served.web.with("Authorization", "Bearer swb_0").get("/readyz"), 401);
}

#[test]
fn list_fits_the_terminal() {
    let house = House::new();
    create(&house, &["everything"]);
    create(
        &house,
        &[
            "continuous-integration",
            "--servers",
            "files,github,database-of-the-team,!secrets",
            "--tools",
            "read_*,list_*,!read_secret",
            "--resources",
            "file:///srv/*",
            "--profile",
            "work",
            "--rate",
            "60/min",
            "--burst",
            "10",
            "--concurrent",
            "4",
            "--expires",
            "30d",
        ],
    );
    create(&house, &["a-name-that-is-much-longer-than-a-column-should-be", "--methods", "tools/*"]);
    for columns in [80, 120] {
        let list = house.program("home").args(["token", "list"]).env("TERM", "xterm").env("NO_COLOR", "1");
        let (code, text) = list.in_terminal(columns).finish();
        assert_eq!(code, Some(0), "{text}");
        let text = without_times(&text.replace('\r', ""));
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(widest <= usize::from(columns), "{text}");
        assert_snapshot!(format!("token_list_{columns}"), text);
    }
}

/// The text with the digits of dates and times masked.
fn without_times(text: &str) -> String {
    let mut masked = text.to_owned();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"-: ".contains(&byte));
    for at in 0..text.len().saturating_sub("2026-11-18 14:05".len()) {
        let range = at..at + "2026-11-18 14:05".len();
        if text.is_char_boundary(at)
            && text.get(range.clone()).is_some_and(|moment| {
                digits(moment) && moment.starts_with("20") && moment[4..].starts_with('-')
            })
        {
            masked.replace_range(range, "YYYY-MM-DD hh:mm");
        }
    }
    masked
}
