//! A window opened in a foreign clone: package runners of the user's own config run nothing from the clone,
//! and ignore its settings. `packages: workspace` reverts that, which also shows that each trap works.

use crate::real::peers::node_package;
use crate::support::{error, fake_backend, program, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::scratch::Scratch;

/// The package that the user means, as a file, and a clone with another package of that name.
struct Trap {
    start: Start,
    package: PathBuf,
    clone: PathBuf,
    /// Created by any code of the clone that runs.
    mark: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let start = program();
        let scratch = start.scratch();
        let (package, mark) = (pack(scratch), scratch.join("mark"));
        let clone = scratch.folder("outer/clone");
        let trap = Self { package, clone, mark, start };
        for folder in ["outer/clone", "outer"] {
            trap.lay(&format!("{folder}/node_modules/.bin"));
        }
        trap.settings();
        trap
    }

    fn lay(&self, folder: &str) {
        let script = format!("#!/bin/sh\necho \"$0\" >>{}\nexit 3\n", self.mark.display());
        for name in ["mcp-thing", "node", "sh", "env"] {
            let path = self.start.scratch().file(&format!("{folder}/{name}"), &script);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Settings that npm, pnpm, Bun and Yarn would read there.
    fn settings(&self) {
        let file =
            |name: &str, content: String| self.start.scratch().file(&format!("outer/clone/{name}"), content);
        let shell = self.clone.join("node_modules/.bin/sh");
        let script = file(
            "evil.js",
            format!("require('fs').appendFileSync('{}', 'evil.js\\n')\n", self.mark.display()),
        );
        let script = script.display();
        file("package.json", r#"{ "name": "clone", "version": "1.0.0" }"#.into());
        let modules =
            r#"{ "name": "mcp-thing", "version": "9.9.9", "bin": { "mcp-thing": "../../evil.js" } }"#;
        file("node_modules/mcp-thing/package.json", modules.into());
        file(
            ".npmrc",
            format!(
                "registry=http://127.0.0.1:9/\nscript-shell={}\nnode-options=--require={script}\n",
                shell.display()
            ),
        );
        file("pnpm-workspace.yaml", "packages: []\n".into());
        file(".pnpmfile.cjs", format!("require('{script}')\n"));
        file("bunfig.toml", "preload = [\"./evil.js\"]\n".into());
        file(".yarnrc.yml", "yarnPath: ./evil.js\n".into());
    }

    /// A window in the clone, on a server with this entry.
    fn open(self, words: &[&str], keys: Value) -> Opened {
        let mut args: Vec<Value> = words[1..].iter().map(|word| json!(self.fill(word))).collect();
        args.extend([json!("--record"), json!(self.start.record().folder())]);
        let env = json!({
            "npm_config_offline": "true", "npm_config_update_notifier": "false", "YARN_ENABLE_TELEMETRY": "0",
        });
        let mut entry = json!({ "command": words[0], "args": args, "env": env });
        entry.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let config = json!({ "mcpServers": { "thing": entry } });
        let path = self.start.scratch().file("config.json", config.to_string());
        let start = self.start.args(["stdio", "--server", "thing", "--config"]).arg(path);
        Opened { client: start.cwd(&self.clone).start(), clone: self.clone, mark: self.mark }
    }

    /// Replaces `{}` by the user's package.
    fn fill(&self, word: &str) -> String {
        word.replace("{}", &format!("file:{}", self.package.display()))
    }
}

struct Opened {
    client: Client,
    clone: PathBuf,
    mark: PathBuf,
}

impl Opened {
    /// Checks that the user's package serves in the clone, and that no code of the clone ran or is in PATH.
    #[track_caller]
    fn check_isolated(mut self) {
        self.client.initialize();
        let facts = self.client.call("facts", json!({}))["result"].clone();
        assert_eq!(facts["cwd"], json!(self.clone), "its working folder");
        let path = facts["env"]["PATH"].as_str().unwrap();
        assert!(!path.contains("outer/"), "{path}");
        assert_eq!(fs::read_to_string(&self.mark).unwrap_or_default(), "", "the clone's code was run");
    }

    #[track_caller]
    fn check_trapped(mut self) {
        self.client.ask("initialize", switchboard_testkit::client::initialize_params());
        switchboard_testkit::patience::until("the clone's code to be run", || {
            self.mark.exists().then_some(())
        });
    }
}

/// A package without dependencies, whose program is the fake backend.
pub(crate) fn pack(scratch: &Scratch) -> PathBuf {
    let manifest = json!({ "name": "mcp-thing", "version": "1.0.0", "bin": { "mcp-thing": "run.js" } });
    scratch.file("packing/package/package.json", manifest.to_string());
    let run = format!(
        "#!/usr/bin/env node\nconst {{ spawnSync }} = require('child_process');\n\
         process.exit(spawnSync({}, process.argv.slice(2), {{ stdio: 'inherit' }}).status);\n",
        json!(fake_backend())
    );
    let script = scratch.file("packing/package/run.js", run);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let package = scratch.join("mcp-thing.tgz");
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&package).arg("-C").arg(scratch.join("packing")).arg("package");
    #[expect(clippy::disallowed_methods, reason = "waited for")]
    let packed = tar.status().unwrap();
    assert!(packed.success());
    package
}

const WORKSPACE: &str = "workspace";

fn of_workspace() -> Value {
    json!({ "packages": WORKSPACE })
}

#[test]
fn npx_ignores_the_workspace() {
    Trap::new().open(&["npx", "-y", "{}"], json!({})).check_isolated();
    Trap::new().open(&["npx", "-y", "-p", "{}", "mcp-thing"], json!({})).check_isolated();
}

#[test]
fn npx_ignores_folders_above() {
    let mut trap = Trap::new();
    trap.clone = trap.start.scratch().folder("outer/clone/deep/er");
    trap.open(&["npx", "-y", "{}"], json!({})).check_isolated();
}

#[test]
fn npm_exec_ignores_the_workspace() {
    Trap::new().open(&["npm", "exec", "-y", "--", "{}"], json!({})).check_isolated();
    Trap::new().open(&["env", "npm", "x", "-y", "--", "{}"], json!({})).check_isolated();
}

#[test]
fn relative_path_entries_are_dropped() {
    let trap = Trap::new();
    let path = format!("./node_modules/.bin:{}", std::env::var("PATH").unwrap());
    let mut opened =
        trap.open(&["npx", "-y", "{}"], json!({ "env": { "PATH": path, "npm_config_offline": "true" } }));
    opened.client.initialize();
    assert!(!opened.mark.exists());
}

#[test]
fn workspace_packages_run_on_request() {
    Trap::new().open(&["npx", "-y", "{}"], of_workspace()).check_trapped();
    Trap::new().open(&["npx", "-y", "mcp-thing"], of_workspace()).check_trapped();
}

/// The package is not in the registry, but local resolution would have found one.
#[test]
fn failed_start_names_the_setting() {
    let mut opened = Trap::new().open(&["npx", "-y", "mcp-thing"], json!({}));
    opened.client.ask("initialize", switchboard_testkit::client::initialize_params());
    let answer = opened.client.recv_where("an answer", |message| message.get("error").is_some());
    let error = error(&answer, -32001, "backend_spawn_failed");
    let hint = error["data"]["hint"].as_str().unwrap();
    assert!(hint.contains(r#""packages": "workspace""#), "{hint}");
    assert!(!opened.mark.exists());
}

#[test]
fn command_line_is_isolated_too() {
    let window = |flags: &[&str]| {
        let trap = Trap::new();
        let package = trap.fill("{}");
        let record = trap.start.record();
        let start = trap.start.env("npm_config_offline", "true").arg("stdio").args(flags);
        let start = start.args(["--inherit-env", "all", "--", "npx", "-y", &package, "--record"]);
        let client = start.arg(record.folder()).cwd(&trap.clone).start();
        Opened { client, clone: trap.clone, mark: trap.mark }
    };
    window(&[]).check_isolated();
    window(&["--raw"]).check_isolated();
    window(&["--packages", WORKSPACE]).check_trapped();
}

#[test]
fn check_shows_the_isolated_command() {
    let start = program();
    let config = json!({ "mcpServers": { "thing": { "command": "npx", "args": ["-y", "mcp-thing"] } } });
    let path = start.scratch().file("config.json", config.to_string());
    let state = start.scratch().state("packages");
    let mut client = start.args(["check", "--config"]).arg(path).start();
    let shown = String::from_utf8_lossy(&client.finish().stdout).into_owned();
    let expect = format!("npx --prefix={0}/empty --script-shell={0}/npm-shell -y mcp-thing", state.display());
    assert!(shown.contains(&expect), "{shown}");
    assert!(!state.exists(), "checking makes nothing");
}

/// A real runner, as `scripts/setup` installs it.
fn runner(path: &str) -> String {
    node_package(path).display().to_string()
}

#[test]
fn pnpm_dlx_ignores_the_workspace() {
    let pnpm = runner(".bin/pnpm");
    Trap::new().open(&[&pnpm, "dlx", "{}"], json!({})).check_isolated();
    Trap::new().open(&[&runner(".bin/pnpx"), "{}"], json!({})).check_isolated();
    Trap::new().open(&[&pnpm, "dlx", "{}"], of_workspace()).check_trapped();
}

#[test]
fn yarn_dlx_ignores_the_workspace() {
    let yarn = runner(".bin/yarn");
    let words = [&yarn, "dlx", "-q", "-p", "mcp-thing@{}", "mcp-thing"];
    Trap::new().open(&words, json!({})).check_isolated();
    Trap::new().open(&words, of_workspace()).check_trapped();
}

#[test]
#[cfg(target_arch = "x86_64")]
fn bunx_ignores_the_workspace() {
    let bun = runner("@oven/bun-linux-x64/bin/bun");
    let words = [&bun, "x", "-p", "{}", "mcp-thing"];
    Trap::new().open(&words, json!({})).check_isolated();
    Trap::new().open(&words, of_workspace()).check_trapped();
}

/// Without our help: uvx reads no settings of the workspace, and uses no interpreter from there.
#[test]
fn uvx_ignores_the_workspace() {
    let server = crate::real::peers::Server::time_by_uvx();
    let start = program();
    let scratch = start.scratch();
    let clone = scratch.folder("clone");
    let mark = scratch.join("mark");
    let index = "[[index]]\nurl = \"http://127.0.0.1:9/\"\ndefault = true\n";
    scratch.file("clone/uv.toml", format!("required-version = \"==0.0.1\"\n{index}"));
    scratch.file(
        "clone/pyproject.toml",
        "[project]\nname = \"x\"\nversion = \"1\"\n[tool.uv]\nrequired-version = \"==0.0.1\"\n",
    );
    scratch.file("clone/.python-version", "3.99\n");
    scratch.file("clone/.venv/pyvenv.cfg", "home = /usr/bin\n");
    let python =
        scratch.file("clone/.venv/bin/python", format!("#!/bin/sh\ntouch {}\nexit 3\n", mark.display()));
    fs::set_permissions(python, fs::Permissions::from_mode(0o755)).unwrap();
    let words: Vec<String> = server.words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let config = json!({ "mcpServers": { "time": { "command": words[0], "args": words[1..] } } });
    let path = scratch.file("config.json", config.to_string());
    let mut client = start.args(["stdio", "--server", "time", "--config"]).arg(path).cwd(clone).start();
    client.initialize();
    let answer = client.call("get_current_time", json!({ "timezone": "Europe/Paris" }));
    assert!(text(&answer).contains("Europe/Paris"), "{answer}");
    assert!(!mark.exists());
}
