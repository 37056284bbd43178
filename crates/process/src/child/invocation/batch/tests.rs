use super::*;

const FOLDER: &str = r"C:\Users\me\AppData\Roaming\npm";

/// Shim of npm 7 and later for a package's program.
const NPM: &str = "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\n\r\n\
    IF EXIST \"%dp0%\\node.exe\" (\r\n  SET \"_prog=%dp0%\\node.exe\"\r\n) ELSE (\r\n  SET \"_prog=node\"\r\n  \
    SET PATHEXT=%PATHEXT:;.JS;=;%\r\n)\r\n\r\nendLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \
    \"%_prog%\"  --no-warnings \"%dp0%\\node_modules\\@scope\\thing\\dist\\cli.js\" %*\r\n";

/// Shim of npm 6, pnpm and yarn 1.
const PNPM: &str = "@SETLOCAL\r\n@IF NOT DEFINED NODE_PATH (\r\n  @SET \"NODE_PATH=C:\\p\\node_modules\"\r\n) ELSE (\r\n  \
    @SET \"NODE_PATH=C:\\p\\node_modules;%NODE_PATH%\"\r\n)\r\n@IF EXIST \"%~dp0\\node.exe\" (\r\n  \
    \"%~dp0\\node.exe\"  \"%~dp0\\..\\thing\\cli.js\" %*\r\n) ELSE (\r\n  @SETLOCAL\r\n  @SET PATHEXT=%PATHEXT:;.JS;=;%\r\n  \
    node  \"%~dp0\\..\\thing\\cli.js\" %*\r\n)\r\n";

/// Shim of Node's installer.
const NPX: &str = ":: Created by npm, please don't edit manually.\r\n@ECHO OFF\r\n\r\nSETLOCAL\r\n\r\n\
    SET \"NODE_EXE=%~dp0\\node.exe\"\r\nIF NOT EXIST \"%NODE_EXE%\" (\r\n  SET \"NODE_EXE=node\"\r\n)\r\n\r\n\
    SET \"NPM_PREFIX_JS=%~dp0\\node_modules\\npm\\bin\\npm-prefix.js\"\r\n\
    SET \"NPX_CLI_JS=%~dp0\\node_modules\\npm\\bin\\npx-cli.js\"\r\n\
    FOR /F \"delims=\" %%F IN ('CALL \"%NODE_EXE%\" \"%NPM_PREFIX_JS%\"') DO (\r\n  \
    SET \"NPM_PREFIX_NPX_CLI_JS=%%F\\node_modules\\npm\\bin\\npx-cli.js\"\r\n)\r\n\
    IF EXIST \"%NPM_PREFIX_NPX_CLI_JS%\" (\r\n  SET \"NPX_CLI_JS=%NPM_PREFIX_NPX_CLI_JS%\"\r\n)\r\n\r\n\
    \"%NODE_EXE%\" \"%NPX_CLI_JS%\" %*\r\n";

/// Reads a shim on a machine with these files and variables.
fn read_on(text: &str, files: &[&str], variables: &[(&str, &str)], npm_prefix: Option<&str>) -> Option<Shim> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| (*value).to_owned())
    };
    let is_file = |path: &str| files.contains(&path);
    read(text, &World { folder: FOLDER, is_file: &is_file, variable: &variable, npm_prefix })
}

#[track_caller]
fn check(found: Option<Shim>, program: &str, args: &[&str], env: &[(&str, &str)]) {
    let owned = |text: &str| text.to_owned();
    let args = args.iter().copied().map(owned).collect();
    let env = env.iter().map(|(name, value)| (owned(name), owned(value))).collect();
    assert_eq!(found, Some(Shim { program: owned(program), args, env }));
}

#[test]
fn npm_shim_names_node_and_script() {
    let script = r"C:\Users\me\AppData\Roaming\npm\node_modules\@scope\thing\dist\cli.js";
    check(read_on(NPM, &[], &[], None), "node", &["--no-warnings", script], &[]);
    let own = r"C:\Users\me\AppData\Roaming\npm\node.exe";
    check(read_on(NPM, &[own], &[("PATHEXT", ".EXE;.JS;.CMD")], None), own, &["--no-warnings", script], &[]);
}

#[test]
fn pnpm_shim_sets_its_variables() {
    let script = r"C:\Users\me\AppData\Roaming\npm\..\thing\cli.js";
    let modules = r"C:\p\node_modules";
    check(read_on(PNPM, &[], &[], None), "node", &[script], &[("NODE_PATH", modules)]);
    check(
        read_on(PNPM, &[], &[("Node_Path", r"D:\x"), ("PATHEXT", ".EXE;.JS;.CMD")], None),
        "node",
        &[script],
        &[("NODE_PATH", r"C:\p\node_modules;D:\x"), ("PATHEXT", ".EXE;.CMD")],
    );
    let own = r"C:\Users\me\AppData\Roaming\npm\node.exe";
    check(read_on(PNPM, &[own], &[], None), own, &[script], &[("NODE_PATH", modules)]);
}

#[test]
fn npx_prefers_the_updated_npm() {
    let node = r"C:\Users\me\AppData\Roaming\npm\node.exe";
    let run = |files: &[&str], prefix| read_on(NPX, files, &[], prefix).map(|shim| (shim.program, shim.args));
    let bundled = r"C:\Users\me\AppData\Roaming\npm\node_modules\npm\bin\npx-cli.js";
    let updated = r"D:\global\node_modules\npm\bin\npx-cli.js";
    let with = |program: &str, script: &str| Some((program.to_owned(), vec![script.to_owned()]));
    assert_eq!(run(&[node], None), with(node, bundled));
    assert_eq!(run(&[], Some(r"D:\global")), with("node", bundled));
    assert_eq!(run(&[node, updated], Some(r"D:\global")), with(node, updated));
    let old = NPX.replace("\"%NPM_PREFIX_JS%\"", "\"%NPM_CLI_JS%\" prefix -g");
    assert!(read_on(&old, &[node], &[], None).is_some());
}

#[test]
fn shims_of_other_shapes_are_understood() {
    let shim = |text: &str| read_on(text, &[], &[], None);
    check(shim("@\"%~dp0\\thing\\tool.exe\" %*\r\n"), &format!(r"{FOLDER}\thing\tool.exe"), &[], &[]);
    check(shim("@node \"%~dp0\\x.js\" %*"), "node", &[&format!(r"{FOLDER}\x.js")], &[]);
    check(shim("@echo off\nnode \"C:\\a b\\x.js\" --flag %*\n"), "node", &[r"C:\a b\x.js", "--flag"], &[]);
    check(
        shim("@SETLOCAL\r\n@SET NODE_ENV=production\r\n@node \"%~dp0\\x.js\" %*"),
        "node",
        &[&format!(r"{FOLDER}\x.js")],
        &[("NODE_ENV", "production")],
    );
    let unsets = "@SET FOO=\r\n@SET BAR=\r\n@node \"%~dp0\\x.js\" %*";
    let script = format!(r"{FOLDER}\x.js");
    check(read_on(unsets, &[], &[("foo", "1")], None), "node", &[&script], &[("FOO", "")]);
    // A share, whose path begins with two separators.
    check(shim(r#"@node "\\host\share\\x.js" %*"#), "node", &[r"\\host\share\x.js"], &[]);
}

#[test]
fn other_batch_files_are_left_to_cmd() {
    for text in [
        "",
        "@echo off\r\n",
        "@echo hello\r\n@node x.js %*",
        "@node x.js",
        "@node x.js %1 %2",
        "@node x.js %* & del y",
        "@node x.js %*\r\n@del y",
        "@start /b node x.js %*",
        "@cd /d %~dp0\r\n@node x.js %*",
        "@set /a x=1\r\n@node x.js %*",
        "@set x=1 & calc\r\n@node x.js %*",
        "@node x.js > log %*",
        "@node \"%~f1\" %*",
        "@if \"%1\"==\"\" (\r\n@node x.js %*\r\n)",
        "@if exist \"x\" (\r\n@node x.js %*\r\n",
        ")\r\n@node x.js %*",
        "@node x.js %*\r\n@node y.js %*",
        ":a\r\n@goto a\r\n",
        "@goto nowhere\r\n@node x.js %*",
        "@for /f \"delims=\" %%f in ('where node') do (\r\n)\r\n@node x.js %*",
        "@call other.cmd %*\r\n@exit /b 1",
    ] {
        assert_eq!(read_on(text, &["x"], &[], None), None, "{text:?}");
    }
}
