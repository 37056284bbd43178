//! Health and readiness.

use super::served::Served;
use crate::support::fake_backend;
use serde_json::{Value, json};
use switchboard_testkit::http::Talk;
use switchboard_testkit::patience;
use switchboard_testkit::record::Record;
use switchboard_testkit::scratch::Scratch;

fn ready(served: &Served) -> (u16, Value) {
    let mut reply = served.web.get("/readyz").send();
    (reply.status, reply.json())
}

/// A client of all servers, which needs each of them.
#[track_caller]
fn guest(served: &Served) -> Talk {
    let talk = Talk::open(&served.web, "/mcp");
    talk.request("tools/list", json!({}));
    talk
}

#[test]
fn healthz_and_readyz_answer_ok() {
    let served = Served::new();
    let mut reply = served.web.without("Authorization").get("/healthz").send();
    assert_eq!((reply.status, reply.json()), (200, json!({ "status": "ok" })));
    assert_eq!(ready(&served).0, 200, "nobody has needed a server yet");
    served.open();
    assert_eq!(ready(&served).0, 200);
    assert_eq!(served.web.post("/healthz", "").send().status, 405);
}

#[test]
fn not_ready_when_all_servers_fail() {
    let served = Served::with(json!({}), json!({}), &["--exit-at-start", "3"]);
    let _guest = guest(&served);
    patience::until_true("it is not ready", || ready(&served).0 == 503);
    assert_eq!(ready(&served).1["failing"], json!(["fake"]));
    assert_eq!(served.web.get("/healthz").send().status, 200, "it lives all the same");
}

#[test]
fn not_ready_when_a_required_server_fails() {
    for (is_required, code) in [(true, 503), (false, 200)] {
        let scratch = Scratch::new();
        let entry =
            |name: &str| json!({ "command": fake_backend(), "args": ["--record", scratch.folder(name)] });
        let mut bad = entry("bad");
        bad["args"].as_array_mut().unwrap().extend([json!("--exit-at-start"), json!("3")]);
        bad["required"] = json!(is_required);
        let served =
            Served::with(json!({ "mcpServers": { "good": entry("good"), "bad": bad } }), json!({}), &[]);
        Talk::open(&served.web, "/servers/good/mcp");
        assert_eq!(ready(&served).0, if is_required { 503 } else { 200 }, "only who is required is asked");
        let _guest = guest(&served);
        patience::until_true("it is seen to fail", || ready(&served).1["failing"] == json!(["bad"]));
        assert_eq!(ready(&served).0, code);
    }
}

/// A working server, and a required one with these extra keys.
fn with_required(scratch: &Scratch, more: Value) -> Served {
    let entry = |name: &str| json!({ "command": fake_backend(), "args": ["--record", scratch.folder(name)] });
    let mut wanted = entry("wanted");
    wanted["required"] = json!(true);
    wanted.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Served::with(json!({ "mcpServers": { "other": entry("other"), "wanted": wanted } }), json!({}), &[])
}

fn instances(served: &Served, name: &str) -> usize {
    let status = served.house.status();
    let server = status["daemons"][0]["servers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|server| server["name"] == name)
        .unwrap();
    server["instances"].as_array().unwrap().len()
}

/// A gateway that is not ready gets no clients, so required servers are started without one.
#[test]
fn required_server_is_started_unasked() {
    let scratch = Scratch::new();
    let served = with_required(&scratch, json!({}));
    let (status, said) = ready(&served);
    assert_eq!(
        (status, &said["starting"], &said["failing"]),
        (503, &json!(["wanted"]), &json!([])),
        "{said}"
    );
    patience::until_true("it has answered", || ready(&served).0 == 200);
    patience::until_true("our visitor leaves", || instances(&served, "wanted") == 0);
    assert_eq!(ready(&served).0, 200);
    let record = |name: &str| Record::in_folder(scratch.join(name));
    assert_eq!((record("wanted").launches(), record("other").launches()), (1, 0), "asked once, and only it");
}

#[test]
fn failure_outlives_its_last_client() {
    let scratch = Scratch::new();
    let served = with_required(&scratch, json!({ "command": "/no/such/program" }));
    let guest = guest(&served);
    patience::until_true("it is seen to fail", || ready(&served).1["failing"] == json!(["wanted"]));
    assert_eq!(guest.end(), 200);
    patience::until_true("nothing is left of it", || instances(&served, "wanted") == 0);
    let (status, said) = ready(&served);
    assert_eq!((status, &said["failing"]), (503, &json!(["wanted"])), "{said}");
}

/// A gateway that is not ready gets no clients, so it retries on its own.
#[test]
fn recovered_server_makes_gateway_ready() {
    let scratch = Scratch::new();
    let program = scratch.join("late");
    let served = with_required(&scratch, json!({ "command": program }));
    patience::until_true("it is seen to fail", || ready(&served).1["failing"] == json!(["wanted"]));
    std::os::unix::fs::symlink(fake_backend(), &program).unwrap();
    patience::until_true("it is asked again", || ready(&served).0 == 200);
}

#[test]
fn server_that_needs_a_root_is_not_probed() {
    let scratch = Scratch::new();
    let served = with_required(&scratch, json!({ "cwd": "${root}", "fallback": "off" }));
    assert_eq!(ready(&served).0, 503);
    patience::until_true("it is known", || ready(&served).0 == 200);
    assert_eq!(Record::in_folder(scratch.join("wanted")).launches(), 0);
}

/// The result from before the change no longer counts.
#[test]
fn changed_entry_is_probed_again() {
    let scratch = Scratch::new();
    let served = with_required(&scratch, json!({ "command": "/no/such/program" }));
    patience::until_true("it is seen to fail", || ready(&served).1["failing"] == json!(["wanted"]));
    let path = served.house.config();
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, text.replace("/no/such/program", &fake_backend().display().to_string())).unwrap();
    served.house.say(&["reload"]);
    assert_eq!(ready(&served).1["failing"], json!([]));
    patience::until_true("it is ready", || ready(&served).0 == 200);
}
