//! `switchboard stdio`: MCP over stdin and stdout, for a server given after `--` or by name, or for
//! the servers of the config file.

use super::daemon::{Identity, What};
use super::{FoundConfig, complain, logging};
use crate::cli::{BackendArg, StdioArgs};
use crate::exit::{self, Exit, Fatal, fatal, fatal_told};
use anyhow::Context;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use switchboard_gateway::RootOptions;
use switchboard_gateway::config::discover::discover;
use switchboard_gateway::config::owners::Owners;
use switchboard_gateway::config::{Config, InheritEnv, Preset, STDERR, ServerConfig, preset};
use switchboard_gateway::presets::auggie;
use switchboard_gateway::runtime::attach::{self, Alone, Attach};
use switchboard_gateway::runtime::raw::{self, Raw};
use switchboard_gateway::runtime::refusing::{self, Refusal};
use switchboard_gateway::runtime::solo::{self, Solo};
use switchboard_gateway::telemetry::{LogOptions, WindowLog};
use switchboard_gateway::tokens::{Secret, TOKEN_VARIABLE};
use switchboard_gateway::{AdHoc, Ended, OwnStdio, Source, take_stdio, unknown_profile};

pub(crate) fn run(args: StdioArgs) -> anyhow::Result<Exit> {
    let (config, choice, source, roots) = match prepare(&args) {
        Ok(prepared) => prepared,
        Err(error) => return refuse(&args, error),
    };
    if !args.raw && std::io::stdin().is_terminal() {
        complain(&for_people());
    }
    let config_file = source.as_ref().map(|source| source.path.clone());
    super::check_can_serve()?;
    // Resolved once: without a home folder, a second call might create another.
    let state_folder = super::state_folder();
    super::on_runtime(async {
        // Taken inside the runtime, which polls the streams.
        let stdio = take_stdio().context("cannot use the standard streams")?;
        if args.raw {
            // Without a root, the folder that the client started us in is the workspace.
            let root = first(&roots).or_else(|| std::env::current_dir().ok());
            let server = choice.only()?;
            let raw = Raw { server, root, state_folder, ignore_parent: args.ignore_parent };
            return run_raw(raw, stdio).await;
        }
        let stdio = match attach(&args, &config, &choice, &source, &roots, stdio).await? {
            Attached::Served => return Ok(Exit::Ok),
            Attached::Alone(stdio) => stdio,
        };
        let log = match logging::options((&args).into(), &config, config_file.as_deref(), &state_folder) {
            Ok(log) => LogOptions { server: choice.name().to_owned(), root: first(&roots), ..log },
            Err(error) => return refuse_on(&args, error, stdio).await,
        };
        let ignore_parent = args.ignore_parent;
        let as_one = matches!(choice, Choice::All(_));
        let (servers, profile, token) = (choice.servers(), args.profile, client_token());
        let solo = Solo { config, servers, as_one, profile, roots, state_folder, log, token, ignore_parent };
        solo::run(solo, stdio).await?;
        Ok(Exit::Ok)
    })?
}

/// Message for people who type the command into a terminal.
fn for_people() -> String {
    let program = std::env::current_exe().map_or("switchboard".to_owned(), |path| path.display().to_string());
    let program = serde_json::Value::from(program);
    format!(
        "`switchboard stdio` is an MCP server for programs: an IDE or agent starts it\n\
         and talks to it over stdin and stdout. In the MCP settings of your IDE:\n  \
         {{ \"command\": {program}, \"args\": [\"stdio\"] }}\n\
         By hand, use `switchboard tools`, `switchboard call` and `switchboard status`.\n\
         It is running now and reads JSON-RPC messages, one on each line. Ctrl-C ends it."
    )
}

/// Servers and roots to serve, or the reason why there are none.
fn prepare(args: &StdioArgs) -> anyhow::Result<(Config, Choice, Option<Source>, RootOptions)> {
    let (config, choice, source) = choose(args)?;
    let config_file = source.as_ref().map(|source| source.path.as_path());
    if let (Some(profile), Some(file)) = (&args.profile, config_file) {
        check_profile(profile, &config, &choice, file)?;
    }
    let roots = super::root_options(&args.roots, &config, config_file)?;
    Ok((config, choice, source, roots))
}

/// Fails if a profile does not exist, or does not include the requested server.
fn check_profile(profile: &str, config: &Config, choice: &Choice, file: &Path) -> anyhow::Result<()> {
    let file = file.display();
    let told = match (config.profiles.iter().find(|(name, _)| name == profile), choice) {
        (None, _) => {
            let (problem, hint) = unknown_profile(profile, &config.profiles);
            format!("{file}: {problem}\n  hint: {hint}")
        }
        (Some((_, rights)), Choice::One(server)) if !rights.allows_server(&server.name) => format!(
            "the profile `{profile}` does not include the server `{}`\n  \
             hint: add it to `profiles.{profile}` in {file}",
            server.name
        ),
        (Some(_), Choice::One(_) | Choice::All(_)) => return Ok(()),
    };
    Err(fatal_told(Exit::Config, told.clone(), Some(told)))
}

/// Servers to serve.
#[derive(Debug)]
enum Choice {
    /// One server, unchanged.
    One(Box<ServerConfig>),
    /// Several servers, as one.
    All(Vec<ServerConfig>),
}

impl Choice {
    /// Name for people.
    fn name(&self) -> &str {
        match self {
            Self::One(server) => &server.name,
            Self::All(_) => "switchboard",
        }
    }

    fn servers(self) -> Vec<ServerConfig> {
        match self {
            Self::One(server) => vec![*server],
            Self::All(servers) => servers,
        }
    }

    /// The only server, for features that support just one.
    fn only(self) -> anyhow::Result<ServerConfig> {
        let mut servers = self.servers();
        match (servers.pop(), servers.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(_) | None, _) => Err(fatal(
                Exit::Config,
                "the config names several servers, and `--raw` connects to one\n  \
                 hint: choose it with `--server NAME`",
            )),
        }
    }
}

enum Attached {
    Served,
    /// Without the daemon: as requested, or because it cannot be reached or started.
    Alone(OwnStdio),
}

/// Serves through the daemon that all windows share: the servers of a config file, a preset, or a command
/// line if the user's own config allows that.
async fn attach(
    args: &StdioArgs,
    config: &Config,
    choice: &Choice,
    source: &Option<Source>,
    roots: &RootOptions,
    stdio: OwnStdio,
) -> anyhow::Result<Attached> {
    let overrides = args.overrides.overrides();
    let shared = match (args.solo, source) {
        (true, _) => None,
        (false, _) if args.backend.is_some() => {
            known_by_name(args, source.as_ref()).map(|what| (what, config.clone(), None))
        }
        (false, _) if !args.command.is_empty() => match choice {
            Choice::One(server) => from_command_line(args, config, server, source.as_ref()),
            Choice::All(_) => None,
        },
        (false, Some(source)) => Some((What::of(source), config.clone(), None)),
        (false, None) => None,
    };
    let Some((what, config, ad_hoc)) = shared else { return Ok(Attached::Alone(stdio)) };
    let identity = Identity { what, overrides };
    let (address, command) = match (identity.address(), identity.command()) {
        (Ok(address), Ok(command)) => (address, command),
        // Without a place for the socket, the window serves itself.
        (Err(error), _) | (_, Err(error)) => return Ok(alone(stdio, &error)),
    };
    let server = match choice {
        Choice::One(server) => Some(server.name.clone()),
        Choice::All(_) => None,
    };
    let roots = roots.clone();
    // The attachment starts no servers: the daemon has them.
    let config = Config { servers: Vec::new(), ..config };
    let (state_folder, log, ignore_parent) = (super::state_folder(), window_log(args), args.ignore_parent);
    let (profile, token) = (args.profile.clone(), client_token());
    let attach = Attach {
        config,
        server,
        profile,
        ad_hoc,
        roots,
        address,
        state_folder,
        command,
        log,
        token,
        ignore_parent,
    };
    Ok(match attach::run(attach, stdio).await {
        Ok(()) => Attached::Served,
        Err(Alone { stdio, why }) => alone(stdio, &why),
    })
}

/// Daemon for a preset. `None` if flags apply to this window alone, or if the preset's program is missing,
/// so that the user is told here.
fn known_by_name(args: &StdioArgs, source: Option<&Source>) -> Option<What> {
    let is_plain = args.root_argument.is_empty()
        && args.inherit_env.is_none()
        && args.pass_env.is_empty()
        && args.packages.is_none()
        && args.guard.is_none()
        && args.keep.is_empty();
    let options = auggie::resolve(&auggie_options(args), &super::vars).filter(|_| is_plain)?;
    let owners = args.owner.owners();
    Some(What::Auggie { options, config: source.map(|source| source.path.clone()), owners })
}

/// Daemon for a command line. Its config is the given one or the user's own, never a project's.
fn from_command_line(
    args: &StdioArgs,
    config: &Config,
    server: &ServerConfig,
    source: Option<&Source>,
) -> Option<(What, Config, Option<AdHoc>)> {
    let mut server = server.clone();
    let (config, what) = match source {
        Some(source) => (config.clone(), What::of(source)),
        None => {
            let file = discover(None, None, args.owner.owners(), &super::vars).ok()?.file?;
            let config = file.load().config?;
            // No config was loaded for this command line before, so its settings are applied here.
            server.idle_ttl = config.pool.idle_ttl;
            args.overrides.overrides().apply(&mut server);
            (config, What::Config { path: file.path, is_project: false, owners: args.owner.owners() })
        }
    };
    if !config.share_ad_hoc {
        return None;
    }
    // Variables that are not UTF-8 cannot be sent to the daemon.
    let is_text = |text: &std::ffi::OsStr| text.to_str().is_some();
    if server.inherit_env == InheritEnv::All
        && !std::env::vars_os().all(|(name, value)| is_text(&name) && is_text(&value))
    {
        return None;
    }
    // The daemon has another working folder.
    if Path::new(&server.command).components().count() > 1 {
        server.command = std::path::absolute(&server.command).ok()?.into_os_string().into_string().ok()?;
    }
    Some((what, config, Some(AdHoc::of(&server))))
}

fn alone(stdio: OwnStdio, why: &std::io::Error) -> Attached {
    complain(&format!(
        "switchboard: warning: cannot reach or start the daemon ({why}); this window runs its own servers\n  \
         hint: `--solo` works without the daemon; `switchboard logs` may show why"
    ));
    Attached::Alone(stdio)
}

/// Token that the client was started with.
fn client_token() -> Option<Secret> {
    // An IDE may set the variable to an empty value. A value that is not text is no token that we made.
    let token = std::env::var_os(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    token.map(|token| Secret::new(token.to_string_lossy()))
}

/// The first known root.
fn first(roots: &RootOptions) -> Option<PathBuf> {
    roots.pinned.as_ref().or(roots.given.first()).cloned()
}

/// Servers, settings and config file of the command line.
fn choose(args: &StdioArgs) -> anyhow::Result<(Config, Choice, Option<Source>)> {
    let (config, mut choice, source) = choose_from(args)?;
    match &mut choice {
        Choice::One(server) => args.overrides.overrides().apply(server),
        Choice::All(servers) => {
            servers.iter_mut().for_each(|server| args.overrides.overrides().apply(server))
        }
    }
    Ok((config, choice, source))
}

fn choose_from(args: &StdioArgs) -> anyhow::Result<(Config, Choice, Option<Source>)> {
    if let Some(mut server) = launched(args) {
        let (config, source) = match &args.config {
            Some(_) => load_config(args).map(|(config, source)| (config, Some(source)))?,
            None => with_defaults(args.owner.owners())
                .map_or_else(Default::default, |(config, source)| (config, Some(source))),
        };
        config.apply_to(&mut server);
        if args.backend.is_some() {
            // Again, since the config may have replaced what the preset needs.
            Preset::Auggie.complete(&mut server);
        }
        server.root_arguments.extend_from_slice(&args.root_argument);
        server.inherit_env = args.inherit_env.map_or(server.inherit_env, Into::into);
        server.pass_env.extend_from_slice(&args.pass_env);
        server.packages = args.packages.map_or(server.packages, Into::into);
        server.guard = args.guard.map_or(server.guard, Into::into);
        server.keep.extend_from_slice(&args.keep);
        return Ok((config, Choice::One(Box::new(server)), source));
    }
    let (config, source) = load_config(args)?;
    let choice = pick(&config, args.server.as_deref(), &source.path)?;
    Ok((config, choice, Some(source)))
}

/// The user's own config file, never a project's, if it has `defaults`: they apply to all servers, including
/// those of command lines. A file with errors does not prevent serving.
fn with_defaults(owners: Owners) -> Option<(Config, Source)> {
    let file = match discover(None, None, owners, &super::vars) {
        Ok(found) => found.file?,
        Err(error) => {
            complain(&format!("switchboard: warning: `defaults` are ignored: {error}"));
            return None;
        }
    };
    let Some(config) = preset::load(&file, &super::vars).config else {
        let path = file.path.display();
        complain(&format!(
            "switchboard: warning: {path} has errors, so its `defaults` are ignored\n  \
             hint: `switchboard check --config {path}`"
        ));
        return None;
    };
    let source = Source { path: file.path, origin: file.origin, owners, text: file.source };
    (!config.defaults.is_empty()).then_some((config, source))
}

/// Server whose launch is on the command line itself.
fn launched(args: &StdioArgs) -> Option<ServerConfig> {
    match (args.backend, args.command.split_first()) {
        (Some(BackendArg::Auggie), _) => Some(find_auggie(args)),
        // The client's entry was written for this command, so its whole environment is meant for it.
        (None, Some((command, rest))) => Some(ServerConfig {
            inherit_env: InheritEnv::All,
            ..ServerConfig::for_command(name_of(command, rest), command, rest.to_vec())
        }),
        (None, None) => None,
    }
}

fn find_auggie(args: &StdioArgs) -> ServerConfig {
    let server = Preset::Auggie.server(&auggie_options(args), &super::vars);
    // The client is told too, with its first request; this is for people who start us by hand.
    if let Some(missing) = &server.missing {
        complain(&format!("switchboard: {missing}"));
    }
    server
}

fn auggie_options(args: &StdioArgs) -> auggie::Options {
    let (node, entry, mode) = (args.node.clone(), args.auggie_entry.clone(), args.mode.clone());
    auggie::Options { node, entry, mode, ..auggie::Options::default() }
}

fn load_config(args: &StdioArgs) -> anyhow::Result<(Config, Source)> {
    match super::find_config(args.config.as_deref(), args.owner.owners())? {
        FoundConfig::File(config, source) => Ok((*config, source)),
        FoundConfig::Nothing { searched, untrusted } => {
            let paths: Vec<String> = searched.iter().map(|path| format!("  {}", path.display())).collect();
            let text = format!(
                "there is no config file, and no server was given after `--`; looked for\n{}\n  \
                 hint: write a config file (`switchboard help config`), or run `switchboard stdio -- COMMAND ARGS…`",
                paths.join("\n")
            );
            Err(fatal_told(Exit::Config, text, untrusted))
        }
    }
}

/// The requested server, or all enabled ones.
fn pick(config: &Config, wanted: Option<&str>, path: &Path) -> anyhow::Result<Choice> {
    if let Some(wanted) = wanted {
        return super::server_called(config, wanted, path)
            .cloned()
            .map(|server| Choice::One(Box::new(server)));
    }
    let enabled: Vec<ServerConfig> = super::enabled(config).into_iter().cloned().collect();
    if enabled.is_empty() {
        let text = format!(
            "{} has no enabled server\n  hint: add one to `mcpServers`, or remove `disabled` from one",
            path.display()
        );
        return Err(fatal(Exit::Config, text));
    }
    Ok(Choice::All(enabled))
}

/// Tells the client why it cannot be served. Without a client there is only stderr.
fn refuse(args: &StdioArgs, error: anyhow::Error) -> anyhow::Result<Exit> {
    // A raw client may not speak JSON-RPC, and a person reads stderr.
    if args.raw || std::io::stdin().is_terminal() {
        return Err(error);
    }
    super::on_runtime(async {
        let stdio = take_stdio().context("cannot use the standard streams")?;
        refuse_on(args, error, stdio).await
    })?
}

async fn refuse_on(args: &StdioArgs, error: anyhow::Error, stdio: OwnStdio) -> anyhow::Result<Exit> {
    // Printed at once: the client may stay for long.
    complain(&format!("switchboard: {error:#}"));
    let told = error.downcast_ref::<Fatal>().and_then(|fatal| fatal.told.clone());
    let (message, hint) = for_client(&told.unwrap_or_else(|| error.to_string()));
    refusing::run(Refusal { message, hint, ignore_parent: args.ignore_parent }, stdio).await?;
    Ok(exit::of(&error))
}

/// An error of the command line as one line, and its fix.
fn for_client(error: &str) -> (String, String) {
    const AGAIN: &str = "then reconnect: the config file is read when a client starts Switchboard";
    let (text, hint) = error.split_once("\n  hint: ").unwrap_or((error, ""));
    let mut lines = text.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let rest = lines.collect::<Vec<_>>().join(", ");
    let hint = if hint.is_empty() { format!("fix it, {AGAIN}") } else { format!("{hint}; {AGAIN}") };
    (format!("{first} {rest}").trim().to_owned(), hint)
}

async fn run_raw(raw: Raw, stdio: switchboard_gateway::OwnStdio) -> anyhow::Result<Exit> {
    match raw::run(raw, stdio).await {
        Ok(Ended::Exited(code)) => Ok(Exit::Command(code as u8)),
        // The number that shells use for a signal.
        Ok(Ended::Signalled(signal)) => Ok(Exit::Command((128 + signal) as u8)),
        Ok(Ended::Unknown) => Ok(Exit::Failure),
        Err(error) if error.is_missing => Err(fatal(Exit::NotFound, error.to_string())),
        Err(error) => Err(fatal(Exit::CannotExecute, error.to_string())),
    }
}

/// Log settings for the daemon, which writes the log of this window.
fn window_log(args: &StdioArgs) -> WindowLog {
    let file = match args.log_file.as_deref() {
        Some(file) if file == Path::new(STDERR) => {
            complain(
                "switchboard: warning: --log-file - is ignored: the daemon writes this window's log\n  \
                 hint: name a file, or add `--solo` for a log on stderr",
            );
            None
        }
        file => file.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned())),
    };
    logging::warn_of_file(file.as_deref());
    WindowLog {
        level: logging::level(args.log_level),
        format: args.log_format.map(Into::into),
        file,
        bodies: args.log_bodies,
    }
}

/// Name for a server that was given as a command.
fn name_of(command: &str, args: &[String]) -> String {
    const RUNNERS: &[&str] =
        &["npx", "uvx", "node", "python", "python3", "bunx", "pnpm", "deno", "bun", "uv"];
    let base = |path: &str| Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let program = base(command).unwrap_or_else(|| command.to_owned());
    if RUNNERS.contains(&program.as_str())
        && let Some(package) = args.iter().find(|arg| !arg.starts_with('-') && *arg != "run" && *arg != "dlx")
    {
        return package.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(package).to_owned();
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;
    use std::time::Duration;

    fn chosen(words: &[&str]) -> ServerConfig {
        let cli = Cli::try_parse_from(["switchboard"].iter().chain(words)).expect("a sound command line");
        choose(&cli.stdio).expect("a server").1.only().expect("one")
    }

    /// Flags override the settings of any source.
    #[test]
    fn the_flags_are_over_the_settings() {
        let path = std::env::temp_dir().join(format!("switchboard-choose-{}.json", std::process::id()));
        let server = r#"{ "command": "c", "maxBackends": 7, "idleTtl": "1h" }"#;
        let config = format!(r#"{{ "mcpServers": {{ "s": {server} }}, "pool": {{ "idleTtl": "2h" }} }}"#);
        std::fs::write(&path, config).expect("a file for a moment");
        let file = path.to_str().expect("a plain path");
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
        for (words, max_backends, idle_ttl) in [
            (&["--config", file][..], 7, hours(1)),
            (&["--config", file, "--", "c"], 8, hours(2)),
            (&["--config", file, "--backend", "auggie"], 3, hours(2)),
            (&["--", "c"], 8, Some(Duration::from_secs(600))),
        ] {
            let server = chosen(words);
            assert_eq!((server.max_backends, server.idle_ttl), (max_backends, idle_ttl), "{words:?}");
            for (seconds, idle_ttl) in [("0", None), ("90", Some(Duration::from_secs(90)))] {
                let flags = ["--max-backends", "5", "--idle-ttl-seconds", seconds];
                let server = chosen(&[&flags, words].concat());
                assert_eq!((server.max_backends, server.idle_ttl), (5, idle_ttl), "{words:?}");
            }
        }
        std::fs::remove_file(&path).expect("it was there");
    }

    #[test]
    fn path_arguments_are_added() {
        assert_eq!(
            chosen(&["--root-argument", "a", "--root-argument", "b", "--", "c"]).root_arguments,
            ["a", "b"]
        );
        let auggie = chosen(&["--backend", "auggie", "--root-argument", "a"]);
        assert_eq!(auggie.root_arguments, ["directory_path", "a"]);
    }
}
