//! Commands that are batch files. Shims of npm are replaced by node and a script; other batch files run under `cmd.exe`, in
//! the job, and get their arguments unchanged.

use super::{check_nothing_left, given, processes, program};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use switchboard_testkit::client::{Client, Start};
use switchboard_testkit::pids;
use switchboard_testkit::wine;

/// Arguments with every character that is special to `cmd.exe`.
const ARGS: [&str; 10] = [
    "two words",
    "",
    "100%PATH%",
    "a&b|c",
    "a^b",
    "a!b!",
    "(x)",
    "<in >out",
    "say \"hi\"",
    r"C:\dir with end\",
];
/// A shim of npm.
const NPM_SHIM: &str = "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\n\
    CALL :find_dp0\r\n\r\nIF EXIST \"%dp0%\\node.exe\" (\r\n  SET \"_prog=%dp0%\\node.exe\"\r\n) ELSE (\r\n  \
    SET \"_prog=node\"\r\n  SET PATHEXT=%PATHEXT:;.JS;=;%\r\n)\r\n\r\nendLocal & goto #_undefined_# 2>NUL || \
    title %COMSPEC% & \"%_prog%\"  \"%dp0%\\argv.js\" %*\r\n";

/// A shim of npm 6, pnpm and yarn. Wine's `cmd.exe` ends the one above at its `goto`.
pub(super) fn old_shim(script: &str) -> String {
    format!(
        "@IF EXIST \"%~dp0\\node.exe\" (\r\n  \"%~dp0\\node.exe\"  \"%~dp0\\{script}\" %*\r\n) ELSE (\r\n  \
         @SETLOCAL\r\n  @SET PATHEXT=%PATHEXT:;.JS;=;%\r\n  node  \"%~dp0\\{script}\" %*\r\n)\r\n"
    )
}

/// Path of a file in this folder.
pub(super) fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/windows").join(name)
}

/// Puts a real `node.exe` into a folder.
pub(super) fn write_node(folder: &Path) {
    symlink(given("WINDOWS_NODE"), folder.join("node.exe")).unwrap();
}

/// Puts the `npx.cmd` of Node's installer into a folder, with a stand-in for npx.
pub(super) fn write_npx(folder: &Path) {
    fs::copy(ours("npx.cmd"), folder.join("npx.cmd")).unwrap();
    fs::create_dir_all(folder.join("node_modules/npm/bin")).unwrap();
    fs::copy(ours("npx-cli.js"), folder.join("node_modules/npm/bin/npx-cli.js")).unwrap();
}

/// A folder with a real `node.exe` and our script.
fn node_folder(start: &Start) -> PathBuf {
    let folder = start.scratch().folder("node js");
    write_node(&folder);
    fs::copy(ours("argv.js"), folder.join("argv.js")).unwrap();
    folder
}

/// A client of the server with this command; the folder is in PATH.
fn serve(start: Start, folder: &Path, command: &str, args: &[&str]) -> Client {
    let entry = json!({
        "command": command,
        "args": args,
        "env": { "PATH": wine::path(folder) + r";C:\windows\system32", "NODE_SKIP_PLATFORM_CHECK": "1" },
        "packages": "workspace",
    });
    let config = json!({ "mcpServers": { "shim": entry } }).to_string();
    let path = start.scratch().file("config.json", config);
    start.args(["stdio", "--solo", "--server", "shim", "--config"]).arg(path).start()
}

/// The arguments that the server got.
#[track_caller]
fn args_of(greeting: &Value) -> Vec<String> {
    serde_json::from_str(greeting["serverInfo"]["name"].as_str().unwrap()).unwrap()
}

/// Whether a process of this client is `cmd.exe`.
fn has_cmd(client: &Client) -> bool {
    processes(client).iter().any(|pid| pids::mentions(*pid, "cmd.exe"))
}

#[track_caller]
fn check_args(file: &str, text: &str, command: &str, needs_cmd: bool, args: &[&str]) {
    let start = program();
    let folder = node_folder(&start);
    fs::write(folder.join(file), text).unwrap();
    // npm writes a `.ps1` file too. This one would fail.
    fs::write(folder.join(file).with_extension("ps1"), "exit 1").unwrap();
    // An argument that identifies the processes.
    let mark = start.scratch().path().display().to_string();
    let args: Vec<&str> = args.iter().copied().chain([mark.as_str()]).collect();
    let mut client = serve(start, &folder, command, &args);
    assert_eq!(args_of(&client.initialize()), args, "{command}");
    assert_eq!(has_cmd(&client), needs_cmd, "{command}: cmd.exe");
    assert_eq!(client.finish().code, Some(0));
    check_nothing_left(&client);
}

#[test]
fn npm_shim_becomes_node() {
    check_args("tool.cmd", NPM_SHIM, "tool", false, &ARGS);
    check_args("tool.cmd", NPM_SHIM, "tool.cmd", false, &["x"]);
    check_args("tool.cmd", NPM_SHIM, "tool.ps1", false, &["x"]);
}

/// A batch file with another statement before the program.
#[test]
fn other_batch_file_runs_under_cmd() {
    let text = "@echo off\r\nset PATHEXT=.EXE\r\nver >nul\r\n\"%~dp0node.exe\" \"%~dp0argv.js\" %*\r\n";
    // Wine's `cmd.exe` does not support empty substrings of a variable, which escape percent signs.
    let args: Vec<&str> = ARGS.into_iter().filter(|arg| !arg.contains('%')).collect();
    check_args("own.cmd", text, "own", true, &args);
}

/// The form that most instructions for Windows recommend.
#[test]
fn cmd_before_a_shim_is_skipped() {
    let start = program();
    let folder = node_folder(&start);
    fs::write(folder.join("tool.cmd"), NPM_SHIM).unwrap();
    let mark = start.scratch().path().display().to_string();
    let mut client = serve(start, &folder, "cmd", &["/c", "tool", "two words", &mark]);
    assert_eq!(args_of(&client.initialize()), ["two words", &mark]);
    assert!(!has_cmd(&client));
    client.signal(pids::Word::Kill);
    check_nothing_left(&client);
}

/// A folder's name must not become a command, with and without `cmd.exe`.
#[test]
fn folder_name_runs_no_command() {
    for (first, needs_cmd) in
        [(&["/c", "tool"][..], false), (&["/c", "tool", "%NONE%"], true), (&["/c", "call", "tool"], true)]
    {
        let start = program();
        let folder = node_folder(&start);
        fs::write(folder.join("tool.cmd"), old_shim("argv.js")).unwrap();
        let made = start.scratch().join("made");
        // A stand-in for a dangerous command such as `calc`.
        fs::write(folder.join("calc.cmd"), format!("@echo x>{}\r\n", wine::path(&made))).unwrap();
        let mark = start.scratch().path().display().to_string();
        let args: Vec<&str> =
            first.iter().copied().chain([r"Z:\a&calc", "x^y (z)", "a|calc", &mark]).collect();
        let mut client = serve(start, &folder, "cmd", &args);
        let got = args_of(&client.initialize());
        assert!(got.ends_with(&[r"Z:\a&calc".into(), "x^y (z)".into(), "a|calc".into(), mark]), "{got:?}");
        assert_eq!(has_cmd(&client), needs_cmd, "{first:?}");
        assert_eq!(client.finish().code, Some(0));
        assert!(!made.exists(), "{first:?}");
        check_nothing_left(&client);
    }
}

/// The `npx.cmd` of Node's installer. npx starts the package's shim with a `cmd.exe`: four processes, and killing one of
/// them leaves others running.
#[test]
fn npx_chain_ends_with_us() {
    for word in [pids::Word::Kill, pids::Word::Terminate] {
        let start = program();
        let folder = node_folder(&start);
        write_npx(&folder);
        fs::write(folder.join("server.cmd"), old_shim("argv.js")).unwrap();
        let mark = start.scratch().path().display().to_string();
        let mut client = serve(start, &folder, "npx", &["-y", "server", &mark]);
        assert_eq!(args_of(&client.initialize()), [mark]);
        let chain = processes(&client);
        assert!(has_cmd(&client), "npx starts one");
        assert_eq!(chain.len(), 4, "we, npx, cmd.exe and the server");
        client.signal(word);
        check_nothing_left(&client);
    }
}
