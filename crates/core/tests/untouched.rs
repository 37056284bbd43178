//! Property: in an aggregate, only the id, the name and the progress token of a call change, and only the id of its answer,
//! for clients of both eras. The simulator's eras scenario checks the same for random interleavings, with simpler payloads.

use crate::aggregates;
use crate::eras::play;
use crate::eras_aggregate;
use proptest::prelude::*;

/// JSON strings that libraries would spell differently, or that contain JSON syntax.
fn string() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        " ",
        "é",
        "😀",
        "\u{2028}",
        "\u{feff}",
        r"\u0041",
        r"\u00e9",
        r"\ud83d\ude00",
        r"\ud800",
        r"\u0000",
        r"\/",
        r#"\""#,
        r"\\",
        r"\n",
        r#"\"id\":7,"#,
        "%41",
        "}]",
        "more__read",
    ]);
    prop::collection::vec(part, 0..6).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn number() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "0",
        "-0",
        "-0.0",
        "0.70",
        "1.0",
        "1e3",
        "1E+2",
        "1e400",
        "9007199254740993",
        "123456789012345678901234567890",
    ]);
    prop_oneof![
        odd.prop_map(str::to_owned),
        any::<f64>().prop_map(|it| format!("{it:e}")),
        any::<i64>().prop_map(|it| it.to_string())
    ]
    .prop_filter("JSON has no such number", |it| !it.contains("NaN") && !it.contains("inf"))
}

/// A key that has a meaning elsewhere in a message, in several spellings, or an unknown one.
fn key() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        r#""name""#,
        r#""n\u0061me""#,
        r#""Name""#,
        r#""id""#,
        r#""jsonrpc""#,
        r#""method""#,
        r#""params""#,
        r#""_meta""#,
        r#""progressToken""#,
        r#""requestState""#,
        r#""taskId""#,
        r#""uri""#,
        r#""cursor""#,
        r#""result""#,
        r#""io.modelcontextprotocol/protocolVersion""#,
    ]);
    prop_oneof![known.prop_map(str::to_owned), string()]
}

fn space() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " ", "  ", "\t"])
}

/// JSON text. Objects may have duplicate keys.
fn value() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["null", "true", "false", "{}", "[]", "{ }"]);
    let leaf = prop_oneof![word.prop_map(str::to_owned), number(), string()];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let items = prop::collection::vec((space(), inner.clone()), 1..5);
        let list = items.prop_map(|items| {
            let items: Vec<String> =
                items.into_iter().map(|(space, item)| format!("{space}{item}{space}")).collect();
            format!("[{}]", items.join(","))
        });
        prop_oneof![list, object(key(), inner)]
    })
}

fn object(
    key: impl Strategy<Value = String>,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let members = prop::collection::vec((space(), key, space(), value), 1..5);
    members.prop_map(|members| {
        let members: Vec<String> = members
            .into_iter()
            .map(|(before, key, between, value)| format!("{before}{key}{between}:{between}{value}{before}"))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// Unknown members of `_meta` or `params`.
fn unknown() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec!["own/x", "traceparent", "names", "Uris", "é", r"\u006ewn", ""]);
    (key, space(), value()).prop_map(|(key, space, value)| format!("\"{key}\"{space}:{value}"))
}

/// A call with placeholders for the id (`ID`), the name (`NAME`), the progress token (`TOKEN`) and the declaration
/// (`DECLARED`).
#[derive(Debug, Clone)]
struct Call {
    text: String,
    id: &'static str,
    token: &'static str,
    /// An answer with a placeholder for the id.
    answer: String,
}

/// Joins the members of an object in any order.
fn shuffled(members: Vec<String>) -> impl Strategy<Value = String> {
    (Just(members).prop_shuffle(), space())
        .prop_map(|(members, space)| format!("{{{space}{}{space}}}", members.join(&format!("{space},"))))
}

fn call() -> impl Strategy<Value = Call> {
    let meta = (unknown(), any::<bool>()).prop_flat_map(|(own, has_token)| {
        let token = has_token.then(|| r#""progressToken":TOKEN"#.to_owned());
        shuffled([own, "DECLARED".to_owned()].into_iter().chain(token).collect())
    });
    let params = (meta, unknown(), value()).prop_flat_map(|(meta, own, arguments)| {
        let arguments = format!(r#""arguments":{arguments}"#);
        shuffled(vec![r#""name":NAME"#.to_owned(), arguments, format!(r#""_meta":{meta}"#), own])
    });
    let text = params.prop_flat_map(|params| {
        let members = [r#""jsonrpc":"2.0""#, r#""id":ID"#, r#""method":"tools/call""#];
        let members = members.map(str::to_owned).into_iter().chain([format!(r#""params":{params}"#)]);
        shuffled(members.collect())
    });
    let result = (value(), string(), unknown()).prop_flat_map(|(structured, text, own)| {
        let content = format!(r#""content":[{{"type":"text","text":{text}}}]"#);
        shuffled(vec![content, format!(r#""structuredContent":{structured}"#), own])
    });
    let answer = result.prop_flat_map(|result| {
        shuffled(vec![
            r#""jsonrpc":"2.0""#.to_owned(),
            r#""id":ID"#.to_owned(),
            format!(r#""result":{result}"#),
        ])
    });
    let id = prop::sample::select(vec![r#""c""#, r#""\u0063\/""#, "-7.50", "12345678901234567890123"]);
    let token = prop::sample::select(vec![r#""t""#, r#""\u0074""#, "0", "1.0"]);
    (text, id, token, answer).prop_map(|(text, id, token, answer)| Call { text, id, token, answer })
}

/// A message in a story.
fn line(text: &str) -> String {
    match text.strip_prefix(r#"{"jsonrpc":"2.0","#) {
        Some(rest) => format!("{{{rest}"),
        None => format!("raw {text}"),
    }
}

impl Call {
    /// The client's call and the server's answer, with the expected messages on the other side. `minted`: our id for the
    /// call.
    fn story(&self, declared: &str, minted: u64) -> String {
        let call = self.text.replace("DECLARED", declared);
        let minted = minted.to_string();
        let sent =
            call.replace("NAME", r#""more__read""#).replace("ID", self.id).replace("TOKEN", self.token);
        let arrived = call.replace("NAME", r#""read""#).replace("ID", &minted).replace("TOKEN", &minted);
        let answered = self.answer.replace("ID", &minted);
        let got = self.answer.replace("ID", self.id);
        format!(
            "A> {}\n    2< {}\n2> {}\n    A< {}\n",
            line(&sent),
            line(&arrived),
            line(&answered),
            line(&got)
        )
    }
}

proptest! {
    #[test]
    fn legacy_call_keeps_its_bytes(call in call()) {
        aggregates::open(&call.story(r#""own":1"#, 10));
    }

    #[test]
    fn modern_call_keeps_its_bytes(call in call()) {
        let declared = r#""io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        play(&format!("{}{}", eras_aggregate::LISTED, call.story(declared, 7)));
    }
}
