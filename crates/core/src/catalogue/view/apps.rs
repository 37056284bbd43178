//! URIs of MCP Apps (`ui://`). A server knows no other server's apps, so every such URI in its words is its own,
//! listed or not, and gets the server's name unless it is clear without.

use super::{FoundUri, Member, View};
use crate::catalogue::list::List;
use crate::catalogue::names::NameStyle;
use crate::catalogue::uris;

/// Whether members have apps whose URIs may need the name of their server.
pub(super) fn present(members: &[Member]) -> bool {
    let has_apps = |member: &Member| {
        List::ALL.into_iter().any(|list| member.list(list).is_some_and(|listing| listing.has_apps()))
    };
    !is_alone(members) && members.iter().any(has_apps)
}

/// Whether there is one server, under its own names.
fn is_alone(members: &[Member]) -> bool {
    matches!(members, [Member { naming, .. }] if naming.style == NameStyle::Plain)
}

impl View {
    /// The public URI of a member's app, if it differs from the server's own.
    pub(super) fn app_uri(&self, member: usize, uri: &str) -> Option<String> {
        let of = self.members.get(member)?;
        if !uris::is_ui(uri) || is_alone(&self.members) {
            return None;
        }
        let is_clear = of.naming.style == NameStyle::Plain
            && matches!(self.find_uri(uri), FoundUri::Owner { member: owner, uri: own } if owner == member && own == uri);
        (!is_clear).then(|| uris::encode_resource(&of.naming.server, uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Listing, Naming, Offer, Page};
    use crate::ids::ServerId;
    use serde_json::{Value, json};
    use std::sync::Arc;
    use switchboard_protocol::{Dialect, RawId};

    fn tool(uri: &str) -> Value {
        json!({"tools": [{"name": "show", "_meta": {"ui": {"resourceUri": uri}, "ui/resourceUri": uri}}]})
    }

    /// A member with a tool that refers to an app, and this resource and template, if any.
    fn member(server: &str, style: NameStyle, resource: Option<&str>, template: Option<&str>) -> Member {
        let naming = Naming::new(server, style);
        let read = |list, page: Value| Listing::read(list, &[page.to_string().into()], &naming).unwrap();
        let resources: Vec<Value> = resource.into_iter().map(|uri| json!({"uri": uri})).collect();
        let templates: Vec<Value> = template.into_iter().map(|uri| json!({"uriTemplate": uri})).collect();
        let offer = Offer::new(r#"{"capabilities":{"tools":{},"resources":{}}}"#.into())
            .with(Arc::new(read(List::Tools, tool("ui://app/main"))))
            .with(Arc::new(read(List::Resources, json!({"resources": resources}))))
            .with(Arc::new(read(List::Templates, json!({"resourceTemplates": templates}))));
        Member { server: ServerId(0), naming: Arc::new(naming), offer: Some(Arc::new(offer)) }
    }

    /// The URIs that the tools of a view refer to.
    fn references(view: &View) -> Vec<String> {
        let answer = view.answer(List::Tools, Page::First, None, &RawId::null(), Dialect::Standard).to_vec();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let of_tool = |tool: &Value| {
            let [nested, flat] = [&tool["_meta"]["ui"]["resourceUri"], &tool["_meta"]["ui/resourceUri"]];
            assert_eq!(nested, flat);
            nested.as_str().unwrap().to_owned()
        };
        answer["result"]["tools"].as_array().unwrap().iter().map(of_tool).collect()
    }

    #[track_caller]
    fn check_owners(view: &View, references: &[String]) {
        for (member, public) in references.iter().enumerate() {
            let owner = FoundUri::Owner { member, uri: "ui://app/main".into() };
            assert_eq!(view.find_uri(public), owner, "{public}");
        }
    }

    #[test]
    fn references_name_their_server() {
        use NameStyle::{Plain, Prefixed};
        let own = Some("ui://app/main");
        let template = Some("ui://app/{page}");
        // Listed, covered by a template, or neither: a server need not list its apps.
        for (resource, template) in [(own, None), (None, template), (None, None), (own, template)] {
            let both = |style| ["a", "b"].map(|server| member(server, style, resource, template)).to_vec();
            let prefixed = View::new(both(Prefixed), 1);
            let shown = references(&prefixed);
            assert_eq!(shown, ["ui://switchboard/a/app/main", "ui://switchboard/b/app/main"]);
            check_owners(&prefixed, &shown);
            let plain = View::new(both(Plain), 1);
            check_owners(&plain, &references(&plain));
        }
    }

    #[test]
    fn plain_style_keeps_what_is_clear() {
        let own = Some("ui://app/main");
        let plain = |server, resource| member(server, NameStyle::Plain, resource, None);
        let one = View::new(vec![plain("a", None)], 1);
        assert_eq!(references(&one), ["ui://app/main"]);
        assert_eq!(one.disambiguate(0, br#"{"uri":"ui://app/main"}"#, None), None);
        let two = View::new(vec![plain("a", own), plain("b", own)], 1);
        assert_eq!(references(&two), ["ui://app/main", "ui://switchboard/b/app/main"]);
    }

    #[test]
    fn results_name_their_server() {
        let view =
            View::new(["a", "b"].map(|server| member(server, NameStyle::Prefixed, None, None)).to_vec(), 1);
        let result = r#"{"content":[{"resource":{"uri":"ui://app/x"}}],"uri":"file:///a","_meta":{"ui":{"resourceUri":"ui://app/y"},"uri":"ui:\/\/z"},"resourceUri":"ui://no"}"#;
        let replaced = |asked| {
            let found = view.disambiguate(1, result.as_bytes(), asked).unwrap_or_default();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let all = found.iter().map(|(at, new)| (result[at.range()].to_owned(), text(new)));
            all.collect::<Vec<(String, String)>>()
        };
        let pair =
            |own: &str, public: &str| (format!("\"{own}\""), format!("\"ui://switchboard/b/{public}\""));
        let all = [pair("ui://app/x", "app/x"), pair("ui://app/y", "app/y"), pair(r"ui:\/\/z", "z")];
        assert_eq!(replaced(None), all);
        assert_eq!(replaced(Some("ui://app/x")), all[1..]);
    }
}
