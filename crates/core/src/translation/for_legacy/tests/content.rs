//! Structured content, and the schemas that it is checked against.

use super::*;
use proptest::prelude::*;

/// The schema of a tool, as legacy clients see it.
fn schema_of(own: &Value) -> Value {
    let mut desk = Desk::greeted(json!({}));
    desk.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    let tools = json!([{ "name": "a", "outputSchema": own }]);
    let answer = desk.hear(json!({ "jsonrpc": "2.0", "id": 3, "result": { "tools": tools } }));
    answer[0].1["result"]["tools"][0]["outputSchema"].clone()
}

/// The content of a result, as legacy clients see it.
fn content_of(own: &Value) -> Value {
    let mut desk = Desk::greeted(json!({}));
    desk.call(2);
    let answer = desk.hear(json!({ "jsonrpc": "2.0", "id": 2, "result": { "structuredContent": own } }));
    answer[0].1["result"]["structuredContent"].clone()
}

/// Whether a value is valid, as far as the keywords below are concerned. `depth` limits references.
fn is_valid(value: &Value, schema: &Value, root: &Value, depth: u32) -> bool {
    let Some(schema) = schema.as_object() else { return schema != &json!(false) };
    let valid = |value: &Value, schema: &Value| is_valid(value, schema, root, depth);
    let has_type = |name: &Value| match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(_) => name == "number",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    };
    schema.iter().all(|(keyword, it)| match keyword.as_str() {
        "type" => it.as_array().map_or_else(|| has_type(it), |names| names.iter().any(has_type)),
        "const" => it == value,
        "anyOf" => it.as_array().unwrap().iter().any(|it| valid(value, it)),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| valid(item, it))),
        "required" => value.as_object().is_none_or(|value| {
            it.as_array().unwrap().iter().all(|key| value.contains_key(key.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|value| {
            let mut members = it.as_object().unwrap().iter();
            members.all(|(key, it)| value.get(key).is_none_or(|member| valid(member, it)))
        }),
        "$ref" | "$dynamicRef" => {
            let found = it.as_str().and_then(|it| root.pointer(it.strip_prefix('#')?));
            let found = found.unwrap_or_else(|| panic!("{it} is not in {root}"));
            depth > 0 && is_valid(value, found, root, depth - 1)
        }
        "$schema" | "$id" | "$defs" | "definitions" => true,
        _ => panic!("{keyword}"),
    })
}

/// References that are followed in one schema, and in its wrapping, which may have one more.
const DEPTH: u32 = 6;

fn accepts(schema: &Value, value: &Value) -> bool {
    is_valid(value, schema, schema, DEPTH)
}

fn accepts_wrapped(schema: &Value, value: &Value) -> bool {
    is_valid(value, schema, schema, DEPTH + 1)
}

#[test]
fn schema_and_content_are_wrapped_alike() {
    let object = json!({ "type": "object", "properties": { "a": { "type": "number" } }, "required": ["a"] });
    let defs = json!({ "T": object });
    let tree = json!({ "anyOf": [{ "type": "null" }, { "type": "array", "items": { "$ref": "#" } },
        { "type": "object", "properties": { "a": { "$ref": "#/anyOf/0" } }, "required": ["a"] }] });
    for (schema, good, bad) in [
        (object.clone(), vec![json!({ "a": 1 })], vec![json!({ "a": "x" }), json!({})]),
        (
            json!({ "anyOf": [object, { "type": "null" }] }),
            vec![json!({ "a": 1 }), json!(null)],
            vec![json!(1)],
        ),
        (json!({ "$ref": "#/$defs/T", "$defs": defs }), vec![json!({ "a": 1 })], vec![json!({}), json!("x")]),
        (json!({ "$ref": "#/definitions/T", "definitions": defs }), vec![json!({ "a": 1 })], vec![json!({})]),
        // Any object is valid, also a wrapper.
        (json!({ "type": ["object", "null"] }), vec![json!({ "a": 1 }), json!(null)], vec![]),
        (json!({ "type": ["array", "null"] }), vec![json!([1]), json!(null)], vec![json!("x")]),
        (json!({ "type": "array", "items": { "$ref": "#" } }), vec![json!([[], [[]]])], vec![json!([1])]),
        (
            json!({ "type": "array", "items": { "$dynamicRef": "#" } }),
            vec![json!([[], [[]]])],
            vec![json!([1])],
        ),
        (
            json!({ "anyOf": [{ "type": "null" }, { "items": { "$dynamicRef": "#/anyOf/0" }, "type": "array" }] }),
            vec![json!(null), json!([null])],
            vec![json!([1])],
        ),
        (
            json!({ "const": 7, "$schema": "s", "$id": "https://x/y" }),
            vec![json!(7)],
            vec![json!(8), json!({})],
        ),
        (json!({}), vec![json!({ "a": 1 }), json!(null), json!([1])], vec![]),
        (json!(true), vec![json!({ "a": 1 }), json!("x")], vec![]),
        (
            tree,
            vec![json!(null), json!([null, [null]]), json!({ "a": null })],
            vec![json!({ "a": 1 }), json!([1])],
        ),
    ] {
        let shown = schema_of(&schema);
        assert_eq!(shown["type"], "object", "{shown}");
        for (value, is_good) in good.iter().map(|it| (it, true)).chain(bad.iter().map(|it| (it, false))) {
            assert_eq!(accepts(&schema, value), is_good, "{value} by {schema}");
            assert_eq!(accepts_wrapped(&shown, &content_of(value)), is_good, "{value} by {shown}");
        }
    }
}

#[test]
fn schemas_of_objects_stay() {
    let schema = json!({ "type": "object", "properties": { "n": { "$ref": "#" } }, "$defs": {} });
    assert_eq!(schema_of(&schema), schema);
}

/// Some servers escape slashes. Other references and strings stay unchanged.
#[test]
fn references_to_the_root_are_moved() {
    let mut desk = Desk::greeted(json!({}));
    desk.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    let own = r##""items":[{"$ref" : "#\/items\/1"},{"$ref":"#\/$defs\/T"},{"$ref":"other.json#/x"},{"$ref":"#name"},{"properties":{"$ref":{"type":"string"}},"title":"\"$ref\":\"#\""}]"##;
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":3,"result":{{"tools":[{{"name":"a","outputSchema":{{"type":"array",{own}}}}}]}}}}"#
    );
    let [Step::ToCore(answer)] = &desk.it.inbound(own_message(text.into()).unwrap(), desk.now)[..] else {
        panic!("no answer");
    };
    let shown = String::from_utf8_lossy(answer.bytes()).into_owned();
    let expected = own.replace(r##""$ref" : "#\/items\/1""##, r##""$ref":"#/properties/result/items/1""##);
    assert!(shown.contains(&expected), "{shown}");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(null)), Just(json!(true)), Just(json!(7)), Just(json!("x"))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(vec!["a", "b", "result"]), inner, 0..3)
                .prop_map(|members| json!(members)),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec!["null", "boolean", "number", "string", "array", "object"]);
    let leaf = prop_oneof![
        4 => names.clone().prop_map(|name| json!({ "type": name })),
        2 => prop::collection::vec(names, 1..4).prop_map(|names| json!({ "type": names })),
        1 => Just(json!({})),
        1 => Just(json!({ "$ref": "#" })),
        2 => Just(json!({ "$ref": "#/$defs/T" })),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let member = prop::sample::select(vec!["a", "b", "result"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|any| json!({ "anyOf": any })),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            (prop::collection::btree_map(member, inner, 1..3), any::<bool>()).prop_map(
                |(members, is_open)| {
                    let required: Vec<_> = members.keys().take(1).copied().collect();
                    let mut schema = json!({ "properties": members, "required": required });
                    if !is_open {
                        schema["type"] = json!("object");
                    }
                    schema
                }
            ),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Wrapped content is valid under the wrapped schema exactly if the original is valid under its own.
    #[test]
    fn wrapped_content_fits_its_schema(own in schema(), definition in schema(), value in value()) {
        let mut own = own;
        own["$defs"] = json!({ "T": definition });
        let shown = schema_of(&own);
        let content = content_of(&value);
        prop_assert_eq!(&shown["type"], "object");
        if accepts(&own, &value) {
            prop_assert!(accepts_wrapped(&shown, &content), "{} {}", shown, content);
        } else if !value.is_object() && !accepts_wrapped(&own, &value) && !accepts_wrapped(&own, &content) {
            prop_assert!(!accepts_wrapped(&shown, &content), "{} {}", shown, content);
        }
    }
}
