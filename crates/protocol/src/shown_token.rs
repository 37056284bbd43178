//! Tokens that clients show in their messages, as `params.proxy.authToken` or as `params._meta["switchboard/authToken"]`:
//! read, and removed before the message goes on. Must not know who checks them.

use crate::envelope::{Parsed, parse};
use crate::json;
use crate::message::Message;
use crate::prune;
use crate::touch::Part;
use bytes::Bytes;
use smallvec::SmallVec;

/// A place for a token: the object that holds it, and the token itself.
struct Place {
    holder: Part,
    token: Part,
    path: prune::Path<'static>,
}

const PLACES: [Place; 2] = [
    Place { holder: Part::Proxy, token: Part::ProxyAuthToken, path: &["params", "proxy", "authToken"] },
    Place {
        holder: Part::Meta,
        token: Part::MetaAuthToken,
        path: &["params", "_meta", "switchboard/authToken"],
    },
];

/// Token of a message.
#[derive(Clone, PartialEq, Eq)]
pub enum ShownToken {
    Text(String),
    /// Not a string, or another one in each place.
    Unreadable,
}

/// Without the token itself: it must not reach a log.
impl std::fmt::Debug for ShownToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text",
            Self::Unreadable => "Unreadable",
        })
    }
}

impl Message {
    /// Whether the message has a member for a token. Cheap: asked for every message of a client.
    #[inline]
    pub fn shows_token(&self) -> bool {
        self.has(Part::ProxyAuthToken) || self.has(Part::MetaAuthToken)
    }

    /// The token of the message.
    pub fn shown_token(&self) -> Option<ShownToken> {
        let mut shown = None;
        for place in PLACES {
            // A client library may write `null` for a token that is not set.
            let Some(quoted) = self.part(place.token).filter(|quoted| *quoted != b"null") else { continue };
            let found = json::decode_string(quoted).map_or(ShownToken::Unreadable, ShownToken::Text);
            shown = match shown {
                Some(other) if other != found => Some(ShownToken::Unreadable),
                Some(_) | None => Some(found),
            };
        }
        shown
    }

    /// The message without its tokens; all other bytes stay as they are. An object that held nothing else goes
    /// too: a server with a strict schema would refuse it.
    #[must_use]
    pub fn without_token(self) -> Self {
        let shown = PLACES.into_iter().filter(|place| self.has(place.token));
        let paths: SmallVec<[prune::Path<'_>; 2]> = shown
            .map(|place| match is_only_member(self.part(place.holder).unwrap_or_default()) {
                true => &place.path[..2],
                false => place.path,
            })
            .collect();
        match paths.is_empty() {
            true => self,
            false => prune::without(&self, &paths).unwrap_or(self),
        }
    }
}

/// The frame as it may be shown in a log: without tokens. Frames without one are not copied.
pub fn without_tokens(frame: &Bytes) -> Bytes {
    // A fast check, since bodies are logged for every message: both keys end in this word.
    if memchr::memmem::find(frame, b"oken").is_none() && memchr::memchr(b'\\', frame).is_none() {
        return frame.clone();
    }
    match parse(frame.clone()) {
        Ok(Parsed::One(message)) if message.shows_token() => message.without_token().bytes().clone(),
        Ok(Parsed::Batch(members)) if members.iter().flatten().any(Message::shows_token) => {
            let shown = |member| match member {
                Ok(message) => Message::without_token(message).bytes().clone(),
                Err(_) => Bytes::from_static(b"null"),
            };
            let members: Vec<Bytes> = members.into_iter().map(shown).collect();
            [b"[", &members.join(&b","[..])[..], b"]"].concat().into()
        }
        Ok(_) | Err(_) => frame.clone(),
    }
}

/// Whether an object has one member.
fn is_only_member(object: &[u8]) -> bool {
    let first = json::space(object, 1);
    let end = json::key(object, first).and_then(|(_, value)| json::value(object, value));
    end.is_ok_and(|end| json::byte(object, json::space(object, end)) == Some(b'}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(text: &str) -> Message {
        match parse(Bytes::copy_from_slice(text.as_bytes())) {
            Ok(Parsed::One(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn call(params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
    }

    #[track_caller]
    fn check(params: &str, token: Option<ShownToken>, rest: &str) {
        let message = message(&call(params));
        assert_eq!(message.shown_token(), token, "{params}");
        let stripped = message.without_token();
        assert_eq!(String::from_utf8_lossy(stripped.bytes()), call(rest), "{params}");
        assert!(!stripped.shows_token());
    }

    fn text(token: &str) -> Option<ShownToken> {
        Some(ShownToken::Text(token.to_owned()))
    }

    #[test]
    fn token_is_removed_and_nothing_else() {
        for (params, token, rest) in [
            (r#"{"name":"a","proxy":{"authToken":"t"}}"#, text("t"), r#"{"name":"a"}"#),
            (r#"{ "proxy" : { "authToken" : "t" } , "name":"a"}"#, text("t"), r#"{ "name":"a"}"#),
            (r#"{"proxy":{"authToken":"t"}}"#, text("t"), "{}"),
            (r#"{"proxy":{"authToken":"t","x":1}}"#, text("t"), r#"{"proxy":{"x":1}}"#),
            (r#"{"proxy":{"x":1 , "authToken":"t" ,"y":2}}"#, text("t"), r#"{"proxy":{"x":1 , "y":2}}"#),
            (r#"{"_meta":{"switchboard/authToken":"t"},"name":"a"}"#, text("t"), r#"{"name":"a"}"#),
            (
                r#"{"_meta":{"progressToken":7,"switchboard/authToken":"t"},"name":"a"}"#,
                text("t"),
                r#"{"_meta":{"progressToken":7},"name":"a"}"#,
            ),
            (r#"{"_meta":{"switchboard\/authToken":"t"}}"#, text("t"), "{}"),
            (r#"{"pro\u0078y":{"auth\u0054oken":"\u0074"}}"#, text("t"), "{}"),
            (r#"{"proxy":{"authToken":"t"},"_meta":{"switchboard/authToken":"t"}}"#, text("t"), "{}"),
            (
                r#"{"a":{"proxy":{"authToken":"kept"}},"_meta":{"switchboard/authToken":"t"},"proxy":{"authToken":"u"},"z":0.10}"#,
                Some(ShownToken::Unreadable),
                r#"{"a":{"proxy":{"authToken":"kept"}},"z":0.10}"#,
            ),
            (r#"{"proxy":{"authToken":["t"]}}"#, Some(ShownToken::Unreadable), "{}"),
            (r#"{"proxy":{"authToken":null}}"#, None, "{}"),
            (r#"{"proxy":{"x":1}}"#, None, r#"{"proxy":{"x":1}}"#),
            (r#"{"proxy":"text"}"#, None, r#"{"proxy":"text"}"#),
            (r#"["proxy"]"#, None, r#"["proxy"]"#),
        ] {
            check(params, token, rest);
        }
    }

    #[test]
    fn second_token_under_one_key_is_refused() {
        for params in [
            r#"{"proxy":{"authToken":"a"},"proxy":{"authToken":"b"}}"#,
            r#"{"proxy":{"authToken":"a","authToken":"b"}}"#,
            r#"{"proxy":{"authToken":"a","AuthToken":"b"}}"#,
            r#"{"_meta":{"switchboard/authToken":"a","switchboard\/authToken":"b"}}"#,
        ] {
            assert!(parse(call(params).into()).is_err(), "{params}");
        }
    }

    #[test]
    fn token_is_not_in_the_debug_output() {
        assert!(!format!("{:?}", text("secret")).contains("secret"));
    }

    #[test]
    fn logged_frame_has_no_token() {
        let shown = |text: &str| String::from_utf8(without_tokens(&text.to_owned().into()).to_vec()).unwrap();
        let plain = call(r#"{"_meta":{"progressToken":1}}"#);
        assert_eq!(shown(&plain), plain);
        assert_eq!(shown(&call(r#"{"proxy":{"authToken":"t"}}"#)), call("{}"));
        assert_eq!(shown(&call(r#"{"pr\u006fxy":{"\u0061uth\u0054oke\u006e":"t"}}"#)), call("{}"));
        let batch = format!("[{}, 7]", call(r#"{"proxy":{"authToken":"t"}}"#));
        assert_eq!(shown(&batch), format!("[{},null]", call("{}")));
    }

    proptest! {
        /// Whatever stands around it, the token goes and the rest stays, byte for byte.
        #[test]
        fn rest_of_a_message_stays(
            members in prop::collection::vec(("[a-z]{1,6}", r#"(-?[1-9][0-9]{0,3}\.5|"[a-z]{0,8}"|\{"q": \[1 ,2\]\}|null)"#), 0..5),
            at in 0usize..6,
            gap in "[ \t]{0,2}",
            in_meta: bool,
        ) {
            let token = match in_meta {
                true => format!(r#""_meta"{gap}:{gap}{{"switchboard/authToken":{gap}"tok"}}"#),
                false => format!(r#""proxy"{gap}:{gap}{{{gap}"authToken":{gap}"tok"{gap}}}"#),
            };
            let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
            keys.sort_unstable();
            keys.dedup();
            // Keys of the touch table may occur once; the others may not matter, but are kept apart too.
            prop_assume!(keys.len() == members.len() && !keys.contains(&"proxy"));
            let mut parts: Vec<String> = members.iter().map(|(key, value)| format!(r#""{key}":{value}"#)).collect();
            let rest = call(&format!("{{{}}}", parts.join(",")));
            let at = at.min(parts.len());
            parts.insert(at, token);
            let whole = message(&call(&format!("{{{}}}", parts.join(","))));
            prop_assert_eq!(whole.shown_token(), text("tok"));
            prop_assert_eq!(String::from_utf8_lossy(whole.without_token().bytes()).into_owned(), rest);
        }
    }
}
