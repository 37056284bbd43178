//! The programs to compare: a name, and the command line that leads to the benchmark's backend. Starts nothing.

use std::ffi::OsString;
use std::path::Path;

use super::options::{RunOptions, Section, Suite};
use super::{http, servers};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The backend itself, without a proxy.
    Direct,
    /// The floor with one server.
    Pump,
    /// The floor with many servers.
    Aggregator,
    /// The floor over HTTP.
    Bridge,
    /// Switchboard itself, to which the targets apply.
    Switchboard,
    /// The same over HTTP, with all servers as one.
    Aggregate,
    /// The same without a guard, to measure the guard's cost at the start.
    Unguarded,
    /// Another proxy, for comparison.
    Peer,
}

pub(super) struct Subject {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) argv: Vec<OsString>,
    /// Names of its cheapest tools, one for each server.
    pub(super) tools: Vec<String>,
    pub(super) via: Via,
}

/// The transport.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Via {
    Pipes,
    /// HTTP; the address is printed on stderr.
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
    /// Subjects in the order of the report's columns, which is the same for all measurements.
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

    /// Whether it takes part. A guard does not handle messages: its cost shows only at the start.
    pub(super) fn is_of(&self, section: Section) -> bool {
        match self.role {
            Role::Unguarded => section == Section::ColdStart,
            Role::Aggregator => !matches!(section, Section::Lists | Section::Starts),
            Role::Aggregate => matches!(section, Section::Latency | Section::Throughput),
            // The floor has no sessions.
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

/// Checked before any measurement, so that a wrong path fails at once.
fn executable(path: &Path) -> Result<OsString, String> {
    let found = path.canonicalize();
    found.map(Into::into).map_err(|error| {
        format!("{}: {error}; build it with `cargo build --release -p switchboard`", path.display())
    })
}
