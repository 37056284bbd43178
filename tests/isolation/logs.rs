//! Log messages of a server: they go to the only client that has used its process; with several, to those
//! that asked for them.

use super::routes::{on_shared_routes, servers};
use serde_json::json;

const OFFER: &str = r#"{ "capabilities": { "tools": {}, "logging": {}, "resources": { "subscribe": true } },
    "tools": [{ "name": "say" }], "resources": [{ "uri": "x://a", "name": "a" }] }"#;

fn log(data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"error","data":"{data}"}}}}"#
    )
}

#[test]
fn logs_reach_only_their_clients() {
    on_shared_routes(
        || servers(json!({}), OFFER),
        |site| {
            let mut a = site.open();
            site.open_gate();
            let mut b = site.open();
            let custom = r#"{"jsonrpc":"2.0","method":"notifications/custom","params":{"of":"a"}}"#;
            // As the only user, A gets everything.
            a.have_said(&[&log("one"), custom]);
            assert_eq!(a.told("notifications/message")["params"]["data"], "one");
            a.told("notifications/custom");
            // Then B uses the process too. Neither has asked for log messages.
            b.have_said(&[&log("two"), custom]);
            a.have_said(&[&log("three"), custom]);
            let answer = b.request("logging/setLevel", json!({ "level": "debug" }));
            assert!(answer.get("result").is_some(), "{answer}");
            a.have_said(&[&log("four")]);
            assert_eq!(b.told("notifications/message")["params"]["data"], "four", "nothing before it");
            let answer = a.request("logging/setLevel", json!({ "level": "debug" }));
            assert!(answer.get("result").is_some(), "{answer}");
            b.have_said(&[&log("five")]);
            assert_eq!(a.told("notifications/message")["params"]["data"], "five", "nothing before it");
        },
    );
}
