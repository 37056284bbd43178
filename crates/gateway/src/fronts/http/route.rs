//! From a path to its target and transport. Pure.

use std::borrow::Cow;
use switchboard_core::text::percent;

/// Servers that a client connects to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RouteTarget {
    /// All servers, as one.
    Everything,
    /// One server, unchanged.
    Server(String),
    /// A profile of the config: some servers, as one.
    Profile(String),
}

/// Transport of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// Streamable HTTP.
    Streamable,
    /// Event stream of HTTP+SSE.
    Events,
    /// Messages of an HTTP+SSE client.
    Messages,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    To(RouteTarget, Door),
    /// The page for browsers.
    Home,
    Health,
    Readiness,
    Nowhere,
}

pub(crate) fn route(path: &str) -> Route {
    let (target, door) = match path {
        "/" => return Route::Home,
        "/healthz" => return Route::Health,
        "/readyz" => return Route::Readiness,
        // Split before decoding, so that an encoded slash stays part of a name.
        _ => match path.strip_prefix('/').unwrap_or_default().split('/').collect::<Vec<_>>()[..] {
            [door] => (Some(RouteTarget::Everything), door),
            ["servers", name, door] => (decoded(name).map(RouteTarget::Server), door),
            ["profiles", name, door] => (decoded(name).map(RouteTarget::Profile), door),
            _ => (None, ""),
        },
    };
    let door = match door {
        "mcp" => Door::Streamable,
        "sse" => Door::Events,
        "messages" => Door::Messages,
        _ => return Route::Nowhere,
    };
    target.map_or(Route::Nowhere, |target| Route::To(target, door))
}

/// Path for the messages of an HTTP+SSE client of this target.
pub(crate) fn messages_path(target: &RouteTarget, session: &str) -> String {
    let prefix = match target {
        RouteTarget::Everything => String::new(),
        RouteTarget::Server(name) => format!("/servers/{}", percent::encode_segment(name)),
        RouteTarget::Profile(name) => format!("/profiles/{}", percent::encode_segment(name)),
    };
    format!("{prefix}/messages?session={session}")
}

/// Value of a query parameter.
pub(crate) fn query<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn decoded(name: &str) -> Option<String> {
    // An empty name would make `/servers//mcp` a target.
    percent::decode(name).filter(|name| !name.is_empty()).map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_they_should() {
        let to = |target, door| Route::To(target, door);
        for (path, expect) in [
            ("/mcp", to(RouteTarget::Everything, Door::Streamable)),
            ("/sse", to(RouteTarget::Everything, Door::Events)),
            ("/messages", to(RouteTarget::Everything, Door::Messages)),
            ("/servers/files/mcp", to(RouteTarget::Server("files".into()), Door::Streamable)),
            ("/servers/a%20b%2Fc/sse", to(RouteTarget::Server("a b/c".into()), Door::Events)),
            ("/profiles/work/mcp", to(RouteTarget::Profile("work".into()), Door::Streamable)),
            ("/healthz", Route::Health),
            ("/readyz", Route::Readiness),
            ("/", Route::Home),
            ("", Route::Nowhere),
            ("/mcp/", Route::Nowhere),
            ("/servers//mcp", Route::Nowhere),
            ("/servers/%zz/mcp", Route::Nowhere),
            ("/servers/files", Route::Nowhere),
            ("/servers/files/mcp/x", Route::Nowhere),
        ] {
            assert_eq!(route(path), expect, "{path}");
        }
    }

    #[test]
    fn a_stream_names_where_its_messages_go() {
        let path = messages_path(&RouteTarget::Server("a b/c".into()), "7");
        assert_eq!(path, "/servers/a%20b%2Fc/messages?session=7");
        let (path, words) = path.split_once('?').unwrap();
        assert_eq!(route(path), Route::To(RouteTarget::Server("a b/c".into()), Door::Messages));
        assert_eq!(query(Some(words), "session"), Some("7"));
    }
}
