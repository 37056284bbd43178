//! `switchboard approve tools`: shows the changed tools of a server, approves them in the store, and tells the
//! daemons that know the server.
//!
//! # Layout
//! - `difference`: two definitions of a tool, compared for people.

mod difference;

use crate::cli::approve::{ApproveArgs, ApproveCommand, ApproveToolsArgs};
use crate::exit::{Exit, fatal};
use crate::terminal::one_line;
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use switchboard_gateway::config::ServerConfig;
use switchboard_gateway::control::{self, Request};
use switchboard_gateway::pins::{Definition, PinStore, StoredTool};
use switchboard_gateway::{Address, nearest_name};

pub(crate) fn run(args: &ApproveArgs) -> anyhow::Result<Exit> {
    match &args.command {
        ApproveCommand::Tools(args) => tools(args),
    }
}

/// A tool with a definition that is not approved, and the key of the file that has it.
struct ChangedTool {
    key: String,
    name: String,
    tool: StoredTool,
}

fn tools(args: &ApproveToolsArgs) -> anyhow::Result<Exit> {
    let server = &args.server;
    let store = PinStore::new(&super::state_folder());
    let changed = chosen(changed(args, &store)?, args)?;
    if !args.list {
        for ChangedTool { key, name, tool } in &changed {
            let shown = tool.changed.iter().map(|definition| definition.sha256.clone()).collect();
            store.approve(key, &[(name.clone(), shown)]).context("cannot store the approval")?;
        }
        // Also if there is nothing new: a daemon may have missed an approval.
        tell_all(|| Request::Approve { server: server.clone() }, |_| ())?;
    }
    let text = match args.json {
        true => format!("{:#}\n", as_json(args, &changed)),
        false => shown(args, &changed),
    };
    super::print(&text)?;
    Ok(Exit::Ok)
}

/// Changed tools of the server, in the config and in the daemons that know it.
fn changed(args: &ApproveToolsArgs, store: &PinStore) -> anyhow::Result<(Vec<ChangedTool>, Vec<String>)> {
    let servers = super::configured_servers(args.config.as_deref(), args.owner.owners())?;
    let own = servers.iter().find(|server| server.name == args.server);
    let mut keys: BTreeSet<String> = own.map(PinStore::key).into_iter().collect();
    // A daemon writes what it knows before it answers. One of another config may know another server by this name.
    tell_all(
        || Request::Pins { server: args.server.clone() },
        |answer| keys.extend(answer["key"].as_str().map(str::to_owned)),
    )?;
    if keys.is_empty() {
        let known: Vec<&ServerConfig> = servers.iter().collect();
        let text = format!(
            "there is no server `{}` in the config file, and no daemon knows it\n  hint: {}",
            args.server,
            super::no_such_server(&args.server, &known)
        );
        return Err(fatal(Exit::Failure, text));
    }
    let (mut changed, mut known) = (Vec::new(), Vec::new());
    for key in keys {
        let stored = store.read(&key).map_err(|unreadable| {
            let text = format!(
                "{unreadable}\n  hint: it is written anew as soon as the server has listed its tools; \
                 `switchboard tools {}` lists them",
                args.server
            );
            fatal(Exit::Failure, text)
        })?;
        let Some(stored) = stored else { continue };
        known.extend(stored.tools().keys().cloned());
        changed.extend(stored.changed().map(|(name, tool)| ChangedTool {
            key: key.clone(),
            name: name.clone(),
            tool: tool.clone(),
        }));
    }
    Ok((changed, known))
}

/// The tools that the command line names.
fn chosen(
    (changed, known): (Vec<ChangedTool>, Vec<String>),
    args: &ApproveToolsArgs,
) -> anyhow::Result<Vec<ChangedTool>> {
    if args.tools.is_empty() {
        return Ok(changed);
    }
    if let Some(unknown) = args.tools.iter().find(|name| !known.contains(name)) {
        let hint = match nearest_name(unknown, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                format!("`switchboard approve tools {} --list` lists those that have changed", args.server)
            }
        };
        let text = format!("the server `{}` has no tool `{unknown}`\n  hint: {hint}", args.server);
        return Err(fatal(Exit::Failure, text));
    }
    Ok(changed.into_iter().filter(|changed| args.tools.contains(&changed.name)).collect())
}

/// Sends a request to all daemons. A daemon that does not know the server refuses, which is no error.
fn tell_all(request: impl Fn() -> Request, mut heard: impl FnMut(&Value)) -> anyhow::Result<()> {
    for address in Address::all().context("cannot look for daemons")? {
        let answer = super::on_runtime(control::ask(&address, request()))?;
        let answer = answer.with_context(|| format!("the daemon at {address} does not answer"))?;
        if let Some(Ok(result)) = answer.map(|answer| answer.result) {
            heard(&result);
        }
    }
    Ok(())
}

fn as_json(args: &ApproveToolsArgs, changed: &[ChangedTool]) -> Value {
    let definition = |definition: &Definition| {
        let Definition { sha256, date, text } = definition;
        json!({ "date": date, "sha256": sha256, "definition": text })
    };
    let tools = changed.iter().map(|ChangedTool { name, tool, .. }| {
        let changed: Vec<Value> = tool.changed.iter().map(definition).collect();
        json!({ "name": name, "approved": tool.approved.first().map(definition), "changed": changed })
    });
    json!({ "server": args.server, "isApproved": !args.list, "tools": tools.collect::<Vec<Value>>() })
}

fn shown(args: &ApproveToolsArgs, changed: &[ChangedTool]) -> String {
    let server = &args.server;
    if changed.is_empty() {
        return match args.tools.is_empty() {
            true => format!("{server}: no tool has changed; there is nothing to approve\n"),
            false => format!("{server}: {} is as approved\n", args.tools.join(", ")),
        };
    }
    let mut text = String::new();
    for ChangedTool { name, tool, .. } in changed {
        let approved = tool.approved.first();
        let since = approved.map_or("never approved".to_owned(), |it| format!("approved {}", day(&it.date)));
        for definition in &tool.changed {
            let _ = writeln!(text, "{} ({since}, changed {})", one_line(name), day(&definition.date));
            let lines =
                difference::lines(approved.and_then(|it| it.text.as_deref()), definition.text.as_deref());
            for line in lines {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    let tools = if changed.len() == 1 { "1 tool".to_owned() } else { format!("{} tools", changed.len()) };
    let _ = match args.list {
        true => writeln!(
            text,
            "{server}: {tools} changed\n  hint: `switchboard approve tools {server}` approves what is shown here"
        ),
        false => writeln!(text, "{server}: {tools} approved"),
    };
    text
}

/// The day of a time stamp.
fn day(date: &str) -> &str {
    date.get(..10).unwrap_or(date)
}
