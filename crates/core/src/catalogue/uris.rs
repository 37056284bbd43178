//! Public URIs of resources and templates. A resource is wrapped completely: `proxy://resource/…`. A template
//! keeps its own text after `proxy://template/server/`, so that its expansions can be unwrapped again.
//! `ui://…` is never wrapped: hosts recognise that scheme. Must not know which resources exist.

use crate::text::percent;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::borrow::Cow;

const RESOURCE_PREFIX: &str = "proxy://resource/";
const TEMPLATE_PREFIX: &str = "proxy://template/";

/// Whether this URI is never wrapped.
pub fn stays_as_it_is(uri: &str) -> bool {
    uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("ui://"))
}

/// `proxy://resource/` followed by the server's name, a line feed and the URI, as base64url.
pub fn encode_resource(server: &str, uri: &str) -> String {
    let mut public = String::from(RESOURCE_PREFIX);
    BASE64_URL_SAFE_NO_PAD.encode_string(format!("{server}\n{uri}"), &mut public);
    public
}

/// Server and URI of a wrapped resource. There is only one spelling: padding and stray bits are refused.
pub fn decode_resource(public: &str) -> Option<(String, String)> {
    let plain = BASE64_URL_SAFE_NO_PAD.decode(public.strip_prefix(RESOURCE_PREFIX)?).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let (server, uri) = plain.split_once('\n')?;
    Some((server.to_owned(), uri.to_owned()))
}

/// The prefix of this server's templates. Its name is percent-encoded, which template expansion leaves unchanged.
pub fn template_prefix(server: &str) -> String {
    format!("{TEMPLATE_PREFIX}{}/", percent::encode_segment(server))
}

/// Server and template (or URI, if it was expanded) of a wrapped template.
pub fn decode_template(public: &str) -> Option<(Cow<'_, str>, &str)> {
    let (server, rest) = public.strip_prefix(TEMPLATE_PREFIX)?.split_once('/')?;
    Some((percent::decode(server)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn resources_are_wrapped_and_unwrapped() {
        let public = encode_resource("docs", "file:///a b");
        assert_eq!(public, "proxy://resource/ZG9jcwpmaWxlOi8vL2EgYg");
        assert_eq!(decode_resource(&public), Some(("docs".into(), "file:///a b".into())));
        assert_eq!(decode_resource("file:///a"), None);
        assert_eq!(decode_resource("proxy://resource/Zm9v"), None);
        assert_eq!(decode_resource("proxy://resource/?"), None);
        for other in ["gYg=", "gYh", "gYg\n", "gYgAAA"] {
            let public = public.strip_suffix("gYg").unwrap().to_owned() + other;
            assert_eq!(decode_resource(&public), None, "{other}");
        }
    }

    #[test]
    fn templates_keep_their_own_text() {
        let public = template_prefix("my {odd}/server") + "file:///{+path}{?q}";
        assert_eq!(public, "proxy://template/my%20%7Bodd%7D%2Fserver/file:///{+path}{?q}");
        let (server, rest) = decode_template(&public).unwrap();
        assert_eq!((&*server, rest), ("my {odd}/server", "file:///{+path}{?q}"));
        for foreign in [
            "proxy://template/x",
            "proxy://template/%zz/a",
            "proxy://template/%2/a",
            "proxy://template/%ff/a",
        ] {
            assert_eq!(decode_template(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn ui_is_known_by_its_scheme() {
        assert!(stays_as_it_is("ui://x") && stays_as_it_is("UI://x"));
        assert!(!stays_as_it_is("uit://x") && !stays_as_it_is("") && !stays_as_it_is("ui:/é"));
    }

    proptest! {
        #[test]
        fn each_resource_has_one_spelling(text in "[A-Za-z0-9_-]{0,12}") {
            let public = format!("{RESOURCE_PREFIX}{text}");
            if let Some((server, uri)) = decode_resource(&public) {
                prop_assert_eq!(encode_resource(&server, &uri), public);
            }
        }

        #[test]
        fn wrapped_uri_survives_a_round_trip(server in "[^\n]{0,20}", uri in "(?s).{0,40}") {
            let public = encode_resource(&server, &uri);
            prop_assert_eq!(decode_resource(&public), Some((server.clone(), uri.clone())));
            let public = template_prefix(&server) + &uri;
            prop_assert_eq!(decode_template(&public), Some((Cow::Owned(server), &*uri)));
        }
    }
}
