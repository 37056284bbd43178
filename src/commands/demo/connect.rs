//! Snippets for an IDE's settings that put Switchboard in front of a server.

use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// A server that everyone can try.
const NAME: &str = "everything";
const SERVER: [&str; 3] = ["npx", "-y", "@modelcontextprotocol/server-everything"];

/// One snippet per kind of settings, with the path of this program.
pub(super) fn text(program: &Path) -> String {
    let program = program.display().to_string();
    let server = SERVER.join(" ");
    let mut text = String::new();
    let mut part = |title: &str, lines: &str| {
        let _ = writeln!(text, "  {title}");
        for line in lines.lines() {
            let _ = writeln!(text, "    {line}");
        }
        text.push('\n');
    };
    part(
        "Claude Code",
        &format!("claude mcp add {NAME} -- \\\n  {} stdio -- \\\n  {server}", shell_word(&program)),
    );
    part("Cursor (~/.cursor/mcp.json), Claude Desktop, Windsurf, Gemini CLI", &entry("mcpServers", &program));
    part("VS Code (.vscode/mcp.json)", &entry("servers", &program));
    part(
        "Codex (~/.codex/config.toml)",
        &format!("[mcp_servers.{NAME}]\ncommand = {}\nargs = {}", toml_text(&program), arguments(8)),
    );
    text.push_str("  Or list your servers in a config file: `switchboard help config`.\n");
    text
}

/// Entry under `key`.
fn entry(key: &str, program: &str) -> String {
    format!(
        "{{ \"{key}\": {{ \"{NAME}\": {{\n  \"command\": {},\n  \"args\": {}\n}} }} }}",
        Value::from(program),
        arguments(11)
    )
}

/// List that is valid JSON and TOML: our arguments in the first line, the server's command below.
fn arguments(indent: usize) -> String {
    let quoted = SERVER.map(|word| Value::from(word).to_string()).join(", ");
    format!("[\"stdio\", \"--\",\n{:indent$}{quoted}]", "")
}

/// Quotes a word for a shell, if necessary.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/\\:._-+@".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("\"{word}\"") }
}

/// TOML literal string, in which backslashes need no escape; a basic string if the text contains a quote.
fn toml_text(text: &str) -> String {
    if text.contains('\'') { Value::from(text).to_string() } else { format!("'{text}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_json_and_fits() {
        for key in ["mcpServers", "servers"] {
            let text = entry(key, r"C:\Program Files\switchboard.exe");
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value[key][NAME]["command"], r"C:\Program Files\switchboard.exe");
            assert_eq!(value[key][NAME]["args"][1], "--");
        }
        assert!(text(Path::new("/usr/local/bin/switchboard")).lines().all(|line| line.chars().count() < 80));
    }

    #[test]
    fn paths_are_quoted_where_they_must_be() {
        assert_eq!(shell_word("/usr/bin/x"), "/usr/bin/x");
        assert_eq!(shell_word("/my programs/x"), "\"/my programs/x\"");
        assert_eq!(toml_text(r"C:\x"), r"'C:\x'");
        assert_eq!(toml_text("it's"), "\"it's\"");
    }
}
