//! Round trips through both translations: each removes what the other adds, and no other byte changes. Exceptions: absent
//! `params` become an empty object, an empty `_meta` is removed, and there is no way back for legacy tasks, modern members
//! of results, the code of an unknown resource, and schemas and content that are no objects.

use super::*;
use crate::translation::for_modern;
use proptest::prelude::*;
use serde_json::json;

fn message(text: &str) -> Message {
    own_message(text.to_owned().into()).unwrap_or_else(|| panic!("{text}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A translator whose server is greeted in the name of a client with these capabilities.
fn greeted(capabilities: &str) -> ForLegacy {
    let mut it = ForLegacy::new(PROCESS);
    let hello = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","clientInfo":{{"name":"c","version":"1"}},"capabilities":{capabilities}}}}}"#
    );
    it.outbound(&message(&hello), None, Moment::default());
    let found = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    it.inbound(message(found), Moment::default());
    it
}

/// A translator whose server announces changes of tools, and the number of the subscription to them.
fn listening() -> (ForLegacy, u64) {
    let mut it = ForLegacy::new(PROCESS);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
    it.outbound(&message(hello), None, Moment::default());
    let found = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}"#;
    let steps = it.inbound(message(found), Moment::default());
    let [Step::ToCore(_), Step::ToServer(out)] = &steps[..] else { panic!("{steps:?}") };
    let listen = message(&text(&out.to_vec())).part(Part::Id).and_then(RawId::minted).expect("a number");
    (it, listen)
}

fn name() -> impl Strategy<Value = String> {
    "[a-zé/\\\\n\"]{1,6}".prop_map(|name| json!(name).to_string())
}

/// JSON with unusual spacing and escapes.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1.50".to_owned()),
        Just("-0e+2".to_owned()),
        Just(r#""\u00e9\/""#.to_owned()),
        name(),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let members = prop::collection::vec((name(), inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(" , "))),
            members.prop_map(|members| object(&members, "")),
        ]
    })
}

fn object(members: &[(String, String)], space: &str) -> String {
    let members = members.iter().map(|(name, value)| format!("{name}:{space}{value}"));
    format!("{{{space}{}{space}}}", members.collect::<Vec<_>>().join(&format!(",{space}")))
}

/// Members that have no meaning in either era.
fn members(least: usize) -> impl Strategy<Value = Vec<(String, String)>> {
    let name = "x-[a-z]{1,4}".prop_map(|name| json!(name).to_string());
    prop::collection::btree_map(name, value(), least..4).prop_map(|it| it.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn request_round_trips(
        params in members(0), meta in prop::option::of(members(1)), at in 0..4usize, space in "[ \t]{0,2}",
        capabilities in members(0), level in prop::option::of(name()),
        method in prop::sample::select(vec!["tools/call", "tools/list", "prompts/get", "resources/read", "completion/complete", "x/y"]),
    ) {
        let mut params = params;
        if let Some(meta) = meta {
            params.insert(at.min(params.len()), (r#""_meta""#.to_owned(), object(&meta, &space)));
        }
        let params = object(&params, &space);
        let said = format!(r#"{{"zz":1.0,{space}"method":"{method}","params":{params},"id":7,"jsonrpc":"2.0"}}"#);
        let mut it = greeted(&object(&capabilities, ""));
        let steps = it.outbound(&message(&said), level.as_deref().map(str::as_bytes), Moment::default());
        let [Step::ToServer(out)] = &steps[..] else { panic!("{steps:?}") };
        let sent = message(&text(&out.to_vec()));
        prop_assert!(sent.has(Part::MetaVersion) && sent.has(Part::MetaCapabilities));
        prop_assert_eq!(text(for_modern::as_legacy(sent).bytes()), said);
    }

    #[test]
    fn result_round_trips(
        result in members(0), meta in prop::option::of(members(0)), at in 0..4usize, space in "[ \t]{0,2}",
        content in prop::option::of(members(0)),
        method in prop::sample::select(vec!["tools/call", "tools/list", "prompts/get", "resources/read", "resources/list", "x/y"]),
    ) {
        let mut result = result;
        let own = content.map(|it| (r#""structuredContent""#, it)).into_iter().chain(meta.map(|it| (r#""_meta""#, it)));
        for (name, members) in own {
            result.insert(at.min(result.len()), (name.to_owned(), object(&members, &space)));
        }
        if method == "tools/list" {
            let tools = r#"[{"name":"a","outputSchema":{ "type":"object" }}]"#;
            result.insert(at.min(result.len()), (r#""tools""#.to_owned(), tools.to_owned()));
        }
        let result = object(&result, &space);
        let said = format!(r#"{{"jsonrpc":"2.0",{space}"result":{result},"id":7,"zz":1.0}}"#);
        let mut out = Outgoing::of(&message(&said));
        for_modern::complete(&message(&said), Method::from_name(method), &mut out);
        let modern = message(&text(&out.to_vec()));
        prop_assert!(modern.has(Part::ResultType), "{}", text(modern.bytes()));
        let back = results::complete(modern, Method::from_name(method), "7").expect("a message");
        prop_assert_eq!(text(back.bytes()), said);
    }
    #[test]
    fn error_round_trips(
        more in members(0), data in prop::option::of(value()), at in 0..4usize, space in "[ \t]{0,2}",
        code in prop::sample::select(vec!["-32700", "-32601", "-32602", "-32603", "-32002", "-32000", "0", "7", "1.50"]),
        method in prop::sample::select(vec!["tools/call", "tools/list", "prompts/get", "resources/read", "x/y"]),
    ) {
        let error = |code: &str| {
            let mut error = more.clone();
            let own = [("code", Some(code.to_owned())), ("message", Some(r#""n\u00f6\/""#.to_owned())), ("data", data.clone())];
            for (name, value) in own {
                let member = value.map(|value| (json!(name).to_string(), value));
                member.into_iter().for_each(|member| error.insert(at.min(error.len()), member));
            }
            format!(r#"{{"jsonrpc":"2.0",{space}"error":{},"id":7,"zz":1.0}}"#, object(&error, &space))
        };
        let said = message(&error(code));
        let mut out = Outgoing::of(&said);
        for_modern::put_error_code(&said, true, &mut out);
        let back = results::failed(message(&text(&out.to_vec())), Method::from_name(method), "7").expect("a message");
        prop_assert_eq!(text(back.bytes()), error(if code == "-32002" { "-32602" } else { code }));
    }

    /// Notifications of a legacy server pass through a modern subscription.
    #[test]
    fn notice_round_trips(
        params in members(0), meta in prop::option::of(members(1)), at in 0..4usize, space in "[ \t]{0,2}",
        method in prop::sample::select(vec!["tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated"]),
    ) {
        let mut params = params;
        if let Some(meta) = meta {
            params.insert(at.min(params.len()), (r#""_meta""#.to_owned(), object(&meta, &space)));
        }
        let params = object(&params, &space);
        let said = format!(r#"{{"zz":1.0,{space}"method":"notifications/{method}","params":{params},"jsonrpc":"2.0"}}"#);
        let (mut it, listen) = listening();
        let told = for_modern::on_subscription(&message(&said), &RawId::from_number(listen)).expect("a message");
        prop_assert!(told.has(Part::MetaSubscriptionId), "{}", text(told.bytes()));
        let steps = it.inbound(told, Moment::default());
        let [Step::ToCore(back)] = &steps[..] else { panic!("{steps:?}") };
        prop_assert_eq!(text(back.bytes()), said);
    }

    /// Questions of a legacy server become the input requests of a modern one, and questions again, in the same order. So
    /// do the answers.
    #[test]
    fn questions_and_answers_round_trip(
        asked in prop::collection::btree_map(name(), (0..3usize, members(0), value(), members(0)), 1..4)
            .prop_map(|it| it.into_iter().collect::<Vec<_>>()).prop_shuffle(),
        state in r#"[ -!#-\[\]-~é]{0,6}"#, params in prop::option::of(members(0)), space in "[ \t]{0,2}",
    ) {
        const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];
        let asked: Vec<_> = asked.into_iter().map(|(key, (which, params, note, answer))| {
            let meta = (r#""_meta""#.to_owned(), format!(r#"{{"x":{note}}}"#));
            let params = object(&params.into_iter().chain([meta]).collect::<Vec<_>>(), &space);
            (serde_json::from_str::<String>(&key).expect("a key"), METHODS[which], params, object(&answer, &space))
        }).collect();
        let requests: Vec<_> = asked.iter().map(|(key, method, params, _)| {
            let question = message(&format!(r#"{{"jsonrpc":"2.0","id":5,"method":"{method}","params":{params}}}"#));
            for_modern::InputRequest::of(&question, key.clone()).expect("a question")
        }).collect();

        let mut it = greeted("{}");
        let params = params.map(|params| object(&params, &space));
        let call = |id: &str, params: Option<&str>| {
            let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"{params}}}"#)
        };
        it.outbound(&message(&call("7", params.as_deref())), None, Moment::default());
        let wanted = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, for_modern::input_required(&requests, &state));
        let questions = it.inbound(message(&wanted), Moment::default());
        prop_assert_eq!(questions.len(), asked.len());
        let mut sent = Vec::new();
        for (step, (key, method, params, answer)) in questions.into_iter().zip(asked) {
            let Step::Ask { about: 7, question } = step else { panic!("{step:?}") };
            prop_assert_eq!(question.method_name(), method);
            prop_assert_eq!(question.part(Part::Params).map(text), Some(params));
            let id = question.id().expect("a request");
            let reply = message(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{answer}}}"#));
            sent.push((key, answer, reply));
        }
        let steps: Vec<Step> = sent.iter().flat_map(|(.., reply)| it.outbound(reply, None, Moment::default())).collect();
        let [Step::ToServer(out)] = &steps[..] else { panic!("{steps:?}") };
        let again = message(&text(&out.to_vec()));
        let answers = for_modern::Answers::of(&again);
        for (key, answer, _) in &sent {
            prop_assert_eq!(answers.to(key), Some(answer.as_str()));
        }
        prop_assert_eq!(again.part(Part::RequestState).map(text), Some(format!("\"{state}\"")));
        let id = again.id().expect("a request").to_string();
        let expect = call(&id, Some(params.as_deref().unwrap_or("{}")));
        prop_assert_eq!(text(for_modern::as_legacy(again).bytes()), expect);
    }

    /// Schemas of objects are unchanged; the schema of another value is inside the wrapped one.
    #[test]
    fn tools_round_trip(
        tools in prop::collection::vec((members(0), members(0), prop::option::of((members(0), any::<bool>()))), 0..4),
        space in "[ \t]{0,2}",
    ) {
        let list = |wraps: bool| {
            let tools = tools.iter().map(|(own, input, output)| {
                let mut tool = own.clone();
                tool.push((r#""name""#.to_owned(), r#""a""#.to_owned()));
                tool.push((r#""inputSchema""#.to_owned(), object(input, &space)));
                if let Some((members, is_object)) = output {
                    let kind = (r#""type""#.to_owned(), if *is_object { r#""object""# } else { r#""array""# }.to_owned());
                    let schema = object(&members.iter().cloned().chain([kind]).collect::<Vec<_>>(), &space);
                    let wrapped = format!(r#"{{"type":"object","properties":{{"result":{schema}}},"required":["result"]}}"#);
                    tool.push((r#""outputSchema""#.to_owned(), if wraps && !is_object { wrapped } else { schema }));
                }
                object(&tool, &space)
            });
            let tools = tools.collect::<Vec<_>>().join(&format!("{space},"));
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{{space}"tools":[{tools}],"nextCursor":"x"}}}}"#)
        };
        let said = message(&list(false));
        prop_assert!(for_modern::without_execution(&said).is_none());
        let mut out = Outgoing::of(&said);
        for_modern::complete(&said, Method::ToolsList, &mut out);
        let back = results::complete(message(&text(&out.to_vec())), Method::ToolsList, "7").expect("a message");
        prop_assert_eq!(text(back.bytes()), list(true));
    }
}
