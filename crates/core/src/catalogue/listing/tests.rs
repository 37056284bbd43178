use super::*;
use crate::catalogue::filter::Filter;
use proptest::prelude::*;
use std::collections::HashSet;

fn naming(style: NameStyle) -> Naming {
    Naming::new("s", style)
}

fn read(list: List, result: &str, naming: &Naming) -> Listing {
    Listing::read(list, &[Bytes::copy_from_slice(result.as_bytes())], naming).unwrap()
}

fn written(listing: &Listing) -> Vec<String> {
    let one = |entry| {
        let mut out = Vec::new();
        listing.write(entry, None, |uri| Some(uris::encode_resource("s", uri)), &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..listing.len() as u32).map(one).collect()
}

fn names(listing: &Listing) -> Vec<String> {
    listing.names().map(Cow::into_owned).collect()
}

#[test]
fn only_the_key_is_replaced() {
    let result = r#"{"_meta":{"tools":[1]}, "tools" : [ { "title":"T", "name" : "read", "n":1.50, "x":{"name":"inner"}, "é":"\u00e9" } ] }"#;
    let listing = read(List::Tools, result, &naming(NameStyle::Prefixed));
    assert_eq!(
        written(&listing),
        [r#"{ "title":"T", "name" : "s__read", "n":1.50, "x":{"name":"inner"}, "é":"\u00e9" }"#]
    );
    assert_eq!(listing.spelling(0), r#""read""#);
    let plain = read(List::Tools, result, &naming(NameStyle::Plain));
    assert_eq!(written(&plain).concat().as_bytes(), plain.original());
    assert!(plain.is_untouched() && !listing.is_untouched());
}

#[test]
fn escaped_and_duplicate_keys_are_replaced() {
    let result = r#"{"tools":[{"name":7,"n\u0061me":"x","name":"r\u0065ad"}]}"#;
    let listing = read(List::Tools, result, &naming(NameStyle::Prefixed));
    assert_eq!(written(&listing), [r#"{"name":"s__read","n\u0061me":"s__read","name":"s__read"}"#]);
    assert_eq!(listing.spelling(0), r#""r\u0065ad""#);
    assert_eq!(names(&read(List::Tools, result, &naming(NameStyle::Plain))), ["read"]);
}

#[test]
fn pages_are_joined_on_one_line() {
    let pages = [
        &b"{\"tools\":[{\"name\":\r\n\"a\"}],\"nextCursor\":\"2\"}"[..],
        b"{\"tools\":[]}",
        b"{\"tools\":[{\"name\":\"b\"} , {\"name\":\"c\"}]}",
    ];
    let pages = pages.map(Bytes::from_static);
    let listing = Listing::read(List::Tools, &pages, &naming(NameStyle::Prefixed)).unwrap();
    assert_eq!(listing.original(), &br#"{"name":  "a"},{"name":"b"},{"name":"c"}"#[..]);
    assert_eq!(names(&listing), ["s__a", "s__b", "s__c"]);
    assert_eq!(next_cursor(&pages[0]).unwrap(), &b"\"2\""[..]);
    assert_eq!(next_cursor(&pages[1]), None);
    assert_eq!(next_cursor(br#"{"nextCursor":null}"#), None);
    assert_eq!(next_cursor(b"nonsense"), None);
}

#[test]
fn unusable_items_are_left_out_and_counted() {
    let result = r#"{"tools":[7,{"name":1},{},{"name":"a"},"x",{"name":"\ud800"},[{"name":"b"}]]}"#;
    let listing = read(List::Tools, result, &naming(NameStyle::Prefixed));
    assert_eq!((listing.len(), listing.skipped()), (1, 6));
    let again =
        Listing::restore(List::Tools, listing.original().clone(), &naming(NameStyle::Prefixed)).unwrap();
    assert_eq!((again.len(), again.skipped()), (1, 6));
    assert!(again.same_as(&listing));
}

#[test]
fn missing_list_is_an_explained_error() {
    for (result, why) in [
        ("{}", "`result` has no array `tools`"),
        (r#"{"tools":null}"#, "`result` has no array `tools`"),
        (r#"{"tools":{}}"#, "`result` has no array `tools`"),
        ("[]", "a JSON value was expected here"),
        (r#"{"tools":[{]}"#, "a key in double quotes was expected here"),
    ] {
        let pages = [Bytes::copy_from_slice(result.as_bytes())];
        let error = Listing::read(List::Tools, &pages, &naming(NameStyle::Plain)).unwrap_err();
        assert_eq!(error.to_string(), format!("the answer to `tools/list` cannot be read: {why}"));
    }
    assert!(
        Listing::restore(List::Tools, Bytes::from_static(b"{\"name\""), &naming(NameStyle::Plain)).is_err()
    );
    assert!(Listing::restore(List::Tools, Bytes::from_static(b"{} {}"), &naming(NameStyle::Plain)).is_err());
    assert!(Listing::restore(List::Tools, Bytes::from_static(b"\xff"), &naming(NameStyle::Plain)).is_err());
}

#[test]
fn filters_and_renames_apply_to_lists() {
    let mut naming = naming(NameStyle::Prefixed);
    naming.tools = Filter {
        allow: vec!["read*".into(), "write".into()],
        deny: vec!["*secret*".into()],
        rename: vec![("write".into(), "put".into())],
        ..Filter::default()
    };
    let result = r#"{"tools":[{"name":"read"},{"name":"read_secret"},{"name":"drop"},{"name":"write"}]}"#;
    let listing = read(List::Tools, result, &naming);
    assert_eq!(names(&listing), ["s__read", "s__put"]);
    assert_eq!(listing.spelling(1), r#""write""#);
    assert_eq!(listing.skipped(), 0);
    // The whole list is stored: another filter may show more of it.
    assert_eq!(listing.under(&Naming::new("t", NameStyle::Plain)).unwrap().len(), 4);
}

#[test]
fn own_collisions_of_a_server_are_solved() {
    let result = r#"{"tools":[{"name":"a.b"},{"name":"a_b"},{"name":"a/b"},{"name":"a_b","n":2},{"name":"c.d"},{"name":"c/d"},{"name":"e.f"}]}"#;
    let listing = read(List::Tools, result, &naming(NameStyle::Prefixed));
    let shown = names(&listing);
    // The second `a_b` is left out; a name altered into a taken one gets a hash; a lone altered name does not.
    assert_eq!(shown.len(), 6);
    assert_eq!((&*shown[1], &*shown[5]), ("s__a_b", "s__e_f"));
    for (at, start) in [(0, "s__a_b_"), (2, "s__a_b_"), (3, "s__c_d_"), (4, "s__c_d_")] {
        assert!(shown[at].starts_with(start) && shown[at].len() == start.len() + 8, "{}", shown[at]);
    }
    assert_eq!(listing.collisions().len(), 5);
    assert_eq!(
        listing.collisions()[0],
        Collision { list: List::Tools, name: "a_b".into(), servers: vec!["s".into()], becomes: None }
    );
    assert_eq!(listing.collisions()[1].becomes.as_deref(), Some(&*shown[0]));
}

#[test]
fn rename_onto_a_taken_name_hides_nothing() {
    for (style, other) in [(NameStyle::Prefixed, "s__b_"), (NameStyle::Plain, "s__b")] {
        let mut naming = naming(style);
        naming.tools.rename = vec![("a".into(), "b".into())];
        let listing = read(List::Tools, r#"{"tools":[{"name":"a"},{"name":"b"}]}"#, &naming);
        let shown = names(&listing);
        assert!(shown[0].starts_with(other), "{shown:?}");
        assert_eq!(shown[1], if style == NameStyle::Plain { "b" } else { "s__b" });
    }
}

#[test]
fn resource_wrapped_template_keeps_spelling() {
    let naming = naming(NameStyle::Prefixed);
    let result = r#"{"resources":[{"uri":"file:///a","name":"A"},{"uri":"ui://b"}]}"#;
    let listing = read(List::Resources, result, &naming);
    let wrapped = uris::encode_resource("s", "file:///a");
    assert_eq!(
        written(&listing),
        [format!(r#"{{"uri":"{wrapped}","name":"A"}}"#), r#"{"uri":"ui://switchboard/s/b"}"#.into()]
    );
    let result = r#"{"resourceTemplates":[{"uriTemplate":"f:\/\/{x}"}]}"#;
    let listing = read(List::Templates, result, &naming);
    assert_eq!(written(&listing), [r#"{"uriTemplate":"proxy://template/s/f:\/\/{x}"}"#]);
    assert_eq!(names(&listing), ["proxy://template/s/f://{x}"]);
}

/// JSON of any kind, in any formatting.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.50e3".to_owned()),
        Just(r#""\u0041\/""#.to_owned()),
        "[ -~&&[^\"\\\\]]{0,6}".prop_map(|text| format!("\"{text}\"")),
        Just(r#"{"name" : "inner", "uri":"x"}"#.to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|all| format!("[ {}]", all.join(" , "))),
            proptest::collection::vec(("[a-z]{1,4}", inner), 0..3).prop_map(|all| {
                let members: Vec<_> = all.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// An item as three parts: the text before the value of its key, the key, and the rest.
fn item() -> impl Strategy<Value = (String, String, String)> {
    let other = || proptest::collection::vec(("[b-m]{1,3}", json()), 0..3);
    let written = |all: Vec<(String, String)>| -> Vec<String> {
        all.into_iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect()
    };
    (other(), "[a-c._/é]{0,4}|[a-z]{44,50}", other()).prop_map(move |(before, name, after)| {
        let before: String = written(before).iter().map(|member| format!("{member}, ")).collect();
        let after: String = written(after).iter().map(|member| format!(" ,{member}")).collect();
        (format!("{{{before}\"name\": "), name, format!("{after}}}"))
    })
}

proptest! {
    #[test]
    fn every_item_keeps_every_byte_but_the_name(
        items in proptest::collection::vec(item(), 0..12),
        cut in 0usize..12,
        plain: bool,
    ) {
        let naming = naming(if plain { NameStyle::Plain } else { NameStyle::Prefixed });
        let text = |(before, name, after): &(String, String, String)| format!("{before}\"{name}\"{after}");
        let (one, other) = items.split_at(cut.min(items.len()));
        let page = |items: &[(String, String, String)]| {
            let items: Vec<_> = items.iter().map(text).collect();
            Bytes::from(format!("{{\"x\":{{}}, \"tools\" : [ {} ]}}", items.join(", ")))
        };
        let listing = Listing::read(List::Tools, &[page(one), page(other)], &naming).unwrap();

        let mut seen = HashSet::new();
        let first: Vec<_> = items.iter().filter(|(_, name, _)| seen.insert(name.clone())).collect();
        let shown = names(&listing);
        prop_assert_eq!(shown.len(), first.len());
        for (at, (item, public)) in first.iter().zip(&shown).enumerate() {
            let expect = format!("{}\"{public}\"{}", item.0, item.2);
            prop_assert_eq!(&written(&listing)[at], &expect);
            prop_assert_eq!(listing.spelling(at as u32), format!("\"{}\"", item.1));
            // Found by its public name, and by no other.
            let found = listing.find(crate::catalogue::index::hash(public.as_bytes()), public.as_bytes());
            prop_assert_eq!(found, Some(at as u32));
        }
        // All names are unique, and every lost name is reported.
        prop_assert_eq!(shown.iter().collect::<HashSet<_>>().len(), shown.len());
        if !plain {
            for (item, public) in first.iter().zip(&shown) {
                let told = listing.collisions().iter().any(|c| c.becomes.as_ref() == Some(public));
                let alone = crate::catalogue::names::prefixed("s", &item.1, &item.1);
                prop_assert!(told || alone.text == *public);
                prop_assert!(alone.altered || alone.text == *public);
            }
        }
        // The same after a round trip through the disk.
        let again = Listing::restore(List::Tools, listing.original().clone(), &naming).unwrap();
        prop_assert!(again.same_as(&listing));
        prop_assert_eq!(written(&again), written(&listing));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in "[\\[\\]{}:,\"\\\\a-z0-9 ]{0,40}") {
        let result = format!("{{\"tools\":[{bytes}]}}");
        let _ = Listing::read(List::Tools, &[result.into()], &naming(NameStyle::Prefixed));
        let _ = Listing::restore(List::Tools, Bytes::from(bytes.clone()), &naming(NameStyle::Prefixed));
        let _ = next_cursor(bytes.as_bytes());
    }
}
