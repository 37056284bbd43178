//! rmcp, the official Rust SDK, as a modern peer that shares no code with us. Tests compare its conversations directly and
//! through us (`tests/real/modern`).
//!
//! - `rmcp_peer serve [modern | legacy] (stdio | PORT)`: offers the same as `tests/real/drivers/modern_server.{py,mjs}`.
//! - `rmcp_peer talk`: runs the same conversations as `tests/real/drivers/modern_client.{py,mjs}`, and prints one line of
//!   JSON per step.
//!
//! # Layout
//! - `client`, `server`: the two roles.
//! - `features`: the features that `features.json` describes.
#![expect(deprecated, reason = "log messages, sampling and roots are to be removed, and are still in use")]
#![expect(clippy::print_stdout, reason = "the steps are the output of this program")]

mod client;
mod features;
mod server;

use serde_json::{Value, json};

/// A value of one of rmcp's types, most of which have no public constructor.
fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is written as the specification has it")
}

/// A result: the other SDKs refuse one without a type.
fn complete<T: serde::de::DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = json!("complete");
    made(value)
}

fn shown(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("it came as JSON")
}

/// Runs a future to completion in its own runtime.
fn run(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future);
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", way] => run(server::serve(None, way)),
        ["serve", only, way] => run(server::serve(Some(only), way)),
        ["talk"] => std::io::stdin().lines().for_each(|line| {
            run(client::talk(client::Job::read(&line.expect("it is text"))));
        }),
        _ => panic!("rmcp_peer (serve [modern | legacy] (stdio | PORT) | talk)"),
    }
}
