//! Properties of the translator: each request is answered exactly once, whatever the server and the clients do; bytes that
//! need no translation, and unknown members, stay as they are.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

fn message(text: &str) -> Message {
    own_message(text.to_owned().into()).expect("a message")
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

/// A translator, and the requests that its peers have not answered yet.
struct Talk {
    it: ForLegacy,
    now: Moment,
    /// Ids of requests at the server, with their methods.
    at_server: Vec<(u64, String)>,
    /// Ids of questions at clients.
    at_client: Vec<u64>,
    /// Answers by minted id. Cancelled calls need none.
    answers: BTreeMap<u64, usize>,
    cancelled: Vec<u64>,
    /// Ids of tasks that clients know.
    tasks: Vec<String>,
}

/// The next event.
#[derive(Debug, Clone)]
enum Act {
    /// A client sends the request with this number, about this task.
    Call(usize, prop::sample::Index),
    Cancel(prop::sample::Index),
    /// The server answers one of its requests, in the way that this number selects.
    Answer(prop::sample::Index, u8),
    /// A client answers a question.
    Reply(prop::sample::Index, bool),
    /// The server sends a second or unsolicited answer.
    Stray(u64),
    Wait(u16),
}

/// Requests of clients. `true`: as a task, or about one.
const REQUESTS: [(&str, bool); 6] = [
    ("tools/list", false),
    ("tools/call", false),
    ("tools/call", true),
    ("tasks/get", true),
    ("tasks/result", true),
    ("tasks/cancel", true),
];

fn act() -> impl Strategy<Value = Act> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (0..REQUESTS.len(), index()).prop_map(|(which, task)| Act::Call(which, task)),
        1 => index().prop_map(Act::Cancel),
        6 => (index(), 0..10u8).prop_map(|(at, way)| Act::Answer(at, way)),
        3 => (index(), any::<bool>()).prop_map(|(at, fails)| Act::Reply(at, fails)),
        1 => (0..40u64).prop_map(|id| Act::Stray(if id < 20 { id } else { FIRST_OWN_ID + id - 20 })),
        2 => (0..5_000u16).prop_map(Act::Wait),
    ]
}

impl Talk {
    fn new() -> Self {
        let mut talk = Self {
            it: ForLegacy::new(PROCESS),
            now: Moment::default(),
            at_server: Vec::new(),
            at_client: Vec::new(),
            answers: BTreeMap::new(),
            cancelled: Vec::new(),
            tasks: vec!["t".to_owned()],
        };
        talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#);
        let capabilities = json!({ "tools": { "listChanged": true }, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        talk.at_server.clear();
        talk.hear(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "supportedVersions": ["2026-07-28"], "capabilities": capabilities } }));
        talk
    }

    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::ToServer(out) => self.at_server(&parsed(&out.to_vec())),
                Step::ToCore(told) => self.at_core(&parsed(told.bytes())),
                Step::Ask { about, question } => {
                    assert!(!self.answers.contains_key(&about) && !self.cancelled.contains(&about));
                    self.at_client.push(question.part(Part::Id).and_then(RawId::minted).unwrap());
                }
                Step::GoesOn { about } => assert!(!self.answers.contains_key(&about)),
                Step::GiveUp { .. } => panic!("its era is not in doubt"),
            }
        }
    }

    fn at_server(&mut self, sent: &Value) {
        let (Some(id), Some(method)) = (sent["id"].as_u64(), sent["method"].as_str()) else { return };
        self.at_server.push((id, method.to_owned()));
        assert_eq!(
            sent["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28",
            "{sent}"
        );
    }

    fn at_core(&mut self, told: &Value) {
        match (told["id"].as_u64(), &told["method"]) {
            (Some(id), Value::Null) => {
                self.tasks.extend(told["result"]["task"]["taskId"].as_str().map(str::to_owned));
                *self.answers.entry(id).or_default() += 1;
            }
            (None, method) if method == "notifications/cancelled" => {
                let withdrawn = told["params"]["requestId"].as_u64().unwrap();
                self.at_client.retain(|open| *open != withdrawn);
            }
            _ => panic!("the core is told {told}"),
        }
    }

    fn say(&mut self, text: &str) {
        let steps = self.it.outbound(&message(text), None, self.now);
        self.take(steps);
    }

    fn hear(&mut self, value: &Value) {
        let steps = self.it.inbound(message(&value.to_string()), self.now);
        self.take(steps);
    }

    fn act(&mut self, act: &Act, minted: u64) {
        match act {
            Act::Call(which, task) => {
                let params = match REQUESTS[*which] {
                    (_, false) => json!({ "name": "x" }),
                    ("tools/call", true) => json!({ "name": "x", "task": {} }),
                    (_, true) => json!({ "taskId": task.get(&self.tasks) }),
                };
                let method = REQUESTS[*which].0;
                self.say(
                    &json!({ "jsonrpc": "2.0", "id": minted, "method": method, "params": params })
                        .to_string(),
                );
            }
            Act::Cancel(at) if !self.answers.is_empty() => {
                let minted = at.index(minted as usize) as u64;
                if minted > 1 && !self.answers.contains_key(&minted) {
                    self.cancelled.push(minted);
                    self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": minted } }).to_string());
                }
            }
            Act::Answer(at, way) if !self.at_server.is_empty() => {
                let (id, method) = self.at_server.remove(at.index(self.at_server.len()));
                self.answer(id, &method, *way);
            }
            Act::Reply(at, fails) if !self.at_client.is_empty() => {
                let id = self.at_client.remove(at.index(self.at_client.len()));
                let said = if *fails {
                    json!({ "error": { "code": -1, "message": "" } })
                } else {
                    json!({ "result": {} })
                };
                self.say(&with_id(id, said).to_string());
            }
            // An answer to an open request would not be unsolicited.
            Act::Stray(id) if !self.at_server.iter().any(|(open, _)| open == id) => {
                let before = self.answers.clone();
                self.hear(&with_id(*id, json!({ "result": {} })));
                for (minted, count) in &before {
                    let now = self.answers[minted];
                    assert!(now == *count || *minted == *id, "{id} answers {minted}");
                }
                self.answers = before;
            }
            Act::Wait(milliseconds) => self.pass(Duration::from_millis(u64::from(*milliseconds))),
            _ => {}
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        if self.it.deadline().is_some_and(|due| due <= self.now) {
            let steps = self.it.tick(self.now);
            self.take(steps);
        }
    }

    fn answer(&mut self, id: u64, method: &str, way: u8) {
        let asks =
            json!({ "a": { "method": "roots/list" }, "b": { "method": "elicitation/create", "params": {} } });
        let result = match (method, way) {
            (_, 0) => return self.hear(&with_id(id, json!({ "error": { "code": -32021, "message": "" } }))),
            ("subscriptions/listen", _) => json!({ "resultType": "complete" }),
            ("tasks/get", 1..5) => json!({ "taskId": "t", "status": "working", "pollIntervalMs": 1 }),
            ("tasks/get", 5..7) => {
                json!({ "taskId": "t", "status": "input_required", "inputRequests": { way.to_string(): asks["a"] } })
            }
            ("tasks/get", 7) => {
                json!({ "taskId": "t", "status": "failed", "error": { "code": 1, "message": "" } })
            }
            ("tasks/get", _) => json!({ "taskId": "t", "status": "completed", "result": { "content": [] } }),
            ("tools/call", 1..4) => {
                json!({ "resultType": "task", "taskId": "t", "status": "working", "pollIntervalMs": 1 })
            }
            (_, 4) => json!({ "resultType": "input_required", "inputRequests": asks }),
            (_, 5) => json!({ "resultType": "input_required", "requestState": "s" }),
            (_, 6) => json!({ "resultType": "unheard-of" }),
            _ => json!({ "resultType": "complete", "content": [] }),
        };
        self.hear(&with_id(id, json!({ "result": result })));
    }

    /// Lets the server and the clients answer everything.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            if let Some((id, method)) = self.at_server.pop() {
                self.answer(id, &method, 9);
            } else if let Some(id) = self.at_client.pop() {
                self.say(&with_id(id, json!({ "result": {} })).to_string());
            } else if !self.it.calls.is_empty() {
                self.pass(Duration::from_secs(61));
            } else {
                return;
            }
        }
        panic!("it never ends: {:?}", self.it);
    }
}

fn with_id(id: u64, mut said: Value) -> Value {
    said["jsonrpc"] = json!("2.0");
    said["id"] = json!(id);
    said
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn each_request_is_answered_once(acts in prop::collection::vec(act(), 1..60)) {
        let mut talk = Talk::new();
        let mut called = vec![1];
        for (minted, act) in (2..).zip(&acts) {
            talk.act(act, minted);
            called.extend(matches!(act, Act::Call(..)).then_some(minted));
        }
        talk.finish();
        for minted in called {
            let count = talk.answers.get(&minted).copied().unwrap_or_default();
            let is_cancelled = talk.cancelled.contains(&minted);
            prop_assert!(count == 1 || (is_cancelled && count == 0), "{minted} has {count} answers");
        }
        prop_assert!(talk.it.asked.is_empty() && talk.it.repeated.is_empty(), "{:?}", talk.it);
        talk.pass(Duration::from_secs(60 * 60));
        prop_assert_eq!(talk.it.deadline(), None, "a result is kept for ever: {:?}", talk.it);
    }

    /// Removing the translator's additions restores the original bytes.
    #[test]
    fn requests_keep_their_bytes(spaces in "[ \t]{0,3}", name in "[a-zé\\\\n\"]{0,6}", number in any::<f64>(), shape in 0..5) {
        let name = json!(name).to_string();
        let number = if number.is_finite() { format!("{number:e}") } else { "0.70".to_owned() };
        let params = match shape {
            0 => format!(r#"{{{spaces}"name":{name},"x":{number}{spaces}}}"#),
            1 => format!(r#"{{"_meta":{spaces}{{"k":{number}}},"name":{name}}}"#),
            2 => format!(r#"{{"name":{name},"_meta":{{{spaces}}}}}"#),
            3 => format!("{{{spaces}}}"),
            _ => String::new(),
        };
        let member = if params.is_empty() { String::new() } else { format!(r#","params":{spaces}{params}"#) };
        let text = format!(r#"{{"zz":{number},"method":"tools/call","jsonrpc":"2.0","id":7{member}{spaces}}}"#);
        let mut talk = Talk::new();
        let steps = talk.it.outbound(&message(&text), Some(b"\"info\""), talk.now);
        let [Step::ToServer(out)] = &steps[..] else { panic!("{steps:?}") };
        let sent = String::from_utf8(out.to_vec()).unwrap();
        let members = String::from_utf8(talk.it.speaker.shown(Some(b"\"info\""))).unwrap();
        let additions = [
            format!("{members},"), members.clone(), format!(r#""_meta":{{{members}}},"#), format!(r#""_meta":{{{members}}}"#),
            format!(r#","params":{{"_meta":{{{members}}}}}"#),
        ];
        prop_assert!(additions.iter().any(|added| sent.replacen(added, "", 1) == text), "{sent}\n{text}");
        prop_assert!(serde_json::from_str::<Value>(&sent).is_ok(), "{sent}");
    }

    #[test]
    fn results_keep_unknown_members(spaces in "[ \t]{0,3}", number in any::<f64>(), key in "[a-zé]{1,6}", hinted in any::<bool>()) {
        let number = if number.is_finite() { format!("{number:e}") } else { "1.50".to_owned() };
        let hints = if hinted { r#""resultType":"complete","ttlMs":5,"cacheScope":"public","# } else { "" };
        let kept = format!(r#""x-{key}":{spaces}{number},"content":[{{"n":{number}}}]"#);
        let text = |hints: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{{hints}{kept}}},"y":{number}}}"#);
        let mut talk = Talk::new();
        talk.say(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#);
        let steps = talk.it.inbound(message(&text(hints)), talk.now);
        let [Step::ToCore(answer)] = &steps[..] else { panic!("{steps:?}") };
        prop_assert_eq!(std::str::from_utf8(answer.bytes()).unwrap(), text(""));
    }
}
