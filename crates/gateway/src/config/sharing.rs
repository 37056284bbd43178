//! Settings of pools and workspaces, with the checks across several values.

use std::time::Duration;

use super::keys::PoolEntry;
use super::model::default_ignored_folders;
use super::quantity::spell_size;
use super::read::{Count, Key, Size, Time, Times};
use super::report::{Report, shown};
use super::{PoolConfig, PoolMemory, defaults};

/// Less than any MCP server needs: a smaller value means that the unit was forgotten.
const MIN_MEMORY_LIMIT_BYTES: usize = 1 << 20;

pub(super) fn pool(entry: Key<PoolEntry>, report: &mut Report<'_>) -> PoolConfig {
    let Some(entry) = entry.value() else { return PoolConfig::default() };
    PoolConfig {
        max_backends: entry.max_backends.or(Count(defaults::POOL_MAX_BACKENDS)).0,
        memory_limit: pool_memory(entry.memory_limit, report),
        idle_ttl: unless_zero(entry.idle_ttl).unwrap_or(Some(defaults::IDLE_TTL)),
    }
}

/// A time in which `0` means never: `Some(None)`.
pub(super) fn unless_zero(time: Key<Time>) -> Option<Option<Duration>> {
    time.value().map(|Time(time)| Some(time).filter(|time| !time.is_zero()))
}

/// Memory limit of the pool; `0` is no limit.
fn pool_memory(limit: Key<Size>, report: &mut Report<'_>) -> PoolMemory {
    match limit {
        // Not a size below the minimum, but the spelling of "no limit".
        Key::Given(Size(0), _) => PoolMemory::Unlimited,
        limit => size(limit, report).map_or(defaults::POOL_MEMORY_LIMIT, PoolMemory::Bytes),
    }
}

/// Memory limit of a server; `0` is no limit: `Some(None)`.
pub(super) fn memory_limit(limit: Key<Size>, report: &mut Report<'_>) -> Option<Option<u64>> {
    match limit {
        Key::Given(Size(0), _) => Some(None),
        limit => size(limit, report).map(Some),
    }
}

fn size(limit: Key<Size>, report: &mut Report<'_>) -> Option<u64> {
    let Key::Given(Size(bytes), place) = limit else { return None };
    if bytes < MIN_MEMORY_LIMIT_BYTES {
        let message = format!("{} is less than any server needs", spell_size(bytes));
        let remedy = "write a size such as \"512MiB\", or 0 for no limit";
        report.error(&place.readable(), message, remedy);
    }
    Some(bytes as u64)
}

pub(super) fn max_backends(count: Key<Count>, pool: &PoolConfig, report: &mut Report<'_>) -> Option<usize> {
    let Key::Given(Count(count), place) = count else { return None };
    let all = pool.max_backends;
    if count > all {
        let message =
            format!("{count} is more than the {all} that `pool.maxBackends` allows for all servers");
        let remedy = format!("write at most {all}, or raise `pool.maxBackends`");
        report.warning(&place.readable(), message, Some(remedy));
    }
    Some(count)
}

pub(super) fn root_arguments(names: Key<Vec<String>>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let Key::Given(names, place) = names else { return None };
    if names.iter().any(|name| name.trim().is_empty()) {
        let remedy = "write the name of a tool's argument, such as \"directory_path\"";
        report.error(&place, "not the name of an argument", remedy);
    }
    Some(names)
}

/// Delays as given; `0` turns one off.
pub(super) fn debounce(given: Key<Times>, report: &mut Report<'_>) -> Vec<(String, Duration)> {
    let mut times = Vec::new();
    for (method, time, place) in given.value().map(|Times(given)| given).unwrap_or_default() {
        if !method.starts_with("notifications/") {
            let message = format!("`{}` is not the method of a notification", shown(&method));
            let remedy = "write its full name, such as \"notifications/tools/list_changed\"";
            report.error(&place.readable(), message, remedy);
        }
        times.push((method, time));
    }
    times
}

pub(super) fn default_root(path: Key<String>, report: &mut Report<'_>) -> Option<String> {
    let Key::Given(path, place) = path else { return None };
    if path.trim().is_empty() {
        report.error(&place, "not a folder", "write a path such as \"~/work\", or remove the key");
    }
    Some(path)
}

pub(super) fn ignored_folders(names: Key<Vec<String>>, report: &mut Report<'_>) -> Vec<String> {
    let Key::Given(names, place) = names else { return default_ignored_folders() };
    // `${ignoredFolders}` joins the names with commas.
    let is_name = |name: &str| {
        !name.trim().is_empty() && !name.contains(['/', '\\', ',']) && !name.contains(char::is_control)
    };
    if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
        let message = format!("\"{}\" is not the name of a folder", shown(wrong));
        report.error(
            &place.readable(),
            message,
            "write a name such as \"node_modules\", without / and commas",
        );
    }
    names
}
