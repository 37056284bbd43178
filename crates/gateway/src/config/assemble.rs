//! From the text of a file to a [`Config`]: reads the entries, then checks conditions across several values.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use super::default_keys::DefaultsEntry;
use super::keys::{AuditEntry, FileEntry, LogEntry, ServerEntries};
use super::quantity::spell_size;
use super::read::{Count, Key, Size, Time};
use super::report::{FilePlace, Report, shown};
use super::server_keys::ServerEntry;
use super::syntax::{self, span};
use super::{
    AuditConfig, Config, Fallback, LogConfig, Names, PoolConfig, Problem, RunKeys, ServerConfig, access,
    defaults, offers, preset_keys, profiles, remote, run_keys, serve, sharing,
};

const MIN_MESSAGE_LIMIT_BYTES: usize = 1 << 10;
const MAX_MESSAGE_LIMIT_BYTES: usize = 1 << 30;
/// A line may have several KiB, and each file should hold more than a few.
const MIN_AUDIT_FILE_BYTES: usize = 64 << 10;

/// Result of loading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedConfig {
    /// `None` if any problem is an error: a config with an error is not used in part.
    pub config: Option<Config>,
    /// All problems, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Loads the text of a config file. `path` is for messages only; nothing is read from disk.
pub fn load(path: &Path, source: &str) -> LoadedConfig {
    // Some Windows editors start a file with a byte order mark.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut report = Report::new(path, source);
    let config = syntax::parse(source, &mut report).map(|object| {
        let top = FilePlace::nameless(span(&object));
        let entry = FileEntry::read_object(&object, &top, &mut report);
        file(entry, &top, &mut report)
    });
    LoadedConfig { config: config.filter(|_| !report.failed()), problems: report.finish() }
}

/// Settings of the file that apply to each of its servers.
struct Common {
    shutdown_grace: Duration,
    pool: PoolConfig,
    ignored_folders: Vec<String>,
    defaults: RunKeys,
}

impl Common {
    fn prepare(&self, server: &mut ServerConfig) {
        server.shutdown_grace = self.shutdown_grace;
        server.idle_ttl = self.pool.idle_ttl;
        server.ignored_folders.clone_from(&self.ignored_folders);
    }
}

fn file(entry: FileEntry, top: &FilePlace, report: &mut Report<'_>) -> Config {
    if entry.mcp_servers.is_absent() && entry.servers.is_absent() {
        let remedy = r#"add "mcpServers": { "NAME": { "command": "…" } }"#.to_owned();
        // Only the brace is marked: the span of the whole object would fill the excerpt.
        let brace = FilePlace::nameless(top.span.start..top.span.start + 1);
        report.warning(&brace, "no servers in this file", Some(remedy));
    }
    let pool = sharing::pool(entry.pool, report);
    let for_all = entry.defaults.value().map(|DefaultsEntry(keys)| run_keys::run_keys(keys, &pool, report).0);
    let common = Common {
        shutdown_grace: entry.shutdown_grace.or(Time(defaults::SHUTDOWN_GRACE)).0,
        ignored_folders: sharing::ignored_folders(entry.ignored_folders, report),
        defaults: for_all.unwrap_or_default(),
        pool,
    };
    let first = named(entry.mcp_servers);
    let second = named(entry.servers);
    refuse_in_both(&first, &second, report);
    // Includes servers with errors: a reference to one of them is not a typo.
    let written: Vec<String> = first.iter().chain(&second).map(|(name, ..)| name.clone()).collect();
    let names = entry.names.or(defaults::NAMES);
    let servers: Vec<(ServerConfig, FilePlace)> = first
        .into_iter()
        .chain(second)
        .filter_map(|(name, place, entry)| {
            // A server that cannot be loaded is left out; its errors were reported.
            server(name, &place, entry, &common, report).map(|server| (server, place))
        })
        .collect();
    match names {
        Names::Prefixed => offers::check_names(&servers, report),
        // Without prefixes, a server's name is not part of its tools' names.
        Names::Plain => {}
    }
    Config {
        servers: servers.into_iter().map(|(server, _)| server).collect(),
        defaults: common.defaults,
        framing: entry.framing.or(defaults::FRAMING),
        dialect: entry.dialect.or(defaults::DIALECT),
        client_era: entry.client_era.or(defaults::CLIENT_ERA),
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
        profiles: profiles::profiles(entry.profiles, &written, report),
        limits: access::identity_limits(entry.limits, report),
        stdio_access: entry.access.value().map_or(defaults::STDIO_ACCESS, |entry| {
            // A wrong word is reported, and the config is not used.
            entry.stdio.or(defaults::STDIO_ACCESS)
        }),
        serve: entry.serve.value().map(|entry| serve::settings(entry, report)).unwrap_or_default(),
        log: entry.log.value().map(log).unwrap_or_default(),
        audit: entry.audit.value().map(|entry| audit(entry, report)).unwrap_or_default(),
    }
}

fn named(servers: Key<ServerEntries>) -> Vec<(String, FilePlace, ServerEntry)> {
    servers.value().map(|ServerEntries(servers)| servers).unwrap_or_default()
}

fn refuse_in_both(
    first: &[(String, FilePlace, ServerEntry)],
    second: &[(String, FilePlace, ServerEntry)],
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

fn audit(entry: AuditEntry, report: &mut Report<'_>) -> AuditConfig {
    if let Key::Given(Size(bytes), place) = &entry.max_bytes
        && *bytes < MIN_AUDIT_FILE_BYTES
    {
        let message = format!("{} is too small", spell_size(*bytes));
        let remedy = format!("write a size of at least {}", spell_size(MIN_AUDIT_FILE_BYTES));
        report.error(&place.readable(), message, remedy);
    }
    AuditConfig {
        clients: entry.clients.or(defaults::AUDIT_CLIENTS),
        arguments: entry.arguments.or(defaults::AUDIT_ARGUMENTS),
        file: entry.file.value(),
        max_bytes: entry.max_bytes.or(Size(defaults::AUDIT_MAX_BYTES)).0,
        keep: entry.keep.or(Count(defaults::AUDIT_KEEP)).0,
    }
}

fn message_limit(limit: Key<Size>, report: &mut Report<'_>) -> usize {
    let Key::Given(Size(bytes), place) = limit else { return defaults::MAX_MESSAGE_BYTES };
    if !(MIN_MESSAGE_LIMIT_BYTES..=MAX_MESSAGE_LIMIT_BYTES).contains(&bytes) {
        let (least, most) = (spell_size(MIN_MESSAGE_LIMIT_BYTES), spell_size(MAX_MESSAGE_LIMIT_BYTES));
        let message = format!("{} is out of bounds", spell_size(bytes));
        report.error(&place.readable(), message, format!("write a size from {least} to {most}"));
    }
    // Returned even if out of bounds, since the report has failed by then.
    bytes
}

/// One server of the file. `None`, with a problem reported, if it cannot be loaded.
fn server(
    name: String,
    place: &FilePlace,
    mut entry: ServerEntry,
    common: &Common,
    report: &mut Report<'_>,
) -> Option<ServerConfig> {
    check_name(&name, place, report);
    if let Key::Wrong = entry.preset {
        // The word was reported; without the preset, a missing command would be reported as well.
        return None;
    }
    let preset = preset_keys::preset(&mut entry, report);
    let (remote, command) = if preset.is_some() {
        (None, String::new())
    } else if remote::is_remote(&entry) {
        (Some(remote::remote(&mut entry, place, report)?), String::new())
    } else {
        (None, command(std::mem::replace(&mut entry.command, Key::Absent), place, report)?)
    };
    let mut server = ServerConfig {
        remote,
        args: std::mem::replace(&mut entry.args, Key::Absent).or(Vec::new()),
        env: std::mem::replace(&mut entry.env, Key::Absent).or(Default::default()),
        cwd: std::mem::replace(&mut entry.cwd, Key::Absent).value(),
        disabled: is_disabled(&entry),
        scope: defaults::SCOPE,
        expand: true,
        ..ServerConfig::for_command(name, command, Vec::new())
    };
    common.prepare(&mut server);
    if let Some(known) = &preset {
        // Layers, each over the one before: preset, the file's defaults, the server's own keys.
        known.preset.prepare(&mut server);
    }
    common.defaults.apply(&mut server);
    let (own, positions) = run_keys::run_keys(entry, &common.pool, report);
    own.apply(&mut server);
    if let Some(known) = &preset {
        // Completed last: the preset's own variables are added to those that the user names.
        known.preset.complete(&mut server);
    }
    server.preset = preset;
    run_keys::check_together(&server, place, &positions, report);
    Some(server)
}

fn is_disabled(entry: &ServerEntry) -> bool {
    let says = |key: &Key<bool>, word: bool| matches!(key, Key::Given(given, _) if *given == word);
    says(&entry.disabled, true) || says(&entry.enabled, false)
}

fn check_name(name: &str, place: &FilePlace, report: &mut Report<'_>) {
    if name.trim().is_empty() {
        report.error(place, "a server without a name", "give it a short name, such as \"github\"");
    } else if name.contains(char::is_control) {
        report.error(place, "a control character in a server's name", "use letters, digits, - and _");
    }
}

fn command(command: Key<String>, server: &FilePlace, report: &mut Report<'_>) -> Option<String> {
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
