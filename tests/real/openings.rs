//! First messages of well-known clients, as recorded in November 2026.

use super::peers::{Link, Server};
use super::talk::{Talk, compare, hold, same_both_ways};
use serde_json::{Value, json};

/// Claude Code probes for the newest era first, with a string id, and then falls back to the one before: server-everything
/// refuses the probe. Through us it is answered, and a handshake is possible all the same.
#[test]
fn claude_code_opening_works() {
    let open = |talk: &mut Talk| {
        talk.send(
            r#"{"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2.1.325"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{"form":{},"url":{}}}}},"jsonrpc":"2.0","id":"server-discover-probe"}"#,
        );
        let probed = talk.answer(&json!("server-discover-probe"));
        let is_refused = probed["error"]["code"] == -32601;
        assert!(is_refused || probed["result"]["supportedVersions"] == json!(["2026-07-28"]), "{probed}");
        talk.send(
            r#"{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"claude-code","title":"Claude Code","version":"2.1.325","websiteUrl":"https://claude.com/claude-code"}},"jsonrpc":"2.0","id":0}"#,
        );
        talk.answer(&json!(0));
        talk.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        talk.send(r#"{"method":"tools/list","jsonrpc":"2.0","id":1}"#);
        let tools = talk.answer(&json!(1));
        assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 12), "{tools}");
        talk.send(r#"{"method":"prompts/list","jsonrpc":"2.0","id":2}"#);
        talk.send(r#"{"method":"resources/list","jsonrpc":"2.0","id":3}"#);
        talk.answer(&json!(2));
        talk.answer(&json!(3));
        talk.told("roots/list");
        talk.told("notifications/message");
    };
    let server = Server::everything();
    let [direct, through] = [Link::Direct, Link::Through].map(|link| hold(&server, link, &open));
    // Everything after the first answer is the server's.
    compare(&direct[1..], &through[1..]);
}

/// Codex uses an older version and requests the tools at once.
#[test]
fn codex_opening_works() {
    same_both_ways(&Server::everything(), |talk| {
        talk.send(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"codex-mcp-client","title":"Codex","version":"0.166.0"}}}"#,
        );
        talk.answer(&json!(0));
        talk.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        talk.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":0}}}"#);
        talk.answer(&json!(1));
        talk.send(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"echo","arguments":{"message":"hi"}}}"#,
        );
        let answer = talk.answer(&json!(2));
        assert_eq!(answer["result"]["content"][0]["text"], "Echo: hi");
    });
}

/// Gemini CLI offers roots and requests the tools three times.
#[test]
fn gemini_cli_opening_works() {
    same_both_ways(&Server::everything(), |talk| {
        talk.greet_in("2025-06-18", json!({ "roots": { "listChanged": true } }));
        let lists: Vec<Value> = (0..3).map(|_| talk.ask("tools/list", json!({}))).collect();
        lists.iter().for_each(|list| drop(talk.answer(list)));
        talk.request("prompts/list", json!({}));
        talk.told("roots/list");
        talk.told("notifications/message");
    });
}

/// A client that does not wait for the answer to `initialize`.
#[test]
fn hasty_opening_works() {
    let all = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hasty","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}"#,
    );
    same_both_ways(&Server::everything(), |talk| {
        talk.send(all);
        talk.answer(&json!(3));
    });
}
