//! Any bytes as a frame: no panic; the JSON check agrees with `serde_json`, apart from the depth limit; parts
//! are where another parser finds them; and the outgoing message is still the same.
#![forbid(unsafe_code)]
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use switchboard_protocol::envelope::{Fault, parse_repeated};
use switchboard_protocol::json::What;
use switchboard_protocol::{
    Broken, Dialect, ErrorAnswer, Kind, Message, MetaCache, Outgoing, Parsed, Part, Patch, RawId, dialect,
    parse,
};

/// A sender may repeat its `_meta`: the second time it is not scanned, and must be read the same.
fn is_read_the_same_again(data: &[u8]) {
    let (mut cache, plain) = (MetaCache::default(), data.is_ascii());
    let mut read = || format!("{:?}", parse_repeated(Bytes::copy_from_slice(data), plain, &mut cache));
    assert_eq!(read(), read());
}

/// Paths of the parts that we replace.
const REPLACED: &[(Part, &[&str])] = &[
    (Part::Id, &["id"]),
    (Part::RequestId, &["params", "requestId"]),
    (Part::ProgressToken, &["params", "progressToken"]),
    (Part::MetaProgressToken, &["params", "_meta", "progressToken"]),
    (Part::TaskId, &["params", "taskId"]),
    (Part::ResultTaskId, &["result", "task", "taskId"]),
];
/// Paths of some parts that we only read.
const READ: &[(Part, &[&str])] = &[
    (Part::Jsonrpc, &["jsonrpc"]),
    (Part::Method, &["method"]),
    (Part::Params, &["params"]),
    (Part::Result, &["result"]),
    (Part::Error, &["error"]),
    (Part::Name, &["params", "name"]),
    (Part::Uri, &["params", "uri"]),
    (Part::RefName, &["params", "ref", "name"]),
    (Part::NextCursor, &["result", "nextCursor"]),
    (Part::ErrorCode, &["error", "code"]),
];

fuzz_target!(|data: &[u8]| {
    let is_json = serde_json::from_slice::<&RawValue>(data).is_ok();
    is_read_the_same_again(data);
    match parse(Bytes::copy_from_slice(data)) {
        Ok(Parsed::One(message)) => {
            assert!(is_json);
            same_parts(&message);
            goes_out_whole(&message);
            loses_its_token(&message);
        }
        Ok(Parsed::Batch(members)) => {
            assert!(is_json && !members.is_empty());
            for member in members {
                match member {
                    Ok(message) => {
                        same_parts(&message);
                        goes_out_whole(&message);
                        loses_its_token(&message);
                    }
                    Err(broken) => answerable(&broken),
                }
            }
        }
        Err(broken) => {
            answerable(&broken);
            // A fault of the envelope may be found before the text turns out not to be JSON, never the reverse.
            let said_not_json = match broken.fault {
                Fault::NotUtf8 { .. } => true,
                Fault::NotJson(why) => why.what != What::TooDeep,
                _ => false,
            };
            assert!(!(is_json && said_not_json), "{:?}", broken.fault);
        }
    }
});

/// Checks that `serde_json` finds the same values.
fn same_parts(message: &Message) {
    for (part, path) in REPLACED.iter().chain(READ) {
        let found = look_up(message.bytes(), path);
        assert_eq!(message.part(*part), found.map(str::as_bytes), "{part:?}");
    }
    let expect = match (message.has(Part::Method), message.has(Part::Id)) {
        (true, true) => Kind::Request,
        (true, false) => Kind::Notification,
        (false, _) => Kind::Response {
            failed: message.part(Part::Result).is_none_or(|result| result == b"null")
                && message.has(Part::Error)
                && message.part(Part::Error) != Some(b"null"),
        },
    };
    // Both null, or `result: null` alone, is a success without content.
    if message.part(Part::Result) != Some(b"null") || message.part(Part::Error) != Some(b"null") {
        assert_eq!(message.kind(), expect);
    }
}

/// Checks that replacing parts, translating and joining lines keep the message intact.
fn goes_out_whole(message: &Message) {
    let mut out = Outgoing::of(message);
    for (number, (part, _)) in REPLACED.iter().enumerate() {
        if message.has(*part) {
            out.replace(message.span(*part), Patch::Id(RawId::from_number(1 << (7 * number))));
        }
    }
    let sent = again(&out);
    assert_eq!(sent.kind(), message.kind());
    let mut back = Outgoing::of(&sent);
    for (number, (part, _)) in REPLACED.iter().enumerate() {
        assert_eq!(sent.has(*part), message.has(*part));
        if let Some(original) = message.part(*part) {
            assert_eq!(RawId::minted(sent.part(*part).unwrap()), Some(1 << (7 * number)));
            back.replace(sent.span(*part), Patch::Id(RawId::from_bytes(original)));
        }
    }
    assert_eq!(back.to_vec(), *message.bytes());

    for to in [Dialect::Standard, Dialect::Bare] {
        let mut out = Outgoing::of(message);
        if message.has(Part::Id) {
            out.replace(message.span(Part::Id), Patch::Id(RawId::from_number(7)));
        }
        dialect::translate(message, to, &mut out);
        let sent = again(&out);
        assert_eq!(sent.has(Part::Jsonrpc), to == Dialect::Standard);
        assert_eq!(sent.kind(), message.kind());
        for part in [Part::Method, Part::Params, Part::Result, Part::Error] {
            assert_eq!(sent.part(part), message.part(part));
        }
    }

    let mut broken_up = message.clone();
    broken_up.mark_multiline();
    let flat = Outgoing::of(&broken_up).on_one_line();
    let bytes = flat.to_vec();
    assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'));
    let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    assert_eq!(value(&bytes), value(message.bytes()));
}

/// Checks that tokens are removed, and nothing else.
fn loses_its_token(message: &Message) {
    let stripped = message.clone().without_token();
    assert!(!stripped.shows_token() && stripped.shown_token().is_none());
    assert_eq!((stripped.kind(), stripped.id()), (message.kind(), message.id()));
    if !message.shows_token() {
        assert_eq!(stripped.bytes(), message.bytes());
        return;
    }
    // Values with lone surrogates cannot be compared this way.
    let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    let (Some(mut expect), Some(found)) = (value(message.bytes()), value(stripped.bytes())) else { return };
    for (holder, key) in [("proxy", "authToken"), ("_meta", "switchboard/authToken")] {
        let Some(params) = expect["params"].as_object_mut() else { continue };
        let Some(members) = params.get_mut(holder).and_then(|holder| holder.as_object_mut()) else {
            continue;
        };
        if members.remove(key).is_some() && members.is_empty() {
            params.remove(holder);
        }
    }
    assert_eq!(found, expect);
}

fn again(out: &Outgoing) -> Message {
    let bytes = out.to_vec();
    assert_eq!(bytes.len(), out.len());
    match parse(bytes.into()) {
        Ok(Parsed::One(message)) => message,
        other => panic!("{:?} became {other:?}", String::from_utf8_lossy(&out.to_vec())),
    }
}

/// Checks that the answer to any fault is a message.
fn answerable(broken: &Broken) {
    let id = broken.id.clone().unwrap_or_else(RawId::null);
    let answer = ErrorAnswer::of_fault(broken.fault).to_bytes(&id, Dialect::Standard);
    match parse(answer) {
        Ok(Parsed::One(answer)) => assert_eq!(answer.id(), Some(id)),
        other => panic!("{broken:?} is answered with {other:?}"),
    }
}

fn look_up<'a>(bytes: &'a [u8], path: &[&str]) -> Option<&'a str> {
    let (key, rest) = path.split_first()?;
    let object: Object<'a> = serde_json::from_slice(bytes).ok()?;
    let value = object.0.into_iter().find(|(name, _)| name == key.as_bytes())?.1.get();
    if rest.is_empty() { Some(value) } else { look_up(value.as_bytes(), rest) }
}

/// An object's members in order. The keys are bytes, since they may contain lone surrogates.
struct Object<'a>(Vec<(Vec<u8>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

struct Key(Vec<u8>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a key")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Key, E> {
                Ok(Key(bytes.to_vec()))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Key, E> {
                Ok(Key(text.as_bytes().to_vec()))
            }
        }
        deserializer.deserialize_bytes(Name)
    }
}
