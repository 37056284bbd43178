//! `switchboard check` names servers that may keep a client's state, by the tools that an earlier run has seen.

use super::servers::{Servers, with_tools};
use serde_json::{Value, json};

/// Output of `check` for a server with these tools and config keys, after one run.
fn check(tools: &[&str], keys: Value) -> String {
    let servers = Servers::none().and_offer("thing", keys, &with_tools(tools));
    let checked = || {
        let end = servers.program().args(["check", "--config"]).arg(servers.config()).start().finish();
        String::from_utf8_lossy(&end.stdout).into_owned()
    };
    assert!(!checked().contains("\"state\""), "nothing is known before the first run");
    let mut client = servers.open();
    client.request("tools/list", json!({}));
    client.finish();
    checked()
}

#[test]
fn check_warns_about_possible_state() {
    let said = check(&["echo", "attach_debugger"], json!({}));
    assert!(said.contains("warning: the tool `attach_debugger` of `thing` may keep state"), "{said}");
    assert!(said.contains(r#"set "state": "client""#), "{said}");
    // A tool hidden from clients still counts.
    let hidden = json!({ "tools": { "deny": ["attach_debugger"] } });
    assert!(check(&["echo", "attach_debugger"], hidden).contains("`attach_debugger`"));
}

#[test]
fn check_does_not_warn_in_clear_cases() {
    for (tools, keys) in [
        (&["echo", "list_sessions"][..], json!({})),
        // Recognised by name: no setting needed.
        (&["echo", "browser_navigate"], json!({})),
        (&["echo", "attach_debugger"], json!({ "state": "none" })),
        (&["echo", "attach_debugger"], json!({ "state": "client" })),
    ] {
        let said = check(tools, keys.clone());
        assert!(!said.contains("\"state\""), "{tools:?} {keys}: {said}");
    }
}
