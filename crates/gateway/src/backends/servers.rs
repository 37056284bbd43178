//! The servers that there are, by their numbers: one place for all who need to know. A server keeps its number for as
//! long as we run, whatever becomes of its entry in the config; it is known again by its name.

use crate::config::ServerConfig;
use crate::environments::Vars;
use crate::scope;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use switchboard_core::ServerId;
use tokio::sync::watch;

/// More command lines than anybody has.
const MOST_AD_HOC: usize = 256;

/// What is read out of the messages to a server besides their envelopes: the arguments that name places. Nothing is, if
/// it has no instance per root.
pub(crate) type Habit = Option<Vec<String>>;

pub(crate) struct Register {
    entries: Mutex<Vec<Entry>>,
    /// What is read out of the messages of those who have all servers.
    every_habit: watch::Sender<Habit>,
    /// Our own.
    vars: Arc<Vars>,
}

struct Entry {
    server: Arc<ServerConfig>,
    habit: watch::Sender<Habit>,
    origin: Origin,
    is_gone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Config,
    /// Somebody's command line.
    AdHoc,
}

impl Entry {
    /// A command line is one client's own affair.
    fn is_listed(&self) -> bool {
        !self.is_gone && self.origin == Origin::Config
    }
}

/// What a new config changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) servers: Vec<(ServerId, Option<Arc<ServerConfig>>)>,
    /// They need not be started anew.
    pub(crate) shown: Vec<(ServerId, Arc<ServerConfig>)>,
    pub(crate) changed: Vec<String>,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

/// A server that a command line gave.
pub(crate) struct AdHoc {
    pub(crate) id: ServerId,
    pub(crate) server: Arc<ServerConfig>,
    /// Nobody has brought it before.
    pub(crate) is_new: bool,
}

impl Register {
    pub(crate) fn new(servers: Vec<ServerConfig>, vars: Arc<Vars>) -> Arc<Self> {
        let register = Self { entries: Mutex::default(), every_habit: watch::channel(None).0, vars };
        for server in servers {
            let entry = register.entry(Arc::new(server), Origin::Config);
            register.lock().push(entry);
        }
        register.every_habit.send_replace(register.common_habit(&register.lock()));
        Arc::new(register)
    }

    /// Also of one that is gone: it may have something to finish.
    pub(crate) fn server(&self, id: ServerId) -> Option<Arc<ServerConfig>> {
        self.lock().get(id.0 as usize).map(|entry| entry.server.clone())
    }

    pub(crate) fn habit(&self, id: ServerId) -> Option<watch::Receiver<Habit>> {
        self.lock().get(id.0 as usize).map(|entry| entry.habit.subscribe())
    }

    /// For a client of all servers.
    pub(crate) fn every_habit(&self) -> watch::Receiver<Habit> {
        self.every_habit.subscribe()
    }

    /// Whatever one of them would have read.
    fn common_habit(&self, entries: &[Entry]) -> Habit {
        let habits =
            entries.iter().filter(|entry| entry.is_listed()).filter_map(|it| self.habit_of(&it.server));
        habits.reduce(|mut all, more| {
            all.extend(more);
            all.sort();
            all.dedup();
            all
        })
    }

    /// Those that a client of all servers has.
    pub(crate) fn listed(&self) -> Vec<(ServerId, Arc<ServerConfig>)> {
        let entries = self.lock();
        let listed = entries.iter().enumerate().filter(|(_, entry)| entry.is_listed());
        listed.map(|(at, entry)| (ServerId(at as u32), entry.server.clone())).collect()
    }

    /// One that is there. The config's own come first.
    pub(crate) fn find(&self, name: &str) -> Option<(ServerId, Arc<ServerConfig>)> {
        let entries = self.lock();
        let of = |origin| {
            let is_it = |entry: &Entry| !entry.is_gone && entry.origin == origin && entry.server.name == name;
            entries.iter().position(is_it)
        };
        let at = of(Origin::Config).or_else(|| of(Origin::AdHoc))?;
        Some((ServerId(at as u32), entries[at].server.clone()))
    }

    /// For whoever asked for one that is not there.
    pub(crate) fn there_is_no(&self, name: &str) -> String {
        let entries = self.lock();
        let names = entries.iter().filter(|entry| !entry.is_gone).map(|entry| entry.server.name.as_str());
        format!("there is no server `{name}`; there are: {}", names.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn any(&self, is_it: impl Fn(&ServerConfig) -> bool) -> bool {
        self.lock().iter().any(|entry| !entry.is_gone && is_it(&entry.server))
    }

    /// Takes over the servers of a new config.
    pub(crate) fn replace(&self, servers: Vec<ServerConfig>, keeps_ad_hoc: bool) -> Changes {
        let mut changes = Changes::default();
        let mut entries = self.lock();
        let is_kept = |entry: &Entry| match entry.origin {
            Origin::Config => servers.iter().any(|server| server.name == entry.server.name),
            Origin::AdHoc => keeps_ad_hoc,
        };
        for (at, entry) in entries.iter_mut().enumerate() {
            if !entry.is_gone && !is_kept(entry) {
                entry.is_gone = true;
                changes.removed.push(entry.server.name.clone());
                changes.servers.push((ServerId(at as u32), None));
            }
        }
        for server in servers {
            let (name, server) = (server.name.clone(), Arc::new(server));
            let is_it = |entry: &Entry| entry.origin == Origin::Config && entry.server.name == name;
            let at = match entries.iter().position(is_it) {
                Some(at) if !entries[at].is_gone && entries[at].server == server => continue,
                Some(at) if !entries[at].is_gone && entries[at].server.runs_like(&server) => {
                    changes.changed.push(name);
                    entries[at].server = server.clone();
                    changes.shown.push((ServerId(at as u32), server));
                    continue;
                }
                Some(at) => {
                    let entry = &mut entries[at];
                    let list = if entry.is_gone { &mut changes.added } else { &mut changes.changed };
                    list.push(name);
                    entry.is_gone = false;
                    entry.server = server.clone();
                    entry.habit.send_replace(self.habit_of(&server));
                    at
                }
                None => {
                    changes.added.push(name);
                    entries.push(self.entry(server.clone(), Origin::Config));
                    entries.len() - 1
                }
            };
            changes.servers.push((ServerId(at as u32), Some(server)));
        }
        self.every_habit.send_replace(self.common_habit(&entries));
        changes
    }

    /// The server of a command line: the same line, the same server. Nothing if there are too many.
    pub(crate) fn ad_hoc(&self, mut server: ServerConfig) -> Option<AdHoc> {
        let mut entries = self.lock();
        let is_it = |entry: &Entry| {
            let name = &entry.server.name;
            entry.origin == Origin::AdHoc
                && *entry.server == ServerConfig { name: name.clone(), ..server.clone() }
        };
        if let Some(at) = entries.iter().position(is_it) {
            let entry = &mut entries[at];
            let is_new = std::mem::take(&mut entry.is_gone);
            return Some(AdHoc { id: ServerId(at as u32), server: entry.server.clone(), is_new });
        }
        if entries.iter().filter(|entry| entry.origin == Origin::AdHoc).count() >= MOST_AD_HOC {
            return None;
        }
        let name = server.name.clone();
        let is_taken = |name: &str| entries.iter().any(|entry| entry.server.name == name);
        let mut names = (2..).map(|number: u32| format!("{name}-{number}"));
        if is_taken(&name) {
            server.name = names.find(|name| !is_taken(name)).unwrap_or(name);
        }
        let server = Arc::new(server);
        entries.push(self.entry(server.clone(), Origin::AdHoc));
        Some(AdHoc { id: ServerId(entries.len() as u32 - 1), server, is_new: true })
    }

    fn entry(&self, server: Arc<ServerConfig>, origin: Origin) -> Entry {
        let (habit, _) = watch::channel(self.habit_of(&server));
        Entry { server, habit, origin, is_gone: false }
    }

    fn habit_of(&self, server: &ServerConfig) -> Habit {
        scope::splits(server, &|name| self.vars.get(name)).then(|| server.root_arguments.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FilterConfig;

    fn server(name: &str, command: &str) -> ServerConfig {
        ServerConfig::for_command(name, command, Vec::new())
    }

    fn register(servers: Vec<ServerConfig>) -> Arc<Register> {
        Register::new(servers, Arc::default())
    }

    #[test]
    fn a_server_keeps_its_number() {
        let register = register(vec![server("a", "1"), server("b", "1"), server("c", "1")]);
        let changes = register.replace(vec![server("d", "1"), server("c", "2"), server("a", "1")], true);
        let ids: Vec<(u32, bool)> =
            changes.servers.iter().map(|(id, server)| (id.0, server.is_some())).collect();
        assert_eq!(ids, [(1, false), (3, true), (2, true)]);
        assert_eq!(
            (changes.changed, changes.added, changes.removed),
            (vec!["c".to_owned()], vec!["d".to_owned()], vec!["b".to_owned()])
        );
        assert!(register.find("b").is_none());
        assert_eq!(register.find("c").unwrap().0, ServerId(2));
        let changes = register.replace(vec![server("b", "1")], true);
        assert_eq!(changes.added, ["b"]);
        assert_eq!(register.find("b").unwrap().0, ServerId(1));
    }

    #[test]
    fn the_same_config_changes_nothing() {
        let register = register(vec![server("a", "1")]);
        assert_eq!(register.replace(vec![server("a", "1")], true), Changes::default());
    }

    #[test]
    fn what_is_shown_is_no_reason_to_start_anew() {
        let register = register(vec![server("a", "1")]);
        let filter = FilterConfig { deny: vec!["x".into()], ..Default::default() };
        let changes = register.replace(vec![ServerConfig { tools: filter, ..server("a", "1") }], true);
        assert!(changes.servers.is_empty());
        assert_eq!((changes.shown.len(), changes.changed), (1, vec!["a".to_owned()]));
    }

    #[test]
    fn readers_hear_of_other_arguments() {
        let register = register(vec![server("a", "1")]);
        let habit = register.habit(ServerId(0)).unwrap();
        assert_eq!(*habit.borrow(), None);
        register
            .replace(vec![ServerConfig { root_arguments: vec!["path".into()], ..server("a", "1") }], true);
        assert_eq!(*habit.borrow(), Some(vec!["path".to_owned()]));
    }

    #[test]
    fn a_command_line_is_a_server_of_its_own() {
        let register = register(vec![server("a", "1")]);
        let bring =
            |command| register.ad_hoc(server("a", command)).map(|it| (it.server.name.clone(), it.is_new));
        assert_eq!(bring("1"), Some(("a-2".into(), true)), "the config's is another");
        assert_eq!(bring("1"), Some(("a-2".into(), false)));
        assert_eq!(bring("2"), Some(("a-3".into(), true)));
        assert_eq!(register.replace(vec![server("a", "1")], true), Changes::default());
        assert_eq!(register.replace(vec![server("a", "1")], false).removed, ["a-2", "a-3"]);
    }
}
