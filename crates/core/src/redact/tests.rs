//! Properties of redaction as a whole.

use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

/// Fails unless a text is masked like this, and a second time changes nothing.
#[track_caller]
pub(super) fn check(text: &str, expect: &str) {
    assert_eq!(redact(text), expect);
    assert_eq!(redact(expect), expect, "a second pass changes nothing");
}

const VALUES: &[&str] =
    &["hunter22", "pass word", "a1b2c3d4e5f6", "]abcdefgh", "redacted", "p\"q\\r/s t", "geheim-ä1"];

fn secrets() -> &'static Secrets {
    static SECRETS: LazyLock<Secrets> =
        LazyLock::new(|| Secrets::NONE.with(VALUES.iter().map(|&value| value.to_owned())));
    &SECRETS
}

/// Pieces of which hostile texts are made.
fn piece() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "token",
        "Token:",
        "password=",
        "secret",
        "api_key",
        "Authorization: ",
        "Bearer ",
        "Basic ",
        "cookie:",
        "key=",
        "pwd=",
        "://",
        "@",
        ":",
        "=",
        "%3D",
        ">",
        "\"",
        "'",
        "\\",
        "\\\"",
        "\\\\\\\"",
        " ",
        ",",
        ";",
        "&",
        "\n",
        "\\n",
        "ghp_",
        "npm_",
        "AKIA",
        "eyJ",
        "sk-",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "-----END ",
        "${",
        "}",
        "*",
        "null",
        "abcdefghijkl",
        "0123456789ab",
        "ABCDEFGHIJKLMNOP",
        "[redacted]",
        "[",
        "]",
        "redacted",
        "ä",
        "/",
    ];
    prop_oneof![
        prop::sample::select(WORDS).prop_map(str::to_owned),
        prop::sample::select(VALUES).prop_map(str::to_owned),
        prop::sample::select(VALUES).prop_flat_map(|value| prop::sample::select(forms::forms(value))),
        "[ -~]{0,3}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn redaction_is_idempotent(text in text()) {
        let once = secrets().redact(&text);
        prop_assert_eq!(secrets().redact(&once), once.clone());
        // A log line is redacted once more without the values.
        let patterns = redact(&text);
        prop_assert_eq!(redact(&patterns), patterns);
    }

    #[test]
    fn no_value_survives(text in text()) {
        let masked = secrets().redact(&text);
        for value in VALUES {
            for part in masked.split(MASK) {
                prop_assert!(!part.contains(value), "{:?} in {:?}", value, masked);
            }
        }
    }

    /// Values that are made of the same pieces as the text, and of masks.
    #[test]
    fn any_values_are_masked(text in text(), values in prop::collection::vec(text(), 0..4)) {
        let secrets = Secrets::NONE.with(values.iter().map(|value| value.chars().take(20).collect()));
        let once = secrets.redact(&text);
        prop_assert_eq!(secrets.redact(&once), once.clone());
        prop_assert!(once.len() <= MASK.len() * text.len());
        let values = values.iter().map(|value| value.chars().take(20).collect::<String>());
        for value in values.filter(|value| value.len() >= 8) {
            prop_assert!(!once.split(MASK).any(|part| part.contains(&value)), "{:?} in {:?}", value, once);
        }
    }

    #[test]
    fn texts_grow_by_a_factor_at_most(text in text()) {
        prop_assert!(secrets().redact(&text).len() <= MASK.len() * text.len());
    }

    #[test]
    fn plain_texts_stay(words in prop::collection::vec("[a-z]{1,6}|[0-9]{1,4}|/[a-z]{1,5}", 0..20)) {
        let text = words.join(" ");
        prop_assert_eq!(secrets().redact(&text), text);
    }

    #[test]
    fn cut_texts_show_no_part_of_a_value(before in "[a-z ]{0,40}", value in prop::sample::select(VALUES), limit in 0usize..60) {
        let text = format!("{before} {value} and more text behind it, enough to be cut");
        let cut = secrets().redact_cut(text.as_bytes(), limit);
        prop_assert!(cut.len() <= limit);
        // The text before the value, and then at most a part of the mask.
        let expect = secrets().redact(&text);
        prop_assert!(expect.starts_with(&cut), "{:?} does not start with {:?}", expect, cut);
    }

    #[test]
    fn json_stays_json(text in text(), key in "[a-z]{1,5}|token|api_key") {
        let mut json = serde_json::json!({ key: text.clone(), "n": 12, "list": [text, null, true] });
        secrets().redact_json(&mut json);
        let printed = json.to_string();
        prop_assert!(serde_json::from_str::<Value>(&printed).is_ok());
        for (value, part) in VALUES.iter().flat_map(|value| printed.split(MASK).map(move |part| (value, part))) {
            prop_assert!(!part.contains(value), "{:?} in {:?}", value, printed);
        }
    }
}

/// Texts that make a naive search quadratic: with half a megabyte it would not come to an end.
#[test]
fn hostile_texts_take_linear_time() {
    let secrets = secrets();
    for piece in [
        "token",
        "token=",
        "token ",
        "token \"",
        "key=",
        "pwd=/",
        "cookie",
        "Authorization: ",
        "Bearer ",
        "://a",
        "://a:b@",
        "sk-",
        "npm_-",
        "eyJ",
        "ghp_",
        "-----BEGIN PRIVATE KEY-----\"",
        "-----BEGIN ",
        "-",
        ":",
        "\\",
        "\"",
        "'token',\"",
        "hunter2",
        "hunter22",
        "[redacted]",
        "key=\"key='",
        "AUTHORIZATION:$",
        "\"token\",\"x\"",
    ] {
        let text = piece.repeat((1 << 19) / piece.len());
        let once = secrets.redact(&text);
        assert_eq!(secrets.redact(&once), once, "{piece:?}");
    }
}

#[test]
fn debug_shows_no_value() {
    assert_eq!(format!("{:?}", secrets()), format!("Secrets({})", VALUES.len()));
}

#[test]
fn keys_of_json_announce_values() {
    let mut json = serde_json::json!({
        "token": "abc", "password": 1234, "apiKey": null, "name": "x", "nested": { "client_secret": ["a"] },
        "number": 1, "text": "GITHUB_TOKEN=abc and hunter22",
    });
    secrets().redact_json(&mut json);
    let expect = serde_json::json!({
        "token": MASK, "password": MASK, "apiKey": null, "name": "x", "nested": { "client_secret": MASK },
        "number": 1, "text": "GITHUB_TOKEN=[redacted] and [redacted]",
    });
    assert_eq!(json, expect);
}

/// Long values become short masks, so that the end of the slack moves below the limit.
#[test]
fn end_of_the_slack_is_hidden() {
    let long = "0a1b".repeat(500);
    let secrets = Secrets::NONE.with([long.clone(), "pass word here".to_owned()]);
    let limit = 3000;
    for shift in 0..CUT_SLACK_BYTES {
        let text = format!("{long} {long} {}pass word here {}", "y ".repeat(shift / 2), "z ".repeat(4000));
        let cut = secrets.redact_cut(text.as_bytes(), limit);
        assert!(!cut.contains("pass"), "{shift}: {}", &cut[cut.len() - 40..]);
    }
}
