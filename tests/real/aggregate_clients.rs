//! Programs built on the official SDKs see four servers as one, with server-everything as it is alone.

use super::aggregate::Aggregate;
use super::peers::{Link, driver, node_package};
use super::rmcp_client::converse_with;
use super::sdk_clients::{check_everything, python_program, run_in, step};
use serde_json::{Value, json};
use std::ffi::OsString;
use switchboard_testkit::patience;

const PREFIX: &str = "everything__";

/// Items of server-everything in a list, under its own names.
fn of_everything(list: &Value) -> Vec<Value> {
    let is_its = |item: &&Value| item["name"].as_str().is_some_and(|name| name.starts_with(PREFIX));
    let its = list.as_array().unwrap().iter().filter(is_its).cloned();
    let own = |mut item: Value| {
        item["name"] = json!(item["name"].as_str().unwrap()[PREFIX.len()..]);
        item
    };
    its.map(own).collect()
}

/// Compares the program's output for server-everything alone and for all four servers.
#[track_caller]
fn check(program: &[OsString], nested: bool) {
    check_with(&Aggregate::four(), program, nested);
}

/// The same for a client that knows both eras, where modern requests are turned off.
#[track_caller]
fn check_falling_back(program: &[OsString], nested: bool) {
    check_with(&Aggregate::four_with(&json!({ "clientEra": "legacy" })), program, nested);
}

#[track_caller]
fn check_with(aggregate: &Aggregate, program: &[OsString], nested: bool) {
    let everything = aggregate.server("everything");
    let lines = |printed: String| -> Vec<Value> {
        printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let words = [program.to_vec(), everything.command(Link::Direct)].concat();
    let direct = lines(run_in(everything.folder(), "", words, &|| everything.processes()));
    let words = [program.to_vec(), aggregate.command()].concat();
    let through = lines(run_in(aggregate.folder(), PREFIX, words, &|| aggregate.processes()));
    check_everything(&through);

    let names = |steps: &[Value]| steps.iter().map(|step| step["step"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&through), names(&direct));
    // Our own: the introduction, the lists (compared below), the logger names, and errors for unknown names.
    let ours = [
        "server",
        "tools",
        "resources",
        "templates",
        "prompts",
        "roots were taken",
        "said",
        "unknown tool",
        "unknown resource",
    ];
    for (direct, through) in direct.iter().zip(&through) {
        if !ours.iter().any(|name| direct["step"] == *name) {
            assert_eq!(through, direct, "through us (left), directly (right)");
        }
    }
    for list in ["tools", "prompts"] {
        let items = |steps: &[Value]| {
            let value = step(steps, list);
            if nested { value[list].clone() } else { value.clone() }
        };
        assert_eq!(json!(of_everything(&items(&through))), items(&direct), "{list}");
    }
    let all = step(&through, "tools");
    for tool in ["filesystem__read_text_file", "memory__read_graph", "time__get_current_time"] {
        assert!(all.to_string().contains(tool), "{tool}: {all}");
    }
    assert!(step(&through, "server").to_string().contains("switchboard"));
    for (name, words) in [("unknown tool", "Unknown tool"), ("unknown resource", "Resource not found")] {
        let told = step(&through, name).to_string();
        assert!(told.contains(words), "{name}: {told}");
    }
    let messages = step(&through, "roots were taken");
    assert!(
        messages.to_string().contains("\"everything/everything-server\""),
        "it says who logs: {messages}"
    );
}

fn typescript(flavour: &str) -> [OsString; 3] {
    ["node".into(), driver("typescript.mjs").into(), flavour.into()]
}

#[test]
fn typescript_1_sees_four_servers() {
    check(&typescript("1"), true);
}

#[test]
fn typescript_2_sees_four_servers() {
    check(&typescript("2-legacy"), true);
}

#[test]
fn typescript_2_falls_back_among_four_servers() {
    check_falling_back(&typescript("2-auto"), true);
}

#[test]
fn python_1_sees_four_servers() {
    check(&python_program(".venv-1", "session", "everything"), false);
}

#[test]
fn python_2_sees_four_servers() {
    check(&python_program(".venv", "legacy", "everything"), false);
}

#[test]
fn python_2_falls_back_among_four_servers() {
    check_falling_back(&python_program(".venv", "auto", "everything"), false);
}

#[test]
fn rmcp_client_sees_four_servers() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let aggregate = Aggregate::four();
    let everything = aggregate.server("everything");
    let hold = |words, folder, link, prefix| {
        let talk = converse_with(words, folder, link, prefix);
        runtime.block_on(async { tokio::time::timeout(patience::LIMIT, talk).await.unwrap() })
    };
    let direct = hold(everything.command(Link::Direct), everything.folder(), Link::Direct, "");
    let through = hold(aggregate.command(), aggregate.folder(), Link::Through, PREFIX);
    let left = aggregate.processes();
    assert!(left.is_empty(), "still there: {left:?}");
    let ours = ["greeting: ", "tools: ", "resources: ", "prompts: ", "log: ", "progress: ", "unknown: "];
    let said = |seen: &[String]| -> Vec<String> {
        seen.iter().filter(|line| !ours.iter().any(|own| line.starts_with(own))).cloned().collect()
    };
    for (direct, through) in said(&direct).iter().zip(&said(&through)) {
        assert_eq!(through, direct, "through us (left), directly (right)");
    }
    assert_eq!(said(&through).len(), said(&direct).len(), "{through:#?}");
    let list = |seen: &[String], name: &str| -> Value {
        let line = seen.iter().find_map(|line| line.strip_prefix(name)).unwrap();
        serde_json::from_str(line).unwrap()
    };
    for name in ["tools: ", "prompts: "] {
        assert_eq!(json!(of_everything(&list(&through, name))), list(&direct, name));
    }
    assert!(list(&through, "tools: ").to_string().contains("memory__read_graph"));
}

#[test]
fn inspector_cli_sees_four_servers() {
    let aggregate = Aggregate::four();
    let entry = |words: Vec<OsString>| {
        let words: Vec<String> = words.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
        json!({ "command": words[0], "args": words[1..] })
    };
    let direct = |name: &str| entry(aggregate.server(name).command(Link::Direct));
    let config = json!({ "mcpServers": {
        "all": entry(aggregate.command()), "everything": direct("everything"), "time": direct("time"),
    } });
    let config = aggregate.folder().file("inspector.json", config.to_string());
    let ask = |name: &str, question: &[&str]| -> Value {
        let mut words: Vec<OsString> = vec!["node".into()];
        words.push(node_package("@modelcontextprotocol/inspector/clients/launcher/build/index.js").into());
        words.extend(["--cli", "--config"].map(OsString::from));
        words.push(config.clone().into());
        words.extend(["--server", name].into_iter().chain(question.iter().copied()).map(OsString::from));
        let printed = run_in(aggregate.folder(), "", words, &|| aggregate.processes());
        serde_json::from_str(&printed).unwrap()
    };
    let tools = &["--method", "tools/list"];
    let all = ask("all", tools);
    assert_eq!(json!(of_everything(&all["tools"])), ask("everything", tools)["tools"]);
    let call = |name: &str, tool: &str| {
        ask(name, &["--method", "tools/call", "--tool-name", tool, "--tool-arg", "timezone=Asia/Tokyo"])
    };
    assert_eq!(call("all", "time__get_current_time"), call("time", "get_current_time"));
    let prompt = |name: &str, prompt: &str| ask(name, &["--method", "prompts/get", "--prompt-name", prompt]);
    assert_eq!(prompt("all", "everything__simple-prompt"), prompt("everything", "simple-prompt"));
    let read = |name: &str, uri: &str| ask(name, &["--method", "resources/read", "--uri", uri]);
    let uri = "demo://resource/static/document/features.md";
    let own = read("everything", uri);
    assert_eq!(read("all", uri), own);
    let list = ask("all", &["--method", "resources/list"]);
    let item =
        list["resources"].as_array().unwrap().iter().find(|item| item["name"] == "features.md").unwrap();
    assert_eq!(read("all", item["uri"].as_str().unwrap()), own);
}
