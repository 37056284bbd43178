//! Ways around rights and limits, as someone with a token of few rights would try them. Nothing that is excluded
//! reaches the server.

use super::limits::limit;
use super::token::{Place, create, kind};
use crate::daemon::house::House;
use crate::http::served::{FAKE, Served, token as owner_token};
use serde_json::{Value, json};
use switchboard_testkit::client::{Client, initialize_params};
use switchboard_testkit::http::{Talk, Web, call, hello};
use switchboard_testkit::scratch::Scratch;

const OFFER: &str = r#"{
    "capabilities": { "tools": {}, "prompts": {}, "resources": { "subscribe": true }, "completions": {}, "logging": {}, "tasks": {} },
    "tools": [{ "name": "echo" }, { "name": "say" }, { "name": "hidden_tool" }],
    "prompts": [{ "name": "welcome" }, { "name": "hidden_prompt" }],
    "resources": [{ "name": "a", "uri": "doc://open/1" }, { "name": "h", "uri": "doc://hidden/1" }],
    "resourceTemplates": [{ "name": "t", "uriTemplate": "doc://{+path}" }]
}"#;

/// A token that may use everything but hidden things.
const FLAGS: [&str; 6] = ["--tools", "!hidden_*", "--prompts", "!hidden_*", "--resources", "!doc://hidden/*"];

struct Scene {
    served: Served,
    /// Of `ci`, with [`FLAGS`].
    token: String,
    /// Of `qa`, without restrictions.
    other: String,
    _scratch: Scratch,
}

impl Scene {
    fn new(serve: Value, flags: &[&str]) -> Self {
        let scratch = Scratch::new();
        let offer = scratch.file("offer.json", OFFER).display().to_string();
        let server = json!({ "scope": "global", "state": "none", "capabilities": "shared" });
        let file = json!({ "serve": serve, "profiles": { "open": {}, "shut": { "servers": ["nothing*"] } } });
        let house = House::with(file, server, &["--offer", &offer]);
        let token = create(&house, &[&["ci"], flags].concat());
        let other = create(&house, &["qa"]);
        Self { served: Served::start(house, &[]), token, other, _scratch: scratch }
    }

    fn web(&self, token: &str) -> Web {
        self.served.web.with("Authorization", &format!("Bearer {token}"))
    }

    /// Messages to the server with this text.
    fn sent(&self, text: &str) -> usize {
        self.served.record().all_lines().iter().filter(|line| line.contains(text)).count()
    }

    /// A window of the server with the token in its first message.
    fn window(&self) -> Client {
        let mut client = self.served.house.window("home").start();
        let mut params = initialize_params();
        Place::Meta.put(&mut params, &self.token);
        assert!(client.request("initialize", params).get("result").is_some());
        client.notify("notifications/initialized", json!({}));
        client
    }
}

/// Hidden things, by names and URIs that some parser may take for them. Texts of whole messages.
fn disguises() -> Vec<String> {
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":41,"method":"{method}","params":{params}}}"#)
    };
    let mut all = Vec::new();
    for params in [
        r#"{"name":"hidden_tool"}"#,
        r#"{"name":"hidden\u005ftool"}"#,
        r#"{"n\u0061me":"hidden_tool"}"#,
        r#"{"name":"Hidden_tool"}"#,
        r#"{"name":"HIDDEN_TOOL"}"#,
        r#"{"name":"echo","name":"hidden_tool"}"#,
        r#"{"name":"hidden_tool","name":"echo"}"#,
        r#"{"name":"echo","Name":"hidden_tool"}"#,
        r#"{"name":"echo","n\u0061me":"hidden_tool"}"#,
        r#"{"name":["hidden_tool"]}"#,
        r#"{"Name":"hidden_tool"}"#,
        r#"{"name":"hidden_tool","proxy":{"authToken":"OWNER"}}"#,
        r#"{"name":"hidden_tool","_meta":{"switchboard/authToken":"OWNER"}}"#,
    ] {
        all.extend(["tools/call", "Tools/Call", "tools\\u002fcall"].map(|method| request(method, params)));
    }
    for uri in [
        "doc://hidden/1",
        "DOC://hidden/1",
        "doc://HIDDEN/1",
        "doc://%68idden/1",
        "doc://hidden%2f1",
        "doc://open/../hidden/1",
        "doc://open/%2e%2e/hidden/1",
        "doc://./hidden/1",
        "doc://hidden/./1",
        "doc://hidden/1#f",
        "doc://hidden/1?q",
        "doc://user@hidden/1",
        "doc://hidden:/1",
        " doc://hidden/1",
    ] {
        for method in ["resources/read", "resources/subscribe"] {
            all.push(request(method, &json!({ "uri": uri }).to_string()));
        }
        let complete = json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": "path", "value": "" } });
        all.push(request("completion/complete", &complete.to_string()));
    }
    for prompt in ["hidden_prompt", "Hidden_prompt"] {
        all.push(request("prompts/get", &json!({ "name": prompt }).to_string()));
        for kind in ["ref/prompt", "Ref/Prompt", "ref/resource"] {
            let complete =
                json!({ "ref": { "type": kind, "name": prompt }, "argument": { "name": "a", "value": "" } });
            all.push(request("completion/complete", &complete.to_string()));
        }
    }
    // Two envelopes in one.
    all.push(
        r#"{"jsonrpc":"2.0","id":41,"method":"ping","method":"tools/call","params":{"name":"hidden_tool"}}"#
            .into(),
    );
    all.push(r#"{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"echo"},"params":{"name":"hidden_tool"}}"#.into());
    all.push(r#"{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"echo"},"Params":{"name":"hidden_tool"}}"#.into());
    all.push(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"hidden_tool"}}"#.into());
    all
}

/// Words of hidden things, in all spellings above.
const TRACES: [&str; 5] = ["idden", "IDDEN", "hidden\\u005f", "OWNER", "swb_"];

/// On every route, alone and in a batch with an allowed request.
#[test]
fn disguised_names_lead_nowhere() {
    let scene = Scene::new(json!({}), &FLAGS);
    let owner = owner_token(&scene.served.house);
    let texts: Vec<String> = disguises().iter().map(|text| text.replace("OWNER", &owner)).collect();
    let web = scene.web(&scene.token);
    let ping = r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#;
    for path in [FAKE, "/mcp", "/profiles/open/mcp"] {
        let talk = Talk::open(&web, path);
        for text in &texts {
            let merged = text.replace(r#""name":"hidden"#, r#""name":"fake__hidden"#);
            let text = if path == FAKE { text } else { &merged };
            for text in [text, &format!("[{text},{ping}]")] {
                talk.say_text(text).send();
            }
        }
    }
    let mut stream = web.get("/servers/fake/sse").send();
    let to = stream.event().unwrap().data;
    for text in [&[hello("2024-11-05", json!({})).to_string()][..], &texts].concat() {
        web.post(&to, text).send();
    }
    let mut window = scene.window();
    for text in &texts {
        window.send(text);
        window.send(format!("[{text},{ping}]"));
    }
    window.request("ping", json!({}));
    // Everything forwarded before has arrived by the answer to this call, which the same process serves.
    Talk::open(&web, FAKE).call("echo", json!({ "mark": "the last one" }));
    assert_eq!(scene.sent("the last one"), 1);
    let lines = scene.served.record().all_lines();
    for trace in TRACES {
        let found: Vec<&String> = lines.iter().filter(|line| line.contains(trace)).collect();
        assert!(found.is_empty(), "{trace}: {found:#?}");
    }
}

#[test]
fn other_paths_lead_nowhere() {
    let scene = Scene::new(json!({}), &["--servers", "!fake"]);
    let web = scene.web(&scene.token);
    for path in [
        "/servers/fake/mcp",
        "/servers/FAKE/mcp",
        "/servers/f%61ke/mcp",
        "/servers/fake%20/mcp",
        "/servers/fake%00/mcp",
        "/servers/./fake/mcp",
        "/servers/x/../fake/mcp",
        "/servers/x%2f..%2ffake/mcp",
        "//servers/fake/mcp",
        "/servers/fake/mcp/",
        "/servers/fake/mcp?server=fake",
        "/profiles/open/../../servers/fake/mcp",
        "/profiles/shut/mcp",
        "/profiles/open/mcp",
        "/PROFILES/open/mcp",
    ] {
        let reply = web.post(path, hello("2025-11-25", json!({})).to_string()).send();
        assert!(matches!(reply.status, 403 | 404), "{path}: {}", reply.status);
    }
    let talk = Talk::open(&web, "/mcp");
    for tool in ["fake__echo", "FAKE__echo", "fake__fake__echo", "echo"] {
        assert_eq!(kind(&talk.call(tool, json!({}))), "forbidden", "{tool}");
    }
    assert_eq!(scene.served.record().launches(), 0);
}

/// The header says who it is. A token in the body is for clients without one.
#[test]
fn body_token_beside_a_header_means_nothing() {
    let scene = Scene::new(json!({ "tokenInBody": true }), &FLAGS);
    let owner = owner_token(&scene.served.house);
    let web = scene.web(&scene.token);
    for (place, better) in Place::BOTH.into_iter().flat_map(|it| [(it, &owner), (it, &scene.other)]) {
        let mut greeting = hello("2025-11-25", json!({}));
        place.put(&mut greeting["params"], better);
        let reply = web.post(FAKE, greeting.to_string()).send();
        let talk = Talk::of(&web, FAKE, reply.header("mcp-session-id").unwrap());
        let mut params = json!({ "name": "hidden_tool", "arguments": {} });
        place.put(&mut params, better);
        assert_eq!(kind(&talk.request("tools/call", params)), "forbidden");
        // Its session is not that of the other token, whose own header comes too late.
        let of_other = Talk::of(&scene.web(better), FAKE, &talk.session);
        assert_eq!(of_other.say(&call(9, "hidden_tool", json!({}))).send().status, 404);
    }
    // Two tokens in one batch, and two in one message.
    let bare = web.without("Authorization");
    let session = Talk::open(&web, FAKE).session;
    let with = |token: &str| {
        let mut message = call(1, "hidden_tool", json!({}));
        Place::Proxy.put(&mut message["params"], token);
        message
    };
    let mut both = with(&owner);
    Place::Meta.put(&mut both["params"], &scene.token);
    for body in [json!([with(&scene.token), with(&owner)]), json!([with(&owner), with(&scene.token)]), both] {
        let reply = bare.post(FAKE, body.to_string()).header("Mcp-Session-Id", &session).send();
        assert_eq!(reply.status, 401, "{body}");
    }
    for headers in [[&scene.token, &owner], [&owner, &scene.token]] {
        let ask = bare.post(FAKE, hello("2025-11-25", json!({})).to_string());
        let ask = ask.also("Authorization", &format!("Bearer {}", headers[0]));
        assert_eq!(ask.also("Authorization", &format!("Bearer {}", headers[1])).send().status, 401);
    }
    assert_eq!(scene.sent("hidden"), 0);
}

/// Sessions, events and tasks of one token are nothing to another, although both use the same process.
#[test]
fn nothing_of_another_token_can_be_had() {
    let scene = Scene::new(json!({}), &FLAGS);
    let (ci, qa) = (scene.web(&scene.token), scene.web(&scene.other));
    let (mine, theirs) = (Talk::open(&ci, FAKE), Talk::open(&qa, FAKE));
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%TOKEN,"progress":1}}"#;
    let task = r#"{"jsonrpc":"2.0","id":%ID,"result":{"task":{"taskId":"their-task","status":"working"}}}"#;
    let mut reply = theirs.begin("say", json!({ "text": format!("{progress}\n{task}\n") }));
    let event = reply.said().unwrap();
    let last = event.id.unwrap();
    assert!(reply.message().unwrap().to_string().contains("their-task"));
    // The number of an event is looked up in the session alone.
    let own = mine.begin("echo", json!({ "mine": 1 }));
    drop(own);
    let mut resumed = mine.resume(&last);
    while let Some(message) = resumed.message() {
        assert!(!message.to_string().contains("their-task"), "{message}");
    }
    let stolen = Talk::of(&ci, FAKE, &theirs.session);
    assert_eq!(stolen.resume(&last).status, 404);
    assert_eq!(stolen.end(), 404);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let answer = mine.request(method, json!({ "taskId": "their-task" }));
        assert!(answer["error"].is_object(), "{method}: {answer}");
        assert_eq!(scene.sent(&format!("\"{method}\"")), 0, "{method}");
    }
    let listed = mine.request("tasks/list", json!({}));
    assert!(!listed.to_string().contains("their-task"), "{listed}");
    assert_eq!(scene.served.record().launches(), 1, "one process for both");
}

/// More calls than the limit, by every way in which one message may hold or mean several.
#[test]
fn limits_have_no_side_door() {
    let scene = Scene::new(json!({ "tokenInBody": true }), &["--rate", "2/h"]);
    let web = scene.web(&scene.token);
    let talk = Talk::open(&web, FAKE);
    let batch: Vec<Value> = (0..20).map(|id| call(100 + id, "echo", json!({ "in": "batch" }))).collect();
    let answers = talk.say(&json!(batch)).header("Accept", "application/json").send().json();
    let refused = answers.as_array().unwrap().iter().filter(|answer| limit(answer).is_some()).count();
    assert_eq!((refused, scene.sent("batch")), (18, 2));
    for method in ["tools/call", "Tools/Call", "TOOLS/CALL", "tools\\u002fcall", "tools\\/call"] {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"name":"echo","arguments":{{"side":"door"}}}}}}"#
        );
        talk.say_text(&text).send();
    }
    for (method, uri) in [("resources/read", "doc://open/1"), ("Resources/Read", "doc://open/1")] {
        talk.request(method, json!({ "uri": uri, "side": "door" }));
    }
    talk.request("prompts/GET", json!({ "name": "welcome", "side": "door" }));
    let as_task = json!({ "name": "echo", "arguments": { "side": "door" }, "task": { "ttl": 1000 } });
    assert!(limit(&talk.request("tools/call", as_task)).is_some());
    // Other sessions, paths, transports and ways to show the token are the same party.
    assert!(limit(&Talk::open(&web, "/mcp").call("fake__echo", json!({ "side": "door" }))).is_some());
    assert!(limit(&scene.window().call("echo", json!({ "side": "door" }))).is_some());
    let mut message = call(3, "echo", json!({ "side": "door" }));
    Place::Proxy.put(&mut message["params"], &scene.token);
    let bare = web.without("Authorization").post(FAKE, message.to_string());
    assert_eq!(bare.header("Mcp-Session-Id", &talk.session).send().status, 429);
    // A call that only looks like one in a notification is not answered, and not sent.
    talk.say_text(
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"side":"door"}}}"#,
    )
    .send();
    Talk::open(&scene.web(&scene.other), FAKE).call("echo", json!({ "mark": "the last one" }));
    assert_eq!(
        (scene.sent("door"), scene.sent("the last one")),
        (0, 1),
        "{:#?}",
        scene.served.record().all_lines()
    );
}
