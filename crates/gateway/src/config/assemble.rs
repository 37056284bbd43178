//! From the text of a file to a [`Config`]: reads the entries, then checks what no single value can show.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use super::keys::{FileEntry, LogEntry, ServerEntry, Servers};
use super::offers::Kind;
use super::quantity::{spell_size, spell_time};
use super::read::{Count, Key, Size, Time};
use super::report::{Place, Report, shown};
use super::syntax::{self, span};
use super::{
    Config, Fallback, Guard, LogConfig, Names, PoolConfig, Problem, ServerConfig, defaults, offers, remote,
    serve, sharing,
};

const SMALLEST_MESSAGE_LIMIT: usize = 1 << 10;
const LARGEST_MESSAGE_LIMIT: usize = 1 << 30;

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// `None` if any problem is an error: a config that is partly wrong is not used in part.
    pub config: Option<Config>,
    /// All of them, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Reads the text of a config file. `path` is for the problems only; nothing is read from disk.
pub fn load(path: &Path, source: &str) -> Loaded {
    // Some Windows editors put a byte order mark at the start.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut report = Report::new(path, source);
    let config = syntax::parse(source, &mut report).map(|object| {
        let top = Place::nameless(span(&object));
        let entry = FileEntry::read_object(&object, &top, &mut report);
        file(entry, &top, &mut report)
    });
    Loaded { config: config.filter(|_| !report.failed()), problems: report.finish() }
}

/// What stands in the file once, and counts for each of its servers.
struct Common {
    shutdown_grace: Duration,
    pool: PoolConfig,
    ignored_folders: Vec<String>,
}

fn file(entry: FileEntry, top: &Place, report: &mut Report<'_>) -> Config {
    if entry.mcp_servers.is_absent() && entry.servers.is_absent() {
        let remedy = r#"add "mcpServers": { "NAME": { "command": "…" } }"#.to_owned();
        let brace = Place::nameless(top.span.start..top.span.start + 1);
        report.warning(&brace, "no servers in this file", Some(remedy));
    }
    let common = Common {
        shutdown_grace: entry.shutdown_grace.or(Time(defaults::SHUTDOWN_GRACE)).0,
        pool: sharing::pool(entry.pool, report),
        ignored_folders: sharing::ignored_folders(entry.ignored_folders, report),
    };
    let first = named(entry.mcp_servers);
    let second = named(entry.servers);
    refuse_in_both(&first, &second, report);
    // Those that are not loaded included: they are no slip of the pen.
    let written: Vec<String> = first.iter().chain(&second).map(|(name, ..)| name.clone()).collect();
    let names = entry.names.or(defaults::NAMES);
    let servers: Vec<(ServerConfig, Place)> = first
        .into_iter()
        .chain(second)
        .filter_map(|(name, place, entry)| {
            server(name, &place, entry, &common, report).map(|server| (server, place))
        })
        .collect();
    match names {
        Names::Prefixed => offers::check_names(&servers, report),
        Names::Plain => {}
    }
    Config {
        servers: servers.into_iter().map(|(server, _)| server).collect(),
        framing: entry.framing.or(defaults::FRAMING),
        dialect: entry.dialect.or(defaults::DIALECT),
        max_message_bytes: message_limit(entry.max_message_bytes, report),
        shutdown_grace: common.shutdown_grace,
        pool: common.pool,
        linger: entry.linger.or(Time(defaults::LINGER)).0,
        share_ad_hoc: entry.share_ad_hoc.or(defaults::SHARE_AD_HOC),
        default_root: sharing::default_root(entry.default_root, report),
        open_roots: entry.open_roots.or(defaults::OPEN_ROOTS),
        fallback: entry.fallback.or(defaults::FALLBACK) == Fallback::On,
        ignored_folders: common.ignored_folders,
        names,
        list_grace: entry.list_grace.or(Time(defaults::LIST_GRACE)).0,
        page_size: entry.page_size.value().map(|Count(count)| count),
        notifications: offers::notifications(entry.notifications, &written, report),
        profiles: offers::profiles(entry.profiles, &written, report),
        serve: entry.serve.value().map(|entry| serve::settings(entry, report)).unwrap_or_default(),
        log: entry.log.value().map(log).unwrap_or_default(),
    }
}

fn named(servers: Key<Servers>) -> Vec<(String, Place, ServerEntry)> {
    servers.value().map(|Servers(servers)| servers).unwrap_or_default()
}

fn refuse_in_both(
    first: &[(String, Place, ServerEntry)],
    second: &[(String, Place, ServerEntry)],
    report: &mut Report<'_>,
) {
    let names: HashSet<&String> = first.iter().map(|(name, ..)| name).collect();
    for (name, place, _) in second.iter().filter(|(name, ..)| names.contains(name)) {
        let message = format!("`{}` is in both `mcpServers` and `servers`", shown(name));
        report.error(place, message, "remove one of the two");
    }
}

fn log(entry: LogEntry) -> LogConfig {
    LogConfig {
        level: entry.level.or(defaults::LOG_LEVEL),
        format: entry.format.or(defaults::LOG_FORMAT),
        file: entry.file.value(),
        bodies: entry.bodies.or(defaults::LOG_BODIES),
    }
}

fn message_limit(limit: Key<Size>, report: &mut Report<'_>) -> usize {
    let Key::Given(Size(bytes), place) = limit else { return defaults::MAX_MESSAGE_BYTES };
    if !(SMALLEST_MESSAGE_LIMIT..=LARGEST_MESSAGE_LIMIT).contains(&bytes) {
        let (least, most) = (spell_size(SMALLEST_MESSAGE_LIMIT), spell_size(LARGEST_MESSAGE_LIMIT));
        let message = format!("{} is out of bounds", spell_size(bytes));
        report.error(&place.readable(), message, format!("write a size from {least} to {most}"));
    }
    bytes
}

/// `None` for a server that is not loaded, which is then reported.
fn server(
    name: String,
    place: &Place,
    mut entry: ServerEntry,
    common: &Common,
    report: &mut Report<'_>,
) -> Option<ServerConfig> {
    check_name(&name, place, report);
    let (remote, command) = if remote::is_remote(&entry) {
        (Some(remote::remote(&mut entry, place, report)?), String::new())
    } else {
        (None, command(entry.command, place, report)?)
    };
    let pass_env = pass_env(entry.pass_env, report);
    let guard = entry.guard.or(defaults::GUARD);
    let keep = keep(entry.keep, guard, report);
    let start_timeout = not_zero(entry.start_timeout, defaults::START_TIMEOUT, report);
    let timeout = not_zero(entry.timeout.into(), defaults::TIMEOUT, report);
    let hard_timeout = hard_timeout(entry.hard_timeout, timeout, place, report);
    Some(ServerConfig {
        command,
        name,
        remote,
        args: entry.args.or(Vec::new()),
        env: entry.env.or(Default::default()),
        cwd: entry.cwd.value(),
        disabled: entry.disabled.or(defaults::DISABLED) || !entry.enabled.or(!defaults::DISABLED),
        lazy: entry.lazy.or(defaults::LAZY),
        required: entry.required.or(false),
        tools: offers::filter(entry.tools, Kind::Tool, report),
        prompts: offers::filter(entry.prompts, Kind::Prompt, report),
        resources: offers::resource_filter(entry.resources, report),
        framing: entry.framing.or(defaults::FRAMING),
        inherit_env: entry.inherit_env.or(defaults::INHERIT_ENV),
        pass_env,
        start_timeout,
        timeout,
        hard_timeout,
        on_timeout: entry.on_timeout.or(defaults::ON_TIMEOUT),
        retry_after_crash: entry.retry_after_crash.or(defaults::RETRY_AFTER_CRASH),
        shutdown_grace: entry.shutdown_grace.or(Time(common.shutdown_grace)).0,
        max_in_flight: entry.max_in_flight.or(Count(defaults::MAX_IN_FLIGHT)).0,
        max_queue: entry.max_queue.or(Count(defaults::MAX_QUEUE)).0,
        scope: entry.scope.or(defaults::SCOPE),
        max_backends: sharing::max_backends(entry.max_backends, &common.pool, report),
        idle_ttl: sharing::unless_zero(entry.idle_ttl, common.pool.idle_ttl),
        memory_limit: sharing::memory_limit(entry.memory_limit, report),
        root_arguments: sharing::root_arguments(entry.root_arguments, report),
        health: sharing::unless_zero(entry.health, Some(defaults::HEALTH)),
        state: entry.state.or(defaults::STATE),
        capabilities: entry.capabilities.or(defaults::CAPABILITIES),
        debounce: sharing::debounce(entry.debounce, report),
        ignored_folders: common.ignored_folders.clone(),
        packages: entry.packages.or(defaults::PACKAGES),
        guard,
        keep,
        expand: true,
        missing: None,
        advice: None,
    })
}

fn check_name(name: &str, place: &Place, report: &mut Report<'_>) {
    if name.trim().is_empty() {
        report.error(place, "a server without a name", "give it a short name, such as \"github\"");
    } else if name.contains(char::is_control) {
        report.error(place, "a control character in a server's name", "use letters, digits, - and _");
    }
}

fn command(command: Key<String>, server: &Place, report: &mut Report<'_>) -> Option<String> {
    let remedy = "add the program to start, such as \"command\": \"npx\"";
    match command {
        Key::Given(command, place) if command.trim().is_empty() => {
            report.error(&place, "`command` is empty", remedy);
            None
        }
        Key::Given(command, _) => Some(command),
        Key::Absent => {
            report.error(server, "`command` is missing", remedy);
            None
        }
        Key::Wrong => None,
    }
}

fn pass_env(patterns: Key<Vec<String>>, report: &mut Report<'_>) -> Vec<String> {
    let Key::Given(patterns, place) = patterns else { return Vec::new() };
    for pattern in &patterns {
        // The text is not repeated: after the `=` there may be a secret.
        if pattern.contains('=') || pattern.is_empty() {
            let remedy = "write names, such as \"GITHUB_*\"; values go into `env`";
            report.error(&place, "not the name of an environment variable", remedy);
        }
    }
    patterns
}

/// Whether a process can be called so.
pub fn is_process_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\n'])
}

fn keep(names: Key<Vec<String>>, guard: Guard, report: &mut Report<'_>) -> Vec<String> {
    let Key::Given(names, place) = names else { return Vec::new() };
    if !names.iter().all(|name| is_process_name(name)) {
        report.error(&place, "not the name of a process", "write a name as `ps` shows it, such as \"adb\"");
    }
    if guard == Guard::Strict && !names.is_empty() {
        let remedy = "use \"guard\": \"auto\" for this server, or remove `keep`".to_owned();
        report.warning(&place, "nothing can be kept with `guard: strict`", Some(remedy));
    }
    names
}

fn not_zero(time: Key<Time>, default: Duration, report: &mut Report<'_>) -> Duration {
    let Key::Given(Time(time), place) = time else { return default };
    if time.is_zero() {
        let remedy = format!("write a longer time, or remove the key to get {}", spell_time(default));
        report.error(&place.readable(), "there must be some time", remedy);
    }
    time
}

fn hard_timeout(
    hard: Key<Time>,
    timeout: Duration,
    server: &Place,
    report: &mut Report<'_>,
) -> Option<Duration> {
    let (hard, place) = match hard {
        Key::Given(Time(hard), _) if hard.is_zero() => return None,
        Key::Given(Time(hard), place) => (hard, place),
        Key::Absent | Key::Wrong => (defaults::HARD_TIMEOUT, server.clone()),
    };
    if hard < timeout {
        let (hard, timeout) = (spell_time(hard), spell_time(timeout));
        let message = format!("`hardTimeout` ({hard}) ends a call before `timeout` ({timeout}) does");
        report.warning(
            &place.readable(),
            message,
            Some("give a longer `hardTimeout`, or 0 for never".to_owned()),
        );
    }
    Some(hard)
}
