//! The steps. Each shows one thing that Switchboard does, and fails if it does not.

use super::TIMEOUT;
use super::client::{Client, Reply};
use super::screen::Screen;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::time::Duration;

/// After the first call, so many more.
const CALLS: usize = 100;
/// An answer that comes "at once" is not later.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Tells the story, and adds the pids of the servers to `pids`.
pub(super) async fn tell(screen: &Screen, client: &mut Client, pids: &mut Vec<u32>) -> anyhow::Result<()> {
    handshake(screen, client).await?;
    pids.push(server_pid(client).await?);
    noise(screen, client).await?;
    let restarted = crash(screen, client, pids[1]).await?;
    pids.push(restarted);
    hang(screen, client).await
}

async fn handshake(screen: &Screen, client: &mut Client) -> anyhow::Result<()> {
    screen.step(1, "The IDE sees the server as it is");
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "switchboard-demo", "version": env!("CARGO_PKG_VERSION") },
    });
    let reply = client.ask("initialize", params).await?;
    let took = reply.took;
    let greeting = reply.result()?;
    let (name, version) = (text(&greeting["serverInfo"]["name"])?, text(&greeting["protocolVersion"])?);
    screen.ask("initialize", &format!("{name}, MCP {version}"), Some(took));
    client.notify("notifications/initialized").await?;

    let reply = client.ask("tools/list", json!({})).await?;
    let took = reply.took;
    let tools = reply.result()?;
    let names: Vec<&str> =
        tools["tools"].as_array().into_iter().flatten().flat_map(|t| t["name"].as_str()).collect();
    screen.ask("tools/list", &names.join(", "), Some(took));
    ensure!(
        names == ["echo", "add", "wait", "noise", "crash"],
        "these are not the example server's tools: {names:?}"
    );

    let took = add(client).await?;
    screen.ask("add 19 + 23", "42", Some(took));
    let mut times = Vec::new();
    for _ in 0..CALLS {
        times.push(add(client).await?);
    }
    times.sort();
    screen.ask(&format!("{CALLS} more calls"), "half of them within", Some(times[CALLS / 2]));
    screen.good("Names, ids and answers arrive as they were sent.");
    Ok(())
}

async fn add(client: &mut Client) -> anyhow::Result<Duration> {
    let reply = client.call("add", json!({ "a": 19, "b": 23 })).await?;
    let took = reply.took;
    let sum = reply.result()?;
    ensure!(sum["structuredContent"]["sum"] == 42, "19 + 23 should be 42: {sum}");
    Ok(took)
}

async fn noise(screen: &Screen, client: &mut Client) -> anyhow::Result<()> {
    screen.step(2, "A server that prints on stdout does not break the connection");
    for (asked, glued) in [("noise", false), ("noise, on one line", true)] {
        // The client fails on any line that is not JSON: that the answer comes is the proof.
        let reply = client.call("noise", json!({ "glued": glued })).await?;
        let took = reply.took;
        said(reply, "stdout").with_context(|| format!("`{asked}`"))?;
        screen.ask(asked, "the answer, and nothing else", Some(took));
    }
    let line = client.log_line("printed something on stdout").await?;
    // Without the time that it begins with.
    screen.quote(line.split_once(' ').map_or(&*line, |(_, rest)| rest));
    screen.good(
        "The IDE, which expects JSON and nothing else, never saw it; the log has it, with the server's name.",
    );
    Ok(())
}

/// Gives the pid of the new process.
async fn crash(screen: &Screen, client: &mut Client, old: u32) -> anyhow::Result<u32> {
    screen.step(3, "A server that dies in the middle of a call is replaced");
    let reply = client.call("crash", json!({})).await?;
    let took = reply.took;
    refused(screen, "crash", reply, -32002, "backend_unavailable")?;
    ensure!(took < AT_ONCE, "the error should come at once, not after {took:?}");
    let reply = client.call("echo", json!({ "text": "are you there?" })).await?;
    let took = reply.took;
    said(reply, "are you there?")?;
    screen.ask("echo", "are you there?", Some(took));
    let new = server_pid(client).await?;
    ensure!(new != old, "the process should be a new one");
    screen.good(&format!(
        "The IDE is told at once and why, instead of waiting; the next call finds a new process (pid {old} became \
         {new}), which has heard the handshake again."
    ));
    Ok(new)
}

async fn hang(screen: &Screen, client: &mut Client) -> anyhow::Result<()> {
    screen.step(4, "A call that hangs gets an answer");
    let reply = client.call("wait", json!({ "seconds": 60 })).await?;
    let took = reply.took;
    refused(screen, "wait 60 s", reply, -32003, "backend_timeout")?;
    ensure!(took < 2 * AT_ONCE, "the error should come after {TIMEOUT}, not after {took:?}");
    let reply = client.call("echo", json!({ "text": "and now?" })).await?;
    let took = reply.took;
    said(reply, "and now?")?;
    screen.ask("echo", "and now?", Some(took));
    screen.good(&format!(
        "Every request has a deadline (here {TIMEOUT}, by default 10 minutes for a call, longer while there is \
         progress); the server is told to stop."
    ));
    Ok(())
}

/// Shows an error of the gateway's, which must be this one.
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

/// The text of a tool's answer must hold this.
fn said(reply: Reply, expected: &str) -> anyhow::Result<()> {
    let result = reply.result()?;
    ensure!(text(&result["content"][0]["text"])?.contains(expected), "this answer is not the one: {result}");
    Ok(())
}

async fn server_pid(client: &mut Client) -> anyhow::Result<u32> {
    let result = client.ask("resources/read", json!({ "uri": "example://status" })).await?.result()?;
    let status: Value = serde_json::from_str(text(&result["contents"][0]["text"])?)?;
    let pid = status["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    pid.context("the example server did not tell its pid")
}

fn text(value: &Value) -> anyhow::Result<&str> {
    value.as_str().with_context(|| format!("a text was expected, not {value}"))
}
