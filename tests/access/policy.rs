//! Another policy: a program that embeds the gateway recognises tokens in its own way.

use super::token::{Place, kind, showing};
use crate::support::fake_backend;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use switchboard_gateway::Principal;
use switchboard_gateway::access::{Authenticator, Identity};
use switchboard_gateway::config;
use switchboard_gateway::runtime::{Policy, serve_client_by};
use switchboard_testkit::scratch::Scratch;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// Knows guests by a word of the day.
#[derive(Debug)]
struct WordOfTheDay(Arc<Identity>);

impl Authenticator for WordOfTheDay {
    fn identify(&self, token: &str) -> Option<Arc<Identity>> {
        (token == "rosebud").then(|| self.0.clone())
    }

    fn is_valid(&self, identity: &Arc<Identity>) -> bool {
        Arc::ptr_eq(identity, &self.0)
    }
}

struct Connection {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    next: u64,
}

impl Connection {
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        loop {
            let mut line = String::new();
            assert!(self.input.read_line(&mut line).await.unwrap() > 0, "the connection ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == self.next {
                return answer;
            }
        }
    }
}

#[test]
fn another_program_recognises_tokens() {
    let scratch = Scratch::new();
    // Without a guard, which would start this test program as its own helper.
    let server =
        json!({ "command": fake_backend(), "args": ["--record", scratch.folder("record")], "guard": "off" });
    let text = json!({ "mcpServers": { "fake": server }, "access": { "stdio": "token" } }).to_string();
    let config = config::load(Path::new("embedded"), &text).config.unwrap();
    let guest = Identity { principal: Principal(7), name: "guest".into(), ..Identity::default() };
    let policy = Policy { authenticator: Some(Arc::new(WordOfTheDay(guest.into()))), ..Policy::default() };
    let state = scratch.folder("state");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, gateway) = tokio::io::duplex(64 << 10);
        let (input, output) = tokio::io::split(gateway);
        let serving =
            tokio::spawn(async move { serve_client_by(policy, config, &state, input, output).await });
        let (input, output) = tokio::io::split(client);
        let mut connection = Connection { input: BufReader::new(input), output, next: 0 };
        let wrong = connection.ask("initialize", showing(Place::Proxy, "xanadu")).await;
        assert_eq!(kind(&wrong), "unauthorized");
        let right = connection.ask("initialize", showing(Place::Proxy, "rosebud")).await;
        assert!(right.get("result").is_some(), "{right}");
        let answer = connection.ask("tools/call", json!({ "name": "fake__echo", "arguments": {} })).await;
        assert_eq!(answer["result"]["content"][0]["text"], "{}");
        connection.output.shutdown().await.unwrap();
        serving.await.unwrap();
    });
}
