//! Tokens between releases: a window of a release without tokens does not make its client the owner. A daemon of
//! such a release is refused by the window: `fronts/local/hello.rs` tests that.

use super::token::create;
use crate::daemon::house::House;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use switchboard_testkit::client::initialize_params;

/// A window that does not know tokens sends the variable with its environment.
#[test]
fn window_without_tokens_is_no_owner() {
    let house = House::new();
    let token = create(&house, &["ci"]);
    let _owner = house.open("home");
    let attach = |env: Value| {
        let mut socket = UnixStream::connect(house.socket()).unwrap();
        let newcomer = json!({ "server": "fake", "env": env, "working_folder": house.path("home") });
        let hello = json!({ "protocol": 1, "version": "0.1.0", "wants": { "client": newcomer } });
        writeln!(socket, "{hello}").unwrap();
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let mut line = |socket: &mut UnixStream, said: Option<Value>| -> Value {
            if let Some(said) = said {
                writeln!(socket, "{said}").unwrap();
            }
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
        };
        assert!(line(&mut socket, None)["error"].is_null());
        let initialize =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params() });
        let answer = line(&mut socket, Some(initialize));
        let clients = house.status()["daemons"][0]["clients"].clone();
        let last = clients.as_array().unwrap().last().unwrap()["identity"].clone();
        (answer["error"]["data"]["kind"].clone(), last)
    };
    assert_eq!(attach(json!([["SWITCHBOARD_TOKEN", token]])), (json!(null), json!("ci")));
    assert_eq!(attach(json!([["SWITCHBOARD_TOKEN", "swb_wrong"]])), (json!("unauthorized"), json!(null)));
    assert_eq!(attach(json!([["SWITCHBOARD_TOKEN", ""]])), (json!(null), json!("owner")));
}
