//! Garbage, floods and clients that stop reading do not affect other clients. Other users are refused.

use super::house::{House, server_of};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use switchboard_testkit::patience;
use switchboard_testkit::pids;

fn hello(wants: &Value) -> String {
    format!("{}\n", json!({ "protocol": 1, "version": "0.0.1", "wants": wants }))
}

/// First message of an attachment.
fn client() -> Value {
    let nobody = json!({ "server": "fake", "working_folder": null, "pinned": null, "given": [], "default": null, "env": [] });
    json!({ "client": nobody })
}

/// First reply of the daemon to these bytes; none if it hangs up.
fn said_to(socket: &Path, words: &[u8]) -> Option<Value> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = stream.write_all(words);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut line = String::new();
    let _ = BufReader::new(stream).read_line(&mut line);
    serde_json::from_str(&line).ok()
}

fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

#[test]
fn garbage_harms_nobody() {
    let house = House::new();
    let mut window = house.open("a");
    let (server, daemon, socket) = (server_of(&mut window), house.daemon(), house.socket());
    let noise: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let with_line: Vec<u8> = [&noise[..], b"\n"].concat();
    let twice = format!("{}{}", hello(&json!("status")), hello(&json!("status")));
    for words in [
        &b""[..],
        b"\n",
        b"{}\n",
        b"null\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\0\0\0\0",
        &noise,
        &with_line,
        twice.as_bytes(),
    ] {
        assert_eq!(
            said_to(&socket, words),
            None,
            "{:?}",
            String::from_utf8_lossy(&words[..words.len().min(60)])
        );
    }
    // Well-formed requests with unknown content get an error.
    for wants in [json!("nonsense"), json!({ "order": { "order": "start" } })] {
        let answer = said_to(&socket, hello(&wants).as_bytes()).unwrap();
        assert!(answer["error"].as_str().unwrap().contains("does not understand"), "{answer}");
    }
    // Requests of a future version are understood, whatever members they add.
    let other =
        |wants| json!({ "protocol": 99, "version": "0.0.1", "wants": wants, "more": 1 }).to_string() + "\n";
    let answer = said_to(&socket, other(json!("status")).as_bytes()).unwrap();
    assert!(answer["result"]["status"].is_object(), "{answer}");
    let newcomer = json!({ "client": { "server": "nobody" } });
    let answer = said_to(&socket, other(newcomer).as_bytes()).unwrap();
    assert!(answer["error"].as_str().unwrap().contains("another protocol version"), "{answer}");
    let stranger = json!({ "client": { "server": "nobody", "given": [], "env": [] } });
    let answer = said_to(&socket, hello(&stranger).as_bytes()).unwrap();
    assert!(answer["error"].as_str().unwrap().contains("no server `nobody`"), "{answer}");
    let answer = said_to(&socket, hello(&json!("retire")).as_bytes()).unwrap();
    assert!(answer["error"].as_str().unwrap().contains("only to a newer version"), "{answer}");
    // A valid hello, followed by garbage.
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(hello(&client()).as_bytes()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    stream.write_all(&with_line).unwrap();
    drop(stream);
    assert_eq!(server_of(&mut window), server);
    assert_eq!(house.daemon().pid, daemon.pid);
}

#[test]
fn endless_first_line_is_not_buffered() {
    let house = House::new();
    let mut window = house.open("a");
    let (server, daemon) = (server_of(&mut window), house.daemon());
    let before = pids::memory(daemon.pid).unwrap();
    let mut stream = UnixStream::connect(house.socket()).unwrap();
    let block = vec![b'x'; 1 << 20];
    let sent = (0..100).take_while(|_| stream.write_all(&block).is_ok()).count();
    assert!(sent < 100, "it hung up long before");
    assert_eq!(server_of(&mut window), server);
    let grown = pids::memory(daemon.pid).unwrap().saturating_sub(before);
    assert!(grown < 24 << 20, "{grown} bytes more");
    assert_eq!(house.daemon().pid, daemon.pid);
}

#[test]
fn silent_connections_are_closed() {
    let house = House::new();
    let mut window = house.open("a");
    let mut silent: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(house.socket()).unwrap()).collect();
    let since = Instant::now();
    for _ in 0..20 {
        assert!(window.call("echo", json!({})).get("result").is_some());
    }
    assert!(since.elapsed() < Duration::from_secs(5), "nobody waits for them");
    for stream in &mut silent {
        stream.set_read_timeout(Some(patience::LIMIT)).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn attachments_give_back_their_descriptors() {
    let house = House::new();
    let mut window = house.open("a");
    let (server, daemon, socket) = (server_of(&mut window), house.daemon(), house.socket());
    let before = descriptors(daemon.pid);
    let attachments: Vec<UnixStream> = (0..500)
        .map(|number| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.set_read_timeout(Some(patience::LIMIT)).unwrap();
            stream.write_all(hello(&client()).as_bytes()).unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let reply: Value =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("number {number}: {line:?}"));
            assert_eq!(reply.get("error"), None, "{reply}");
            stream
        })
        .collect();
    assert_eq!(house.status()["daemons"][0]["clients"].as_array().unwrap().len(), 501);
    let held = descriptors(daemon.pid) - before;
    assert!(held < 510, "one each, so that the usual limit of 1024 is enough: {held}");
    assert_eq!(server_of(&mut window), server);
    // All send at once, and each gets its answer.
    for stream in &attachments {
        (&*stream).write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}\n").unwrap();
    }
    for stream in &attachments {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], 1, "{line}");
    }
    drop(attachments);
    patience::until_true(format_args!("{before} descriptors again"), || {
        descriptors(daemon.pid) <= before + 1
    });
    patience::until_true("one client", || {
        house.status()["daemons"][0]["clients"].as_array().unwrap().len() == 1
    });
    assert_eq!(server_of(&mut window), server);
}

/// The client sends requests without end and reads no answer.
#[test]
fn flooding_client_harms_only_itself() {
    let house = House::with(json!({}), json!({ "maxInFlight": 64 }), &[]);
    let mut window = house.open("a");
    let daemon = house.daemon();
    let flooding = house.window("a").not_reading().start();
    let params = switchboard_testkit::client::initialize_params();
    flooding.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string());
    flooding.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let text = "x".repeat(2000);
    for id in 1..=50_000 {
        let params = json!({ "name": "echo", "arguments": { "text": text } });
        flooding.send(
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string(),
        );
    }
    let mut worst = Duration::ZERO;
    for n in 0..200 {
        let since = Instant::now();
        let answer = window.call("echo", json!({ "n": n }));
        assert!(answer.get("result").is_some(), "{answer}");
        worst = worst.max(since.elapsed());
    }
    assert!(worst < Duration::from_secs(5), "{worst:?}");
    let held = pids::memory(daemon.pid).unwrap();
    assert!(held < 400 << 20, "{held} bytes");
    assert_eq!(house.daemon().pid, daemon.pid);
}

/// The folder's permissions keep other users out; where they do not, the daemon does.
#[test]
fn other_users_are_refused() {
    const NOBODY: u32 = 54321;
    if fs::metadata("/proc/self").map(|meta| std::os::unix::fs::MetadataExt::uid(&meta)).unwrap() != 0 {
        return;
    }
    let house = House::new();
    let mut window = house.open("a");
    let socket = house.socket();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(socket.parent().unwrap()), mode(&socket)), (0o700, 0o600));
    let as_nobody = |socket: &Path| {
        let socket = socket.to_owned();
        let thread = std::thread::spawn(move || {
            let uid = rustix::thread::Uid::from_raw(NOBODY);
            // Changes this thread only.
            rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            let mut stream = UnixStream::connect(&socket)?;
            let _ = stream.write_all(hello(&json!("status")).as_bytes());
            let mut answer = String::new();
            // The connection may be reset in the middle of the write.
            let _ = stream.read_to_string(&mut answer);
            Ok::<String, std::io::Error>(answer)
        });
        thread.join().unwrap()
    };
    assert_eq!(as_nobody(&socket).unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    let mut open = socket.as_path();
    while let Some(above) = open.parent().filter(|_| open != house.path("").as_path()) {
        fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
        open = above;
    }
    // The folder of all tests may be closed, too.
    let is_ours = |above: &&Path| above.starts_with(std::env::temp_dir());
    for above in open.ancestors().take_while(is_ours).filter(|above| mode(above) & 0o001 == 0) {
        fs::set_permissions(above, fs::Permissions::from_mode(mode(above) | 0o011)).unwrap();
    }
    assert_eq!(as_nobody(&socket).unwrap(), "", "let in by the folder, and not by us");
    fs::set_permissions(house.path("r"), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(window.call("echo", json!({})).get("result").is_some());
}
