//! Connections that are cut at every point of a call. A call that may have been executed is never sent again.

use super::{finish, greeted};
use crate::support::{error, text};
use serde_json::{Value, json};
use switchboard_testkit::client::Client;
use switchboard_testkit::web::{Seen, Web, Wire, answer, mcp};

const UNKNOWN: &str = "whether this request took effect is unknown; it was not sent a second time";

fn done(seen: &Seen) -> Value {
    answer(seen, &json!({ "content": [{ "type": "text", "text": "done" }] }))
}

fn note() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "error", "data": "n" } })
}

/// A server whose answer to the tool `odd` is made by `odd`.
fn web(odd: impl Fn(&Seen, &mut Wire<'_>) + Send + Sync + 'static) -> Web {
    Web::start(move |seen, wire| match seen.what() {
        "tools/call" if seen.tool() == "odd" => odd(seen, wire),
        "GET" if seen.header("last-event-id").is_some() => odd(seen, wire),
        _ => mcp(seen, wire, "s-1"),
    })
}

/// Checks that the call fails with this message, was sent once, and that the next one works.
#[track_caller]
fn check_lost(web: &Web, part: &str) {
    let mut client = greeted(web);
    let heard = client.call("odd", json!({}));
    let told = error(&heard, -32002, "backend_unavailable");
    assert!(told["message"].as_str().unwrap().contains(part), "{told}");
    assert_eq!(told["data"]["hint"], UNKNOWN);
    assert_eq!(web.count("tools/call"), 1);
    works(&mut client);
    finish(client);
}

#[track_caller]
fn works(client: &mut Client) {
    assert_eq!(text(&client.call("one", json!({}))), "one in s-1");
}

#[test]
fn cut_before_headers_is_an_error() {
    check_lost(&web(|_, wire| wire.cut()), "was lost before the answer arrived");
}

#[test]
fn cut_within_headers_is_an_error() {
    let web = web(|_, wire| {
        wire.write("HTTP/1.1 200 OK\r\ncontent-ty");
        wire.cut();
    });
    check_lost(&web, "was lost before the answer arrived");
}

#[test]
fn cut_within_a_body_is_an_error() {
    let web = web(|seen, wire| {
        let body = done(seen).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        wire.write(head);
        wire.write(&body[..body.len() / 2]);
        wire.cut();
    });
    check_lost(&web, "was lost before the answer arrived");
}

#[test]
fn cut_of_unresumable_stream_is_an_error() {
    let web = web(|seen, wire| {
        wire.begin_events(&[]);
        wire.event(None, &note());
        let event = format!("data: {}", done(seen));
        wire.chunk(&event[..event.len() - 9]);
        wire.cut();
    });
    check_lost(&web, "was lost before the answer arrived");
}

#[test]
fn stream_end_without_answer_is_an_error() {
    let web = web(|_, wire| {
        wire.begin_events(&[]);
        wire.event(None, &note());
        wire.end_events();
    });
    check_lost(&web, "the server ended the stream");
}

#[test]
fn refused_resume_is_an_error() {
    let web = web(|seen, wire| match seen.what() {
        "GET" => wire.reply(405, &[], ""),
        _ => {
            wire.begin_events(&[]);
            wire.chunk("id: e-1\nretry: 10\ndata:\n\n");
            wire.chunk("id: e-2\ndata: {\"jsonrpc\"");
            wire.cut();
        }
    });
    check_lost(&web, "could not be resumed");
}

#[test]
fn resumable_stream_is_read_to_its_end() {
    // Cuts: after the first event, within a second one, at the resume request, and with nothing new.
    let web = web(|seen, wire| match (seen.what(), seen.header("last-event-id")) {
        ("tools/call", _) => {
            wire.begin_events(&[]);
            wire.chunk("id: e-1\nretry: 10\ndata:\n\n");
            wire.cut();
        }
        (_, Some("e-1")) => {
            wire.begin_events(&[]);
            wire.event(Some("e-2"), &note());
            wire.chunk("id: e-3\ndata: {\"jsonrpc\"");
            wire.cut();
        }
        _ if seen.before < 3 => wire.cut(),
        _ if seen.before < 4 => {
            wire.begin_events(&[]);
            wire.end_events();
        }
        _ => {
            wire.begin_events(&[]);
            // Stands for the cut answer: minted ids are numbers that grow.
            wire.event(Some("e-4"), &note());
            wire.cut();
        }
    });
    let mut client = greeted(&web);
    let id = client.start_call("odd", json!({}));
    client.told("notifications/message");
    client.told("notifications/message");
    let asked: Vec<Option<String>> = web
        .seen()
        .iter()
        .filter(|seen| seen.what() == "GET")
        .filter_map(|seen| Some(seen.header("last-event-id").map(str::to_owned)).filter(Option::is_some))
        .collect();
    assert_eq!(asked[0].as_deref(), Some("e-1"));
    assert!(asked[1..].iter().all(|last| matches!(last.as_deref(), Some("e-2" | "e-4"))), "{asked:?}");
    assert_eq!(web.count("tools/call"), 1);
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    finish(client);
}

#[test]
fn answer_after_resuming_counts() {
    let minted = std::sync::Mutex::new(Value::Null);
    let web = web(move |seen, wire| match seen.what() {
        "GET" => {
            wire.begin_events(&[]);
            let result = json!({ "content": [{ "type": "text", "text": "done" }] });
            let answer = json!({ "jsonrpc": "2.0", "id": *minted.lock().unwrap(), "result": result });
            wire.event(Some("e-2"), &answer);
            wire.end_events();
        }
        _ => {
            *minted.lock().unwrap() = seen.body["id"].clone();
            wire.begin_events(&[]);
            wire.chunk("id: e-1\nretry: 10\ndata:\n\n");
            wire.end_events();
        }
    });
    let mut client = greeted(&web);
    assert_eq!(text(&client.call("odd", json!({}))), "done");
    assert_eq!(web.count("tools/call"), 1);
    works(&mut client);
    finish(client);
}

#[test]
fn cut_after_the_answer_loses_nothing() {
    let web = web(|seen, wire| {
        wire.begin_events(&[]);
        wire.event(None, &note());
        wire.event(None, &done(seen));
        wire.cut();
    });
    let mut client = greeted(&web);
    assert_eq!(text(&client.call("odd", json!({}))), "done");
    client.told("notifications/message");
    works(&mut client);
    finish(client);
}

#[test]
fn cut_list_is_requested_once_more() {
    let web = Web::start(|seen, wire| match (seen.what(), seen.before) {
        ("tools/list", 0) => wire.cut(),
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    let list = client.request("tools/list", json!({}));
    assert_eq!(list["result"]["tools"][1]["name"], "two");
    assert_eq!(web.count("tools/list"), 2);
    finish(client);
}

#[test]
fn list_that_is_always_cut_fails() {
    let web = Web::start(|seen, wire| match seen.what() {
        "tools/list" => wire.cut(),
        _ => mcp(seen, wire, "s-1"),
    });
    let mut client = greeted(&web);
    let list = client.request("tools/list", json!({}));
    error(&list, -32002, "backend_unavailable");
    assert_eq!(web.count("tools/list"), 2);
    finish(client);
}
