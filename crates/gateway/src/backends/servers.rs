//! Servers by number. A server keeps its number for the life of this process, whatever happens to its entry
//! in the config; a new entry is matched by name. Must not know which backends run.

use crate::config::ServerConfig;
use crate::environments::Vars;
use crate::io::reader::RootArguments;
use crate::scope;
use std::sync::Arc;
use switchboard_core::ServerId;
use switchboard_process::lock::{Lock, LockGuard};
use tokio::sync::watch;

/// Largest number of servers from command lines.
const MAX_AD_HOC_SERVERS: usize = 256;

pub(crate) struct Servers {
    entries: Lock<Vec<ServerEntry>>,
    /// Root arguments of all servers together, for clients of all servers.
    every_root_argument: watch::Sender<RootArguments>,
    /// Variables of this process.
    vars: Arc<Vars>,
}

struct ServerEntry {
    server: Arc<ServerConfig>,
    root_arguments: watch::Sender<RootArguments>,
    origin: EntryOrigin,
    is_gone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryOrigin {
    Config,
    /// From a client's command line.
    AdHoc,
}

impl ServerEntry {
    /// Whether clients of all servers see this server.
    fn is_listed(&self) -> bool {
        !self.is_gone && self.origin == EntryOrigin::Config
    }
}

/// Differences between the old and the new config.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) servers: Vec<(ServerId, Option<Arc<ServerConfig>>)>,
    /// Servers that are only shown differently and need no restart.
    pub(crate) shown: Vec<(ServerId, Arc<ServerConfig>)>,
    pub(crate) changed: Vec<String>,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

/// Server from a command line.
pub(crate) struct AdHocServer {
    pub(crate) id: ServerId,
    pub(crate) server: Arc<ServerConfig>,
    /// First use of this command line.
    pub(crate) is_new: bool,
}

impl Servers {
    pub(crate) fn new(servers: Vec<ServerConfig>, vars: Arc<Vars>) -> Arc<Self> {
        let (every_root_argument, _) = watch::channel(None);
        let list = Self { entries: Lock::default(), every_root_argument, vars };
        for server in servers {
            let entry = list.entry(Arc::new(server), EntryOrigin::Config);
            list.lock().push(entry);
        }
        list.every_root_argument.send_replace(list.joint_root_arguments(&list.lock()));
        Arc::new(list)
    }

    /// Entry of a server, even of a removed one, whose backends may still be ending.
    pub(crate) fn server(&self, id: ServerId) -> Option<Arc<ServerConfig>> {
        self.lock().get(id.0 as usize).map(|entry| entry.server.clone())
    }

    pub(crate) fn root_arguments(&self, id: ServerId) -> Option<watch::Receiver<RootArguments>> {
        self.lock().get(id.0 as usize).map(|entry| entry.root_arguments.subscribe())
    }

    /// Root arguments for a client of all servers.
    pub(crate) fn every_root_argument(&self) -> watch::Receiver<RootArguments> {
        self.every_root_argument.subscribe()
    }

    /// Arguments that name a folder at any listed server.
    fn joint_root_arguments(&self, entries: &[ServerEntry]) -> RootArguments {
        let all = entries
            .iter()
            .filter(|entry| entry.is_listed())
            .filter_map(|it| self.root_arguments_of(&it.server));
        all.reduce(|mut all, more| {
            all.extend(more);
            all.sort();
            all.dedup();
            all
        })
    }

    /// Servers that a client of all servers sees.
    pub(crate) fn listed(&self) -> Vec<(ServerId, Arc<ServerConfig>)> {
        self.those(ServerEntry::is_listed)
    }

    /// Servers that are not removed.
    pub(crate) fn present(&self) -> Vec<(ServerId, Arc<ServerConfig>)> {
        self.those(|entry| !entry.is_gone)
    }

    fn those(&self, are_meant: impl Fn(&ServerEntry) -> bool) -> Vec<(ServerId, Arc<ServerConfig>)> {
        let entries = self.lock();
        let those = entries.iter().enumerate().filter(|(_, entry)| are_meant(entry));
        those.map(|(at, entry)| (ServerId(at as u32), entry.server.clone())).collect()
    }

    /// Server of this name. Configured servers take precedence.
    pub(crate) fn find(&self, name: &str) -> Option<(ServerId, Arc<ServerConfig>)> {
        let entries = self.lock();
        let of = |origin| {
            let is_it =
                |entry: &ServerEntry| !entry.is_gone && entry.origin == origin && entry.server.name == name;
            entries.iter().position(is_it)
        };
        let at = of(EntryOrigin::Config).or_else(|| of(EntryOrigin::AdHoc))?;
        Some((ServerId(at as u32), entries[at].server.clone()))
    }

    /// Error text for an unknown name.
    pub(crate) fn there_is_no(&self, name: &str) -> String {
        let entries = self.lock();
        let names = entries.iter().filter(|entry| !entry.is_gone).map(|entry| entry.server.name.as_str());
        format!("there is no server `{name}`; there are: {}", names.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn any(&self, is_it: impl Fn(&ServerConfig) -> bool) -> bool {
        self.lock().iter().any(|entry| !entry.is_gone && is_it(&entry.server))
    }

    /// Replaces the configured servers with those of a new config.
    pub(crate) fn replace(&self, servers: Vec<ServerConfig>, keeps_ad_hoc: bool) -> Changes {
        let mut changes = Changes::default();
        let mut entries = self.lock();
        let is_kept = |entry: &ServerEntry| match entry.origin {
            EntryOrigin::Config => servers.iter().any(|server| server.name == entry.server.name),
            // Without `shareAdHoc`, the new config forbids them.
            EntryOrigin::AdHoc => keeps_ad_hoc,
        };
        for (at, entry) in entries.iter_mut().enumerate() {
            if !entry.is_gone && !is_kept(entry) {
                // Kept in the list, since the numbers are indexes.
                entry.is_gone = true;
                changes.removed.push(entry.server.name.clone());
                changes.servers.push((ServerId(at as u32), None));
            }
        }
        for server in servers {
            let (name, server) = (server.name.clone(), Arc::new(server));
            let is_it =
                |entry: &ServerEntry| entry.origin == EntryOrigin::Config && entry.server.name == name;
            let at = match entries.iter().position(is_it) {
                Some(at) if !entries[at].is_gone && entries[at].server == server => continue,
                // Only filters or `required` differ, so running backends stay.
                Some(at) if !entries[at].is_gone && entries[at].server.runs_like(&server) => {
                    changes.changed.push(name);
                    entries[at].server = server.clone();
                    changes.shown.push((ServerId(at as u32), server));
                    continue;
                }
                Some(at) => {
                    // A removed server that returns keeps its number.
                    let entry = &mut entries[at];
                    let list = if entry.is_gone { &mut changes.added } else { &mut changes.changed };
                    list.push(name);
                    entry.is_gone = false;
                    entry.server = server.clone();
                    entry.root_arguments.send_replace(self.root_arguments_of(&server));
                    at
                }
                None => {
                    changes.added.push(name);
                    entries.push(self.entry(server.clone(), EntryOrigin::Config));
                    entries.len() - 1
                }
            };
            changes.servers.push((ServerId(at as u32), Some(server)));
        }
        self.every_root_argument.send_replace(self.joint_root_arguments(&entries));
        changes
    }

    /// Server for a command line; equal lines share one server. `None` if there are too many.
    pub(crate) fn ad_hoc(&self, mut server: ServerConfig) -> Option<AdHocServer> {
        let mut entries = self.lock();
        let is_it = |entry: &ServerEntry| {
            let name = &entry.server.name;
            entry.origin == EntryOrigin::AdHoc
                && *entry.server == ServerConfig { name: name.clone(), ..server.clone() }
        };
        if let Some(at) = entries.iter().position(is_it) {
            let entry = &mut entries[at];
            // A server that a reload had removed is new to the core again.
            let is_new = std::mem::take(&mut entry.is_gone);
            return Some(AdHocServer { id: ServerId(at as u32), server: entry.server.clone(), is_new });
        }
        if entries.iter().filter(|entry| entry.origin == EntryOrigin::AdHoc).count() >= MAX_AD_HOC_SERVERS {
            return None;
        }
        let name = server.name.clone();
        let is_taken = |name: &str| entries.iter().any(|entry| entry.server.name == name);
        let mut names = (2..).map(|number: u32| format!("{name}-{number}"));
        if is_taken(&name) {
            // The range of names is endless, so a free one is always found.
            server.name = names.find(|name| !is_taken(name)).unwrap_or(name);
        }
        let server = Arc::new(server);
        entries.push(self.entry(server.clone(), EntryOrigin::AdHoc));
        Some(AdHocServer { id: ServerId(entries.len() as u32 - 1), server, is_new: true })
    }

    fn entry(&self, server: Arc<ServerConfig>, origin: EntryOrigin) -> ServerEntry {
        let (root_arguments, _) = watch::channel(self.root_arguments_of(&server));
        ServerEntry { server, root_arguments, origin, is_gone: false }
    }

    fn root_arguments_of(&self, server: &ServerConfig) -> RootArguments {
        scope::splits(server, &|name| self.vars.get(name)).then(|| server.root_arguments.clone())
    }

    fn lock(&self) -> LockGuard<'_, Vec<ServerEntry>> {
        self.entries.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FilterConfig;

    fn server(name: &str, command: &str) -> ServerConfig {
        ServerConfig::for_command(name, command, Vec::new())
    }

    fn servers(servers: Vec<ServerConfig>) -> Arc<Servers> {
        Servers::new(servers, Arc::default())
    }

    #[test]
    fn a_server_keeps_its_number() {
        let servers = servers(vec![server("a", "1"), server("b", "1"), server("c", "1")]);
        let changes = servers.replace(vec![server("d", "1"), server("c", "2"), server("a", "1")], true);
        let ids: Vec<(u32, bool)> =
            changes.servers.iter().map(|(id, server)| (id.0, server.is_some())).collect();
        assert_eq!(ids, [(1, false), (3, true), (2, true)]);
        assert_eq!(
            (changes.changed, changes.added, changes.removed),
            (vec!["c".to_owned()], vec!["d".to_owned()], vec!["b".to_owned()])
        );
        assert!(servers.find("b").is_none());
        assert_eq!(servers.find("c").unwrap().0, ServerId(2));
        let changes = servers.replace(vec![server("b", "1")], true);
        assert_eq!(changes.added, ["b"]);
        assert_eq!(servers.find("b").unwrap().0, ServerId(1));
    }

    #[test]
    fn the_same_config_changes_nothing() {
        let servers = servers(vec![server("a", "1")]);
        assert_eq!(servers.replace(vec![server("a", "1")], true), Changes::default());
    }

    #[test]
    fn display_change_needs_no_restart() {
        let servers = servers(vec![server("a", "1")]);
        let filter = FilterConfig { deny: vec!["x".into()], ..Default::default() };
        let changes = servers.replace(vec![ServerConfig { tools: filter, ..server("a", "1") }], true);
        assert!(changes.servers.is_empty());
        assert_eq!((changes.shown.len(), changes.changed), (1, vec!["a".to_owned()]));
    }

    #[test]
    fn readers_hear_of_other_arguments() {
        let servers = servers(vec![server("a", "1")]);
        let root_arguments = servers.root_arguments(ServerId(0)).unwrap();
        assert_eq!(*root_arguments.borrow(), None);
        servers.replace(vec![ServerConfig { root_arguments: vec!["path".into()], ..server("a", "1") }], true);
        assert_eq!(*root_arguments.borrow(), Some(vec!["path".to_owned()]));
    }

    #[test]
    fn a_command_line_is_a_server_of_its_own() {
        let servers = servers(vec![server("a", "1")]);
        let bring =
            |command| servers.ad_hoc(server("a", command)).map(|it| (it.server.name.clone(), it.is_new));
        assert_eq!(bring("1"), Some(("a-2".into(), true)), "the config's is another");
        assert_eq!(bring("1"), Some(("a-2".into(), false)));
        assert_eq!(bring("2"), Some(("a-3".into(), true)));
        assert_eq!(servers.replace(vec![server("a", "1")], true), Changes::default());
        assert_eq!(servers.replace(vec![server("a", "1")], false).removed, ["a-2", "a-3"]);
    }
}
