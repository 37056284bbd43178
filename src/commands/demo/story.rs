//! Steps of the demo. Each shows one feature of Switchboard, and fails if it does not work.

use super::client::{Client, Reply};
use super::sandbox::Sandbox;
use super::screen::Screen;
use super::{CALL_TIMEOUT, Cast};
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::time::Duration;

/// Calls after the first one, whose median time is shown.
const CALLS: usize = 100;

/// Plays all steps but the last, and leaves the windows open. Every process that must end is added to `cast`.
pub(super) async fn tell(screen: &Screen, sandbox: &Sandbox, cast: &mut Cast) -> anyhow::Result<()> {
    let first = open_window(sandbox, cast)?;
    handshake(screen, &mut cast.windows[first]).await?;
    // Asked after the handshake, which has started the daemon.
    let daemon = sandbox.daemon().await?.context("no daemon is running: the window serves itself")?;
    cast.pids.push(daemon);
    let old = server_pid(&mut cast.windows[first]).await?;
    cast.pids.push(old);
    let second = open_window(sandbox, cast)?;
    sharing(screen, &mut cast.windows[second], old).await?;
    let client = &mut cast.windows[first];
    noise(screen, sandbox, client).await?;
    let new = crash(screen, client, old).await?;
    cast.pids.push(new);
    hang(screen, client).await
}

fn open_window(sandbox: &Sandbox, cast: &mut Cast) -> anyhow::Result<usize> {
    let window = sandbox.open_window()?;
    cast.pids.push(window.pid());
    cast.windows.push(window);
    Ok(cast.windows.len() - 1)
}

/// `initialize` and `initialized`.
async fn greet(screen: &Screen, client: &mut Client, asked: &str) -> anyhow::Result<()> {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "switchboard-demo", "version": env!("CARGO_PKG_VERSION") },
    });
    let reply = client.ask("initialize", params).await?;
    let took = reply.took;
    let greeting = reply.result()?;
    let (name, version) = (text(&greeting["serverInfo"]["name"])?, text(&greeting["protocolVersion"])?);
    screen.ask(asked, &format!("{name}, MCP {version}"), Some(took));
    client.notify("notifications/initialized").await
}

async fn handshake(screen: &Screen, client: &mut Client) -> anyhow::Result<()> {
    screen.step(1, "The IDE sees the server as it is");
    greet(screen, client, "initialize").await?;

    let reply = client.ask("tools/list", json!({})).await?;
    let took = reply.took;
    let tools = reply.result()?;
    let names: Vec<&str> =
        tools["tools"].as_array().into_iter().flatten().flat_map(|t| t["name"].as_str()).collect();
    screen.ask("tools/list", &names.join(", "), Some(took));
    ensure!(
        names == ["echo", "add", "wait", "noise", "crash"],
        "expected the example server's tools, got {names:?}"
    );

    let took = add(client).await?;
    screen.ask("add 19 + 23", "42", Some(took));
    let mut times = Vec::new();
    for _ in 0..CALLS {
        times.push(add(client).await?);
    }
    times.sort();
    screen.ask(&format!("{CALLS} more calls"), "median time", Some(times[CALLS / 2]));
    screen.good("Names, ids and answers arrive exactly as they were sent.");
    Ok(())
}

async fn add(client: &mut Client) -> anyhow::Result<Duration> {
    let reply = client.call("add", json!({ "a": 19, "b": 23 })).await?;
    let took = reply.took;
    let sum = reply.result()?;
    ensure!(sum["structuredContent"]["sum"] == 42, "19 + 23 should be 42: {sum}");
    Ok(took)
}

/// `pid` is the first window's server.
async fn sharing(screen: &Screen, client: &mut Client, pid: u32) -> anyhow::Result<()> {
    screen.step(2, "All windows share one server");
    greet(screen, client, "(a second window)").await?;
    let took = add(client).await?;
    screen.ask("add 19 + 23", "42", Some(took));
    let shared = server_pid(client).await?;
    ensure!(shared == pid, "both windows should share the server {pid}, but the second one has {shared}");
    screen.good(&format!(
        "Both windows talk to the same process (pid {pid}): one daemon runs each server once, not once per window."
    ));
    Ok(())
}

async fn noise(screen: &Screen, sandbox: &Sandbox, client: &mut Client) -> anyhow::Result<()> {
    screen.step(3, "A server that prints to stdout does not break the connection");
    for (asked, glued) in [("noise", false), ("noise, on one line", true)] {
        // The client fails on any line that is not JSON, so the answer's arrival is the proof.
        let reply = client.call("noise", json!({ "glued": glued })).await?;
        let took = reply.took;
        said(reply, "stdout").with_context(|| format!("`{asked}`"))?;
        screen.ask(asked, "the answer, and nothing else", Some(took));
    }
    let line = sandbox.log_line("stdout line is not a message").await?;
    // Without the timestamp.
    screen.quote(line.split_once(' ').map_or(&*line, |(_, rest)| rest));
    screen
        .good("The text never reaches the IDE. The log has it (`switchboard logs`), with the server's name.");
    Ok(())
}

/// Returns the pid of the new process.
async fn crash(screen: &Screen, client: &mut Client, old: u32) -> anyhow::Result<u32> {
    screen.step(4, "A server that dies in the middle of a call is replaced");
    let reply = client.call("crash", json!({})).await?;
    refused(screen, "crash", reply, -32002, "backend_unavailable")?;
    let reply = client.call("echo", json!({ "text": "are you there?" })).await?;
    let took = reply.took;
    said(reply, "are you there?")?;
    screen.ask("echo", "are you there?", Some(took));
    let new = server_pid(client).await?;
    ensure!(new != old, "the process should be a new one");
    screen.good(&format!(
        "The call fails at once and says why. The next call gets a new process (pid {old} became {new}), to which the \
         handshake was replayed."
    ));
    Ok(new)
}

async fn hang(screen: &Screen, client: &mut Client) -> anyhow::Result<()> {
    screen.step(5, "A call that hangs gets an answer");
    let reply = client.call("wait", json!({ "seconds": 60 })).await?;
    refused(screen, "wait 60 s", reply, -32003, "backend_timeout")?;
    let reply = client.call("echo", json!({ "text": "and now?" })).await?;
    let took = reply.took;
    said(reply, "and now?")?;
    screen.ask("echo", "and now?", Some(took));
    screen.good(&format!(
        "Every request has a deadline (here {CALL_TIMEOUT}, by default 10 minutes for a call, extended by progress). \
         The server is told to cancel the call."
    ));
    Ok(())
}

/// Shows an error of the gateway, and checks its code and kind.
fn refused(screen: &Screen, asked: &str, reply: Reply, code: i64, kind: &str) -> anyhow::Result<()> {
    let took = reply.took;
    let error = reply.error()?;
    screen.ask(asked, &format!("error {code}, {kind}"), Some(took));
    screen.quote(text(&error["message"])?);
    if let Some(hint) = error["data"]["hint"].as_str() {
        screen.quote(&format!("hint: {hint}"));
    }
    if error["code"] != code || error["data"]["kind"] != kind {
        bail!("`{asked}` should have failed with {code} {kind}, not with {error}");
    }
    Ok(())
}

/// Checks that the text of a tool's answer contains this.
fn said(reply: Reply, expected: &str) -> anyhow::Result<()> {
    let result = reply.result()?;
    ensure!(
        text(&result["content"][0]["text"])?.contains(expected),
        "expected an answer with `{expected}`, got {result}"
    );
    Ok(())
}

async fn server_pid(client: &mut Client) -> anyhow::Result<u32> {
    let result = client.ask("resources/read", json!({ "uri": "example://status" })).await?.result()?;
    let status: Value = serde_json::from_str(text(&result["contents"][0]["text"])?)?;
    let pid = status["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    pid.context("the example server did not give its pid")
}

fn text(value: &Value) -> anyhow::Result<&str> {
    value.as_str().with_context(|| format!("expected a text, got {value}"))
}
