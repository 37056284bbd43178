//! `switchboard status`: daemons, clients, servers and their instances; repeatedly with `--watch`.

use crate::cli::StatusArgs;
use crate::exit::Exit;
use crate::terminal::{self, Stream, one_line, wrap};
use anyhow::Context;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::time::Duration;
use switchboard_gateway::Address;
use switchboard_gateway::config::discover::{ConfigFile, ConfigOrigin, discover, reread};
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::config::real;
use switchboard_gateway::control::{self, Answer, Request};

/// Interval of `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Moves the cursor to the upper left corner and clears the screen.
const CLEAR_SCREEN: &str = "\x1b[H\x1b[J";

pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<Exit> {
    if args.watch {
        return watch(args);
    }
    let text = match args.json {
        true => format!("{:#}\n", as_json(&look()?)),
        false => shown(&look()?)?,
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}

/// Repeats until it is interrupted, or until its output is closed.
fn watch(args: &StatusArgs) -> anyhow::Result<Exit> {
    loop {
        let text = match (args.json, terminal::is_one(Stream::Out)) {
            (true, _) => format!("{}\n", as_json(&look()?)),
            (false, true) => {
                format!("{CLEAR_SCREEN}{}\nupdated every second; Ctrl-C to quit\n", shown(&look()?)?)
            }
            (false, false) => format!("{}---\n", shown(&look()?)?),
        };
        let mut stdout = std::io::stdout();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            // The reader has seen enough, as `head` does.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Exit::Ok),
            written => written?,
        }
        std::thread::sleep(WATCH_INTERVAL);
    }
}

/// Result of a look at all daemons.
struct Seen {
    daemons: Vec<Value>,
    /// Error of the config file that would be used here, unless a daemon's entry reports it.
    config_error: Option<String>,
}

fn look() -> anyhow::Result<Seen> {
    let mut daemons = Vec::new();
    for address in Address::all().context("cannot look for daemons")? {
        let answer = super::on_runtime(control::ask(&address, Request::Status))?;
        match answer {
            Ok(Some(answer)) => daemons.push(seen(&address, answer)),
            // Socket of a dead daemon.
            Ok(None) => {}
            Err(error) => daemons.push(json!({ "socket": address.to_string(), "error": error.to_string() })),
        }
    }
    let config_error = config_error(&daemons);
    Ok(Seen { daemons, config_error })
}

fn as_json(seen: &Seen) -> Value {
    json!({ "daemons": seen.daemons, "configError": seen.config_error })
}

/// Error of the config file that a window in this folder would use.
fn config_error(daemons: &[Value]) -> Option<String> {
    let project = std::env::current_dir().ok();
    let file = match discover(None, project.as_deref(), Owners::default(), &super::vars) {
        Ok(found) => found.file?,
        Err(error) => return Some(error.to_string()),
    };
    let own = real(&file.path).ok();
    let is_served =
        |daemon: &Value| daemon["config"].as_str().is_some_and(|path| real(Path::new(path)).ok() == own);
    if daemons.iter().any(is_served) {
        return None;
    }
    problem_of(&file)
}

/// The first error of a file.
fn problem_of(file: &ConfigFile) -> Option<String> {
    let loaded = file.load();
    loaded.config.is_none().then(|| super::in_one_line(&loaded.problems)).flatten()
}

fn seen(address: &Address, answer: Answer) -> Value {
    let Answer { pid, version, result } = answer;
    let mut daemon = json!({ "socket": address.to_string(), "pid": pid, "version": version });
    match result {
        Ok(result) => {
            daemon["config"] = result["config"].clone();
            daemon["isProject"] = result["isProject"].clone();
            daemon["configOwner"] = result["configOwner"].clone();
            daemon["clients"] = result["status"]["clients"].clone();
            daemon["servers"] = result["status"]["servers"].clone();
            daemon["limited"] = result["status"]["limited"].clone();
            daemon["collisions"] = result["status"]["collisions"].clone();
            daemon["audit"] = result["audit"].clone();
        }
        Err(error) => daemon["error"] = json!(error),
    }
    daemon["configError"] = daemons_config_error(&daemon).into();
    daemon
}

/// Reason why a daemon's present config file is not applied: the daemon keeps the last good one.
fn daemons_config_error(daemon: &Value) -> Option<String> {
    let path = daemon["config"].as_str()?;
    let origin = if daemon["isProject"] == json!(true) { ConfigOrigin::Project } else { ConfigOrigin::Given };
    let owners = Owners { also: daemon["configOwner"].as_u64().and_then(|owner| u32::try_from(owner).ok()) };
    match reread(Path::new(path), origin, owners, &super::vars) {
        Ok(file) => problem_of(&file),
        Err(why) => Some(why),
    }
}

fn shown(seen: &Seen) -> anyhow::Result<String> {
    let mut text = String::new();
    let width = terminal::width(Stream::Out);
    if seen.daemons.is_empty() {
        writeln!(text, "No daemon is running. `switchboard stdio` starts one when a client connects.")?;
    }
    if let Some(error) = &seen.config_error {
        writeln!(text, "{}", wrap(&format!("The config file has errors: {error}"), width))?;
    }
    for (number, daemon) in seen.daemons.iter().enumerate() {
        if number > 0 {
            writeln!(text)?;
        }
        let (pid, version) = (&daemon["pid"], daemon["version"].as_str().unwrap_or("?"));
        writeln!(
            text,
            "Daemon {version}, pid {pid}, {}",
            daemon["config"].as_str().unwrap_or("no config file")
        )?;
        if let Some(error) = daemon["error"].as_str() {
            writeln!(text, "  no valid answer: {error}")?;
            continue;
        }
        if let Some(error) = daemon["configError"].as_str() {
            let line = format!("  The config file has errors; its last valid version is in use: {error}");
            writeln!(text, "{}", wrap(&line, width))?;
        }
        show_clients(&mut text, &daemon["clients"])?;
        show_servers(&mut text, &daemon["servers"])?;
        show_limited(&mut text, &daemon["limited"])?;
        show_collisions(&mut text, &daemon["collisions"])?;
        show_audit(&mut text, &daemon["audit"])?;
    }
    Ok(text)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn show_clients(text: &mut String, clients: &Value) -> anyhow::Result<()> {
    if list(clients).is_empty() {
        writeln!(text, "\n  Clients: none")?;
        return Ok(());
    }
    writeln!(text, "\n  Clients:")?;
    for client in list(clients) {
        let name = client["name"].as_str().unwrap_or("(unnamed)");
        let (server, root) =
            (client["server"].as_str().unwrap_or("?"), client["root"].as_str().unwrap_or("-"));
        let age = age(client["seconds"].as_u64().unwrap_or(0));
        // The owner is the usual case, and needs no word.
        let identity = match client["identity"].as_str() {
            Some("owner") => String::new(),
            Some(identity) => format!(", as {}", one_line(identity)),
            None => ", without a valid token".to_owned(),
        };
        let open = client["open"].as_u64().unwrap_or(0);
        let line = format!("    {name:<20} {server:<16} {age:>6} {open:>3} open{identity}");
        write_with_folder(text, &line, root)?;
    }
    Ok(())
}

/// Writes a folder at the end of a line, or below it where the terminal is too narrow.
fn write_with_folder(text: &mut String, line: &str, folder: &str) -> std::fmt::Result {
    let folder = one_line(folder);
    let length = line.chars().count() + 2 + folder.chars().count();
    match terminal::screen_width(Stream::Out) {
        Some(width) if length > width => writeln!(text, "{line}\n        in {folder}"),
        _ => writeln!(text, "{line}  {folder}"),
    }
}

fn show_servers(text: &mut String, servers: &Value) -> anyhow::Result<()> {
    writeln!(text, "\n  Servers:")?;
    for server in list(servers) {
        let name = server["name"].as_str().unwrap_or("?");
        let instances = list(&server["instances"]);
        let held = if server["isHeld"] == json!(true) { ", stopped by `switchboard stop`" } else { "" };
        let keeps = server["keeps"].as_str().unwrap_or("?");
        writeln!(
            text,
            "    {name}: {} (limit {}), keeps {keeps}{held}",
            states(instances),
            server["maxBackends"]
        )?;
        if let (Some(scope), Some(why)) = (server["scope"].as_str(), server["scopeReason"].as_str()) {
            let line = format!("      scope {scope}: {why}");
            writeln!(text, "{}", wrap(&line, terminal::width(Stream::Out)))?;
        }
        let learnt: Vec<&str> = list(&server["learnt"]).iter().filter_map(Value::as_str).collect();
        if !learnt.is_empty() {
            let line = format!("      learnt: {}", learnt.join(", "));
            writeln!(text, "{}", wrap(&line, terminal::width(Stream::Out)))?;
        }
        if let Some(refused) = server["refusedCalls"].as_u64().filter(|refused| *refused > 0) {
            writeln!(text, "      {} refused: over a limit", counted(refused, "call"))?;
        }
        show_changed_tools(text, server)?;
        show_crowding(text, &server["crowding"])?;
        let is_starting = instances.iter().any(|instance| instance["state"] == "starting");
        show_error(text, &server["lastError"], is_starting)?;
        for instance in instances {
            show_instance(text, instance)?;
        }
    }
    Ok(())
}

/// Number of running instances, and of those in other states. Only running ones count for the limit.
fn states(instances: &[Value]) -> String {
    let mut counts: Vec<(&str, usize)> = vec![("running", 0)];
    for instance in instances {
        let state = match instance["state"].as_str().unwrap_or("?") {
            "ready" | "starting" => "running",
            other => other,
        };
        match counts.iter_mut().find(|(known, _)| *known == state) {
            Some((_, count)) => *count += 1,
            None => counts.push((state, 1)),
        }
    }
    let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    counts.join(", ")
}

fn show_instance(text: &mut String, instance: &Value) -> anyhow::Result<()> {
    let nowhere = if instance["inHome"] == json!(true) { "(home folder)" } else { "-" };
    let (state, root) =
        (instance["state"].as_str().unwrap_or("?"), instance["root"].as_str().unwrap_or(nowhere));
    let pid = instance["pid"].as_u64().map_or("-".to_owned(), |pid| pid.to_string());
    let memory =
        instance["memoryBytes"].as_u64().map_or("-".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
    let cpu = instance["cpuSeconds"].as_f64().map_or("-".to_owned(), cpu_time);
    write_with_folder(text, &format!("      {state:<9} pid {pid:<8} {memory:>8}  cpu {cpu:>8}"), root)?;
    let restarts = instance["launches"].as_u64().unwrap_or(1).saturating_sub(1);
    let number = |key: &str| instance[key].as_u64().unwrap_or(0);
    let counts = [
        counted(number("clients"), "client"),
        format!("{} open", number("open")),
        counted(number("requests"), "request"),
        counted(number("errors"), "error"),
        counted(restarts, "restart"),
        format!("{} quarantined", counted(number("quarantined"), "line")),
    ];
    writeln!(text, "        {}", counts.join(", "))?;
    if let Some(why) = instance["apart"].as_str() {
        writeln!(text, "{}", wrap(&format!("        separate because {why}"), terminal::width(Stream::Out)))?;
    }
    Ok(())
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// CPU time, precise enough to grow visibly in `--watch`.
fn cpu_time(seconds: f64) -> String {
    match seconds {
        ..60.0 => format!("{seconds:.1} s"),
        ..3600.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Tools that are defined otherwise than approved, and the command that helps.
fn show_changed_tools(text: &mut String, server: &Value) -> anyhow::Result<()> {
    let changed: Vec<&str> = list(&server["changedTools"]).iter().filter_map(Value::as_str).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let are_held = !list(&server["heldTools"]).is_empty();
    let what = if are_held { "changed and held back" } else { "changed since they were approved" };
    let (name, width) = (server["name"].as_str().unwrap_or("?"), terminal::width(Stream::Out));
    let line = format!("      warning: tools {what}: {}", one_line(&changed.join(", ")));
    writeln!(text, "{}", wrap(&line, width))?;
    let hint =
        format!("        hint: `switchboard approve tools {name}` shows what has changed, and approves it");
    writeln!(text, "{}", wrap(&hint, width))?;
    Ok(())
}

/// Instances that were stopped to make room and started again, and the setting that helps.
fn show_crowding(text: &mut String, crowding: &Value) -> anyhow::Result<()> {
    let Some(message) = crowding["message"].as_str() else { return Ok(()) };
    let width = terminal::width(Stream::Out);
    writeln!(text, "{}", wrap(&format!("      warning: {message}"), width))?;
    if let Some(hint) = crowding["hint"].as_str() {
        writeln!(text, "{}", wrap(&format!("        hint: {hint}"), width))?;
    }
    Ok(())
}

/// A server's last failure, and the time of the next attempt.
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

/// Identities whose calls were refused because of a limit.
fn show_limited(text: &mut String, limited: &Value) -> anyhow::Result<()> {
    if !list(limited).is_empty() {
        writeln!(text, "\n  Refused calls, over a limit:")?;
    }
    for identity in list(limited) {
        let name = identity["name"].as_str().unwrap_or("?");
        let refused = counted(identity["refusedCalls"].as_u64().unwrap_or(0), "call");
        writeln!(text, "    {:<20} {refused}", one_line(name))?;
    }
    Ok(())
}

fn show_collisions(text: &mut String, collisions: &Value) -> anyhow::Result<()> {
    if !list(collisions).is_empty() {
        writeln!(text, "\n  Name collisions:")?;
    }
    for collision in list(collisions).iter().filter_map(Value::as_str) {
        writeln!(text, "    {collision}")?;
    }
    Ok(())
}

/// The audit, if something is wrong with it.
fn show_audit(text: &mut String, audit: &Value) -> anyhow::Result<()> {
    let lost = audit["lost"].as_u64().unwrap_or(0);
    let file = one_line(audit["file"].as_str().unwrap_or("?"));
    let line = match audit["error"].as_str() {
        Some(error) => format!(
            "  The audit cannot be written to {file}: {} ({} lost)",
            one_line(error),
            counted(lost, "line")
        ),
        None if lost > 0 => format!("  Lost of the audit {file}: {}", counted(lost, "line")),
        None => return Ok(()),
    };
    writeln!(text, "\n{}", wrap(&line, terminal::width(Stream::Out)))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_has_one_decimal() {
        for (seconds, expect) in [
            (0.0, "0.0 s"),
            (1.25, "1.2 s"),
            (59.9, "59.9 s"),
            (60.0, "1.0 min"),
            (3594.0, "59.9 min"),
            (3600.0, "1.0 h"),
            (1e6, "277.8 h"),
        ] {
            assert_eq!(cpu_time(seconds), expect);
        }
    }

    #[test]
    fn only_running_instances_count() {
        let states = |names: &[&str]| {
            let instances: Vec<Value> = names.iter().map(|state| json!({ "state": state })).collect();
            super::states(&instances)
        };
        assert_eq!(states(&[]), "0 running");
        assert_eq!(states(&["ready", "starting", "ready"]), "3 running");
        let many = ["ready", "queued", "ready", "ready", "stopping", "queued"];
        assert_eq!(states(&many), "3 running, 2 queued, 1 stopping");
    }
}
