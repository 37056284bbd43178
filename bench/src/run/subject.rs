//! Who is compared: a name, and the command line that leads to the benchmark's backend. It starts nothing.

use std::ffi::OsString;
use std::path::Path;

use super::options::{Options, Section};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The backend itself, with no proxy before it.
    Direct,
    /// The floor.
    Pump,
    /// The one that the targets are for.
    Switchboard,
    /// The same without a guard, to see what a guard costs at the start.
    Unguarded,
    /// Another proxy, to be seen beside.
    Peer,
}

pub(super) struct Subject {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) argv: Vec<OsString>,
}

impl Subject {
    /// In the order of the report's columns.
    pub(super) fn all(options: &Options) -> Result<Vec<Self>, String> {
        let this = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
        let this = this.into_os_string();
        let mut backend =
            vec![this.clone(), "backend".into(), "--payload".into(), options.payload.name().into()];
        if options.id_last {
            backend.push("--id-last".into());
        }
        let subject = |name: &str, role, proxy: &[OsString]| Self {
            name: name.to_owned(),
            role,
            argv: proxy.iter().chain(&backend).cloned().collect(),
        };
        let mut subjects = vec![
            subject("direct", Role::Direct, &[]),
            subject("pump", Role::Pump, &[this, "pump".into(), "--".into()]),
        ];
        if let Some(path) = &options.switchboard {
            let program = executable(path)?;
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
        self.role != Role::Unguarded || section == Section::ColdStart
    }

    pub(super) fn is_proxy(&self) -> bool {
        self.role != Role::Direct
    }
}

/// Asked for before anything is measured, so that a wrong path is not found out after half a minute.
fn executable(path: &Path) -> Result<OsString, String> {
    let found = path.canonicalize();
    found.map(Into::into).map_err(|error| {
        format!("{}: {error}; build it with `cargo build --release -p switchboard`", path.display())
    })
}
