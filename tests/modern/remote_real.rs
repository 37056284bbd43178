//! Modern servers of the Python and the TypeScript SDK over HTTP.

use super::{ask, call, cancel, send};
use crate::real::elsewhere::{Elsewhere, ModernSdk};
use crate::remote::{far, finish};
use crate::support::text;
use serde_json::json;
use switchboard_testkit::client::Client;

const SDKS: [ModernSdk; 2] = [ModernSdk::Python, ModernSdk::TypeScript];

fn client(server: &Elsewhere) -> Client {
    far(&server.url(), json!({})).start()
}

#[test]
fn sdk_servers_accept_our_headers() {
    for sdk in SDKS {
        let server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        // Before any list: the server refuses the call until its headers are known.
        assert_eq!(
            text(&call(&mut client, 1, "sql", json!({ "region": "süd", "limit": 7 }))),
            "süd 7",
            "{sdk:?}"
        );
        let listed = ask(&mut client, 2, "tools/list", json!({}));
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 4, "{listed}");
        assert_eq!(text(&call(&mut client, 3, "sql", json!({ "region": " x " }))), " x  1", "{sdk:?}");
        let prompt = ask(&mut client, 4, "prompts/get", json!({ "name": "grüßen" }));
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Hallo", "{prompt}");
        let missing = ask(&mut client, 5, "no/such", json!({}));
        assert_eq!(missing["error"]["code"], -32601, "{missing}");
        finish(client);
    }
}

#[test]
fn sdk_progress_arrives() {
    for sdk in SDKS {
        let server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        send(&client, 1, "tools/call", json!({ "name": "work", "arguments": { "steps": 3 } }));
        for step in 1..=3 {
            let told = client.told("notifications/progress");
            assert_eq!(
                (&told["params"]["progressToken"], &told["params"]["message"]),
                (&json!(1), &json!(format!("step {step}")))
            );
        }
        assert_eq!(text(&client.answer(1)), "worked");
        finish(client);
    }
}

#[test]
fn sdk_servers_learn_of_cancellation() {
    for sdk in SDKS {
        let server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        send(&client, 1, "tools/call", json!({ "name": "hang", "arguments": {} }));
        client.told("notifications/progress");
        cancel(&client, 1);
        // Each question is a round trip; the server counts soon after the connection is closed.
        let count = |id| text(&call(&mut client, id, "count", json!({}))).to_owned();
        assert!((2..500).map(count).any(|count| count == "1"), "{sdk:?}");
        finish(client);
    }
}

#[test]
fn sdk_subscription_ends_with_its_server() {
    for sdk in SDKS {
        let mut server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        send(&client, 1, "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
        let told = client.told("notifications/subscriptions/acknowledged");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
        server.end();
        let ended = client.answer(1);
        assert!(ended.get("result").is_some() || ended.get("error").is_some(), "{ended}");
        finish(client);
    }
}
