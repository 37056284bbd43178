//! Commands, one file each.

pub(crate) mod approve;
mod arguments;
mod base64;
pub(crate) mod call;
pub(crate) mod check;
mod client;
mod columns;
pub(crate) mod completions;
mod content;
pub(crate) mod daemon;
pub(crate) mod serve;
pub(crate) mod token;
pub(crate) mod demo;
pub(crate) mod example_server;
pub(crate) mod explain;
pub(crate) mod forget;
pub(crate) mod get;
pub(crate) mod help;
pub(crate) mod list;
mod logging;
pub(crate) mod logs;
pub(crate) mod order;
pub(crate) mod read;
pub(crate) mod reload;
pub(crate) mod schema;
pub(crate) mod status;
pub(crate) mod stdio;
pub(crate) mod trust;

use crate::cli::RootArgs;
use crate::exit::{Exit, fatal, fatal_told};
use crate::terminal;
use anyhow::Context;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use switchboard_gateway::RootOptions;
use switchboard_gateway::Source;
use switchboard_gateway::config::discover::{ConfigFile, discover};
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::config::{Config, Problem, ServerConfig, Severity, expand, preset, real};
use switchboard_gateway::secrets::{learn_config, mask_values};
use switchboard_gateway::tokens::TOKEN_VARIABLE;
use switchboard_gateway::{check_room, nearest_name};

/// Our own environment, as a lookup function. The client's token is not part of it: a config must not name it.
fn vars(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| name != TOKEN_VARIABLE)
}

/// Writes to stdout.
fn print(text: &str) -> std::io::Result<()> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    // Text without a final line break would stay in the buffer.
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        // `switchboard schema | head` is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// State folder. Without a home folder it is a temporary one: serving does not depend on it.
fn state_folder() -> std::path::PathBuf {
    let known = switchboard_gateway::config::folders::state_dir(&vars);
    known.unwrap_or_else(|_| switchboard_gateway::temporary_state_folder())
}

/// The config file to use, loaded; or the paths that were searched.
enum FoundConfig {
    File(Box<Config>, Source),
    Nothing { searched: Vec<PathBuf>, untrusted: Option<String> },
}

/// Warns of an untrusted project config. For commands that start a gateway, whose own warnings are not shown.
fn warn_of_untrusted() {
    let project = std::env::current_dir().ok();
    let untrusted =
        discover(None, project.as_deref(), Owners::default(), &vars).ok().and_then(|found| found.untrusted);
    if let Some(untrusted) = untrusted {
        complain(&terminal::wrap(
            &format!("warning: {untrusted}"),
            terminal::screen_width(terminal::Stream::Err),
        ));
    }
}

/// Finds and loads the config file. Problems are printed to stderr.
fn find_config(given: Option<&Path>, owners: Owners) -> anyhow::Result<FoundConfig> {
    let project = std::env::current_dir().ok();
    let found = discover(given, project.as_deref(), owners, &vars)
        .map_err(|error| fatal(Exit::Config, error.to_string()))?;
    let untrusted = found.untrusted.map(|untrusted| untrusted.to_string());
    if let Some(untrusted) = &untrusted {
        complain(&format!("warning: {untrusted}"));
    }
    let Some(file) = found.file else {
        return Ok(FoundConfig::Nothing { searched: found.searched, untrusted });
    };
    read_config(file, owners).map(|(config, source)| FoundConfig::File(Box::new(config), source))
}

/// Loads a config file. Problems are printed to stderr.
fn read_config(file: ConfigFile, owners: Owners) -> anyhow::Result<(Config, Source)> {
    let loaded = preset::load(&file, &vars);
    for problem in &loaded.problems {
        complain(&problem.to_string());
    }
    match loaded.config {
        Some(config) => {
            learn_config(&config, &vars);
            Ok((config, Source { path: file.path, origin: file.origin, owners, text: file.source }))
        }
        None => {
            let path = file.path.display();
            let message = format!("{path} has errors\n  hint: `switchboard check --config {path}`");
            Err(fatal_told(Exit::Config, message, in_one_line(&loaded.problems)))
        }
    }
}

/// The first error of a config file, with its place and fix.
fn in_one_line(problems: &[Problem]) -> Option<String> {
    let errors = || problems.iter().filter(|problem| problem.severity == Severity::Error);
    let first = errors().next()?;
    let file = std::path::absolute(&first.file).unwrap_or_else(|_| first.file.clone());
    let mut text = file.display().to_string();
    if first.line > 0 {
        text += &format!(":{}:{}", first.line, first.column);
    }
    if !first.path.is_empty() {
        text += &format!(": {}", first.path);
    }
    text += &format!(": {}", first.message);
    if let Some(remedy) = &first.remedy {
        text += &format!("; {remedy}");
    }
    match errors().count() - 1 {
        0 => {}
        1 => text += " (and one more error)",
        more => text += &format!(" (and {more} more errors)"),
    }
    Some(format!("{text}\n  hint: `switchboard check --config {}` shows more", file.display()))
}

/// Fails if there are too few file descriptors to serve.
fn check_can_serve() -> anyhow::Result<()> {
    check_room()
        .context("too few file descriptors to serve (hint: raise the limit of open files, `ulimit -n`)")
}

/// Runs `work` on an event loop of its own.
fn on_runtime<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| fatal(Exit::Failure, format!("cannot start the event loop: {error}")))?;
    let outcome = runtime.block_on(work);
    // A thread may be stuck in a read of a terminal or file, and must not delay the exit.
    runtime.shutdown_background();
    Ok(outcome)
}

/// Servers of the config file that would be used here; none if it is broken or missing, since a daemon may still
/// know them.
fn configured_servers(config: Option<&Path>, owners: Owners) -> anyhow::Result<Vec<ServerConfig>> {
    let project = std::env::current_dir().ok();
    let found = discover(config, project.as_deref(), owners, &vars)
        .map_err(|error| fatal(Exit::Config, error.to_string()))?;
    let config = found.file.and_then(|file| preset::load(&file, &vars).config);
    Ok(config.map(|config| config.servers).unwrap_or_default())
}

fn enabled(config: &Config) -> Vec<&ServerConfig> {
    config.servers.iter().filter(|server| !server.disabled).collect()
}

fn server_called<'a>(config: &'a Config, name: &str, path: &Path) -> anyhow::Result<&'a ServerConfig> {
    let path = path.display();
    let (problem, hint) = match config.servers.iter().find(|server| server.name == name) {
        Some(server) if !server.disabled => return Ok(server),
        Some(_) => (
            format!("the server `{name}` is disabled in {path}"),
            "remove `\"disabled\": true` (or `\"enabled\": false`) from its entry".to_owned(),
        ),
        None => (format!("{path} has no server `{name}`"), no_such_server(name, &enabled(config))),
    };
    let told = format!("{problem}\n  hint: {hint}");
    Err(fatal_told(Exit::Config, told.clone(), Some(told)))
}

/// Hint for an unknown server name.
fn no_such_server(name: &str, known: &[&ServerConfig]) -> String {
    let names: Vec<String> = known.iter().map(|server| server.name.clone()).collect();
    match (nearest_name(name, &names), names.is_empty()) {
        (Some(near), _) => format!("did you mean `{near}`? The servers are: {}", names.join(", ")),
        (None, true) => "no server is enabled there; add this one to `mcpServers`".to_owned(),
        (None, false) => format!("the servers are: {}", names.join(", ")),
    }
}

/// Workspaces of the command line and of the config file.
fn root_options(args: &RootArgs, config: &Config, config_file: Option<&Path>) -> anyhow::Result<RootOptions> {
    let pinned = args.pin_root.as_deref().filter(|root| !root.as_os_str().is_empty());
    let pinned = pinned.map(|root| match vars("SWITCHBOARD_ROOT") {
        Some(value) if value == root.as_os_str() => folder("$SWITCHBOARD_ROOT", root),
        Some(_) | None => folder("--pin-root", root),
    });
    let given = args.root.iter().map(|root| folder("--root", root)).collect::<anyhow::Result<_>>()?;
    let default = match &args.default_root {
        Some(root) => Some(folder("--default-root", root)?),
        None => configured_root(config, config_file)?,
    };
    Ok(RootOptions { pinned: pinned.transpose()?, given, default })
}

fn folder(what: &str, path: &Path) -> anyhow::Result<PathBuf> {
    let shown = path.display();
    match real(path) {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(_) => Err(fatal(Exit::Usage, format!("{what} {shown}: not a folder"))),
        Err(error) => Err(fatal(Exit::Usage, format!("{what} {shown}: {error}"))),
    }
}

/// Default root of the config. A missing folder is only a warning: machines that share
/// the file need not all have it.
fn configured_root(config: &Config, config_file: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    let Some(config_file) = config_file else { return Ok(None) };
    let root = expand::default_root(config, config_file, &vars)
        .map_err(|error| fatal(Exit::Config, error.to_string()))?;
    let Some(root) = root else { return Ok(None) };
    let found = folder("defaultRoot", &root);
    if let Err(error) = &found {
        complain(&format!("warning: {error}; ignored"));
    }
    Ok(found.ok())
}

fn complain(text: &str) {
    // A failed write to stderr cannot be reported anywhere.
    let _ = writeln!(std::io::stderr(), "{}", mask_values(text));
}
