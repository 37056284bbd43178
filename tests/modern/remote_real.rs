//! Modern servers of the Python and the TypeScript SDK over HTTP.

use crate::real::elsewhere::{Elsewhere, ModernSdk};
use crate::remote::{far, finish};
use crate::support::text;
use serde_json::json;
use switchboard_testkit::client::Modern;
use switchboard_testkit::patience;

const SDKS: [ModernSdk; 2] = [ModernSdk::Python, ModernSdk::TypeScript];

fn client(server: &Elsewhere) -> Modern {
    Modern::start(far(&server.url(), json!({})))
}

#[test]
fn sdk_servers_accept_our_headers() {
    for sdk in SDKS {
        let server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        // Before any list: the server refuses the call until its headers are known.
        assert_eq!(text(&client.call("sql", json!({ "region": "süd", "limit": 7 }))), "süd 7", "{sdk:?}");
        let listed = client.request("tools/list", json!({}));
        assert!(
            listed["result"]["tools"].as_array().unwrap().iter().any(|it| it["name"] == "sql"),
            "{listed}"
        );
        assert_eq!(text(&client.call("sql", json!({ "region": " x " }))), " x  1", "{sdk:?}");
        let prompt = client.request("prompts/get", json!({ "name": "grüßen" }));
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Hallo", "{prompt}");
        let missing = client.request("no/such", json!({}));
        assert_eq!(missing["error"]["code"], -32601, "{missing}");
        finish(client.into_client());
    }
}

#[test]
fn sdk_progress_arrives() {
    for sdk in SDKS {
        let server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        let meta = json!({ "progressToken": "t" });
        let params = json!({ "name": "work", "arguments": { "steps": 3 }, "_meta": meta });
        let id = client.ask("tools/call", params);
        for step in 1..=3 {
            let told = client.told("notifications/progress");
            assert_eq!(
                (&told["params"]["progressToken"], &told["params"]["message"]),
                (&json!("t"), &json!(format!("step {step}")))
            );
        }
        assert_eq!(text(&client.answer(id)), "worked");
        finish(client.into_client());
    }
}

#[test]
fn sdk_servers_learn_of_cancellation() {
    for sdk in SDKS {
        let server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        let meta = json!({ "progressToken": "t" });
        let id = client.ask("tools/call", json!({ "name": "wait", "arguments": {}, "_meta": meta }));
        client.told("notifications/progress");
        client.cancel(id);
        // The server knows soon after the connection is closed.
        patience::until_true("the server knows", || text(&client.call("was_cancelled", json!({}))) == "yes");
        finish(client.into_client());
    }
}

#[test]
fn sdk_subscription_ends_with_its_server() {
    for sdk in SDKS {
        let mut server = Elsewhere::modern(sdk);
        let mut client = client(&server);
        let (id, agreed) = client.listen(json!({ "toolsListChanged": true }));
        assert_eq!(agreed, json!({ "toolsListChanged": true }));
        server.end();
        let ended = client.answer(id);
        assert!(ended.get("result").is_some() || ended.get("error").is_some(), "{ended}");
        finish(client.into_client());
    }
}
