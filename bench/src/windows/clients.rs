//! Four clients as they present themselves: the environment that they give a server, and their first messages. Observed in
//! November 2026 (Claude Code 2.1.325, Codex 0.166, Gemini CLI 0.61).

use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;

pub(super) type Variables = Vec<(OsString, OsString)>;

/// Presentation of a client.
pub(super) struct ClientProfile {
    pub(super) variables: Variables,
    pub(super) version: &'static str,
    pub(super) capabilities: Value,
    pub(super) info: Value,
    /// Whether it asks for the newest protocol before its handshake.
    pub(super) discovers: bool,
}

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// Variables of every program of this user: PATH, its home, and its runtime folder.
///
/// Codex drops the last, and Switchboard then falls back to the folder that logins make. Here it lies in the scratch folder,
/// where the fallback does not find it, so Codex keeps it.
fn user(home: &Path) -> Variables {
    let mut all =
        variables(&[("SHELL", "/bin/bash"), ("USER", "me"), ("LOGNAME", "me"), ("LANG", "C.UTF-8")]);
    all.push(("PATH".into(), std::env::var_os("PATH").unwrap_or_default()));
    all.push(("HOME".into(), home.join("home").into()));
    all.push(("XDG_RUNTIME_DIR".into(), home.join("run").into()));
    all
}

/// A shell in a terminal window of a desktop.
fn shell(home: &Path, folder: &Path, session: &str) -> Variables {
    let mut all = user(home);
    all.extend(variables(&[
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("DISPLAY", ":0"),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
        ("XDG_SESSION_TYPE", "x11"),
        ("XDG_SESSION_CLASS", "user"),
        ("XDG_CURRENT_DESKTOP", "GNOME"),
        ("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
        ("SHLVL", "1"),
    ]));
    // Each terminal window has its own.
    all.push(("WINDOWID".into(), session.into()));
    all.push(("GNOME_TERMINAL_SCREEN".into(), format!("/org/gnome/Terminal/screen/{session}").into()));
    all.push(("PWD".into(), folder.into()));
    all
}

/// A window of an editor: all windows have the same environment.
pub(super) fn editor(home: &Path) -> ClientProfile {
    ClientProfile {
        variables: user(home),
        version: "2025-06-18",
        capabilities: json!({ "roots": { "listChanged": true } }),
        info: json!({ "name": "editor", "version": "1" }),
        discovers: false,
    }
}

pub(super) fn four(home: &Path, folder: &Path) -> Vec<ClientProfile> {
    let mut claude = shell(home, folder, "11");
    claude.extend(variables(&[
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CLAUDE_CODE_SSE_PORT", "36221"),
    ]));
    claude.push(("CLAUDE_PROJECT_DIR".into(), folder.into()));
    let mut codex = user(home);
    codex.extend(variables(&[("TERM", "xterm-256color")]));
    let mut gemini = shell(home, folder, "13");
    gemini.extend(variables(&[("GEMINI_CLI", "1")]));
    vec![
        ClientProfile {
            variables: claude,
            version: "2025-11-25",
            capabilities: json!({ "roots": {}, "elicitation": { "form": {}, "url": {} } }),
            info: json!({ "name": "claude-code", "title": "Claude Code", "version": "2.1.325" }),
            discovers: true,
        },
        ClientProfile {
            variables: codex,
            version: "2025-06-18",
            capabilities: json!({ "elicitation": {} }),
            info: json!({ "name": "codex-mcp-client", "title": "Codex", "version": "0.166.0" }),
            discovers: false,
        },
        ClientProfile {
            variables: gemini,
            version: "2025-06-18",
            capabilities: json!({ "roots": { "listChanged": true } }),
            info: json!({ "name": "gemini-cli-mcp-client", "version": "0.61.0" }),
            discovers: false,
        },
        ClientProfile {
            variables: shell(home, folder, "14"),
            version: "2025-06-18",
            capabilities: json!({}),
            info: json!({ "name": "terminal", "version": "1" }),
            discovers: false,
        },
    ]
}
