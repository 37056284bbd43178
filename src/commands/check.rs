//! Says what is wrong with the config file, where, and what to do.

use crate::cli::CheckArgs;
use crate::exit::{Exit, fatal};
use std::fmt::Write;
use switchboard_gateway::config::discover::discover;
use switchboard_gateway::config::{Config, Severity};
use switchboard_gateway::{Layer, LayerState, layers};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let project = std::env::current_dir().ok();
    let found = discover(args.config.as_deref(), project.as_deref(), args.owner.owners(), &super::vars)
        .map_err(|error| fatal(Exit::Config, error.to_string()))?;
    let mut text = String::new();
    if let Some(untrusted) = &found.untrusted {
        writeln!(text, "note: {untrusted}\n")?;
    }
    let Some(file) = found.file else {
        let places: Vec<String> = found.searched.iter().map(|path| format!("  {}", path.display())).collect();
        super::print(&text)?;
        return Err(fatal(
            Exit::Config,
            format!(
                "there is no config file; looked for\n{}\n  hint: see docs/config.md for one to start with",
                places.join("\n")
            ),
        ));
    };
    let loaded = switchboard_gateway::auggie::load(&file, &super::vars);
    for problem in &loaded.problems {
        writeln!(text, "{problem}\n")?;
    }
    let count = |severity| loaded.problems.iter().filter(|problem| problem.severity == severity).count();
    let (mut errors, mut warnings) = (count(Severity::Error), count(Severity::Warning));
    if let Some(config) = &loaded.config {
        let (more_errors, more_warnings) = describe(config, &mut text)?;
        errors += more_errors;
        warnings += more_warnings;
        for collision in switchboard_gateway::known_collisions(config, &super::state_folder()) {
            warnings += 1;
            writeln!(text, "  warning: two things would have the same name: {collision}")?;
        }
        for (server, tool) in switchboard_gateway::doubtful_servers(config, &super::state_folder()) {
            warnings += 1;
            writeln!(
                text,
                "  warning: the tool `{tool}` of `{server}` may keep something for the client that calls it\n    help: set \
                 \"state\": \"client\" for this server if it does, and \"state\": \"none\" if not"
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
    super::print(&text)?;
    Ok(if errors == 0 { Exit::Ok } else { Exit::Config })
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// What keeps the servers' processes from outliving us on this machine.
fn describe_layers(text: &mut String) -> anyhow::Result<()> {
    writeln!(text, "\nWhat keeps processes from outliving Switchboard here (docs/processes.md):")?;
    for Layer { name, state } in layers(&super::state_folder()).0 {
        match state {
            LayerState::Active => writeln!(text, "  {name}: active")?,
            LayerState::OnRequest => writeln!(text, "  {name}: with \"guard\": \"strict\"")?,
            LayerState::Absent(why) | LayerState::Missing(why) => {
                writeln!(text, "  {name}: not active: {why}")?
            }
        }
    }
    writeln!(text)?;
    Ok(())
}

/// One line a server: what would be run. Counts those that could not be, and those that would not work here.
fn describe(config: &Config, text: &mut String) -> anyhow::Result<(usize, usize)> {
    let root = std::env::current_dir().ok();
    let (mut errors, mut warnings) = (0, 0);
    for server in &config.servers {
        write!(text, "  {}: ", server.name)?;
        if server.disabled {
            writeln!(text, "disabled")?;
            continue;
        }
        match switchboard_gateway::examine(server, root.clone(), &super::state_folder()) {
            Ok(examined) => {
                writeln!(text, "{}", examined.command_line)?;
                if let Some(doubt) = examined.doubt {
                    warnings += 1;
                    writeln!(text, "    warning: {doubt}")?;
                }
            }
            Err(reason) => {
                errors += 1;
                writeln!(text, "error: {reason}")?;
            }
        }
    }
    Ok((errors, warnings))
}
