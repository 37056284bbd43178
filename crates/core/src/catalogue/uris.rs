//! Public URIs of resources and templates. A resource is wrapped completely: `proxy://resource/…`. A template
//! keeps its own text after `proxy://template/server/`, so that its expansions can be unwrapped again. The
//! resources of MCP Apps keep their scheme, by which hosts recognise them: `ui://switchboard/server/…`. Must
//! not know which resources exist.

use crate::text::percent;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::borrow::Cow;

const RESOURCE_PREFIX: &str = "proxy://resource/";
const TEMPLATE_PREFIX: &str = "proxy://template/";

/// The scheme of MCP Apps.
const UI_SCHEME: &str = "ui://";
/// The authority of all public URIs of MCP Apps. It tells them from a server's own, many of which have the
/// server's name there.
const UI_AUTHORITY: &str = "switchboard/";

/// Whether this URI or template belongs to an MCP App.
pub fn is_ui(uri: &str) -> bool {
    split_ui(uri).is_some()
}

/// The scheme of an MCP App in its own spelling, and the rest.
fn split_ui(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_at_checked(UI_SCHEME.len())?;
    scheme.eq_ignore_ascii_case(UI_SCHEME).then_some((scheme, rest))
}

/// The form for MCP Apps, of resources and templates alike: the rest of the URI follows unchanged.
fn encode_ui(server: &str, uri: &str) -> Option<String> {
    let (scheme, rest) = split_ui(uri)?;
    Some(format!("{scheme}{UI_AUTHORITY}{}/{rest}", percent::encode_segment(server)))
}

fn decode_ui(public: &str) -> Option<(String, String)> {
    let (scheme, rest) = split_ui(public)?;
    let (server, own) = rest.strip_prefix(UI_AUTHORITY)?.split_once('/')?;
    Some((percent::decode(server)?.into_owned(), format!("{scheme}{own}")))
}

/// `proxy://resource/` followed by the server's name, a line feed and the URI, as base64url; for MCP Apps
/// `ui://switchboard/`, the server's name and the rest of the URI.
pub fn encode_resource(server: &str, uri: &str) -> String {
    if let Some(public) = encode_ui(server, uri) {
        return public;
    }
    let mut public = String::from(RESOURCE_PREFIX);
    BASE64_URL_SAFE_NO_PAD.encode_string(format!("{server}\n{uri}"), &mut public);
    public
}

/// Server and URI of a wrapped resource, and of a wrapped template of an MCP App. In base64url there is only one
/// spelling: padding and stray bits are refused.
pub fn decode_resource(public: &str) -> Option<(String, String)> {
    if let Some(found) = decode_ui(public) {
        return Some(found);
    }
    let plain = BASE64_URL_SAFE_NO_PAD.decode(public.strip_prefix(RESOURCE_PREFIX)?).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let (server, uri) = plain.split_once('\n')?;
    Some((server.to_owned(), uri.to_owned()))
}

/// `proxy://template/`, the server's name and the template; for MCP Apps as [`encode_resource`].
pub fn encode_template(server: &str, template: &str) -> String {
    encode_ui(server, template).unwrap_or_else(|| template_prefix(server) + template)
}

/// The prefix of this server's templates, except for those of MCP Apps. Its name is percent-encoded, which template expansion leaves unchanged.
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
        assert!(is_ui("ui://x") && is_ui("UI://x") && is_ui("ui://{name}"));
        assert!(!is_ui("uit://x") && !is_ui("") && !is_ui("ui:/é") && !is_ui("proxy://resource/x"));
    }

    #[test]
    fn apps_keep_their_scheme() {
        for (server, uri, public) in [
            ("docs", "ui://widget/1?a=b#c", "ui://switchboard/docs/widget/1?a=b#c"),
            ("my {odd}/server", "UI://w", "UI://switchboard/my%20%7Bodd%7D%2Fserver/w"),
            // Another switchboard behind this one.
            ("a", "ui://switchboard/b/w", "ui://switchboard/a/switchboard/b/w"),
            ("a", "ui://", "ui://switchboard/a/"),
        ] {
            assert_eq!(encode_resource(server, uri), public);
            assert_eq!(encode_template(server, uri), public);
            assert_eq!(decode_resource(public), Some((server.into(), uri.into())));
        }
        for own in ["ui://docs/widget", "ui://switchboard", "ui://switchboard/x", "ui://switchboard/%zz/x"] {
            assert_eq!(decode_resource(own), None, "{own}");
        }
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
        fn wrapped_uri_survives_a_round_trip(server in "[^\n]{0,20}", uri in "(?s)(|ui://|uI://switchboard/).{0,40}") {
            let public = encode_resource(&server, &uri);
            prop_assert_eq!(decode_resource(&public), Some((server.clone(), uri.clone())));
            let public = encode_template(&server, &uri);
            let template = decode_template(&public).map(|(server, uri)| (server.into_owned(), uri.to_owned()));
            prop_assert_eq!(template.or_else(|| decode_resource(&public)), Some((server, uri)));
        }
    }
}
