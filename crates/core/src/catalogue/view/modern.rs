//! Answers to modern clients (MCP 2026-07-28) about several servers: `server/discover`, and lists with cache hints.
//! Must not know who asks.

use super::welcome::server_info;
use super::{Member, Page, View};
use crate::catalogue::hints::{Freshness, Hints};
use crate::catalogue::list::List;
use crate::catalogue::offer::Offer;
use crate::translation::for_modern;
use serde_json::{Value, json};
use switchboard_protocol::modern::{MODERN_VERSIONS, SERVER_INFO};
use switchboard_protocol::{Dialect, Era, Outgoing, RawId};

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
        self.answer_with(&members, self.stock(list, Era::Modern), (list, page), id, dialect)
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
        if let Some(own) = self.only_plain().and_then(own_discovery) {
            return own;
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
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": MODERN_VERSIONS,
            "capabilities": self.capabilities(declared, Era::Modern),
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

/// The answer of the only server to `server/discover`. That of a legacy server is made from its answer to `initialize`.
fn own_discovery(offer: &Offer) -> Option<String> {
    match offer.is_modern() {
        // The result becomes part of one line.
        true => Some(std::str::from_utf8(offer.welcome()).ok()?.replace(['\n', '\r'], " ")),
        false => for_modern::discovered(offer.welcome()),
    }
}

/// Hints of a member. What the rights of a client leave of its items is for that client only.
fn own_to(member: &Member, fresh: Freshness) -> Freshness {
    if member.naming.is_narrowed() { fresh.private() } else { fresh }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Patterns, Rights};
    use crate::catalogue::{CacheScope, Listing, NameStyle, Naming};
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

    /// What a legacy server with tasks has said, on several lines.
    const WELCOME: &str = "{\n\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\n\"tools\":{},\"tasks\":{}},\"serverInfo\":{\"name\":\"s\"}}";

    fn legacy(naming: Naming, page: Value) -> Member {
        let listing = Listing::read(List::Tools, &[page.to_string().into()], &naming).unwrap();
        let offer = Offer::new(WELCOME.into()).with(Arc::new(listing));
        Member { server: ServerId(0), naming: Arc::new(naming), offer: Some(Arc::new(offer)) }
    }

    fn with_tasks() -> Value {
        let execution = json!({"taskSupport": "optional"});
        json!({"tools": [{"name": "x", "execution": execution, "n": 1}, {"name": "y", "title": "\"execution\""}]})
    }

    #[test]
    fn one_plain_legacy_server_is_translated() {
        let view = View::new(vec![legacy(Naming::new("a", NameStyle::Plain), with_tasks())], 1);
        let expect = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#;
        assert_eq!(view.discover(&[], &json!({})), expect);
        assert_eq!(
            ask(&view)["result"]["tools"],
            json!([{"name": "x", "n": 1}, {"name": "y", "title": "\"execution\""}])
        );
        // Legacy clients get the words of their own era.
        assert_eq!(view.welcome("2025-11-25", &[], &json!({})), WELCOME.replace('\n', " "));
        let legacy = view.answer(List::Tools, Page::First, None, &RawId::from_number(7), Dialect::Standard);
        assert!(String::from_utf8(legacy.to_vec()).unwrap().contains("taskSupport"));
    }

    /// An answer to `server/discover` is no answer to `initialize`.
    #[test]
    fn legacy_client_is_not_greeted_by_a_discovery() {
        let found = discovered(900, "public", "x/y");
        let view = View::new(vec![with_naming(Naming::new("a", NameStyle::Plain), &found, None)], 1);
        let welcome: Value = serde_json::from_str(&view.welcome("2025-11-25", &[], &json!({}))).unwrap();
        assert_eq!(
            (&welcome["protocolVersion"], &welcome["serverInfo"]["name"]),
            (&json!("2025-11-25"), &json!("switchboard"))
        );
        assert_eq!(welcome.get("supportedVersions"), None);
    }

    #[test]
    fn legacy_tasks_are_hidden_among_others() {
        let own = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "own": {}},
        });
        let page = json!({"tools": [{"name": "z", "execution": {"own": 1}}]});
        let members =
            vec![legacy(Naming::new("a", NameStyle::Prefixed), with_tasks()), member("b", &own, Some(page))];
        let view = View::new(members, 1);
        let found: Value = serde_json::from_str(&view.discover(&[], &json!({}))).unwrap();
        assert_eq!(found["capabilities"], json!({"tools": {"listChanged": true}, "own": {}}));
        let mine = json!([
            {"name": "a__x", "n": 1}, {"name": "a__y", "title": "\"execution\""}, {"name": "b__z", "execution": {"own": 1}},
        ]);
        assert_eq!(ask(&view)["result"]["tools"], mine);
        let page = |page| {
            let answer = view.modern_answer(
                List::Tools,
                (page, Some(2)),
                false,
                &RawId::from_number(7),
                Dialect::Standard,
            );
            serde_json::from_slice::<Value>(&answer.to_vec()).unwrap()["result"].take()
        };
        assert_eq!(page(Page::First)["tools"], json!([mine[0], mine[1]]));
        assert_eq!(page(Page::At(2))["tools"], json!([mine[2]]));
        let legacy: Value = serde_json::from_str(&view.welcome("2025-11-25", &[], &json!({}))).unwrap();
        assert_eq!(legacy["capabilities"]["tasks"], json!({}));
    }

    /// In both eras.
    #[test]
    fn undeclared_extensions_are_left_out() {
        let server = json!({"capabilities": {"extensions": {"a/x": {}, "b/y": {"n": 1}, "c/z": {}}}});
        let view = View::new(vec![member("a", &server, None)], 1);
        let check = |declared: Value, expect: Value| {
            let answers = [view.discover(&[], &declared), view.welcome("2025-11-25", &[], &declared)];
            for answer in answers.map(|answer| serde_json::from_str::<Value>(&answer).unwrap()) {
                assert_eq!(answer["capabilities"]["extensions"], expect, "{declared}");
            }
        };
        check(json!({"extensions": {"b/y": {}, "c/z": null, "d/w": {}}}), json!({"b/y": {"n": 1}}));
        check(
            json!({"extensions": {"a/x": {}, "b/y": {}, "c/z": {}}}),
            server["capabilities"]["extensions"].clone(),
        );
        check(json!({"extensions": ["a/x"]}), json!({}));
        check(json!({}), json!({}));
        check(Value::Null, json!({}));
    }
}
