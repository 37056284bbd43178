//! Four real servers as one, compared with each of them alone: lists have the same items under a prefix, and
//! conversations are the same byte for byte.

use super::peers::{Link, Server};
use super::talk::{Talk, hold, hold_with_all};
use crate::support::program;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use switchboard_testkit::client::Start;
use switchboard_testkit::pids;
use switchboard_testkit::scratch::Scratch;

/// Several servers in one config file.
pub(crate) struct Aggregate {
    servers: Vec<(&'static str, Server)>,
    folder: Scratch,
    config: PathBuf,
}

impl Aggregate {
    pub(super) fn four() -> Self {
        Self::four_with(&json!({}))
    }

    /// The same with these keys of the config file.
    pub(super) fn four_with(keys: &Value) -> Self {
        let servers = vec![
            ("everything", Server::everything()),
            ("filesystem", Server::filesystem()),
            ("memory", Server::memory()),
            ("time", Server::time()),
        ];
        let folder = Scratch::new();
        let entry = |server: &Server| {
            let words: Vec<String> =
                server.command(Link::Direct).iter().map(|word| word.to_str().unwrap().to_owned()).collect();
            json!({ "command": words[0], "args": words[1..] })
        };
        let entries: serde_json::Map<String, Value> =
            servers.iter().map(|(name, server)| ((*name).to_owned(), entry(server))).collect();
        let mut file = keys.clone();
        file["mcpServers"] = entries.into();
        let config = folder.file("config.json", file.to_string());
        Self { servers, folder, config }
    }

    pub(super) fn folder(&self) -> &Scratch {
        &self.folder
    }

    #[track_caller]
    pub(super) fn server(&self, name: &str) -> &Server {
        &self.servers.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// Command that a client starts.
    pub(super) fn command(&self) -> Vec<OsString> {
        let words = [env!("CARGO_BIN_EXE_switchboard"), "stdio", "--solo", "--config"].map(OsString::from);
        words.into_iter().chain([self.config.clone().into()]).collect()
    }

    /// A scripted client of all servers.
    pub(crate) fn start(&self) -> Start {
        program().args(&self.command()[1..]).home(self.folder.home()).cwd(self.folder.path())
    }

    /// Processes of the servers, and ours.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let own = pids::with_text(&format!("{}/", self.folder.path().display()));
        self.servers.iter().flat_map(|(_, server)| server.processes()).chain(own).collect()
    }
}

impl Drop for Aggregate {
    fn drop(&mut self) {
        for pid in pids::with_text(&format!("{}/", self.folder.path().display())) {
            pids::tell(pid, pids::Word::Kill);
        }
    }
}

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
];

/// Members of an object, as spelled.
fn members(text: &str) -> HashMap<String, &RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Items of a list in an answer, as spelled; empty for an error.
fn items(answer: &str, list: &str) -> Vec<String> {
    let result = members(answer).get("result").map(|result| members(result.get()));
    let items = result.as_ref().and_then(|result| result.get(list));
    let items: Vec<&RawValue> =
        items.map_or_else(Vec::new, |items| serde_json::from_str(items.get()).unwrap());
    items.into_iter().map(|item| item.get().to_owned()).collect()
}

/// The item with another value for a member.
fn with(item: &str, key: &str, value: &str) -> String {
    let members = members(item);
    let old = members[key].get();
    let at = old.as_ptr().addr() - item.as_ptr().addr();
    format!("{}{}{}", &item[..at], json!(value), &item[at + old.len()..])
}

/// The aggregate's form of a server's list item.
fn shown(server: &str, list: &str, key: &str, item: &str) -> String {
    let own = serde_json::from_str::<Value>(item).unwrap()[key].as_str().unwrap().to_owned();
    match list {
        "resources" => with(item, key, &wrapped(server, &own)),
        "resourceTemplates" => with(item, key, &format!("proxy://template/{server}/{own}")),
        _ => with(item, key, &format!("{server}__{own}")),
    }
}

/// The wrapped URI of a resource, computed independently: base64url of the server's name, a line feed and the
/// URI.
fn wrapped(server: &str, uri: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let text = format!("{server}\n{uri}");
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let bits: Vec<char> = bits.chars().collect();
    let digit = |six: &[char]| {
        let number =
            six.iter().chain(&['0'; 6][six.len()..]).fold(0, |n, &bit| 2 * n + usize::from(bit == '1'));
        char::from(DIGITS[number])
    };
    format!("proxy://resource/{}", bits.chunks(6).map(digit).collect::<String>())
}

/// Requests all four lists.
fn all_lists(talk: &mut Talk) {
    for (method, _, _) in LISTS {
        talk.request(method, json!({}));
    }
}

/// The four lists among the received frames.
fn lists(heard: &[String]) -> Vec<Vec<String>> {
    let answer = |(_, list, _): &(&str, &str, &str)| {
        let has_it = |frame: &&String| !items(frame, list).is_empty();
        heard.iter().find(has_it).map(|frame| items(frame, list)).unwrap_or_default()
    };
    LISTS.iter().map(answer).collect()
}

#[test]
fn lists_match_each_server_under_its_prefix() {
    let aggregate = Aggregate::four();
    let alone = |name: &str, capabilities: &Value| {
        let heard = hold(aggregate.server(name), Link::Direct, &|talk: &mut Talk| {
            talk.greet(capabilities.clone());
            all_lists(talk);
        });
        lists(&heard)
    };
    let others = ["filesystem", "memory", "time"].map(|name| (name, alone(name, &json!({}))));
    let all = json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": {} });
    for (capabilities, tools) in [(json!({}), 13), (json!({ "sampling": {} }), 14), (all, 16)] {
        let everything = alone("everything", &capabilities);
        assert_eq!(everything[0].len(), tools, "for {capabilities}");
        let heard = hold_with_all(&aggregate, &|talk: &mut Talk| {
            talk.greet(capabilities.clone());
            all_lists(talk);
        });
        let seen = lists(&heard);
        for (at, (_, list, key)) in LISTS.iter().enumerate() {
            let of = |(name, lists): (&str, &Vec<Vec<String>>)| -> Vec<String> {
                lists[at].iter().map(|item| shown(name, list, key, item)).collect()
            };
            let rest = others.iter().flat_map(|(name, lists)| of((name, lists)));
            let expect: Vec<String> = of(("everything", &everything)).into_iter().chain(rest).collect();
            for (seen, expect) in seen[at].iter().zip(&expect) {
                assert_eq!(seen, expect, "{list} for {capabilities}");
            }
            assert_eq!(seen[at].len(), expect.len(), "{list} for {capabilities}");
        }
        assert!(
            seen[0].len() > 35 && seen[1].len() == 4 && seen[2].len() >= 7 && seen[3].len() == 2,
            "{seen:#?}"
        );
    }
}

/// Holds a conversation with one server directly and then with the aggregate, and requires the same frames,
/// apart from the prefix. `script` gets a function for the names to use.
#[track_caller]
fn same_under_prefix(
    aggregate: &Aggregate,
    server: &'static str,
    script: impl Fn(&mut Talk, &dyn Fn(&str) -> String),
) -> Vec<String> {
    let direct =
        hold(aggregate.server(server), Link::Direct, &|talk: &mut Talk| script(talk, &str::to_owned));
    let through =
        hold_with_all(aggregate, &|talk: &mut Talk| script(talk, &|name: &str| format!("{server}__{name}")));
    let (logger, only) = (format!("\"logger\":\"{server}/"), format!("\"logger\":\"{server}\","));
    let task = format!("\"taskId\":\"{server}:");
    // The `initialize` answer is ours, and so is the one `roots/list` for all servers; `list_changed`
    // notifications are merged.
    let is_ours = |frame: &String| {
        frame.contains("\"serverInfo\"")
            || frame.contains("\"roots/list\"")
            || frame.contains("/list_changed\"")
    };
    // Pings and log levels are answered by the gateway, in its own wording.
    let worded = |frame: String| match serde_json::from_str::<Value>(&frame) {
        Ok(answer) if answer["result"] == json!({}) => answer.to_string(),
        Ok(_) | Err(_) => {
            frame.replace(&logger, "\"logger\":\"").replace(&only, "").replace(&task, "\"taskId\":\"")
        }
    };
    let told = |heard: Vec<String>| -> Vec<String> {
        heard.into_iter().filter(|frame| !is_ours(frame)).map(worded).collect()
    };
    let (direct, through) = (told(direct), told(through));
    for (number, (direct, through)) in direct.iter().zip(&through).enumerate() {
        assert_eq!(through, direct, "frame {number}: through us (left), directly (right)");
    }
    assert_eq!(through.len(), direct.len(), "heard through us: {through:#?}, directly: {direct:#?}");
    through
}

fn mentions(heard: &[String], text: &str) -> bool {
    heard.iter().any(|frame| frame.contains(text))
}

#[test]
fn requests_match_everything_alone() {
    let aggregate = Aggregate::four();
    let heard = same_under_prefix(&aggregate, "everything", |talk, named| {
        talk.greet(json!({}));
        talk.request("ping", json!({}));
        talk.call(&named("echo"), json!({ "message": "„quoted“ \"text\"\n\t\u{0}\u{2028} äöü 漢字 😀" }));
        talk.call(&named("get-annotated-message"), json!({ "messageType": "error", "includeImage": true }));
        talk.call(&named("get-resource-links"), json!({ "count": 10 }));
        talk.call(&named("get-resource-reference"), json!({ "resourceType": "Blob", "resourceId": 2 }));
        talk.call(&named("get-structured-content"), json!({ "location": "Chicago" }));
        talk.call(&named("get-sum"), json!({ "a": 0.1, "b": 0.2 }));
        talk.call(&named("get-sum"), json!({}));
        talk.call(&named("get-tiny-image"), json!({}));
        talk.request("prompts/get", json!({ "name": named("simple-prompt") }));
        let arguments = json!({ "city": "Zürich", "state": "ZH" });
        talk.request("prompts/get", json!({ "name": named("args-prompt"), "arguments": arguments }));
        let embedded = json!({ "resourceType": "Text", "resourceId": "3" });
        talk.request("prompts/get", json!({ "name": named("resource-prompt"), "arguments": embedded }));
        for uri in ["demo://resource/static/document/features.md", "demo://resource/dynamic/blob/8"] {
            talk.request("resources/read", json!({ "uri": uri }));
        }
        let prompt = json!({ "type": "ref/prompt", "name": named("completable-prompt") });
        let template = json!({ "type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}" });
        for (reference, argument, value) in [(prompt, "department", "S"), (template, "resourceId", "4")] {
            let argument = json!({ "name": argument, "value": value });
            talk.request("completion/complete", json!({ "ref": reference, "argument": argument }));
        }
    });
    for text in ["0.30000000000000004", "structuredContent", "iVBORw0KGgo", "Zürich", "\"Sales\""] {
        assert!(mentions(&heard, text), "{text}: {heard:#?}");
    }
}

/// Listed resources can be read under their listed URIs, and listed templates expanded.
#[test]
fn listed_uris_can_be_used() {
    let aggregate = Aggregate::four();
    hold_with_all(&aggregate, &|talk: &mut Talk| {
        talk.greet(json!({}));
        let list = talk.request("resources/list", json!({}));
        let own =
            talk.request("resources/read", json!({ "uri": "demo://resource/static/document/features.md" }));
        let is_it = |item: &&Value| item["name"] == "features.md";
        let item = list["result"]["resources"].as_array().unwrap().iter().find(is_it).unwrap();
        let read = talk.request("resources/read", json!({ "uri": item["uri"] }));
        assert_eq!(read["result"], own["result"]);
        let own = talk.request("resources/read", json!({ "uri": "demo://resource/dynamic/text/7" }));
        let uri = "proxy://template/everything/demo://resource/dynamic/text/7";
        let read = talk.request("resources/read", json!({ "uri": uri }));
        assert!(own["result"]["contents"][0]["text"].is_string(), "{own}");
        assert_eq!(read["result"], own["result"]);
        let nobody = talk.call("everything__no-such-tool", json!({}));
        assert_eq!(nobody["error"]["code"], -32602, "{nobody}");
    });
}

#[test]
fn progress_and_updates_match_the_server() {
    let aggregate = Aggregate::four();
    let uri = "demo://resource/dynamic/text/1";
    let heard = same_under_prefix(&aggregate, "everything", |talk, named| {
        talk.greet(json!({}));
        let operation = |seconds: f64, steps: u32, token: &str| {
            let arguments = json!({ "duration": seconds, "steps": steps });
            let name = named("trigger-long-running-operation");
            json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": token } })
        };
        talk.request("tools/call", operation(0.4, 4, "mine"));
        let call = talk.ask("tools/call", operation(0.2, 2, "t"));
        talk.told("notifications/progress");
        talk.notify("notifications/cancelled", json!({ "requestId": call, "reason": "no longer needed" }));
        // Longer than the cancelled call would take, so that its answer would arrive first.
        talk.request("tools/call", operation(1.0, 2, "u"));
        talk.request("resources/subscribe", json!({ "uri": uri }));
        talk.call(&named("toggle-subscriber-updates"), json!({}));
        talk.call(&named("toggle-subscriber-updates"), json!({}));
        talk.request("resources/unsubscribe", json!({ "uri": uri }));
        talk.request("logging/setLevel", json!({ "level": "debug" }));
        talk.call(&named("toggle-simulated-logging"), json!({}));
        talk.call(&named("toggle-simulated-logging"), json!({}));
    });
    let count = |text: &str| heard.iter().filter(|frame| frame.contains(text)).count();
    assert_eq!((count("\"progressToken\":\"mine\""), count("notifications/resources/updated")), (4, 1));
    assert!(count("notifications/message") > 1, "{heard:#?}");
}

#[test]
fn server_requests_match_the_server() {
    let aggregate = Aggregate::four();
    let heard = same_under_prefix(&aggregate, "everything", |talk, named| {
        talk.greet(json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": { "form": {}, "url": {} } }));
        talk.told("roots/list");
        talk.told("notifications/message");
        talk.call(&named("trigger-sampling-request"), json!({ "prompt": "Sag etwas", "maxTokens": 20 }));
        talk.call(&named("trigger-elicitation-request"), json!({}));
        talk.call(
            &named("trigger-url-elicitation"),
            json!({ "url": "https://example.com/", "elicitationId": "mine" }),
        );
        talk.call(&named("get-roots-list"), json!({}));
    });
    for text in ["sampling/createMessage", "„Umlauten“: äöü 😀", "elicitation/create", "Ada", "two%20words"]
    {
        assert!(mentions(&heard, text), "{text}: {heard:#?}");
    }
}

#[test]
fn task_matches_the_server() {
    let aggregate = Aggregate::four();
    let heard = same_under_prefix(&aggregate, "everything", |talk, named| {
        talk.greet(json!({ "elicitation": {}, "tasks": {} }));
        talk.replies(|_| {
            Some(json!({ "result": { "action": "accept", "content": { "interpretation": "technical" } } }))
        });
        let params = json!({
            "name": named("simulate-research-query"),
            "arguments": { "topic": "python", "ambiguous": true },
            "task": { "ttl": 60000 },
        });
        let created = talk.request("tools/call", params);
        let task = json!({ "taskId": created["result"]["task"]["taskId"] });
        assert!(task["taskId"].is_string(), "{created}");
        talk.request("tasks/result", task.clone());
        talk.request("tasks/get", task.clone());
        talk.request("tasks/list", json!({}));
    });
    assert!(mentions(&heard, "# Research Report: python (technical)"), "{heard:#?}");
}

#[test]
fn filesystem_matches_the_server() {
    let aggregate = Aggregate::four();
    let files = aggregate.server("filesystem").folder().folder("files");
    let at = |name: &str| json!(files.join(name));
    let heard = same_under_prefix(&aggregate, "filesystem", |talk, named| {
        fs::remove_dir_all(&files).expect("it was made with the server");
        fs::create_dir_all(files.join("sub")).expect("its folder is there");
        fs::write(files.join("one.txt"), "first\nsecond\nthird – é\n").expect("the folder was just made");
        talk.greet(json!({}));
        talk.call(&named("list_allowed_directories"), json!({}));
        talk.call(&named("read_text_file"), json!({ "path": at("one.txt"), "head": 1 }));
        talk.call(&named("read_text_file"), json!({ "path": at("missing.txt") }));
        talk.call(&named("write_file"), json!({ "path": at("two.txt"), "content": "a\tb\n😀\n" }));
        let edits = json!([{ "oldText": "second", "newText": "zweite" }]);
        talk.call(&named("edit_file"), json!({ "path": at("one.txt"), "edits": edits }));
        talk.call(&named("directory_tree"), json!({ "path": files }));
        talk.call(&named("read_text_file"), json!({ "path": "/etc/hostname" }));
    });
    assert!(mentions(&heard, "zweite"), "{heard:#?}");
}

#[test]
fn memory_matches_the_server() {
    let aggregate = Aggregate::four();
    let kept = aggregate.server("memory").folder().join("memory.jsonl");
    let heard = same_under_prefix(&aggregate, "memory", |talk, named| {
        let _ = fs::remove_file(&kept);
        talk.greet(json!({}));
        let ada = json!({ "name": "Ada", "entityType": "person", "observations": ["counts – é"] });
        let engine = json!({ "name": "engine", "entityType": "thing", "observations": [] });
        talk.call(&named("create_entities"), json!({ "entities": [ada, engine] }));
        let relation = json!({ "from": "Ada", "to": "engine", "relationType": "programs" });
        talk.call(&named("create_relations"), json!({ "relations": [relation] }));
        talk.call(&named("search_nodes"), json!({ "query": "count" }));
        talk.call(&named("read_graph"), json!({}));
        talk.call(&named("open_nodes"), json!({ "names": 5 }));
    });
    assert!(mentions(&heard, "programs"), "{heard:#?}");
    assert!(fs::read_to_string(&kept).is_ok_and(|text| text.contains("counts – é")));
}

#[test]
fn time_matches_the_server() {
    let aggregate = Aggregate::four();
    let heard = same_under_prefix(&aggregate, "time", |talk, named| {
        talk.greet(json!({}));
        talk.call(&named("get_current_time"), json!({ "timezone": "America/New_York" }));
        talk.call(&named("get_current_time"), json!({ "timezone": "Nowhere/None" }));
        let convert =
            json!({ "source_timezone": "Asia/Kathmandu", "time": "16:30", "target_timezone": "UTC" });
        talk.call(&named("convert_time"), convert);
    });
    assert!(mentions(&heard, "2026-07-28T08:00:00-04:00") && mentions(&heard, "-5.75h"), "{heard:#?}");
}

/// All four servers work at once; the next run lists everything from the store, without starting any.
#[test]
fn second_run_starts_no_server() {
    let aggregate = Aggregate::four();
    let first = hold_with_all(&aggregate, &|talk: &mut Talk| {
        talk.greet(json!({}));
        all_lists(talk);
        let calls = [
            ("everything__echo", json!({ "message": "one" })),
            ("filesystem__list_allowed_directories", json!({})),
            ("memory__read_graph", json!({})),
            ("time__get_current_time", json!({ "timezone": "UTC" })),
        ];
        let calls = calls
            .map(|(name, arguments)| talk.ask("tools/call", json!({ "name": name, "arguments": arguments })));
        for call in &calls {
            let answer = talk.answer(call);
            assert!(answer["result"]["isError"] != true && answer.get("result").is_some(), "{answer}");
        }
        assert!(aggregate.servers.iter().all(|(_, server)| !server.processes().is_empty()));
    });
    let second = hold_with_all(&aggregate, &|talk: &mut Talk| {
        talk.greet(json!({}));
        all_lists(talk);
        for (name, server) in &aggregate.servers {
            assert_eq!(server.processes(), Vec::<u32>::new(), "{name} is not needed");
        }
    });
    assert_eq!(second[0], first[0], "the same greeting");
    assert_eq!(lists(&second), lists(&first));
}
