//! `switchboard check` names servers that may keep a client's state, by the tools that an earlier run has seen.

use super::servers::{Servers, with_tools};
use serde_json::{Value, json};

/// What `check` says about a server whose tools these are, after a run and with these keys.
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
fn doubtful_tools_are_warned_about() {
    let said = check(&["echo", "attach_debugger"], json!({}));
    assert!(said.contains("warning: the tool `attach_debugger` of `thing` may keep state"), "{said}");
    assert!(said.contains(r#"set "state": "client""#), "{said}");
    // Hidden from clients, but told to the server's own.
    let hidden = json!({ "tools": { "deny": ["attach_debugger"] } });
    assert!(check(&["echo", "attach_debugger"], hidden).contains("`attach_debugger`"));
}

#[test]
fn clear_cases_are_not_warned_about() {
    for (tools, keys) in [
        (&["echo", "list_sessions"][..], json!({})),
        // Recognised: nobody has to say it.
        (&["echo", "browser_navigate"], json!({})),
        (&["echo", "attach_debugger"], json!({ "state": "none" })),
        (&["echo", "attach_debugger"], json!({ "state": "client" })),
    ] {
        let said = check(tools, keys.clone());
        assert!(!said.contains("\"state\""), "{tools:?} {keys}: {said}");
    }
}
