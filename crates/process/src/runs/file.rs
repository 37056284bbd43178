//! The record of one run: a text file with one fact per line, appended to during the run. Must not judge
//! whether a run is dead.

use crate::mark::parse_mark;
use crate::private;
use crate::table::{self, ProcessId};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The first line, with the version of the format.
const TITLE: &str = "switchboard run 1";
/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) host: String,
    pub(super) boot: String,
    pub(super) namespace: String,
    /// The main process, the warden and the guards: while one of them lives, the run cleans up after itself.
    pub(super) keepers: Vec<ProcessId>,
    pub(super) backends: Vec<ProcessId>,
    /// cgroups created for backends.
    pub(super) groups: Vec<PathBuf>,
    pub(super) keep: Vec<OsString>,
}

/// A line of a run's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Keeper(ProcessId),
    Backend(ProcessId),
    #[cfg_attr(not(any(target_os = "linux", test)), expect(dead_code, reason = "control groups are Linux's"))]
    Group(&'a Path),
    Keep(&'a OsString),
}

/// Starts the file of this run.
pub(crate) fn begin(folder: &Path, number: u64) -> io::Result<PathBuf> {
    let (Some(us), Some(boot), Some(namespace)) =
        (ProcessId::of(std::process::id()), table::boot(), table::pid_namespace())
    else {
        return Err(io::Error::other("this system does not identify its processes (is /proc mounted?)"));
    };
    private::folder(folder)?;
    let path = folder.join(format!("{number:012x}"));
    // An existing file of this number belongs to another run.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let head = format!("{TITLE}\nhost {}\nboot {boot}\nnamespace {namespace}\nnumber {number:x}\n", host());
    let written = file.write_all(&[head.as_bytes(), &Line::Keeper(us).spell()].concat());
    if written.is_err() {
        let _ = fs::remove_file(&path);
    }
    written.map(|()| path)
}

/// Appends lines; several processes may do so at once.
pub(crate) fn add(path: &Path, lines: &[Line<'_>]) -> io::Result<()> {
    let text: Vec<u8> = lines.iter().flat_map(Line::spell).collect();
    // One write, so that lines of several guards do not interleave.
    File::options().append(true).open(path)?.write_all(&text)
}

impl Line<'_> {
    fn spell(&self) -> Vec<u8> {
        let process = |word: &str, id: &ProcessId| format!("{word} {} {}\n", id.pid, id.start).into_bytes();
        let text = |word: &str, text: &[u8]| {
            // A name with a line break cannot be recorded; such a process is simply not kept alive.
            if text.contains(&b'\n') { Vec::new() } else { [word.as_bytes(), b" ", text, b"\n"].concat() }
        };
        match self {
            Self::Keeper(keeper) => process("keeper", keeper),
            Self::Backend(backend) => process("backend", backend),
            Self::Group(path) => text("group", path.as_os_str().as_bytes()),
            Self::Keep(name) => text("keep", name.as_bytes()),
        }
    }
}

impl Run {
    /// Returns `None` for a foreign file, or one from a release with another format.
    pub(super) fn parse(content: &[u8]) -> Option<Self> {
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
                b"keeper" => run.keepers.extend(parse_process(&text())),
                b"backend" => run.backends.extend(parse_process(&text())),
                b"group" => run.groups.push(OsString::from_vec(rest.to_vec()).into()),
                b"keep" => run.keep.push(OsString::from_vec(rest.to_vec())),
                _ => {}
            }
        }
        // Zero would match processes that carry no mark of ours.
        (run.number != 0 && !run.keepers.is_empty()).then_some(run)
    }
}

fn parse_process(text: &str) -> Option<ProcessId> {
    let (pid, start) = text.split_once(' ')?;
    Some(ProcessId { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

/// Identifies this machine among others that share a home folder. Copies of one image have the same identity.
pub(super) fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!("{name} {id}").trim().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_survives_a_round_trip() {
        let folder = std::env::temp_dir().join(format!("switchboard-runs-{}", std::process::id()));
        let number = crate::mark::new_run();
        let path = begin(&folder, number).unwrap();
        let (warden, backend) = (ProcessId { pid: 2, start: 3 }, ProcessId { pid: 4, start: 5 });
        let (group, name) = (PathBuf::from("/sys/fs/cgroup/a b"), OsString::from("adb"));
        add(&path, &[Line::Keeper(warden), Line::Backend(backend)]).unwrap();
        add(&path, &[Line::Group(&group), Line::Keep(&name), Line::Keep(&"a\nb".into())]).unwrap();
        let run = Run::parse(&fs::read(&path).unwrap()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(run.number, number);
        assert_eq!(run.keepers, [ProcessId::of(std::process::id()).unwrap(), warden]);
        assert!(run.keepers[0].is_alive());
        assert_eq!((run.backends, run.groups, run.keep), (vec![backend], vec![group], vec![name]));
    }

    #[test]
    fn foreign_or_truncated_records_are_refused() {
        for content in ["", "{}", "switchboard run 2\nnumber 5\n", "switchboard run 1\nkeeper 1 2\n"] {
            assert_eq!(Run::parse(content.as_bytes()), None, "{content:?}");
        }
        let cut = Run::parse(b"switchboard run 1\nnumber 5\nkeeper 1 2\nbackend 7").unwrap();
        assert_eq!(cut.backends, []);
    }
}
