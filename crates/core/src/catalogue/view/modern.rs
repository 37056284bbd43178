//! Answers to modern clients (MCP 2026-07-28) about several servers: `server/discover`, and lists with cache hints.
//! Must not know who asks.

use super::welcome::server_info;
use super::{Member, Page, View};
use crate::catalogue::hints::{Freshness, Hints};
use crate::catalogue::list::List;
use crate::catalogue::names::NameStyle;
use serde_json::{Value, json};
use switchboard_protocol::modern::{MODERN_VERSIONS, SERVER_INFO};
use switchboard_protocol::{Dialect, Outgoing, RawId};

impl View {
    /// The answer to a list request of a modern client.
    pub fn modern_answer(
        &self,
        list: List,
        page: (Page, Option<usize>),
        is_stale: bool,
        id: &RawId,
        dialect: Dialect,
    ) -> Outgoing {
        let Freshness { ttl_ms, scope } = self.freshness(list);
        let ttl_ms = if is_stale { 0 } else { ttl_ms };
        let (scope, info) = (scope.name(), server_info());
        let members = format!(
            r#""resultType":"complete","ttlMs":{ttl_ms},"cacheScope":"{scope}","_meta":{{"{SERVER_INFO}":{info}}},"#
        );
        self.answer_with(&members, list, page, id, dialect)
    }

    /// Cache hints for a merged list: those of the member that expires first, private if one member is.
    pub fn freshness(&self, list: List) -> Freshness {
        let of_member = |member: &Member| match member.list(list) {
            Some(listing) => own_to(member, listing.hints().freshness()),
            // Its list is still to come.
            None => Freshness::NONE,
        };
        let members = self.members.iter().filter(|member| member.list(list).is_some() || member.lacks(list));
        Freshness::of_all(members.map(of_member))
    }

    /// The `result` of `server/discover`, for a client with these capabilities. Names the unavailable servers.
    pub fn discover(&self, unavailable: &[String], declared: &Value) -> String {
        if let [Member { naming, offer: Some(offer), .. }] = &self.members[..]
            && naming.style == NameStyle::Plain
            && let Ok(own) = std::str::from_utf8(offer.welcome())
        {
            // The result becomes part of one line.
            return own.replace(['\n', '\r'], " ");
        }
        let of_member = |member: &Member| match &member.offer {
            Some(offer) => own_to(member, Hints::of_result(offer.welcome()).freshness()),
            None => Freshness::NONE,
        };
        let mut fresh = Freshness::of_all(self.members.iter().map(of_member));
        if !unavailable.is_empty() {
            // They may be back at any time.
            fresh = Freshness { ttl_ms: 0, ..fresh };
        }
        let mut capabilities = self.capabilities();
        let undeclared: Vec<String> =
            undeclared_extensions(&capabilities, declared).into_iter().map(str::to_owned).collect();
        if let Some(extensions) = capabilities.get_mut("extensions").and_then(Value::as_object_mut) {
            extensions.retain(|name, _| !undeclared.contains(name));
        }
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": MODERN_VERSIONS,
            "capabilities": capabilities,
            "ttlMs": fresh.ttl_ms,
            "cacheScope": fresh.scope.name(),
            "_meta": { SERVER_INFO: server_info() },
        });
        if let Some(instructions) = self.instructions(unavailable) {
            result["instructions"] = instructions.into();
        }
        result.to_string()
    }
}

/// Hints of a member. What the rights of a client leave of its items is for that client only.
fn own_to(member: &Member, fresh: Freshness) -> Freshness {
    if member.naming.is_narrowed() { fresh.private() } else { fresh }
}

/// The extensions that a server offers and a client did not declare: neither may use them towards the other.
/// Both arguments are `capabilities`.
fn undeclared_extensions<'a>(server: &'a Value, client: &Value) -> Vec<&'a str> {
    let declared = |name: &str| client["extensions"].get(name).is_some_and(Value::is_object);
    let offered = server["extensions"].as_object().into_iter().flatten();
    offered.filter(|(name, _)| !declared(name)).map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Patterns, Rights};
    use crate::catalogue::{CacheScope, Listing, Naming, Offer};
    use crate::ids::ServerId;
    use std::sync::Arc;

    fn with_naming(naming: Naming, discovered: &Value, tools: Option<Value>) -> Member {
        let mut offer = Offer::new(discovered.to_string().into());
        if let Some(page) = tools {
            let listing = Listing::read(List::Tools, &[page.to_string().into()], &naming).unwrap();
            offer = offer.with(Arc::new(listing));
        }
        Member { server: ServerId(0), naming: Arc::new(naming), offer: Some(Arc::new(offer)) }
    }

    fn member(server: &str, discovered: &Value, tools: Option<Value>) -> Member {
        with_naming(Naming::new(server, NameStyle::Prefixed), discovered, tools)
    }

    fn unknown(server: &str) -> Member {
        let naming = Arc::new(Naming::new(server, NameStyle::Prefixed));
        Member { server: ServerId(1), naming, offer: None }
    }

    fn tools(ttl: u64, scope: &str) -> Value {
        json!({"tools": [{"name": "x"}], "ttlMs": ttl, "cacheScope": scope, "resultType": "complete"})
    }

    fn discovered(ttl: u64, scope: &str, extension: &str) -> Value {
        json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28", "2025-11-25"], "ttlMs": ttl,
            "cacheScope": scope, "instructions": "be kind", "_meta": {SERVER_INFO: {"name": "own"}},
            "capabilities": {"tools": {}, "extensions": {extension: {"n": 1}}},
        })
    }

    fn ask(view: &View) -> Value {
        let answer = view.modern_answer(
            List::Tools,
            (Page::First, None),
            false,
            &RawId::from_number(7),
            Dialect::Standard,
        );
        assert_eq!(answer.len(), answer.to_vec().len());
        serde_json::from_slice(&answer.to_vec()).unwrap()
    }

    #[track_caller]
    fn check(members: Vec<Member>, ttl: u64, scope: &str) {
        let answer = ask(&View::new(members, 1));
        assert_eq!(answer["result"]["resultType"], "complete");
        assert_eq!(
            (&answer["result"]["ttlMs"], &answer["result"]["cacheScope"]),
            (&json!(ttl), &json!(scope))
        );
    }

    #[test]
    fn strictest_hints_count() {
        let found = discovered(1, "public", "x/y");
        let one = || member("a", &found, Some(tools(300, "public")));
        check(vec![one()], 300, "public");
        check(vec![one(), member("b", &found, Some(tools(200, "public")))], 200, "public");
        check(vec![one(), member("b", &found, Some(tools(900, "private")))], 300, "private");
        check(vec![one(), member("b", &found, Some(json!({"tools": []})))], 0, "private");
        // Declared, but not fetched yet.
        check(vec![one(), member("b", &found, None)], 0, "private");
        check(vec![one(), unknown("b")], 0, "private");
        // A server without tools has no part in the list.
        check(vec![one(), member("b", &json!({"capabilities": {}}), None)], 300, "public");
        check(vec![], 0, "private");
    }

    #[test]
    fn narrowed_list_is_private() {
        let open = Rights { tools: Patterns { allow: vec!["x".into()], deny: vec![] }, ..Rights::default() };
        let naming = Naming::new("a", NameStyle::Prefixed).narrowed(&[Arc::new(open)]);
        let found = discovered(500, "public", "x/y");
        let view = View::new(vec![with_naming(naming, &found, Some(tools(300, "public")))], 1);
        assert_eq!(view.freshness(List::Tools), Freshness { ttl_ms: 300, scope: CacheScope::Private });
        let discovered: Value = serde_json::from_str(&view.discover(&[], &json!({}))).unwrap();
        assert_eq!(discovered["cacheScope"], "private");
    }

    /// A legacy page of the same view has the same bytes as ever.
    #[test]
    fn pages_differ_only_in_their_hints() {
        let found = discovered(1, "public", "x/y");
        let view = View::new(vec![member("a", &found, Some(tools(300, "public")))], 1);
        let legacy = view.answer(List::Tools, Page::First, None, &RawId::from_number(7), Dialect::Standard);
        let legacy = String::from_utf8(legacy.to_vec()).unwrap();
        assert_eq!(legacy, r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"a__x"}]}}"#);
        let modern = ask(&view);
        assert_eq!(modern["result"]["tools"], json!([{"name": "a__x"}]));
        assert_eq!(modern["result"]["_meta"][SERVER_INFO]["name"], "switchboard");
    }

    #[test]
    fn discovery_is_merged() {
        let one = member("a", &discovered(900, "public", "io.modelcontextprotocol/ui"), None);
        let other = member("b", &discovered(500, "public", "com.example/x"), None);
        let declared = json!({"extensions": {"io.modelcontextprotocol/ui": {}}});
        let result = View::new(vec![one.clone(), other], 1).discover(&[], &declared);
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
        assert_eq!(result["resultType"], "complete");
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(500), &json!("public")));
        assert_eq!(result["capabilities"]["tools"], json!({"listChanged": true}));
        let shared = json!({"io.modelcontextprotocol/ui": {"n": 1}});
        assert_eq!(result["capabilities"]["extensions"], shared, "what the client has declared");
        assert_eq!(result["instructions"], "## a\n\nbe kind\n\n## b\n\nbe kind");
        assert_eq!(result["_meta"][SERVER_INFO]["name"], "switchboard");
        let missing: Value =
            serde_json::from_str(&View::new(vec![one, unknown("b")], 1).discover(&["b".into()], &json!({})))
                .unwrap();
        assert_eq!((&missing["ttlMs"], &missing["cacheScope"]), (&json!(0), &json!("private")));
        assert_eq!(missing["capabilities"]["prompts"], json!({"listChanged": true}), "not known yet");
    }

    #[test]
    fn one_plain_server_answers_itself() {
        let found = discovered(900, "public", "x/y");
        let naming = Naming::new("a", NameStyle::Plain);
        let view = View::new(vec![with_naming(naming, &found, None)], 1);
        assert_eq!(view.discover(&[], &json!({})), found.to_string());
    }

    #[test]
    fn undeclared_extensions_are_named() {
        let server = json!({"extensions": {"a/x": {}, "b/y": {"n": 1}, "c/z": {}}});
        let client = json!({"extensions": {"b/y": {}, "c/z": null, "d/w": {}}});
        assert_eq!(undeclared_extensions(&server, &client), ["a/x", "c/z"]);
        assert_eq!(undeclared_extensions(&server, &json!({})).len(), 3);
        assert!(undeclared_extensions(&json!({}), &client).is_empty());
    }
}
