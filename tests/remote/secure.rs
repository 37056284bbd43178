//! Remote servers over TLS, end to end: a client, the gateway, HTTPS, another Switchboard, and its server on
//! stdio.

use super::{far, finish};
use crate::daemon::house::House;
use crate::http::doors::certificate;
use crate::http::served::{Served, token};
use crate::support::{error, text};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use switchboard_testkit::client::{Start, initialize_params};
use switchboard_testkit::patience;

/// Another Switchboard, with a certificate for `localhost`.
struct Other {
    served: Served,
    cert: PathBuf,
}

impl Other {
    fn new() -> Self {
        let house = House::new();
        let (cert, key) = certificate(&house.path("home"));
        let flags = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
        Self { served: Served::start(house, &flags), cert }
    }

    /// A client whose server is the other one at this port.
    fn client(&self, port: u16) -> Start {
        let url = format!("https://localhost:{port}/servers/fake/mcp");
        far(&url, json!({})).env("FAR_TOKEN", token(&self.served.house))
    }
}

/// A proxy that records the bytes that it forwards.
struct Between {
    port: u16,
    connections: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Between {
    fn start(to: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let all = connections.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { continue };
                let number = {
                    let mut all = all.lock().unwrap();
                    all.push(Vec::new());
                    all.len() - 1
                };
                let (all, back) = (all.clone(), (far.try_clone().unwrap(), near.try_clone().unwrap()));
                thread::spawn(move || pass(near, far, |bytes| all.lock().unwrap()[number].extend(bytes)));
                thread::spawn(move || pass(back.0, back.1, |_| {}));
            }
        });
        Self { port, connections }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        note(&bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// HTTP/1.1 would need a connection for the stream, and one for each open call.
#[test]
fn calls_and_stream_share_one_connection() {
    let other = Other::new();
    let between = Between::start(other.served.web.port());
    let mut client = other.client(between.port).env("SSL_CERT_FILE", &other.cert).start();
    client.initialize();
    let calls: Vec<u64> = (0..8).map(|label| client.start_call("hold", json!({ "label": label }))).collect();
    let lines = || other.served.record().all_lines();
    let held = || lines().iter().filter(|line| line.contains("\"hold\"")).count();
    patience::until_true("all of them are in work", || held() == calls.len());
    assert_eq!(text(&client.call("echo", json!({ "is": "plain to see" }))), r#"{"is":"plain to see"}"#);
    client.call("release", json!({}));
    for (label, call) in calls.into_iter().enumerate() {
        assert_eq!(client.answer(call)["result"]["label"], label);
    }
    finish(client);
    let connections = between.connections.lock().unwrap();
    assert_eq!(connections.len(), 1, "it is HTTP/2");
    let said = String::from_utf8_lossy(&connections[0]);
    assert!(said.len() > 1000 && !said.contains("plain to see") && !said.contains("tools/call"));
}

#[test]
fn untrusted_certificate_is_refused() {
    let other = Other::new();
    let mut client = other.client(other.served.web.port()).start();
    let heard = client.request("initialize", initialize_params());
    let told = error(&heard, -32001, "backend_spawn_failed");
    assert!(told["message"].as_str().unwrap().contains("certificate"), "{told}");
    assert!(told["data"]["hint"].as_str().unwrap().contains("SSL_CERT_FILE"), "{told}");
    assert_eq!(told["data"]["retryable"], false);
    finish(client);
}
