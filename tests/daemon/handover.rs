//! Handover: the daemon reads and writes a window's own streams, and may be killed at any instruction. Every
//! request gets exactly one answer, no line is torn, no call is repeated, and the window continues.

use super::house::{House, server_of};
use crate::support::fake_ide;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;
use switchboard_testkit::client::{Client, Framing, Start};
use switchboard_testkit::patience;
use switchboard_testkit::pids::{self, Word};

/// Number of clients whose streams a process holds.
fn held_by(pid: u32) -> usize {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().contains("memfd:switchboard")).count()
}

fn open(start: Start) -> Client {
    let mut client = start.start();
    client.initialize();
    client
}

/// Fewer than a window accepts within a minute before it relays messages itself. From then on, a call may be
/// written to a daemon that has just died, and gets an error.
const DEATHS_PER_WINDOW: u64 = 4;

/// Calls in flight at all times, and daemons killed after varying delays.
struct Load {
    /// Bytes of a call's arguments.
    size: usize,
    calls: usize,
    /// Windows, one after the other, each with `DEATHS_PER_WINDOW` deaths.
    windows: u64,
    /// Pause of the client before each read.
    pause: Duration,
}

#[track_caller]
fn check(start: impl Fn(&House) -> Start, load: &Load) {
    for window in 0..load.windows {
        check_window(&start, load, window * DEATHS_PER_WINDOW);
    }
}

/// `before` is the number of deaths in earlier windows.
#[track_caller]
fn check_window(start: impl Fn(&House) -> Start, load: &Load, before: u64) {
    let house = House::new();
    let mut window = open(start(&house));
    assert_eq!(held_by(house.daemon().pid), 1, "it has the window's streams");
    let text = "x".repeat(load.size);
    let mut answers: BTreeMap<u64, usize> = BTreeMap::new();
    let mut outcomes = [0, 0];
    let mut last = 0;
    for round in before..before + DEATHS_PER_WINDOW {
        let daemon = house.daemons();
        for _ in 0..load.calls {
            last = window.start_call("echo", json!({ "label": format!("<{last}>"), "text": text }));
        }
        // The moment varies per round, from before the first read to after the last answer.
        let moment =
            Duration::from_micros(round.wrapping_mul(2_654_435_761) % (400 + 40 * load.size as u64 / 1024));
        std::thread::sleep(moment);
        daemon.iter().for_each(|daemon| daemon.tell(Word::Kill));
        while answers.values().sum::<usize>() < last as usize - 1 {
            std::thread::sleep(load.pause);
            // A torn line is not JSON, so `recv_json` would fail.
            let answer = window.recv_json();
            let Some(id) = answer["id"].as_u64().filter(|_| answer.get("method").is_none()) else { continue };
            *answers.entry(id).or_default() += 1;
            let is_whole = |answer: &Value| {
                answer["result"]["content"][0]["text"].as_str().is_some_and(|said| said.contains(&text))
            };
            match answer.get("error") {
                None => assert!(is_whole(&answer), "half an answer to {id}"),
                Some(error) => assert_eq!(error["data"]["kind"], "backend_unavailable", "{error}"),
            }
            outcomes[usize::from(answer.get("error").is_some())] += 1;
        }
    }
    // The daemon serves the window's streams again.
    let done = window.call("echo", json!({ "label": "the last" }));
    assert!(done.get("result").is_some(), "{done}");
    assert_eq!(held_by(house.daemon().pid), 1, "it has the window's streams");
    assert_eq!(window.unread_bytes(), b"");
    assert!(answers.values().all(|&count| count == 1), "{answers:?}");
    let heard = house.record().all_lines();
    for id in 1..last {
        let label = format!("<{id}>");
        let count = heard.iter().filter(|line| line.contains(&label)).count();
        assert!(count <= 1, "the call {label} happened {count} times");
    }
    assert_eq!(window.stderr_so_far(), "");
    assert_eq!(window.finish().code, Some(0), "{outcomes:?}");
}

#[test]
fn kill_with_small_messages_loses_nothing() {
    check(|house| house.window("a"), &Load { size: 10, calls: 20, windows: 3, pause: Duration::ZERO });
}

#[test]
fn kill_over_sockets_loses_nothing() {
    let load = Load { size: 10, calls: 20, windows: 3, pause: Duration::ZERO };
    check(|house| house.window("a").over_sockets(), &load);
}

#[test]
fn kill_with_large_messages_loses_nothing() {
    check(|house| house.window("a"), &Load { size: 1 << 20, calls: 3, windows: 2, pause: Duration::ZERO });
}

#[test]
fn kill_with_large_messages_over_sockets() {
    let load = Load { size: 1 << 20, calls: 3, windows: 2, pause: Duration::ZERO };
    check(|house| house.window("a").over_sockets(), &load);
}

#[test]
fn kill_under_a_slow_client_loses_nothing() {
    let load = Load { size: 40_000, calls: 10, windows: 2, pause: Duration::from_millis(3) };
    check(|house| house.window("a"), &load);
    check(|house| house.window("a").over_sockets(), &load);
}

/// One daemon reads the first half of the message, the next one the second.
#[test]
fn kill_within_a_message_loses_nothing() {
    for framing in [Framing::Newline, Framing::ContentLength] {
        let house = House::new();
        let mut window = open(house.window("a").framing(framing));
        let body = json!({
            "jsonrpc": "2.0", "id": "half", "method": "tools/call",
            "params": { "name": "echo", "arguments": { "text": "y".repeat(300_000) } },
        });
        let body = body.to_string();
        let whole = match framing {
            Framing::Newline => format!("{body}\n"),
            Framing::ContentLength => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
        };
        let (first, second) = whole.split_at(200_000);
        window.send_bytes(first);
        window.sent();
        let daemon = house.daemon();
        // Asleep: the daemon has read everything in the pipe.
        patience::until_true("it is asleep", || daemon.again().is_none_or(|now| now.is_asleep()));
        daemon.tell(Word::Kill);
        patience::until_true("its end", || !daemon.is_alive());
        window.send_bytes(second);
        let answer = window.answer("half");
        assert!(
            answer["result"]["content"][0]["text"].as_str().unwrap().contains(&"y".repeat(300_000)),
            "{framing:?}"
        );
    }
}

/// The pending `initialize` gets a result, not an error.
#[test]
fn kill_in_the_handshake_loses_nothing() {
    let house = House::with(json!({}), json!({}), &["--hang-on", "initialize", "--faulty", "1"]);
    let mut window = house.window("a").start();
    let params = switchboard_testkit::client::initialize_params();
    let id = window.ask("initialize", params);
    house.record().wait_for(1, "initialize");
    house.daemon().tell(Word::Kill);
    assert!(window.answer(id)["result"]["serverInfo"].is_object());
    window.notify("notifications/initialized", json!({}));
    assert!(window.call("echo", json!({})).get("result").is_some());
}

/// Errors answer batches as batches, and ids in their own spelling.
#[test]
fn errors_keep_ids_and_batches() {
    let house = House::new();
    let mut window = open(house.window("a"));
    let call = |id: &str, label: &str| {
        let params = json!({ "name": "hang", "arguments": { "label": label } });
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    for id in ["7", "\"7\"", "7.0", "7e0"] {
        window.send(call(id, &format!("one {}", id.replace('"', "'"))));
    }
    window.send(format!("[{},{}]", call("8", "two 8"), call("9", "two 9")));
    window.send(call("10", "the last"));
    window.notify("notifications/cancelled", json!({ "requestId": 10 }));
    house.record().wait_for(1, "notifications/cancelled");
    house.daemon().tell(Word::Kill);
    let mut ids = Vec::new();
    for _ in 0..5 {
        let line = window.recv_text();
        if let Some(array) = line.strip_prefix('[') {
            let members: Value = serde_json::from_str(&format!("[{array}")).unwrap();
            let members = members.as_array().unwrap();
            ids.push(members.iter().map(|member| member["id"].to_string()).collect::<Vec<_>>().join("+"));
        } else {
            assert!(line.contains("backend_unavailable"), "{line}");
            let after = line.split_once("\"id\":").unwrap().1;
            ids.push(after.split_once(',').unwrap().0.to_owned());
        }
    }
    ids.sort();
    assert_eq!(ids, ["\"7\"", "7", "7.0", "7e0", "8+9"]);
    assert!(window.call("echo", json!({})).get("result").is_some());
    assert_eq!(window.unread_bytes(), b"", "what was cancelled gets no answer");
}

/// The output ends even when the attachment is killed, since the daemon keeps no copy of the streams.
#[test]
fn streams_end_with_the_attachment() {
    for over_sockets in [false, true] {
        let house = House::new();
        let mut stays = house.open("a");
        let start = house.window("a");
        let mut window = open(if over_sockets { start.over_sockets() } else { start });
        window.start_call("hang", json!({}));
        assert_eq!(held_by(house.daemon().pid), 2);
        window.signal(Word::Kill);
        assert_eq!(window.recv_or_end(), None, "the end");
        patience::until_true("they are let go", || held_by(house.daemon().pid) == 1);
        assert!(stays.call("echo", json!({})).get("result").is_some());
    }
}

/// A client that closes its input still gets its answers.
#[test]
fn answers_follow_the_end_of_input() {
    let house = House::with(json!({ "shutdownGrace": "20s" }), json!({}), &[]);
    let mut window = open(house.window("a"));
    let id = window.start_call("work", json!({ "ms": 300 }));
    window.close_input();
    let answer = window.answer(id);
    assert!(answer.get("result").is_some(), "{answer}");
    let end = window.wait_for_end();
    assert_eq!((end.code, &end.stderr[..]), (Some(0), ""));
}

/// A dead daemon's request to the client is cancelled.
#[test]
fn request_of_a_dead_daemon_is_cancelled() {
    let house = House::new();
    let mut window = house.window("a").start();
    let mut params = switchboard_testkit::client::initialize_params();
    params["capabilities"] = json!({ "sampling": {} });
    window.request("initialize", params);
    window.notify("notifications/initialized", json!({}));
    let request = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}"#;
    window.start_call("ask", json!({ "id": "\"q\"", "request": request }));
    let question = window.told("sampling/createMessage");
    house.daemon().tell(Word::Kill);
    let notice = window.told("notifications/cancelled");
    assert_eq!(notice["params"]["requestId"], question["id"]);
    // The late answer is ignored.
    window.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": {} }).to_string());
    assert!(window.call("echo", json!({})).get("result").is_some());
}

/// A stream that cannot be polled is relayed.
#[test]
fn file_as_stdin_is_not_handed_over() {
    let house = House::new();
    let mut stays = house.open("a");
    let params = switchboard_testkit::client::initialize_params();
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
    ];
    let file = house.path("input");
    fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let mut window = house.window("a").reading_file(&file).start();
    assert!(window.answer(2)["result"]["tools"].is_array());
    assert_eq!(held_by(house.daemon().pid), 1);
    assert_eq!(window.wait_for_end().code, Some(0));
    assert!(stays.call("echo", json!({})).get("result").is_some());
}

#[test]
fn streams_of_ended_windows_are_released() {
    let house = House::new();
    let mut stays = house.open("a");
    let daemon = house.daemon();
    for number in 0..10 {
        let start = house.window("a");
        let mut window = open(if number % 2 == 0 { start.over_sockets() } else { start });
        assert!(window.call("echo", json!({})).get("result").is_some());
        match number % 3 {
            0 => assert_eq!(window.finish().code, Some(0)),
            1 => {
                window.signal(Word::Kill);
                window.wait_for_end();
            }
            _ => {
                window.signal(Word::Terminate);
                assert_eq!(window.wait_for_end().code, Some(0));
            }
        }
    }
    patience::until_true("one window's streams", || held_by(daemon.pid) == 1);
    assert!(server_of(&mut stays) > 0);
}

/// Another process still holds the killed client's ends of the pipes: only the death of the parent shows.
#[test]
fn leaked_pipe_of_a_killed_client_is_freed() {
    let house = House::new();
    let mut stays = house.open("a");
    let folder = house.path("ide");
    fs::create_dir_all(&folder).unwrap();
    let words = vec![folder.clone().into_os_string(), "--leak".into(), "--".into()];
    let ide = house.window("a").behind(fake_ide(), |_| words).start();
    let number = |name: &str| {
        patience::until(name, || fs::read_to_string(folder.join(name)).ok()?.parse::<u32>().ok())
    };
    let (_, attachment, sibling) = (number("greeted"), number("program"), number("sibling"));
    assert_eq!(held_by(house.daemon().pid), 2);
    ide.signal(Word::Kill);
    patience::until_true("the attachment has gone", || !pids::is_alive(attachment));
    patience::until_true("its streams are let go", || held_by(house.daemon().pid) == 1);
    pids::tell(sibling, Word::Kill);
    assert!(stays.call("echo", json!({})).get("result").is_some());
}

/// A permanently hung daemon is killed while it holds the streams. Requests that it had read get an error;
/// the next daemon answers the others.
#[test]
fn hung_daemon_is_killed() {
    let house = House::new();
    let mut window = open(house.window("a"));
    let open = window.start_call("hang", json!({ "label": "read" }));
    house.record().wait_for(1, "hang");
    let daemon = house.daemon();
    daemon.tell(Word::Suspend);
    patience::until_true("it is suspended", || daemon.again().is_some_and(|now| now.is_stopped()));
    let unread = window.start_call("echo", json!({ "label": "not read" }));
    assert_eq!(window.answer(open)["error"]["data"]["kind"], "backend_unavailable");
    assert!(window.answer(unread)["result"].is_object());
    patience::until_true("the old daemon is gone", || !daemon.is_alive());
    assert_eq!(held_by(house.daemon().pid), 1);
}

/// After a death, the client's state is restored with requests of our own, whose ids must not collide with
/// the client's.
#[test]
fn any_id_is_answered_after_a_handover() {
    let house = House::new();
    let mut window = open(house.window("a"));
    window.request("resources/subscribe", json!({ "uri": "memo://x" }));
    for round in 0..2 {
        house.daemon().tell(Word::Kill);
        for number in 0..4 {
            let id = format!("switchboard/again/{number}");
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
            window.send(request.to_string());
            assert!(window.answer(id.as_str()).get("result").is_some(), "{id} in round {round}");
        }
    }
    assert_eq!(window.finish().code, Some(0));
}

/// The window's parent can read and write the shared file while the daemon sends from it.
#[test]
fn shared_file_holds_no_daemon_addresses() {
    use std::os::unix::fs::FileExt;
    /// Offset of the control page, which counts sent bytes.
    const CONTROL: u64 = 1 << 51;
    let house = House::new();
    let mut window = open(house.window("a").over_sockets());
    let done = window.call("echo", json!({ "text": "something" }));
    assert!(done.get("result").is_some(), "{done}");
    let daemon = house.daemon().pid;
    let entries = fs::read_dir(format!("/proc/{daemon}/fd")).unwrap().flatten();
    let is_file = |link: &std::path::PathBuf| link.to_string_lossy().contains("memfd:switchboard");
    let file =
        entries.map(|entry| entry.path()).find(|fd| fs::read_link(fd).is_ok_and(|link| is_file(&link)));
    let mut page = vec![0; 4096];
    fs::File::open(file.unwrap()).unwrap().read_exact_at(&mut page, CONTROL).unwrap();
    assert!(page.iter().any(|byte| *byte != 0), "this is where it is noted");
    let maps = fs::read_to_string(format!("/proc/{daemon}/maps")).unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    for line in maps.lines() {
        let Some((from, to)) = line.split(' ').next().unwrap().split_once('-') else { continue };
        let range = number(from)..number(to);
        let words = page.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
        let found: Vec<u64> = words.filter(|word| range.contains(word)).collect();
        assert!(found.is_empty(), "addresses of the daemon, in {line}: {found:x?}");
    }
    assert_eq!(window.finish().code, Some(0));
}
