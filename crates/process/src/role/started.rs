//! A started tree: the program, its cgroup, and their lines in the run's record.

#[cfg(target_os = "linux")]
use super::namespace::{self, ProgramInNamespace};
use super::start::{self, ProgramStreams};
#[cfg(target_os = "linux")]
use crate::cgroup::{self, Leaf};
use crate::runs::{self, Line};
use crate::table::ProcessId;
use crate::wire::{Assignment, Stage};
use rustix::process::Pid;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A started program, with everything it will start.
pub(super) struct StartedTree {
    pub(super) program: Program,
    /// The cgroup of the tree, if one could be created.
    #[cfg(target_os = "linux")]
    pub(super) leaf: Option<Leaf>,
}

/// The started program.
pub(super) enum Program {
    /// A direct child of ours.
    Child(Pid),
    #[cfg(target_os = "linux")]
    InNamespace(ProgramInNamespace),
    Ended,
}

impl Program {
    pub(super) fn pid(&self) -> u32 {
        match self {
            Self::Child(pid) => pid.as_raw_pid().unsigned_abs(),
            #[cfg(target_os = "linux")]
            Self::InNamespace(inside) => inside.pid,
            Self::Ended => 0,
        }
    }
}

impl StartedTree {
    pub(super) fn start(
        assignment: &Assignment,
        streams: ProgramStreams,
        run_file: Option<&Path>,
        control: &UnixStream,
    ) -> Result<Self, (Stage, io::Error)> {
        let record = |lines: &[Line<'_>]| {
            if let Some(path) = run_file {
                // The guard works without a record; only the sweep of a later start depends on it.
                let _ = runs::add(path, lines);
            }
        };
        let mut lines: Vec<Line<'_>> =
            ProcessId::of(std::process::id()).map(Line::Keeper).into_iter().collect();
        lines.extend(assignment.keep.iter().map(Line::Keep));
        #[cfg(target_os = "linux")]
        let group = assignment.cgroup.as_deref().map(|group| cgroup::leaf_of(group, assignment.mark));
        #[cfg(target_os = "linux")]
        lines.extend(group.as_deref().map(Line::Group));
        // The record comes before the start: a crash in between must not leave an unrecorded tree.
        record(&lines);

        #[cfg(target_os = "linux")]
        let leaf = group.clone().and_then(|path| Leaf::make(path).ok());
        #[cfg(target_os = "linux")]
        let door = leaf.as_ref().and_then(|leaf| leaf.door().ok());
        #[cfg(not(target_os = "linux"))]
        let door = None;
        let program = Self::start_program(assignment, streams, door.as_ref(), control)?;
        record(&ProcessId::of(program.pid()).map(Line::Backend).into_iter().collect::<Vec<_>>());
        Ok(Self {
            program,
            #[cfg(target_os = "linux")]
            leaf,
        })
    }

    fn start_program(
        assignment: &Assignment,
        streams: ProgramStreams,
        door: Option<&File>,
        control: &UnixStream,
    ) -> Result<Program, (Stage, io::Error)> {
        #[cfg(target_os = "linux")]
        if assignment.strict {
            return namespace::start(assignment, streams, door, control).map(Program::InNamespace);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = control;
        // The standard library's handle neither kills nor reaps on drop; the guard does both.
        let child = start::program(assignment, streams, door).map_err(|error| (Stage::Program, error))?;
        Ok(Program::Child(Pid::from_child(&child)))
    }
}
