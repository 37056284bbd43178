//! The programs to compare: a name, and the command line that leads to the benchmark's backend. Starts nothing.

use std::ffi::OsString;
use std::path::Path;

use super::options::{RunOptions, Section, Suite};
use super::{http, servers};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The backend itself, with no proxy before it.
    Direct,
    /// The floor with one server.
    Pump,
    /// The floor with many servers.
    Aggregator,
    /// The floor over HTTP.
    Bridge,
    /// Switchboard itself, which the targets are for.
    Switchboard,
    /// The same over HTTP, where all servers are one.
    Aggregate,
    /// The same without a guard, to see what a guard costs at the start.
    Unguarded,
    /// Another proxy, to be seen beside.
    Peer,
}

pub(super) struct Subject {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) argv: Vec<OsString>,
    /// The names of its tools that do the least: one for each server.
    pub(super) tools: Vec<String>,
    pub(super) via: Via,
}

/// The way to call it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Via {
    Pipes,
    /// Prints on stderr where it listens.
    Http {
        path: String,
    },
}

/// The parts of every subject.
pub(super) struct Programs {
    /// The benchmark itself, which also contains the floors.
    pub(super) this: OsString,
    /// The server's command line.
    pub(super) backend: Vec<OsString>,
    pub(super) switchboard: Option<OsString>,
}

impl Subject {
    /// In the order of the report's columns, which is the same for all measurements.
    pub(super) fn all(
        suite: Suite,
        section: Section,
        options: &RunOptions,
        scratch: &Path,
    ) -> Result<Vec<Self>, String> {
        match suite {
            Suite::One => Self::with_one(options),
            Suite::Many => servers::subjects(servers::Shape::of(section), options, scratch),
            Suite::Http => http::subjects::subjects(options, scratch),
        }
    }

    fn with_one(options: &RunOptions) -> Result<Vec<Self>, String> {
        let Programs { this, backend, switchboard } = Programs::of(options)?;
        let subject = |name: &str, role, proxy: &[OsString]| Self {
            name: name.to_owned(),
            role,
            argv: proxy.iter().chain(&backend).cloned().collect(),
            tools: vec!["tiny".to_owned()],
            via: Via::Pipes,
        };
        let mut subjects = vec![
            subject("direct", Role::Direct, &[]),
            subject("pump", Role::Pump, &[this, "pump".into(), "--".into()]),
        ];
        if let Some(program) = switchboard {
            let words = |words: &[&str]| {
                [program.clone()].into_iter().chain(words.iter().map(OsString::from)).collect::<Vec<_>>()
            };
            subjects.push(subject("switchboard", Role::Switchboard, &words(&["stdio", "--"])));
            let unguarded = words(&["stdio", "--guard", "off", "--"]);
            subjects.push(subject("unguarded", Role::Unguarded, &unguarded));
        }
        subjects.extend(options.peers.iter().map(|(name, command)| subject(name, Role::Peer, command)));
        Ok(subjects)
    }

    /// Whether it takes part. A guard is not on a message's way: what it costs is seen at the start alone.
    pub(super) fn is_of(&self, section: Section) -> bool {
        match self.role {
            Role::Unguarded => section == Section::ColdStart,
            Role::Aggregator => !matches!(section, Section::Lists | Section::Starts),
            Role::Aggregate => matches!(section, Section::Latency | Section::Throughput),
            // Without sessions.
            Role::Direct | Role::Pump | Role::Bridge => section != Section::Sessions,
            Role::Switchboard | Role::Peer => true,
        }
    }

    pub(super) fn has_lists(&self) -> bool {
        self.role != Role::Aggregator
    }

    pub(super) fn is_floor(&self) -> bool {
        matches!(self.role, Role::Pump | Role::Aggregator | Role::Bridge)
    }

    pub(super) fn is_proxy(&self) -> bool {
        self.role != Role::Direct
    }
}

impl Programs {
    pub(super) fn of(options: &RunOptions) -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
        let this = this.into_os_string();
        let mut backend =
            vec![this.clone(), "backend".into(), "--payload".into(), options.payload.name().into()];
        if options.id_last {
            backend.push("--id-last".into());
        }
        let switchboard = options.switchboard.as_deref().map(executable).transpose()?;
        Ok(Self { this, backend, switchboard })
    }
}

/// Asked for before anything is measured, so that a wrong path is not found out after half a minute.
fn executable(path: &Path) -> Result<OsString, String> {
    let found = path.canonicalize();
    found.map(Into::into).map_err(|error| {
        format!("{}: {error}; build it with `cargo build --release -p switchboard`", path.display())
    })
}
