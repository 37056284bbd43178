//! One server, for clients that see it alone: names are the server's own, and lists are the server's bytes
//! without hidden items. Anything that cannot be judged is refused.

use super::filter::Filter;
use super::list::{List, Naming};
use super::listing::Unreadable;
use super::offer::Offer;
use super::scan;
use crate::text::nearest::nearest_listed;
use bytes::Bytes;
use switchboard_protocol::Span;
use switchboard_protocol::json::{self, Stepped};

/// Member of a modern page that says who may cache it.
const CACHE_SCOPE: &str = "cacheScope";
const PRIVATE: &[u8] = br#""private""#;

/// Whether a client may use what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Granted,
    /// Granted, under the server's own name; a JSON string.
    GrantedAs(Bytes),
    Refused,
    /// Depends on the server's templates, which are not known.
    Undecided,
}

/// A server's filters, and its offer as far as known.
#[derive(Debug, Clone, Copy)]
pub struct Single<'a> {
    pub naming: &'a Naming,
    pub offer: Option<&'a Offer>,
}

impl Single<'_> {
    /// Access by the name of a tool or prompt as the client spells it, with quotes.
    pub fn name(&self, list: List, quoted: Option<&[u8]>) -> Access {
        let filter = self.naming.filter(list);
        if filter.is_open() {
            return Access::Granted;
        }
        let Some(name) = quoted.and_then(scan::text) else { return Access::Refused };
        match filter.meant_by(&name) {
            Some(own) if own == name => Access::Granted,
            Some(own) => {
                let mut original = Vec::new();
                scan::quote(own, &mut original);
                Access::GrantedAs(original.into())
            }
            None => Access::Refused,
        }
    }

    /// Access by a URI or template as the client spells it, with quotes.
    pub fn uri(&self, quoted: Option<&[u8]>) -> Access {
        let filter = &self.naming.resources;
        if filter.is_open() {
            return Access::Granted;
        }
        let Some(uri) = quoted.and_then(scan::text) else { return Access::Refused };
        if filter.allows_uri(&uri) {
            return Access::Granted;
        }
        // Allowing a template allows its expansions.
        if !filter.is_selective() || filter.denies_uri(&uri) {
            return Access::Refused;
        }
        // Only a template can still allow it, and the templates are unknown.
        let Some(offer) = self.offer else { return Access::Undecided };
        let templates = offer.list(List::Templates);
        match templates.is_some_and(|templates| templates.has_template_for(self.naming, &uri)) {
            true => Access::Granted,
            false => Access::Refused,
        }
    }

    /// Suggestions for a name, among the visible ones.
    pub fn nearest(&self, list: List, name: &str) -> Vec<String> {
        let filter = self.naming.filter(list);
        let Some(listing) = self.offer.and_then(|offer| offer.list(list)) else { return Vec::new() };
        let own = (0..listing.len() as u32).map(|entry| listing.own_name(entry));
        nearest_listed(own.filter_map(|own| Some(filter.shown_as(&own)?.to_owned().into())), name)
    }

    /// A page of a list without hidden items and with new names, and for this client only if its rights narrow
    /// what it sees; `None` if nothing changes. `result` is that of the server's answer.
    pub fn page(&self, list: List, result: &[u8]) -> Result<Option<Bytes>, Unreadable> {
        let filter = self.naming.filter(list);
        // All lists and all pages alike, so that their scope tells nothing about hidden items.
        let is_own = self.naming.is_narrowed();
        if filter.is_open() && !is_own {
            return Ok(None);
        }
        let mut cuts = Vec::new();
        let mut is_list = true;
        let scanned = scan::members_by(result, json::space(result, 0), |name, start| {
            if is_own && scan::is_key(name, CACHE_SCOPE) {
                let end = json::value(result, start)?;
                if result[start..end] != *PRIVATE {
                    cuts.push((start..end, PRIVATE.to_vec()));
                }
                return Ok(end);
            }
            // Of several lists a client may take any, so all are filtered.
            if filter.is_open() || !scan::is_key(name, list.member()) {
                return json::value(result, start);
            }
            if json::byte(result, start) != Some(b'[') {
                is_list = false;
                return json::value(result, start);
            }
            screen_items(filter, list, result, start, &mut cuts)
        });
        if (scanned.is_err() || !is_list) && !filter.is_open() {
            return Err(Unreadable::no_list(list));
        }
        Ok((!cuts.is_empty()).then(|| spliced(result, &cuts)))
    }
}

/// A range in a page, and its replacement.
type Cut = (std::ops::Range<usize>, Vec<u8>);

/// Steps over the items of the array at `start`, and records what must be removed or renamed.
fn screen_items(filter: &Filter, list: List, page: &[u8], start: usize, cuts: &mut Vec<Cut>) -> Stepped {
    let mut behind_shown = None;
    // Start of a run of hidden items, and the end of the last one.
    let mut hidden: Option<(usize, usize)> = None;
    let end = scan::elements_by(page, start, |pos| {
        let mut keys = Vec::new();
        let end = match json::byte(page, pos) {
            Some(b'{') => scan::members(page, pos, |name, value| {
                if scan::is_key(name, list.key()) {
                    keys.push(value);
                }
            })?,
            _ => json::value(page, pos)?,
        };
        let Some(renames) = shown_keys(filter, list, page, &keys) else {
            let first = hidden.map_or(pos, |(first, _)| first);
            hidden = Some((first, end));
            return Ok(end);
        };
        // Cut up to this item, including the comma and space in between.
        cuts.extend(hidden.take().map(|(first, _)| (first..pos, Vec::new())));
        cuts.extend(renames);
        behind_shown = Some(end);
        Ok(end)
    })?;
    // At the end of the list, cut the preceding comma instead.
    cuts.extend(hidden.map(|(first, last)| (behind_shown.unwrap_or(first)..last, Vec::new())));
    Ok(end)
}

/// The keys of an item that need a new name; `None` if the item is hidden.
fn shown_keys(filter: &Filter, list: List, page: &[u8], keys: &[Span]) -> Option<Vec<Cut>> {
    if keys.is_empty() {
        // Without a name it cannot be judged.
        return (!filter.hides()).then(Vec::new);
    }
    let mut renames = Vec::new();
    for key in keys {
        // A key that is not a string cannot be judged, so its item is hidden.
        let own = scan::text(&page[key.range()])?;
        let shown = match list {
            List::Tools | List::Prompts => filter.shown_as(&own)?,
            List::Resources | List::Templates => filter.allows_uri(&own).then_some(&*own)?,
        };
        if *shown != *own {
            let mut quoted = Vec::new();
            scan::quote(shown, &mut quoted);
            renames.push((key.range(), quoted));
        }
    }
    Some(renames)
}

/// The page with its cuts, on one line, since it becomes part of one.
fn spliced(page: &[u8], cuts: &[Cut]) -> Bytes {
    let mut out = Vec::with_capacity(page.len());
    let mut from = 0;
    for (place, text) in cuts {
        out.extend_from_slice(&page[from..place.start]);
        out.extend_from_slice(text);
        from = place.end;
    }
    out.extend_from_slice(&page[from..]);
    out.iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Patterns, Rights};
    use crate::catalogue::{Listing, NameStyle};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn naming(allow: &[&str], deny: &[&str], rename: &[(&str, &str)]) -> Naming {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let rename = rename.iter().map(|&(from, to)| (from.to_owned(), to.to_owned())).collect();
        let filter = Filter { allow: texts(allow), deny: texts(deny), rename, ..Filter::default() };
        let resources = Filter { rename: Vec::new(), ..filter.clone() };
        Naming { tools: filter, resources, ..Naming::new("s", NameStyle::Prefixed) }
    }

    #[track_caller]
    fn check(naming: &Naming, list: List, page: &str, expect: &str) {
        let single = Single { naming, offer: None };
        let got = single.page(list, page.as_bytes()).unwrap();
        let got = got.unwrap_or_else(|| Bytes::copy_from_slice(page.as_bytes()));
        assert_eq!(String::from_utf8_lossy(&got), expect);
    }

    #[test]
    fn pages_lose_only_hidden_items() {
        let filter = naming(&[], &["x*"], &[("a", "z")]);
        let tools = |page, expect| check(&filter, List::Tools, page, expect);
        tools(r#"{"tools":[]}"#, r#"{"tools":[]}"#);
        tools(
            r#"{ "n":0.70, "tools" : [ {"name":"x1"} , {"k":1.0,"name":"b"} ], "nextCursor":"2" }"#,
            r#"{ "n":0.70, "tools" : [ {"k":1.0,"name":"b"} ], "nextCursor":"2" }"#,
        );
        tools(
            r#"{"tools":[{"name":"b"}, {"name":"x"},{"name":"xx"} ,{"name":"c"},{"name":"\u0078"} ]}"#,
            r#"{"tools":[{"name":"b"}, {"name":"c"} ]}"#,
        );
        tools(r#"{"tools":[ {"name":"x"}, 7, {"title":"t"} ]}"#, r#"{"tools":[  ]}"#);
        tools(
            r#"{"tools":[{"name":"a","_meta":{"name":"a"}},{"name":"z"}]}"#,
            r#"{"tools":[{"name":"z","_meta":{"name":"a"}}]}"#,
        );
        tools(r#"{"tools":[{"name":"b","name":"x"},{"name":"b"}]}"#, r#"{"tools":[{"name":"b"}]}"#);
        tools(r#"{"tools":[{"name":"x"}],"tools":[{"name":"x"}]}"#, r#"{"tools":[],"tools":[]}"#);
        tools(r#"{"other":[{"name":"x"}]}"#, r#"{"other":[{"name":"x"}]}"#);
        let templates = r#"{"resourceTemplates":[{"uriTemplate":"X:{a}"},{"uriTemplate":"y:{a}"}]}"#;
        check(&filter, List::Templates, templates, r#"{"resourceTemplates":[{"uriTemplate":"y:{a}"}]}"#);
    }

    #[test]
    fn narrowed_pages_are_private() {
        let hides = |kind: &str| {
            let methods = Patterns { allow: Vec::new(), deny: vec![kind.to_owned()] };
            naming(&[], &[], &[]).narrowed(&[Arc::new(Rights { methods, ..Rights::default() })])
        };
        for naming in [hides("prompts/get"), hides("tools/call")] {
            let is_empty = naming.hides_all(List::Tools);
            for scope in [r#""public""#, r#""private""#, r#""pub\u006cic""#, "7"] {
                let page = |items: &str, scope: &str| {
                    format!(r#"{{"cacheScope" : {scope}, "tools":[{items}],"cacheScope":{scope}}}"#)
                };
                let left = if is_empty { "" } else { r#"{"name":"b","cacheScope":"public"}"# };
                let given = page(r#"{"name":"b","cacheScope":"public"}"#, scope);
                check(&naming, List::Tools, &given, &page(left, r#""private""#));
            }
            check(&naming, List::Tools, r#"{"tools":[]}"#, r#"{"tools":[]}"#);
        }
        let filtered = naming(&[], &["x"], &[]);
        let public = r#"{"tools":[],"cacheScope":"public"}"#;
        check(&filtered, List::Tools, public, public);
        // What cannot be filtered may pass if nothing of this list is hidden.
        check(&hides("prompts/get"), List::Tools, "[]", "[]");
    }

    #[test]
    fn page_without_a_list_is_unreadable() {
        let filter = naming(&[], &["x"], &[]);
        let single = Single { naming: &filter, offer: None };
        for page in [r#"{"tools":{"x":1}}"#, "[]", r#"{"tools":[{"name":"x"}"#] {
            assert!(single.page(List::Tools, page.as_bytes()).is_err(), "{page}");
        }
    }

    #[test]
    fn names_are_judged_by_their_meaning() {
        let filter = naming(&[], &["x*"], &[("a", "z")]);
        let single = Single { naming: &filter, offer: None };
        let name = |quoted: &str| single.name(List::Tools, Some(quoted.as_bytes()));
        assert_eq!(name(r#""b""#), Access::Granted);
        assert_eq!(name(r#""z""#), Access::GrantedAs(r#""a""#.into()));
        for quoted in [r#""a""#, r#""x""#, r#""\u0078""#, r#""\ud800""#, "7", r#"["b"]"#] {
            assert_eq!(name(quoted), Access::Refused, "{quoted}");
        }
        assert_eq!(single.name(List::Tools, None), Access::Refused);
        assert_eq!(single.name(List::Prompts, None), Access::Granted, "there is no filter");
    }

    #[test]
    fn allowed_template_allows_its_expansions() {
        let filter = naming(&["file:///docs/{name}", "x://*"], &["*.env"], &[]);
        let page =
            r#"{"resourceTemplates":[{"uriTemplate":"file:///docs/{name}"},{"uriTemplate":"y://{a}"}]}"#;
        let listing = Listing::read(List::Templates, &[page.into()], &filter).unwrap();
        let offer = Offer::new("{}".into()).with(Arc::new(listing));
        let known = Single { naming: &filter, offer: Some(&offer) };
        let unknown = Single { naming: &filter, offer: None };
        for (uri, with, without) in [
            ("x://a", Access::Granted, Access::Granted),
            ("file:///docs/{name}", Access::Granted, Access::Granted),
            ("file:///docs/a", Access::Granted, Access::Undecided),
            ("file:///docs/a%2Fb", Access::Granted, Access::Undecided),
            ("file:///docs/a/b", Access::Refused, Access::Undecided),
            ("file:///docs/..%2Fa", Access::Refused, Access::Undecided),
            ("file:///docs/.env", Access::Refused, Access::Refused),
            ("file:///docs/.%65nv", Access::Refused, Access::Refused),
            ("y://a", Access::Refused, Access::Undecided),
        ] {
            let quoted = serde_json::Value::from(uri).to_string();
            assert_eq!(known.uri(Some(quoted.as_bytes())), with, "{uri}");
            assert_eq!(unknown.uri(Some(quoted.as_bytes())), without, "{uri}");
        }
    }

    proptest! {
        /// The result equals a filter over the parsed list, whatever the space between items.
        #[test]
        fn pages_are_filtered_lists(names in proptest::collection::vec("[ax]{1,2}", 0..8), space in " {0,2}") {
            let filter = naming(&[], &["x*"], &[]);
            let single = Single { naming: &filter, offer: None };
            let items: Vec<String> = names.iter().map(|name| format!(r#"{space}{{"name":"{name}"}}{space}"#)).collect();
            let page = format!(r#"{{"tools":[{}]}}"#, items.join(","));
            let got = single.page(List::Tools, page.as_bytes()).unwrap().unwrap_or_else(|| page.clone().into());
            let got: serde_json::Value = serde_json::from_slice(&got).unwrap();
            let left: Vec<&str> = got["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
            let expect: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.starts_with('x')).collect();
            prop_assert_eq!(left, expect);
        }
    }
}
