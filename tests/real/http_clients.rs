//! The official clients over HTTP see a server at its own path as they see it directly, even when a network
//! in between cuts every stream after its first event.

use super::peers::{Link, Server, driver};
use super::sdk_clients::{check_everything, printed, python_program};
use crate::daemon::house::House;
use crate::http::served::{Served, token};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Transport of the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Streamable,
    Events,
}

fn typescript(flavour: &str) -> [OsString; 3] {
    ["node".into(), driver("typescript.mjs").into(), flavour.into()]
}

fn serve(server: &Server, mut file: Value) -> Served {
    let words: Vec<String> =
        server.command(Link::Direct).iter().map(|word| word.to_string_lossy().into_owned()).collect();
    file["mcpServers"]["everything"] = json!({ "command": words[0], "args": words[1..] });
    Served::start(House::with(file, json!({}), &[]), &[])
}

/// Output of a program for a server at this port, alone or as one of several.
#[track_caller]
fn through(
    server: &Server,
    program: &[OsString],
    served: &Served,
    port: u16,
    door: Door,
    is_alone: bool,
) -> String {
    let (transport, end) = match door {
        Door::Streamable => ("http", "mcp"),
        Door::Events => ("sse", "sse"),
    };
    let path = if is_alone { format!("servers/everything/{end}") } else { end.to_owned() };
    let mut words = program.to_vec();
    words.extend(
        [format!("http://127.0.0.1:{port}/{path}"), transport.to_owned(), token(&served.house)]
            .map(OsString::from),
    );
    if !is_alone {
        words.push("everything__".into());
    }
    printed(server, words)
}

fn steps(printed: &str) -> Vec<Value> {
    printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[track_caller]
fn check(program: &[OsString], doors: &[Door]) {
    check_with(program, doors, json!({}));
}

/// The same with these keys of the config file.
#[track_caller]
fn check_with(program: &[OsString], doors: &[Door], file: Value) {
    let server = Server::everything();
    let directly = printed(&server, [program.to_vec(), server.command(Link::Direct)].concat());
    for &door in doors {
        let served = serve(&server, file.clone());
        let alone = through(&server, program, &served, served.web.port(), door, true);
        for (alone, directly) in alone.lines().zip(directly.lines()) {
            assert_eq!(alone, directly, "through us (left), directly (right)");
        }
        assert_eq!(alone.lines().count(), directly.lines().count());
        drop(served);
        let served = serve(&server, file.clone());
        check_everything(&steps(&through(&server, program, &served, served.web.port(), door, false)));
    }
}

/// Every stream that answers a POST is cut after its first event; the client resumes for the rest.
#[track_caller]
fn check_cut(program: &[OsString]) {
    let server = Server::everything();
    let served = serve(&server, json!({}));
    let network = BadNetwork::to(SocketAddr::from(([127, 0, 0, 1], served.web.port())));
    check_everything(&steps(&through(&server, program, &served, network.port, Door::Streamable, true)));
    assert!(network.cuts.load(Ordering::Relaxed) > 0, "nothing was cut");
}

#[test]
fn typescript_1_works_over_http() {
    check(&typescript("1"), &[Door::Streamable, Door::Events]);
}

#[test]
fn typescript_2_works_over_http() {
    check(&typescript("2-legacy"), &[Door::Streamable, Door::Events]);
}

#[test]
fn python_1_works_over_http() {
    check(&python_program(".venv-1", "session", "everything"), &[Door::Streamable, Door::Events]);
}

#[test]
fn python_2_works_over_http() {
    check(&python_program(".venv", "legacy", "everything"), &[Door::Streamable, Door::Events]);
}

/// Clients that know both eras, where modern requests are turned off.
#[test]
fn typescript_2_falls_back() {
    check_with(&typescript("2-auto"), &[Door::Streamable], json!({ "clientEra": "legacy" }));
}

#[test]
fn python_2_falls_back() {
    let program = python_program(".venv", "auto", "everything");
    check_with(&program, &[Door::Streamable], json!({ "clientEra": "legacy" }));
}

#[test]
fn typescript_1_survives_cut_streams() {
    check_cut(&typescript("1"));
}

#[test]
fn typescript_2_survives_cut_streams() {
    check_cut(&typescript("2-legacy"));
}

#[test]
fn python_2_survives_cut_streams() {
    check_cut(&python_program(".venv", "legacy", "everything"));
}

/// A proxy that cuts the connection after the first event of an answer to a POST.
struct BadNetwork {
    port: u16,
    cuts: Arc<AtomicUsize>,
}

impl BadNetwork {
    fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cuts = Arc::new(AtomicUsize::new(0));
        let counted = cuts.clone();
        // The thread ends with the test's process, connections with their peers.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(target) else { return };
                connect(client, server, counted.clone());
            }
        });
        Self { port, cuts }
    }
}

fn connect(client: TcpStream, server: TcpStream, cuts: Arc<AtomicUsize>) {
    let is_post = Arc::new(AtomicBool::new(false));
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let posted = is_post.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(count @ 1..) = from_client.read(&mut buffer) {
            // One request at a time, each beginning with its own piece.
            if buffer.starts_with(b"POST ") || buffer.starts_with(b"GET ") || buffer.starts_with(b"DELETE ") {
                posted.store(buffer.starts_with(b"POST "), Ordering::Relaxed);
            }
            if to_server.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let (mut from_server, mut to_client) = (server, client);
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        // The stream's bytes so far.
        let mut stream: Option<Vec<u8>> = None;
        while let Ok(count @ 1..) = from_server.read(&mut buffer) {
            let piece = &buffer[..count];
            if piece.starts_with(b"HTTP/1.1 ") {
                let is_stream = has(piece, b"text/event-stream") && is_post.load(Ordering::Relaxed);
                stream = is_stream.then(Vec::new);
            }
            if to_client.write_all(piece).is_err() {
                break;
            }
            if let Some(stream) = &mut stream {
                stream.extend_from_slice(piece);
                if has(stream, b"data: ") && has(stream, b"\n\n") {
                    cuts.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
        let _ = from_server.shutdown(Shutdown::Both);
    });
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
