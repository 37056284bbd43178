//! The twelve servers: the command line of each, and a call that it answers at once, without a network or a browser. Keys
//! are dummies.

use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Stands for the window's folder, as in a config file.
const ROOT: &str = "${root}";

/// A port without a listener.
const NOWHERE: &str = "http://127.0.0.1:9";

pub(super) struct Server {
    pub(super) name: &'static str,
    command: Vec<String>,
    variables: Vec<(&'static str, String)>,
    pub(super) tool: &'static str,
    arguments: Value,
}

impl Server {
    /// The command line for a window on a folder, without Switchboard.
    pub(super) fn argv(&self, folder: &Path) -> Vec<OsString> {
        self.command.iter().map(|word| fill(word, folder).into()).collect()
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)))
    }

    /// The arguments of its call in a window on a folder.
    pub(super) fn arguments(&self, folder: &Path) -> Value {
        let fill = |(name, value): (&String, &Value)| {
            let value = value.as_str().map_or_else(|| value.clone(), |text| json!(fill(text, folder)));
            (name.clone(), value)
        };
        Value::Object(self.arguments.as_object().into_iter().flatten().map(fill).collect())
    }

    fn entry(&self) -> Value {
        let variables: Map<String, Value> =
            self.variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({ "command": self.command[0], "args": self.command[1..], "env": variables })
    }
}

fn fill(word: &str, folder: &Path) -> String {
    word.replace(ROOT, &folder.display().to_string())
}

/// A config file with nothing but these servers.
pub(super) fn config(servers: &[Server]) -> String {
    let entries: Map<String, Value> =
        servers.iter().map(|server| (server.name.to_owned(), server.entry())).collect();
    json!({ "mcpServers": entries }).to_string()
}

/// The servers that scripts/bench-servers has installed in a folder. Their files go below `scratch`.
pub(super) fn twelve(installed: &Path, scratch: &Path) -> io::Result<Vec<Server>> {
    let node = |script: &str, more: &[&str]| -> io::Result<Vec<String>> {
        let script = there(&installed.join("node_modules").join(script))?;
        Ok(["node".to_owned(), script].into_iter().chain(more.iter().map(|&word| word.to_owned())).collect())
    };
    let python = |program: &str| Ok::<_, io::Error>(vec![there(&installed.join(".venv/bin").join(program))?]);
    let server =
        |name, command, tool, arguments| Server { name, command, variables: vec![], tool, arguments };
    let no_browser = scratch.join("no-browser").display().to_string();
    let graph = scratch.join("memory.json").display().to_string();
    let blank = json!({ "url": "about:blank" });
    let thought =
        json!({ "thought": "first", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    let headless = ["--headless", "--executable-path", &no_browser];
    // Some calls from `github` on lack an argument: the server itself refuses them.
    let official =
        |name: &str, more: &[&str]| node(&format!("@modelcontextprotocol/server-{name}/dist/index.js"), more);
    let mut servers = vec![
        server("everything", official("everything", &[])?, "echo", json!({ "message": "hi" })),
        server("filesystem", official("filesystem", &[ROOT])?, "list_directory", json!({ "path": ROOT })),
        server("memory", official("memory", &[])?, "read_graph", json!({})),
        server("thinking", official("sequential-thinking", &[])?, "sequentialthinking", thought),
        server("github", official("github", &[])?, "search_repositories", json!({})),
        server(
            "context7",
            node("@upstash/context7-mcp/dist/index.js", &[])?,
            "resolve-library-id",
            json!({}),
        ),
        server("tavily", node("tavily-mcp/build/index.js", &[])?, "tavily_search", json!({ "query": "x" })),
        server("brave", official("brave-search", &[])?, "brave_web_search", json!({})),
        server("playwright", node("@playwright/mcp/cli.js", &headless)?, "browser_navigate", blank),
        server("time", python("mcp-server-time")?, "get_current_time", json!({ "timezone": "UTC" })),
        server("fetch", python("mcp-server-fetch")?, "fetch", json!({})),
        server("git", python("mcp-server-git")?, "git_status", json!({ "repo_path": ROOT })),
    ];
    let mut set = |name: &str, variables: Vec<(&'static str, String)>| {
        servers.iter_mut().filter(|server| server.name == name).for_each(|s| s.variables = variables.clone());
    };
    set("memory", vec![("MEMORY_FILE_PATH", graph)]);
    set("github", vec![("GITHUB_PERSONAL_ACCESS_TOKEN", "dummy".into())]);
    set("tavily", vec![("TAVILY_API_KEY", "dummy".into()), ("HTTPS_PROXY", NOWHERE.into())]);
    set("brave", vec![("BRAVE_API_KEY", "dummy".into())]);
    Ok(servers)
}

/// The real auggie, which indexes the window's folder. Its service is unreachable.
pub(super) fn auggie() -> io::Result<Server> {
    let script = "tests/real/node_modules/@augmentcode/auggie/augment.mjs";
    let script = there(&env::current_dir()?.join(script))?;
    let words = ["node", &script, "--mcp", "-m", "default", "--workspace-root", ROOT];
    let login = json!({ "accessToken": "dummy", "tenantURL": format!("{NOWHERE}/"), "scopes": ["read"] });
    Ok(Server {
        name: "auggie",
        command: words.map(str::to_owned).to_vec(),
        variables: vec![
            ("AUGMENT_SESSION_AUTH", login.to_string()),
            ("AUGMENT_DISABLE_AUTO_UPDATE", "1".into()),
        ],
        tool: "codebase-retrieval",
        arguments: json!({}),
    })
}

fn there(file: &Path) -> io::Result<String> {
    match fs::exists(file)? {
        true => Ok(PathBuf::from(file).display().to_string()),
        false => Err(io::Error::other(format!(
            "{} is missing: run scripts/bench-servers (for auggie: scripts/setup)",
            file.display()
        ))),
    }
}
