//! What each run of ours leaves on disk, so that the next one can clean up after it: who we are, who guards,
//! what was started. Removed at the end of a run by its warden; a file whose run is dead tells of one in which
//! all of us were killed in the same instant.
//!
//! Every process of a run carries its **mark**: a number made of the run's own and the guard's. See
//! `table::carries` for where it is kept.

mod sweep;

use crate::{private, table};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(crate) use sweep::{end_marked, sweep};

/// The variable that all of a tree inherit.
pub(crate) const MARK_VARIABLE: &str = "SWITCHBOARD_MARK";

const TITLE: &str = "switchboard run 1";
/// So many bits of a mark are the guard's, the rest the run's.
const GUARD_BITS: u32 = 16;
/// As a limit, a mark must not look like "unlimited" to anyone: it stays far below.
const RUN_BITS: u32 = 46;

/// A number that no other run has.
pub(crate) fn new_run() -> u64 {
    // The standard library's own source of chance: 64 bits from the system, mixed.
    let chance = RandomState::new().build_hasher().finish();
    (chance >> (64 - RUN_BITS)).max(1)
}

pub(crate) fn mark_of(run: u64, guard: u16) -> u64 {
    run << GUARD_BITS | u64::from(guard)
}

pub(crate) fn run_of(mark: u64) -> u64 {
    mark >> GUARD_BITS
}

pub(crate) fn spell_mark(mark: u64) -> String {
    format!("{mark:x}")
}

pub(crate) fn parse_mark(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// One process, for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) pid: u32,
    pub(crate) start: u64,
}

impl Who {
    pub(crate) fn is(pid: u32) -> Option<Self> {
        table::start(pid).map(|start| Self { pid, start })
    }

    /// One that has ended and was not reaped does nothing any more.
    pub(crate) fn is_alive(self) -> bool {
        table::one(self.pid).is_some_and(|entry| entry.start == self.start && !entry.is_zombie)
    }
}

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) number: u64,
    pub(crate) host: String,
    pub(crate) boot: String,
    pub(crate) namespace: String,
    /// We, the warden and the guards: as long as one of them lives, the run sees to itself.
    pub(crate) keepers: Vec<Who>,
    pub(crate) backends: Vec<Who>,
    /// The cgroups that were made for backends.
    pub(crate) groups: Vec<PathBuf>,
    pub(crate) keep: Vec<OsString>,
}

/// One more line of a run's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Keeper(Who),
    Backend(Who),
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "control groups are Linux's"))]
    Group(&'a Path),
    Keep(&'a OsString),
}

/// Begins a file for this run of ours.
pub(crate) fn begin(folder: &Path, number: u64) -> io::Result<PathBuf> {
    let (Some(us), Some(boot), Some(namespace)) =
        (Who::is(std::process::id()), table::boot(), table::pid_namespace())
    else {
        return Err(io::Error::other("this system does not tell who its processes are"));
    };
    private::folder(folder)?;
    let path = folder.join(format!("{number:012x}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let head = format!("{TITLE}\nhost {}\nboot {boot}\nnamespace {namespace}\nnumber {number:x}\n", host());
    let written = file.write_all(&[head.as_bytes(), &Line::Keeper(us).spell()].concat());
    if written.is_err() {
        let _ = fs::remove_file(&path);
    }
    written.map(|()| path)
}

/// Adds to a file; several may at the same time.
pub(crate) fn add(path: &Path, lines: &[Line<'_>]) -> io::Result<()> {
    let text: Vec<u8> = lines.iter().flat_map(Line::spell).collect();
    // One write, so that lines of several guards do not mix.
    File::options().append(true).open(path)?.write_all(&text)
}

impl Line<'_> {
    fn spell(&self) -> Vec<u8> {
        let who = |word: &str, who: &Who| format!("{word} {} {}\n", who.pid, who.start).into_bytes();
        let text = |word: &str, text: &[u8]| {
            // A name with a line's end in it cannot be told; such a process is not kept, and not missed.
            if text.contains(&b'\n') { Vec::new() } else { [word.as_bytes(), b" ", text, b"\n"].concat() }
        };
        match self {
            Self::Keeper(keeper) => who("keeper", keeper),
            Self::Backend(backend) => who("backend", backend),
            Self::Group(path) => text("group", path.as_os_str().as_bytes()),
            Self::Keep(name) => text("keep", name.as_bytes()),
        }
    }
}

impl Run {
    /// Nothing, if it is no such file, or of a release that writes it otherwise.
    fn parse(content: &[u8]) -> Option<Self> {
        let mut lines = content.split(|byte| *byte == b'\n');
        if lines.next()? != TITLE.as_bytes() {
            return None;
        }
        let mut run = Self {
            number: 0,
            host: String::new(),
            boot: String::new(),
            namespace: String::new(),
            keepers: Vec::new(),
            backends: Vec::new(),
            groups: Vec::new(),
            keep: Vec::new(),
        };
        for line in lines {
            let Some(blank) = line.iter().position(|byte| *byte == b' ') else { continue };
            let (word, rest) = (&line[..blank], &line[blank + 1..]);
            let text = || String::from_utf8_lossy(rest).into_owned();
            match word {
                b"host" => run.host = text(),
                b"boot" => run.boot = text(),
                b"namespace" => run.namespace = text(),
                b"number" => run.number = parse_mark(&text())?,
                b"keeper" => run.keepers.extend(parse_who(&text())),
                b"backend" => run.backends.extend(parse_who(&text())),
                b"group" => run.groups.push(OsString::from_vec(rest.to_vec()).into()),
                b"keep" => run.keep.push(OsString::from_vec(rest.to_vec())),
                _ => {}
            }
        }
        // Zero would be the mark of many who have none of ours.
        (run.number != 0 && !run.keepers.is_empty()).then_some(run)
    }
}

fn parse_who(text: &str) -> Option<Who> {
    let (pid, start) = text.split_once(' ')?;
    Some(Who { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

/// This machine among others that may share a home folder. Copies of one image have one name.
fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!("{name} {id}").trim().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let folder = std::env::temp_dir().join(format!("switchboard-runs-{}", std::process::id()));
        let number = new_run();
        let path = begin(&folder, number).unwrap();
        let (warden, backend) = (Who { pid: 2, start: 3 }, Who { pid: 4, start: 5 });
        let (group, name) = (PathBuf::from("/sys/fs/cgroup/a b"), OsString::from("adb"));
        add(&path, &[Line::Keeper(warden), Line::Backend(backend)]).unwrap();
        add(&path, &[Line::Group(&group), Line::Keep(&name), Line::Keep(&"a\nb".into())]).unwrap();
        let run = Run::parse(&fs::read(&path).unwrap()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(run.number, number);
        assert_eq!(run.keepers, [Who::is(std::process::id()).unwrap(), warden]);
        assert!(run.keepers[0].is_alive());
        assert_eq!((run.backends, run.groups, run.keep), (vec![backend], vec![group], vec![name]));
    }

    #[test]
    fn what_is_not_ours_or_was_cut_is_not_taken_for_a_run() {
        for content in ["", "{}", "switchboard run 2\nnumber 5\n", "switchboard run 1\nkeeper 1 2\n"] {
            assert_eq!(Run::parse(content.as_bytes()), None, "{content:?}");
        }
        let cut = Run::parse(b"switchboard run 1\nnumber 5\nkeeper 1 2\nbackend 7").unwrap();
        assert_eq!(cut.backends, []);
    }

    #[test]
    fn a_mark_names_its_run() {
        for _ in 0..100 {
            let run = new_run();
            let mark = mark_of(run, u16::MAX);
            assert_eq!(run_of(mark), run);
            assert!(mark < 1 << 62);
            assert_eq!(parse_mark(&spell_mark(mark)), Some(mark));
        }
    }
}
