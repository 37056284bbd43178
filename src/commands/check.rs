//! `switchboard check`: problems of the config file with their positions and fixes,
//! and the launch of each server.

use crate::cli::CheckArgs;
use crate::exit::{Exit, fatal};
use crate::terminal::{self, Stream, wrap};
use std::fmt::Write;
use switchboard_gateway::config::discover::discover;
use switchboard_gateway::config::{Config, Severity, preset};
use switchboard_gateway::{Layer, LayerState, Unready, layers, secrets};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let project = std::env::current_dir().ok();
    let found = discover(args.config.as_deref(), project.as_deref(), args.owner.owners(), &super::vars)
        .map_err(|error| fatal(Exit::Config, error.to_string()))?;
    let (mut text, width) = (String::new(), terminal::screen_width(Stream::Out));
    if let Some(untrusted) = &found.untrusted {
        writeln!(text, "{}\n", wrap(&format!("note: {untrusted}"), width))?;
    }
    let Some(file) = found.file else {
        let paths: Vec<String> = found.searched.iter().map(|path| format!("  {}", path.display())).collect();
        super::print(&text)?;
        return Err(fatal(
            Exit::Config,
            format!(
                "there is no config file; looked for\n{}\n  hint: `switchboard help config` has an example",
                paths.join("\n")
            ),
        ));
    };
    let loaded = preset::load(&file, &super::vars);
    for problem in &loaded.problems {
        writeln!(text, "{}\n", wrap(&problem.to_string(), width))?;
    }
    let count = |severity| loaded.problems.iter().filter(|problem| problem.severity == severity).count();
    let (mut errors, mut warnings) = (count(Severity::Error), count(Severity::Warning));
    if let Some(config) = &loaded.config {
        secrets::learn_config(config, &super::vars);
        warnings += describe(config, &mut text)?;
        if super::enabled(config).is_empty() {
            errors += 1;
            writeln!(
                text,
                "  error: no server is enabled, so there is nothing to serve\n    help: add one to `mcpServers`, or \
                 remove `disabled` from one"
            )?;
        }
        for collision in switchboard_gateway::known_collisions(config, &super::state_folder()) {
            warnings += 1;
            let text = &mut text;
            warn(
                text,
                &format!("name collision: {collision}"),
                "rename one of them, with `rename` in its entry",
            )?;
        }
        for (server, tool) in switchboard_gateway::doubtful_servers(config, &super::state_folder()) {
            warnings += 1;
            warn(
                &mut text,
                &format!("the tool `{tool}` of `{server}` may keep state for the client that calls it"),
                "set \"state\": \"client\" for this server if it does, and \"state\": \"none\" if not",
            )?;
        }
        for (server, what) in secrets::exposed(config, &super::vars) {
            warnings += 1;
            warn(
                &mut text,
                &format!("{what} in the arguments of `{server}` is visible to every process of this machine"),
                "pass it in `env`, if the server can read it from a variable",
            )?;
        }
        describe_layers(&mut text)?;
    }
    writeln!(
        text,
        "{}: {}, {}",
        file.path.display(),
        counted(errors, "error"),
        counted(warnings, "warning")
    )?;
    super::print(&secrets::mask_values(&text))?;
    Ok(if errors == 0 { Exit::Ok } else { Exit::Config })
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Writes a warning about one server, and its fix.
fn warn(text: &mut String, warning: &str, help: &str) -> std::fmt::Result {
    let width = terminal::screen_width(Stream::Out);
    writeln!(text, "{}", wrap(&format!("    warning: {warning}"), width))?;
    writeln!(text, "{}", wrap(&format!("    help: {help}"), width))
}

/// Describes the layers that keep the servers' processes from outliving us on this machine.
fn describe_layers(text: &mut String) -> anyhow::Result<()> {
    writeln!(text, "\nProtection against leftover processes here (`switchboard help processes`):")?;
    for Layer { name, state } in layers(&super::state_folder()).0 {
        match state {
            LayerState::Active => writeln!(text, "  {name}: active")?,
            LayerState::OnRequest => writeln!(text, "  {name}: only with \"guard\": \"strict\"")?,
            LayerState::Absent(why) | LayerState::Missing(why) => {
                let line = format!("  {name}: not active: {why}");
                writeln!(text, "{}", wrap(&line, terminal::screen_width(Stream::Out)))?;
            }
        }
    }
    writeln!(text)?;
    Ok(())
}

/// Describes the launch of each server. Returns the number of servers that would not work here.
fn describe(config: &Config, text: &mut String) -> anyhow::Result<usize> {
    let root = std::env::current_dir().ok();
    let mut warnings = 0;
    for server in &config.servers {
        write!(text, "  {}: ", server.name)?;
        if server.disabled {
            writeln!(text, "disabled")?;
            continue;
        }
        let unready = match switchboard_gateway::examine(server, root.clone(), &super::state_folder()) {
            Ok(examined) => {
                writeln!(text, "{}", secrets::redact(&examined.command_line))?;
                examined.doubt
            }
            // Other servers are served all the same.
            Err(unready) => {
                writeln!(text, "cannot be started here")?;
                Some(unready)
            }
        };
        if let Some(Unready { reason, hint }) = unready {
            warnings += 1;
            warn(text, &reason, hint.as_deref().unwrap_or("fix its entry in the config file"))?;
        }
    }
    Ok(warnings)
}
