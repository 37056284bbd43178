//! What runs: daemons, clients, servers, and their instances. One screen, also when nothing does.

use super::terminal::{self, Stream, one_line, wrap};
use crate::cli::StatusArgs;
use crate::exit::Exit;
use anyhow::Context;
use serde_json::{Value, json};
use std::fmt::Write;
use switchboard_gateway::Address;
use switchboard_gateway::control::{self, Answer, Request};

pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<Exit> {
    let mut daemons = Vec::new();
    for address in Address::all().context("the daemons cannot be looked for")? {
        let answer = super::on_runtime(control::ask(&address, Request::Status))?;
        match answer {
            Ok(Some(answer)) => daemons.push(seen(&address, answer)),
            // What a dead one left.
            Ok(None) => {}
            Err(error) => daemons.push(json!({ "socket": address.to_string(), "error": error.to_string() })),
        }
    }
    if args.json {
        super::print(&format!("{:#}\n", json!({ "daemons": daemons })))?;
        return Ok(Exit::Ok);
    }
    super::print(&shown(&daemons)?)?;
    Ok(Exit::Ok)
}

fn seen(address: &Address, answer: Answer) -> Value {
    let Answer { pid, version, result } = answer;
    let mut daemon = json!({ "socket": address.to_string(), "pid": pid, "version": version });
    match result {
        Ok(result) => {
            daemon["config"] = result["config"].clone();
            daemon["clients"] = result["status"]["clients"].clone();
            daemon["servers"] = result["status"]["servers"].clone();
            daemon["collisions"] = result["status"]["collisions"].clone();
        }
        Err(error) => daemon["error"] = json!(error),
    }
    daemon
}

fn shown(daemons: &[Value]) -> anyhow::Result<String> {
    let mut text = String::new();
    if daemons.is_empty() {
        writeln!(text, "No daemon runs. `switchboard stdio` starts one when a client comes.")?;
    }
    for daemon in daemons {
        let (pid, version) = (&daemon["pid"], daemon["version"].as_str().unwrap_or("?"));
        writeln!(
            text,
            "Daemon {version}, pid {pid}, {}",
            daemon["config"].as_str().unwrap_or("no config file")
        )?;
        if let Some(error) = daemon["error"].as_str() {
            writeln!(text, "  it does not answer as it should: {error}")?;
            continue;
        }
        show_clients(&mut text, &daemon["clients"])?;
        show_servers(&mut text, &daemon["servers"])?;
        show_collisions(&mut text, &daemon["collisions"])?;
    }
    Ok(text)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn show_clients(text: &mut String, clients: &Value) -> anyhow::Result<()> {
    writeln!(text, "\n  Clients: {}", if list(clients).is_empty() { "none" } else { "" })?;
    for client in list(clients) {
        let name = client["name"].as_str().unwrap_or("(unnamed)");
        let (server, root) =
            (client["server"].as_str().unwrap_or("?"), client["root"].as_str().unwrap_or("-"));
        let age = age(client["seconds"].as_u64().unwrap_or(0));
        writeln!(text, "    {name:<24} {server:<16} {age:>5}  {:>3} open  {root}", client["open"])?;
    }
    Ok(())
}

fn show_servers(text: &mut String, servers: &Value) -> anyhow::Result<()> {
    writeln!(text, "\n  Servers:")?;
    for server in list(servers) {
        let name = server["name"].as_str().unwrap_or("?");
        let instances = list(&server["instances"]);
        let held = if server["isHeld"] == json!(true) { "; stopped by its owner" } else { "" };
        let keeps = server["keeps"].as_str().unwrap_or("?");
        writeln!(
            text,
            "    {name}: {} of at most {}; keeps {keeps}{held}",
            instances.len(),
            server["maxBackends"]
        )?;
        if let (Some(scope), Some(why)) = (server["scope"].as_str(), server["scopeReason"].as_str()) {
            let line = format!("      scope {scope}: {why}");
            writeln!(text, "{}", wrap(&line, terminal::width(Stream::Out)))?;
        }
        let learnt: Vec<&str> = list(&server["learnt"]).iter().filter_map(Value::as_str).collect();
        if !learnt.is_empty() {
            writeln!(text, "      learnt: {}", learnt.join(", "))?;
        }
        show_crowding(text, &server["crowding"])?;
        let is_starting = instances.iter().any(|instance| instance["state"] == "starting");
        show_error(text, &server["lastError"], is_starting)?;
        for instance in instances {
            let nowhere = if instance["inHome"] == json!(true) { "(home folder)" } else { "-" };
            let (state, root) =
                (instance["state"].as_str().unwrap_or("?"), instance["root"].as_str().unwrap_or(nowhere));
            let pid = instance["pid"].as_u64().map_or("-".to_owned(), |pid| pid.to_string());
            let memory = instance["memoryBytes"]
                .as_u64()
                .map_or("-".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
            writeln!(text, "      {state:<9} pid {pid:<8} {memory:>8}  {root}")?;
            write!(text, "        {} clients, {} open", instance["clients"], instance["open"])?;
            write!(text, ", {} requests, {} errors", instance["requests"], instance["errors"])?;
            let restarts = instance["launches"].as_u64().unwrap_or(1).saturating_sub(1);
            writeln!(text, ", {restarts} restarts, {} lines quarantined", instance["quarantined"])?;
            if let Some(why) = instance["apart"].as_str() {
                writeln!(text, "        on its own because {why}")?;
            }
        }
    }
    Ok(())
}

/// Instances that were stopped to make room and started again, and the setting that cures it.
fn show_crowding(text: &mut String, crowding: &Value) -> anyhow::Result<()> {
    let Some(message) = crowding["message"].as_str() else { return Ok(()) };
    let width = terminal::width(Stream::Out);
    writeln!(text, "{}", wrap(&format!("      warning: {message}"), width))?;
    if let Some(hint) = crowding["hint"].as_str() {
        writeln!(text, "{}", wrap(&format!("        hint: {hint}"), width))?;
    }
    Ok(())
}

/// Why a server failed last, and when it is tried again.
fn show_error(text: &mut String, error: &Value, is_starting: bool) -> anyhow::Result<()> {
    let Some(message) = error["message"].as_str() else { return Ok(()) };
    let ago = age(error["secondsAgo"].as_u64().unwrap_or(0));
    let width = terminal::width(Stream::Out);
    let mut line = |line: String| writeln!(text, "{}", wrap(&line, width));
    line(format!("      last error, {ago} ago: {}", one_line(message)))?;
    if let Some(hint) = error["hint"].as_str() {
        line(format!("        hint: {}", one_line(hint)))?;
    }
    match error["nextTrySeconds"].as_u64() {
        _ if is_starting => writeln!(text, "        next try: now")?,
        Some(seconds) => writeln!(text, "        next try: in {}", age(seconds))?,
        None => writeln!(text, "        next try: with the next request")?,
    }
    Ok(())
}

fn show_collisions(text: &mut String, collisions: &Value) -> anyhow::Result<()> {
    if !list(collisions).is_empty() {
        writeln!(text, "\n  Would have the same name:")?;
    }
    for collision in list(collisions).iter().filter_map(Value::as_str) {
        writeln!(text, "    {collision}")?;
    }
    Ok(())
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}
