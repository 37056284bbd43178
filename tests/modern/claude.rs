//! Claude Code 2.1.325 with a server of both eras, as recorded: in the modern era, and in the legacy one if
//! `clientEra` says so. It finds the same tools, and the server the same user and roots.

use crate::support::{Mode, text};
use serde_json::{Value, json};
use switchboard_testkit::client::Client;

const INFO: &str = r#"{"name":"claude-code","title":"Claude Code","version":"2.1.325","description":"Anthropic's agentic coding tool","websiteUrl":"https://claude.com/claude-code"}"#;
const CAPABILITIES: &str = r#"{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}"#;
const FORM: &str = r#"{"action":"accept","content":{"name":"Ann"}}"#;
const ROOTS: &str = r#"{"roots":[{"uri":"file:///home/ann/shop"}]}"#;

/// What became of a conversation.
#[derive(Debug, PartialEq)]
struct Seen {
    tools: Value,
    form: Value,
    roots: Value,
}

fn meta() -> String {
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{INFO},"io.modelcontextprotocol/clientCapabilities":{CAPABILITIES}"#
    )
}

fn start(mode: Mode, client_era: &str) -> Client {
    // `auto`, as in a file that says nothing.
    let file = json!({ "clientEra": client_era });
    mode.configured(file, json!({}), &["--era", "dual"]).start()
}

/// The probe, with a string as its id.
fn probe(client: &mut Client) -> Value {
    client.send(format!(
        r#"{{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{{"_meta":{{{}}}}}}}"#,
        meta()
    ));
    client.answer("server-discover-probe-1")
}

fn tools(answer: &Value) -> Value {
    assert!(answer["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{answer}");
    answer["result"]["tools"].clone()
}

/// A call, which is sent again with what the user says.
fn modern_call(client: &mut Client, id: u64, kind: &str, said: &str) -> Value {
    let call = |id: u64, more: &str| {
        format!(
            r#"{{"method":"tools/call","params":{{"name":"input","arguments":{{"kind":"{kind}"}},"_meta":{{{},"claudecode/toolUseId":"toolu_1","progressToken":{id}}}{more}}},"jsonrpc":"2.0","id":{id}}}"#,
            meta()
        )
    };
    client.send(call(id, ""));
    let asked = client.answer(id);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = &asked["result"]["requestState"];
    client.send(call(id + 1, &format!(r#","inputResponses":{{"who":{said}}},"requestState":{state}"#)));
    client.answer(id + 1)["result"]["structuredContent"]["inputResponses"]["who"].take()
}

fn modern(mode: Mode) -> Seen {
    let mut client = start(mode, "auto");
    let found = probe(&mut client);
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
    // It listens before it asks for anything, and discovers again.
    client.send(format!(
        r#"{{"jsonrpc":"2.0","id":"listen:0","method":"subscriptions/listen","params":{{"_meta":{{{}}},"notifications":{{"toolsListChanged":true}}}}}}"#,
        meta()
    ));
    let told = client
        .recv_where("the subscription", |it| it["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "listen:0");
    for (id, method) in ["server/discover", "tools/list"].iter().enumerate() {
        let params = format!(r#"{{"_meta":{{{}}}}}"#, meta());
        client.send(format!(r#"{{"method":"{method}","jsonrpc":"2.0","id":{id},"params":{params}}}"#));
    }
    assert_eq!(client.answer(0)["result"], found["result"]);
    let tools = tools(&client.answer(1));
    let form = modern_call(&mut client, 2, "form", FORM);
    let roots = modern_call(&mut client, 4, "roots", ROOTS);
    Seen { tools, form, roots }
}

/// A call during which the server asks its client.
fn legacy_call(client: &mut Client, id: u64, method: &str, said: &str) -> Value {
    let params = match method {
        "elicitation/create" => {
            r#","params":{"message":"Who is it?","requestedSchema":{"type":"object","properties":{}}}"#
        }
        _ => "",
    };
    let request = format!(r#"{{"jsonrpc":"2.0","id":77,"method":"{method}"{params}}}"#);
    let arguments = json!({ "id": "77", "request": request });
    client.send(format!(
        r#"{{"method":"tools/call","params":{{"name":"ask","arguments":{arguments},"_meta":{{"claudecode/toolUseId":"toolu_1","progressToken":{id}}}}},"jsonrpc":"2.0","id":{id}}}"#
    ));
    let asked = client.recv_where(method, |it| it["method"] == method);
    client.send(format!(r#"{{"result":{said},"jsonrpc":"2.0","id":{}}}"#, asked["id"]));
    let answer: Value = serde_json::from_str(text(&client.answer(id))).unwrap();
    answer["result"].clone()
}

fn legacy(mode: Mode) -> Seen {
    let mut client = start(mode, "legacy");
    let declined = probe(&mut client);
    assert_eq!(declined["error"]["code"], -32601, "{declined}");
    client.send(format!(
        r#"{{"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{CAPABILITIES},"clientInfo":{INFO}}},"jsonrpc":"2.0","id":0}}"#
    ));
    client.answer(0);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.send(r#"{"method":"tools/list","jsonrpc":"2.0","id":1}"#);
    let tools = tools(&client.answer(1));
    let form = legacy_call(&mut client, 2, "elicitation/create", FORM);
    let roots = legacy_call(&mut client, 3, "roots/list", ROOTS);
    Seen { tools, form, roots }
}

#[test]
fn both_eras_look_the_same_to_claude_code() {
    for mode in [Mode::Solo, Mode::Daemon] {
        let after = modern(mode);
        assert_eq!(legacy(mode), after);
        assert_eq!((after.form, after.roots), (json_of(FORM), json_of(ROOTS)));
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
