//! Package runners with a company registry: a local registry that requires a token has the package, and the
//! server starts only if the user's variables reach the real npx or uvx.

use crate::packages::pack;
use crate::real::peers::{installed, node_package};
use crate::support::{fake_backend, program};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use switchboard_testkit::client::{Client, Start, initialize_params};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::web::{Seen, Web, Wire};

const TOKEN: &str = "s3cret-token";
/// `company:s3cret-token`
const BASIC: &str = "Basic Y29tcGFueTpzM2NyZXQtdG9rZW4=";

/// Content type and content by path.
type Files = HashMap<String, (&'static str, Vec<u8>)>;

/// A registry that serves a few paths to clients with the token.
struct Registry {
    web: Web,
    files: Arc<Mutex<Files>>,
}

impl Registry {
    fn start(authorization: &'static str) -> Self {
        let files: Arc<Mutex<Files>> = Arc::default();
        let served = files.clone();
        let web = Web::start(move |seen, wire| answer(seen, wire, authorization, &served.lock().unwrap()));
        Self { web, files }
    }

    fn url(&self, path: &str) -> String {
        self.web.url(&format!("/{path}"))
    }

    fn put(&self, path: &str, kind: &'static str, content: impl Into<Vec<u8>>) {
        self.files.lock().unwrap().insert(format!("/{path}"), (kind, content.into()));
    }

    /// Serves the package `mcp-thing` as npm's registry would.
    fn with_npm_package(scratch: &Scratch) -> Self {
        let registry = Self::start("Bearer s3cret-token");
        let tarball = fs::read(pack(scratch)).unwrap();
        let version = json!({
            "name": "mcp-thing", "version": "1.0.0", "bin": { "mcp-thing": "run.js" },
            "dist": { "tarball": registry.url("mcp-thing/-/mcp-thing-1.0.0.tgz") },
        });
        let packument = json!({
            "name": "mcp-thing", "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version },
            // Yarn installs nothing that was published today.
            "time": { "1.0.0": "2026-01-01T00:00:00.000Z" },
        });
        registry.put("mcp-thing", "application/json", packument.to_string());
        registry.put("mcp-thing/-/mcp-thing-1.0.0.tgz", "application/octet-stream", tarball);
        registry
    }

    /// Serves the package `mcp-thing` as a Python simple index would.
    fn with_python_package(scratch: &Scratch) -> Self {
        let registry = Self::start(BASIC);
        let name = "mcp_thing-1.0.0-py3-none-any.whl";
        let index = format!("<!DOCTYPE html><html><body><a href=\"../../{name}\">{name}</a></body></html>");
        registry.put("simple/mcp-thing/", "text/html", index);
        registry.put(name, "application/octet-stream", wheel(scratch, name));
        registry
    }
}

fn answer(seen: &Seen, wire: &mut Wire<'_>, authorization: &str, files: &Files) {
    let is_allowed = seen.header("authorization") == Some(authorization);
    let (status, headers, body) = match files.get(&seen.path) {
        _ if !is_allowed => (401, vec![("www-authenticate", "Basic")], &b"who are you?"[..]),
        Some((kind, body)) => (200, vec![("content-type", *kind)], &body[..]),
        None => (404, Vec::new(), &b"no such package"[..]),
    };
    match seen.method.as_str() {
        "HEAD" => wire.reply(status, &headers, ""),
        _ => wire.reply(status, &headers, body),
    }
}

fn python() -> std::path::PathBuf {
    installed(".venv-uv").join("bin/python")
}

/// A wheel without dependencies, whose program is the fake backend.
fn wheel(scratch: &Scratch, name: &str) -> Vec<u8> {
    let run = format!(
        "import subprocess, sys\ndef main():\n    sys.exit(subprocess.call([{}] + sys.argv[1:]))\n",
        json!(fake_backend())
    );
    let info = "mcp_thing-1.0.0.dist-info";
    scratch.file("wheel/mcp_thing/__init__.py", run);
    scratch
        .file(&format!("wheel/{info}/METADATA"), "Metadata-Version: 2.1\nName: mcp-thing\nVersion: 1.0.0\n");
    scratch.file(
        &format!("wheel/{info}/WHEEL"),
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    );
    scratch
        .file(&format!("wheel/{info}/entry_points.txt"), "[console_scripts]\nmcp-thing = mcp_thing:main\n");
    let listed = ["METADATA", "WHEEL", "entry_points.txt", "RECORD"].map(|file| format!("{info}/{file},,\n"));
    scratch.file(&format!("wheel/{info}/RECORD"), format!("mcp_thing/__init__.py,,\n{}", listed.concat()));
    let mut zip = Command::new(python());
    zip.args(["-m", "zipfile", "-c", name, "mcp_thing", info]).current_dir(scratch.join("wheel"));
    #[expect(clippy::disallowed_methods, reason = "waited for")]
    let zipped = zip.status().unwrap();
    assert!(zipped.success());
    fs::read(scratch.join("wheel").join(name)).unwrap()
}

/// A window on a server with this command, from a config file.
fn window(start: Start, words: &[&str]) -> Client {
    let mut args: Vec<Value> = words[1..].iter().map(|word| json!(word)).collect();
    args.extend([json!("--record"), json!(start.record().folder())]);
    let config = json!({ "mcpServers": { "thing": { "command": words[0], "args": args } } });
    let path = start.scratch().file("config.json", config.to_string());
    start.args(["stdio", "--server", "thing", "--config"]).arg(path).start()
}

/// Checks that the server runs, without variables that would change how its runner works.
#[track_caller]
fn check_served(client: &mut Client) {
    client.initialize();
    let facts = client.call("facts", json!({}))["result"].clone();
    for name in ["NPM_CONFIG_SCRIPT_SHELL", "UV_PROJECT", "OTHER_TOKEN"] {
        assert!(facts["env"].get(name).is_none(), "{name}: {facts}");
    }
}

#[track_caller]
fn check_refused(mut client: Client) {
    client.ask("initialize", initialize_params());
    let answer = client.recv_where("an error", |message| message.get("error").is_some());
    assert!(answer.to_string().contains("401"), "refused by another registry: {answer}");
}

fn with_others(start: Start) -> Start {
    start
        .env("NPM_CONFIG_SCRIPT_SHELL", "/no/such/shell")
        .env("UV_PROJECT", "/no/such/project")
        .env("OTHER_TOKEN", "other")
        .env("npm_config_update_notifier", "false")
}

#[test]
fn npx_uses_the_company_registry() {
    let start = with_others(program());
    let registry = Registry::with_npm_package(start.scratch());
    let cache = start.scratch().join("cache");
    let start = start
        .env("NPM_CONFIG_REGISTRY", registry.url(""))
        .env(&format!("npm_config_//127.0.0.1:{}/:_authToken", registry.web.port()), TOKEN)
        .env("npm_config_cache", &cache);
    let mut client = window(start, &["npx", "-y", "mcp-thing"]);
    check_served(&mut client);
    assert!(cache.join("_npx").exists(), "the cache that the variable names");
}

/// User settings at another path, which take the token from a variable.
fn with_settings(start: Start, registry: &Registry) -> Start {
    let settings = format!(
        "registry={}\n//127.0.0.1:{}/:_authToken=${{NODE_AUTH_TOKEN}}\n",
        registry.url(""),
        registry.web.port()
    );
    let file = start.scratch().file("settings/npmrc", settings);
    start.env("NPM_CONFIG_USERCONFIG", file).env("NODE_AUTH_TOKEN", TOKEN)
}

#[test]
fn npx_reads_the_named_user_config() {
    let start = with_others(program());
    let registry = Registry::with_npm_package(start.scratch());
    let start = with_settings(start, &registry);
    check_served(&mut window(start, &["npx", "-y", "mcp-thing"]));
}

#[test]
fn pnpm_dlx_uses_the_company_registry() {
    let start = with_others(program());
    let registry = Registry::with_npm_package(start.scratch());
    let start = with_settings(start, &registry);
    let pnpm = node_package(".bin/pnpm").display().to_string();
    check_served(&mut window(start, &[&pnpm, "dlx", "mcp-thing"]));
}

#[test]
fn yarn_dlx_uses_the_company_registry() {
    let start = with_others(program());
    let registry = Registry::with_npm_package(start.scratch());
    let start = start
        .env("YARN_NPM_REGISTRY_SERVER", registry.url(""))
        .env("YARN_NPM_AUTH_TOKEN", TOKEN)
        .env("YARN_NPM_ALWAYS_AUTH", "true")
        .env("YARN_UNSAFE_HTTP_WHITELIST", "127.0.0.1");
    let yarn = node_package(".bin/yarn").display().to_string();
    check_served(&mut window(start, &[&yarn, "dlx", "-q", "mcp-thing"]));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn bunx_uses_the_company_registry() {
    let start = with_others(program());
    let registry = Registry::with_npm_package(start.scratch());
    let start = start.env("BUN_CONFIG_REGISTRY", registry.url("")).env("BUN_CONFIG_TOKEN", TOKEN);
    let bun = node_package("@oven/bun-linux-x64/bin/bun").display().to_string();
    check_served(&mut window(start, &[&bun, "x", "mcp-thing"]));
}

#[test]
fn npx_without_the_token_is_refused() {
    let start = with_others(program());
    let registry = Registry::with_npm_package(start.scratch());
    let start = start.env("npm_config_registry", registry.url("")).env("npm_config_fetch_retries", "0");
    check_refused(window(start, &["npx", "-y", "mcp-thing"]));
}

fn uvx(start: Start, registry: &Registry) -> (Start, Vec<String>) {
    let uvx = installed(".venv-uv").join("bin/uvx");
    let shown = |path: &Path| path.display().to_string();
    let words = vec![shown(&uvx), "--python".to_owned(), shown(&python()), "mcp-thing".to_owned()];
    (start.env("UV_DEFAULT_INDEX", format!("company={}", registry.url("simple"))), words)
}

#[test]
fn uvx_uses_the_company_index() {
    let start = with_others(program());
    let registry = Registry::with_python_package(start.scratch());
    let (start, words) = uvx(start, &registry);
    let start = start.env("UV_INDEX_COMPANY_USERNAME", "company").env("UV_INDEX_COMPANY_PASSWORD", TOKEN);
    check_served(&mut window(start, &words.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn uvx_without_the_password_is_refused() {
    let start = with_others(program());
    let registry = Registry::with_python_package(start.scratch());
    let (start, words) = uvx(start, &registry);
    check_refused(window(start, &words.iter().map(String::as_str).collect::<Vec<_>>()));
}
