use super::*;
use crate::catalogue::filter::Filter;
use crate::catalogue::names::NameStyle;
use crate::catalogue::uris;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use switchboard_protocol::{Dialect, RawId};

/// A member with these items in one list.
fn member_of(list: List, naming: Naming, items: &[&str]) -> Member {
    let items: Vec<Value> = items.iter().map(|item| json!({list.key(): item})).collect();
    let capability = if list == List::Templates { "resources" } else { list.member() };
    let page = json!({list.member(): items}).to_string();
    let listing = Listing::read(list, &[page.into()], &naming).unwrap();
    let welcome = json!({"capabilities": {capability: {}}}).to_string();
    let offer = Offer::new(welcome.into()).with(Arc::new(listing));
    Member { server: ServerId(0), naming: Arc::new(naming), offer: Some(Arc::new(offer)) }
}

fn with(list: List, server: &str, style: NameStyle, items: &[&str]) -> Member {
    member_of(list, Naming::new(server, style), items)
}

/// A member with resources and templates.
fn library(server: &str, style: NameStyle, resources: &[&str], templates: &[&str]) -> Member {
    let mut member = with(List::Resources, server, style, resources);
    let more = with(List::Templates, server, style, templates);
    let templates = Arc::clone(more.list(List::Templates).unwrap());
    member.offer = member.offer.map(|offer| Arc::new((*offer).clone().with(templates)));
    member
}

fn unknown(server: &str, style: NameStyle) -> Member {
    Member { server: ServerId(9), naming: Arc::new(Naming::new(server, style)), offer: None }
}

fn welcomed(server: &str, welcome: Value) -> Member {
    let naming = Arc::new(Naming::new(server, NameStyle::Prefixed));
    Member { server: ServerId(0), naming, offer: Some(Arc::new(Offer::new(welcome.to_string().into()))) }
}

fn ask(view: &View, list: List, page: Page, size: Option<usize>) -> Value {
    let answer = view.answer(list, page, size, &RawId::from_number(7), Dialect::Standard);
    assert_eq!(answer.len(), answer.to_vec().len());
    serde_json::from_slice(&answer.to_vec()).unwrap()
}

fn shown(view: &View, list: List) -> Vec<String> {
    let answer = ask(view, list, Page::First, None);
    let items = answer["result"][list.member()].as_array().unwrap();
    items.iter().map(|item| item[list.key()].as_str().unwrap().to_owned()).collect()
}

fn find(view: &View, name: &str) -> Found {
    view.find(List::Tools, json!(name).to_string().as_bytes())
}

fn owner(member: usize, original: &str) -> Found {
    Found::Owner { member, original: Bytes::from(json!(original).to_string()) }
}

fn perhaps(member: usize, original: &str) -> Found {
    Found::Perhaps { member, original: Bytes::from(json!(original).to_string()) }
}

fn owns(member: usize, uri: &str) -> FoundUri {
    FoundUri::Owner { member, uri: uri.into() }
}

#[test]
fn answer_is_ready_bytes_with_own_id() {
    let view = View::new(
        vec![
            with(List::Tools, "a", NameStyle::Prefixed, &["x"]),
            with(List::Tools, "b", NameStyle::Prefixed, &["x", "y"]),
        ],
        1,
    );
    let id = RawId::from_bytes(b"\"1.0\"");
    let answer = view.answer(List::Tools, Page::First, None, &id, Dialect::Standard);
    assert_eq!(
        String::from_utf8(answer.to_vec()).unwrap(),
        r#"{"jsonrpc":"2.0","id":"1.0","result":{"tools":[{"name":"a__x"},{"name":"b__x"},{"name":"b__y"}]}}"#
    );
    let answer = view.answer(List::Prompts, Page::First, Some(3), &id, Dialect::Bare);
    assert_eq!(String::from_utf8(answer.to_vec()).unwrap(), r#"{"id":"1.0","result":{"prompts":[]}}"#);
    assert!(view.collisions().is_empty());
}

#[test]
fn one_plain_server_shares_its_own_bytes() {
    let member = with(List::Tools, "a", NameStyle::Plain, &["x", "y z"]);
    let own = member.list(List::Tools).unwrap().original().clone();
    let view = View::new(vec![member, unknown("b", NameStyle::Plain)], 1);
    let answer = view.answer(List::Tools, Page::First, None, &RawId::null(), Dialect::Standard);
    assert_eq!(answer.original().as_ptr(), own.as_ptr());
}

#[test]
fn names_are_found_as_they_are_shown() {
    let view = View::new(
        vec![
            with(List::Tools, "a", NameStyle::Prefixed, &["x", "é.y"]),
            with(List::Tools, "b", NameStyle::Prefixed, &["x"]),
        ],
        1,
    );
    assert_eq!(find(&view, "a__x"), owner(0, "x"));
    assert_eq!(find(&view, "b__x"), owner(1, "x"));
    assert_eq!(find(&view, "a___y"), Found::Nobody);
    assert_eq!(find(&view, "a____y"), owner(0, "é.y"));
    assert_eq!(view.find(List::Tools, br#""a\u005f_x""#), owner(0, "x"));
    assert_eq!(view.find(List::Prompts, br#""a__x""#), Found::Nobody);
    for broken in [&b"7"[..], b"\"", b"", b"\"\\ud800\""] {
        assert_eq!(view.find(List::Tools, broken), Found::Nobody);
    }
}

#[test]
fn unknown_server_is_found_by_its_prefix() {
    let mut filtered = Naming::new("c", NameStyle::Prefixed);
    filtered.tools =
        Filter { deny: vec!["drop".into()], rename: vec![("old".into(), "new".into())], ..Filter::default() };
    let filtered = Member { server: ServerId(3), naming: Arc::new(filtered), offer: None };
    let view = View::new(
        vec![
            with(List::Tools, "a", NameStyle::Prefixed, &["x"]),
            unknown("b", NameStyle::Prefixed),
            unknown("b__b", NameStyle::Prefixed),
            filtered,
        ],
        1,
    );
    assert_eq!(find(&view, "b__x"), perhaps(1, "x"));
    assert_eq!(find(&view, "b__b__x"), perhaps(2, "x"));
    assert_eq!(find(&view, "a__y"), Found::Nobody);
    assert_eq!(find(&view, "c__new"), perhaps(3, "old"));
    assert_eq!(find(&view, "c__drop"), Found::Nobody);
    let plain = View::new(vec![unknown("b", NameStyle::Plain)], 1);
    assert_eq!(find(&plain, "b__x"), perhaps(0, "b__x"));
    let two = View::new(vec![unknown("b", NameStyle::Plain), unknown("c", NameStyle::Plain)], 1);
    assert_eq!(find(&two, "x"), Found::Nobody);
}

#[test]
fn servers_with_shared_words_stay_apart() {
    // `a` + `b__x` and `a__b` + `x`.
    let view = View::new(
        vec![
            with(List::Tools, "a", NameStyle::Prefixed, &["b__x"]),
            with(List::Tools, "a__b", NameStyle::Prefixed, &["x"]),
        ],
        1,
    );
    let names = shown(&view, List::Tools);
    assert_eq!(names[0], "a__b__x");
    assert!(names[1].starts_with("a__b__x_"), "{names:?}");
    assert_eq!(find(&view, &names[0]), owner(0, "b__x"));
    assert_eq!(find(&view, &names[1]), owner(1, "x"));
    let servers = vec!["a".into(), "a__b".into()];
    let becomes = Some(names[1].clone());
    assert_eq!(
        view.collisions(),
        [Collision { list: List::Tools, name: "a__b__x".into(), servers, becomes }]
    );
}

#[test]
fn exact_name_wins_over_altered_name() {
    let view = View::new(
        vec![
            with(List::Tools, "a.b", NameStyle::Prefixed, &["x"]),
            with(List::Tools, "a_b", NameStyle::Prefixed, &["x"]),
        ],
        1,
    );
    assert_eq!(find(&view, "a_b__x"), owner(1, "x"));
    assert_eq!(view.collisions()[0].servers, ["a_b", "a.b"]);
    assert_eq!(find(&view, view.collisions()[0].becomes.as_ref().unwrap()), owner(0, "x"));
}

#[test]
fn plain_style_prefixes_the_later_server() {
    let view = View::new(
        vec![
            with(List::Tools, "a", NameStyle::Plain, &["x", "y"]),
            with(List::Tools, "b", NameStyle::Plain, &["x", "b__x"]),
            with(List::Tools, "c", NameStyle::Plain, &["x"]),
        ],
        1,
    );
    let names = shown(&view, List::Tools);
    assert_eq!(names[..2], ["x", "y"]);
    assert!(names[2].starts_with("b__x_"), "its prefixed form is taken: {names:?}");
    assert_eq!(names[3..], ["b__x", "c__x"]);
    assert_eq!(find(&view, "x"), owner(0, "x"));
    assert_eq!(find(&view, "c__x"), owner(2, "x"));
    assert_eq!(find(&view, "b__x"), owner(1, "b__x"));
    assert_eq!(find(&view, &names[2]), owner(1, "x"));
}

#[test]
fn uris_find_their_server() {
    let view = View::new(
        vec![
            library(
                "a",
                NameStyle::Prefixed,
                &["file:///1", "both://1", "ui://x"],
                &["a://{+path}", "t://{x}"],
            ),
            library(
                "b c",
                NameStyle::Prefixed,
                &["file:///2", "both://1", "ui://x"],
                &["b://{id}{?q}", "t://{y}"],
            ),
        ],
        1,
    );
    assert_eq!(view.find_uri("file:///2"), owns(1, "file:///2"));
    assert_eq!(view.find_uri(&uris::encode_resource("b c", "both://1")), owns(1, "both://1"));
    assert_eq!(view.find_uri(&uris::encode_resource("a", "not://listed")), owns(0, "not://listed"));
    assert_eq!(view.find_uri("both://1"), FoundUri::Several(vec![0, 1]));
    assert_eq!(view.find_uri("ui://x"), FoundUri::Several(vec![0, 1]));
    assert_eq!(view.find_uri("a://p/q"), owns(0, "a://p/q"));
    assert_eq!(view.find_uri("t://1"), FoundUri::Several(vec![0, 1]));
    assert_eq!(view.find_uri("proxy://template/b%20c/b://7?q=1"), owns(1, "b://7?q=1"));
    assert_eq!(view.find_uri("nobody://1"), FoundUri::Perhaps(vec![0, 1]));
    assert_eq!(view.find_uri(&uris::encode_resource("gone", "x://")), FoundUri::Perhaps(vec![0, 1]));
    assert_eq!(view.find_template("b://{id}{?q}"), owns(1, "b://{id}{?q}"));
    assert_eq!(view.find_template("proxy://template/a/t://{x}"), owns(0, "t://{x}"));
    assert_eq!(shown(&view, List::Templates)[2], "proxy://template/b%20c/b://{id}{?q}");
    assert_eq!(view.shown_uri(1, "file:///2"), uris::encode_resource("b c", "file:///2"));
    assert_eq!(view.shown_uri(1, "ui://x"), "ui://switchboard/b%20c/x");
    assert_eq!(view.find_uri("ui://switchboard/b%20c/x"), owns(1, "ui://x"));
}

#[test]
fn unlisted_uri_goes_to_sole_candidate() {
    let tools = || with(List::Tools, "t", NameStyle::Prefixed, &["x"]);
    let one = View::new(vec![tools(), library("a", NameStyle::Prefixed, &[], &[])], 1);
    assert_eq!(one.find_uri("file:///x"), owns(1, "file:///x"));
    let late =
        View::new(vec![library("a", NameStyle::Prefixed, &[], &[]), unknown("b", NameStyle::Prefixed)], 1);
    assert_eq!(late.find_uri("file:///x"), owns(1, "file:///x"));
    assert_eq!(View::new(vec![tools()], 1).find_uri("file:///x"), FoundUri::Nobody);
}

#[test]
fn hidden_items_are_not_found() {
    let mut naming = Naming::new("a", NameStyle::Prefixed);
    naming.resources.allow = vec!["file:///*".into(), "db://{t}".into()];
    naming.resources.deny = vec!["*secret*".into()];
    let mut member = member_of(List::Resources, naming.clone(), &["file:///a", "file:///secret", "x://"]);
    let templates = member_of(List::Templates, naming, &["db://{t}", "y://{t}"]);
    let templates = Arc::clone(templates.list(List::Templates).unwrap());
    member.offer = member.offer.map(|offer| Arc::new((*offer).clone().with(templates)));
    let view = View::new(vec![member], 1);
    let wrapped = |uri| view.find_uri(&uris::encode_resource("a", uri));
    for uri in ["file:///a", "file:///unlisted", "db://users"] {
        assert_eq!((view.find_uri(uri), wrapped(uri)), (owns(0, uri), owns(0, uri)));
    }
    for uri in ["file:///secret", "x://", "db://secrets", "y://1"] {
        assert_eq!((view.find_uri(uri), wrapped(uri)), (FoundUri::Nobody, FoundUri::Nobody), "{uri}");
    }
}

#[test]
fn plain_style_wraps_the_later_resource() {
    let view = View::new(
        vec![
            library("a", NameStyle::Plain, &["r://1", "proxy://resource/x"], &["t://{x}"]),
            library("b", NameStyle::Plain, &["r://1", "r://2"], &["t://{x}"]),
        ],
        1,
    );
    let wrapped = uris::encode_resource("b", "r://1");
    assert_eq!(shown(&view, List::Resources), ["r://1", "proxy://resource/x", &wrapped, "r://2"]);
    assert_eq!(shown(&view, List::Templates), ["t://{x}", "proxy://template/b/t://{x}"]);
    assert_eq!(view.find_uri("r://1"), owns(0, "r://1"));
    assert_eq!(view.find_uri(&wrapped), owns(1, "r://1"));
    assert_eq!(view.find_uri("proxy://resource/x"), owns(0, "proxy://resource/x"));
    assert_eq!(view.shown_uri(1, "r://1"), wrapped);
    assert_eq!(view.shown_uri(1, "r://2"), "r://2");
    assert_eq!(view.collisions().len(), 2);
}

#[test]
fn ambiguous_uris_in_results_are_wrapped() {
    let view = View::new(
        vec![
            library("a", NameStyle::Prefixed, &["both://1", "only://a"], &["t://{x}"]),
            library("b", NameStyle::Prefixed, &["both://1", "t://listed"], &[]),
        ],
        1,
    );
    let result = br#"{"contents":[{"u\u0072i":"both:\/\/1","text":"\"uri\":\"both://1\""},{"uri":"only://a"}],"uri":7,"x":{"uri" : "t://listed"}}"#;
    let spots = |member| -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let found = view.disambiguate(member, result, None).unwrap_or_default();
        found.iter().map(|(at, new)| (text(&result[at.range()]), text(new))).collect()
    };
    let wrapped = |server, uri| format!("\"{}\"", uris::encode_resource(server, uri));
    assert_eq!(
        spots(0),
        [
            (r#""both:\/\/1""#.to_owned(), wrapped("a", "both://1")),
            (r#""t://listed""#.to_owned(), wrapped("a", "t://listed")),
        ]
    );
    assert_eq!(spots(1), [(r#""both:\/\/1""#.to_owned(), wrapped("b", "both://1"))]);
    let clear = View::new(
        vec![
            library("a", NameStyle::Prefixed, &["a://"], &["f://a/{x}"]),
            library("b", NameStyle::Prefixed, &["b://"], &["f://b/{x}"]),
        ],
        1,
    );
    assert!(!clear.uris_clash);
    assert_eq!(clear.disambiguate(0, result, None), None);
}

#[test]
fn overlapping_templates_are_noticed() {
    let clash = |one: &[&str], other: &[&str]| {
        View::new(
            vec![library("a", NameStyle::Plain, &[], one), library("b", NameStyle::Plain, &[], other)],
            1,
        )
        .uris_clash
    };
    assert!(clash(&["f://{x}"], &["f://{+y}"]));
    assert!(clash(&["f://{x}", "f://a/{x}"], &["f://a/b{y}"]));
    assert!(clash(&["{+x}"], &["z://"]));
    assert!(!clash(&["f://a/{x}", "f://{x}"], &["g://{x}"]));
}

#[test]
fn nearest_names_first() {
    let view = View::new(
        vec![
            with(
                List::Tools,
                "files",
                NameStyle::Prefixed,
                &["read_file", "read_files", "write_file", "list"],
            ),
            with(List::Tools, "other", NameStyle::Prefixed, &["read_file"]),
        ],
        1,
    );
    let nearest = |name| view.nearest(List::Tools, name);
    assert_eq!(nearest("files__raed_file")[0], "files__read_file");
    assert_eq!(nearest("read_file"), ["files__read_file", "other__read_file"]);
    assert_eq!(nearest("gone__list"), ["files__list"]);
    assert_eq!(nearest("Files__List"), ["files__list"]);
    assert!(nearest("something_else_entirely").is_empty());
    assert!(nearest("").is_empty() && nearest(&"x".repeat(1000)).is_empty());
}

#[test]
fn welcome_merges_capabilities_of_members() {
    let view = View::new(
        vec![
            welcomed(
                "a",
                json!({"capabilities": {"tools": {}, "logging": null, "tasks": {"list": {}}, "resources": {"subscribe": false}}, "instructions": "First."}),
            ),
            welcomed(
                "b",
                json!({"capabilities": {"tools": {"x": 1}, "completions": {}, "tasks": {"requests": {"tools": {"call": {}}}}, "resources": {"subscribe": true}, "experimental": {"e": {}}}, "instructions": " "}),
            ),
            welcomed("c", json!({"capabilities": {"prompts": true}, "instructions": "Then."})),
        ],
        1,
    );
    let welcome: Value = serde_json::from_str(&view.welcome("2025-06-18", &[], &json!({}))).unwrap();
    assert_eq!(
        welcome,
        json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {
                "tools": {"listChanged": true, "x": 1},
                "prompts": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true},
                "tasks": {"list": {}, "requests": {"tools": {"call": {}}}},
                "completions": {},
                "experimental": {"e": {}},
            },
            "serverInfo": {"name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION")},
            "instructions": "## a\n\nFirst.\n\n## c\n\nThen.",
        })
    );
    let late: Value = serde_json::from_str(&View::new(vec![unknown("a", NameStyle::Plain)], 1).welcome(
        "x",
        &[],
        &json!({}),
    ))
    .unwrap();
    let changes = json!({"listChanged": true});
    assert_eq!(
        late["capabilities"],
        json!({"tools": changes, "prompts": changes, "resources": changes, "logging": {}, "completions": {}})
    );
    assert_eq!(late.get("instructions"), None);
}

#[test]
fn one_plain_server_introduces_itself() {
    let own = "{ \"x\":{\"protocolVersion\":1}, \"protocol\\u0056ersion\" : \"2024-11-05\",\n\"serverInfo\":{\"name\":\"é\",\"n\":1.50} }";
    let offer = Offer::new(Bytes::from_static(own.as_bytes()));
    let naming = Arc::new(Naming::new("a", NameStyle::Plain));
    let view = View::new(vec![Member { server: ServerId(0), naming, offer: Some(Arc::new(offer)) }], 1);
    assert_eq!(
        view.welcome("2025-06-18", &[], &json!({})),
        own.replace("2024-11-05", "2025-06-18").replace('\n', " ")
    );
}

#[test]
fn cursor_beyond_the_end_gives_empty_page() {
    let view = View::new(vec![with(List::Tools, "a", NameStyle::Plain, &["x"])], 1);
    assert_eq!(ask(&view, List::Tools, Page::At(5), Some(2))["result"], json!({"tools": []}));
    assert_eq!(ask(&view, List::Tools, Page::First, Some(0))["result"], json!({"tools": [{"name": "x"}]}));
}

/// Servers in either style, some with words in common.
fn servers() -> impl Strategy<Value = Vec<(String, bool, Vec<String>)>> {
    let name = "a|a__b|a[._]b|b|c{40,44}";
    let tool = "[ab._]{1,3}|b__x|x|c{40,50}";
    proptest::collection::vec((name, any::<bool>(), proptest::collection::vec(tool, 0..8)), 0..5).prop_map(
        |mut all| {
            let mut seen = HashSet::new();
            all.retain(|(name, ..)| seen.insert(name.clone()));
            all
        },
    )
}

fn view_of(list: List, servers: &[(String, bool, Vec<String>)]) -> View {
    let member = |(name, plain, things): &(String, bool, Vec<String>)| {
        let things: Vec<&str> = things.iter().map(String::as_str).collect();
        with(list, name, if *plain { NameStyle::Plain } else { NameStyle::Prefixed }, &things)
    };
    View::new(servers.iter().map(member).collect(), 3)
}

/// Each visible item: its owner, and the server's name for it.
fn expected(servers: &[(String, bool, Vec<String>)]) -> Vec<(usize, &String)> {
    let mut all = Vec::new();
    for (at, (_, _, things)) in servers.iter().enumerate() {
        let mut seen = HashSet::new();
        all.extend(things.iter().filter(|thing| seen.insert(*thing)).map(|thing| (at, thing)));
    }
    all
}

proptest! {
    #[test]
    fn shown_names_find_their_item(servers in servers()) {
        let view = view_of(List::Tools, &servers);
        let names = shown(&view, List::Tools);
        let expected = expected(&servers);
        prop_assert_eq!(names.len(), expected.len());
        prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{:?}", names);
        for (name, (member, original)) in names.iter().zip(&expected) {
            prop_assert_eq!(find(&view, name), owner(*member, original));
            // A unique name: the one it would have alone, or a reported one.
            let (server, plain, _) = &servers[*member];
            let alone = crate::catalogue::names::prefixed(server, original, original);
            let natural = if *plain { (*original).clone() } else { alone.text };
            let told = view.collisions().iter().any(|c| c.becomes.as_ref() == Some(name));
            prop_assert!(*name == natural || told, "{} {}", name, natural);
        }
        for (_, original) in &expected {
            if !names.contains(original) {
                prop_assert_eq!(find(&view, original), Found::Nobody);
            }
        }
        // Deterministic for the same servers.
        let again = view_of(List::Tools, &servers);
        prop_assert_eq!(shown(&again, List::Tools), names);
        prop_assert_eq!(again.collisions(), view.collisions());
    }

    #[test]
    fn all_pages_give_everything_once_in_order(servers in servers(), size in 1usize..7) {
        let view = view_of(List::Tools, &servers);
        let whole = ask(&view, List::Tools, Page::First, None)["result"]["tools"].clone();
        let mut walked = Vec::new();
        let mut page = Page::First;
        loop {
            let answer = ask(&view, List::Tools, page, Some(size));
            let items = answer["result"]["tools"].as_array().unwrap().clone();
            prop_assert!(items.len() <= size);
            walked.extend(items);
            let Some(cursor) = answer["result"]["nextCursor"].as_str() else { break };
            let (number, offset) = View::read_cursor(cursor).unwrap();
            prop_assert_eq!((number, offset), (3, walked.len()));
            page = Page::At(offset);
        }
        prop_assert_eq!(Value::from(walked), whole);
    }

    #[test]
    fn shown_uris_find_their_server(
        servers in servers(),
        value in "[a-z0-9%]{0,6}",
        sign in "[+#./;?&]?",
    ) {
        let resources = view_of(List::Resources, &servers);
        for (uri, (member, original)) in shown(&resources, List::Resources).iter().zip(expected(&servers)) {
            prop_assert_eq!(resources.find_uri(uri), owns(member, original));
        }
        let servers: Vec<_> = servers
            .into_iter()
            .map(|(name, _, things)| {
                let template = |thing: &String| format!("{thing}://x{{{sign}v}}");
                (name, false, things.iter().map(template).collect::<Vec<_>>())
            })
            .collect();
        let templates = view_of(List::Templates, &servers);
        let expression = format!("{{{sign}v}}");
        let expansion = match &*sign {
            "" | "+" => value,
            "?" | "&" | ";" => format!("{sign}v={value}"),
            _ => format!("{sign}{value}"),
        };
        for (public, (member, original)) in shown(&templates, List::Templates).iter().zip(expected(&servers)) {
            prop_assert_eq!(templates.find_template(public), owns(member, original));
            let expanded = original.replace(&expression, &expansion);
            prop_assert_eq!(templates.find_uri(&public.replace(&expression, &expansion)), owns(member, &expanded));
            // The server's own spelling finds it too, unless another server has such a template.
            match templates.find_uri(&expanded) {
                FoundUri::Owner { member: found, .. } => prop_assert_eq!(found, member),
                FoundUri::Several(all) => prop_assert!(all.contains(&member)),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
