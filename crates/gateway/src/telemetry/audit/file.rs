//! The audit's file. A full file is renamed with the time, and a new one begins; the oldest are removed. No file
//! is ever truncated, and several processes may append to the same one.

use super::super::rolling::open;
use super::AuditOptions;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use switchboard_core::text::dates::Timestamp;

/// Bytes that are written at a time; between two writes a new file may begin.
const CHUNK_BYTES: usize = 256 << 10;
/// Digits of `2026-11-18T00-12-33.123Z`, as `0`.
const STAMP: &str = "0000-00-00T00-00-00.000Z";

pub(super) struct AuditFile {
    path: PathBuf,
    max_bytes: u64,
    keep: usize,
    file: Option<File>,
    /// The last write ended within a line.
    is_torn: bool,
    /// Time of the last old file, and the number of files of that time.
    last: (String, u32),
}

impl AuditFile {
    pub(super) fn new(options: &AuditOptions, log_folder: &Path) -> Self {
        let (path, max_bytes, keep) = (options.path(log_folder), options.max_bytes, options.keep);
        Self { path, max_bytes, keep, file: None, is_torn: false, last: Default::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends lines. On an error, returns the number of lines that were written as well.
    pub(super) fn write(&mut self, lines: &[String]) -> Result<(), (io::Error, usize)> {
        let mut written = 0;
        while written < lines.len() {
            let (chunk, count) = chunk(&lines[written..]);
            match self.append(&chunk) {
                Ok(()) => written += count,
                Err((error, bytes)) => {
                    // A new attempt must not continue in the middle of a line.
                    self.file = None;
                    let whole = chunk[..bytes].iter().filter(|byte| **byte == b'\n').count();
                    self.is_torn |= bytes > 0 && chunk[bytes - 1] != b'\n';
                    return Err((error, written + whole));
                }
            }
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), (io::Error, usize)> {
        let is_torn = self.is_torn;
        let file = self.ready().map_err(|error| (error, 0))?;
        if is_torn {
            file.write_all(b"\n").map_err(|error| (error, 0))?;
        }
        let mut written = 0;
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => return Err((io::ErrorKind::WriteZero.into(), written)),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((error, written)),
            }
        }
        self.is_torn = false;
        Ok(())
    }

    /// The open file, with room for more.
    fn ready(&mut self) -> io::Result<&mut File> {
        let max_bytes = self.max_bytes;
        let is_full = |length: u64| length >= max_bytes;
        // The open file itself is measured: the path may already name a newer one.
        if self.file.as_ref().is_some_and(|file| file.metadata().is_ok_and(|meta| is_full(meta.len()))) {
            self.file = None;
        }
        // Moved away by someone else, such as `logrotate`.
        if !self.path.exists() {
            self.file = None;
        }
        if self.file.is_none() {
            // Also a full file of an earlier run, unless another process has just renamed it.
            if fs::metadata(&self.path).is_ok_and(|meta| is_full(meta.len())) {
                let aside = self.aside();
                fs::rename(&self.path, aside)?;
            }
            self.file = Some(open(&self.path)?);
            self.prune();
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Name and extension of the file: `audit` and `.jsonl`.
    fn parts(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let extension = text(self.path.extension()).map(|extension| format!(".{extension}"));
        (text(self.path.file_stem()).unwrap_or_default(), extension.unwrap_or_default())
    }

    /// A free name with the present time. Later names sort after earlier ones, even within a millisecond.
    fn aside(&mut self) -> PathBuf {
        let (stem, extension) = self.parts();
        // Windows allows no colons in a name.
        let stamp = Timestamp(SystemTime::now()).to_string().replace(':', "-");
        let first = if self.last.0 == stamp { self.last.1 } else { 0 };
        let named = |count: u32| {
            let more = if count == 0 { String::new() } else { format!("-{count}") };
            self.path.with_file_name(format!("{stem}-{stamp}{more}{extension}"))
        };
        // Another process may have taken a name.
        let free = (first..first + 100).find(|count| !named(*count).exists()).unwrap_or(first + 100);
        let path = named(free);
        self.last = (stamp, free + 1);
        path
    }

    /// Removes the oldest files. Only names that `aside` makes count.
    fn prune(&self) {
        let (stem, extension) = self.parts();
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
        let prefix = format!("{stem}-");
        let dated = |entry: fs::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let stamp = stamp(name.strip_prefix(&prefix)?.strip_suffix(&extension)?)?;
            Some((stamp, entry.path()))
        };
        let mut old: Vec<_> = entries.flatten().filter_map(dated).collect();
        old.sort();
        for (_, path) in &old[..old.len().saturating_sub(self.keep)] {
            let _ = fs::remove_file(path);
        }
    }
}

/// The first lines, up to a limit, and their number.
fn chunk(lines: &[String]) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let mut count = 0;
    for line in lines {
        if count > 0 && bytes.len() + line.len() > CHUNK_BYTES {
            break;
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        count += 1;
    }
    (bytes, count)
}

/// The time and the number in a name that `aside` made.
fn stamp(text: &str) -> Option<(String, u32)> {
    let (time, more) = (text.get(..STAMP.len())?, text.get(STAMP.len()..)?);
    let zeros: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let count = if more.is_empty() { 0 } else { more.strip_prefix('-')?.parse().ok()? };
    (zeros == STAMP).then(|| (time.to_owned(), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("switchboard-audit-file-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn file(folder: &Path, max_bytes: u64, keep: usize) -> AuditFile {
        AuditFile::new(&AuditOptions { is_on: true, file: None, max_bytes, keep }, folder)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn full_file_is_set_aside() {
        let folder = folder("full");
        let mut audit = file(&folder, 100, 3);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("audit-2notes.jsonl"), "mine").unwrap();
        for number in 0..20 {
            audit.write(&[format!("{number:0>60}")]).unwrap();
        }
        let (names, current) = (names(&folder), "audit.jsonl".to_owned());
        assert_eq!(names.iter().filter(|name| name.starts_with("audit-2")).count(), 3 + 1, "{names:?}");
        assert!(names.contains(&"audit-2notes.jsonl".to_owned()), "{names:?}");
        // The newest lines are there, in order, and each file is whole.
        let stamp_of =
            |name: &&String| stamp(name.strip_prefix("audit-").unwrap_or("9").trim_end_matches(".jsonl"));
        let mut old: Vec<&String> = names.iter().filter(|name| stamp_of(name).is_some()).collect();
        old.sort_by_key(stamp_of);
        old.push(&current);
        let kept: Vec<String> =
            old.iter().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect();
        let lines: Vec<&str> = kept.iter().flat_map(|text| text.lines()).collect();
        let numbers: Vec<usize> = lines.iter().map(|line| line.parse().unwrap()).collect();
        assert_eq!(numbers, (20 - numbers.len()..20).collect::<Vec<_>>());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn two_writers_lose_nothing() {
        let folder = folder("two");
        let (mut one, mut other) = (file(&folder, 200, 1000), file(&folder, 200, 1000));
        for number in 0..100 {
            one.write(&[format!("a{number}")]).unwrap();
            other.write(&[format!("b{number}")]).unwrap();
        }
        let all: String =
            names(&folder).iter().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect();
        assert_eq!(all.lines().count(), 200);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn moved_file_is_created_again() {
        let folder = folder("moved");
        let mut audit = file(&folder, 1000, 3);
        audit.write(&["one".into()]).unwrap();
        fs::rename(folder.join("audit.jsonl"), folder.join("elsewhere")).unwrap();
        audit.write(&["two".into()]).unwrap();
        assert_eq!(fs::read_to_string(folder.join("audit.jsonl")).unwrap(), "two\n");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn stamps_are_recognised() {
        for stamp in ["2026-11-18T00-12-33.123Z", "2026-11-18T00-12-33.123Z-7"] {
            assert!(super::stamp(stamp).is_some(), "{stamp}");
        }
        for other in ["", "2026", "2026-11-18T00-12-33.123Z-", "2026-11-18T00-12-33.123Zx", "2notes", "é"] {
            assert!(stamp(other).is_none(), "{other}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn full_disk_is_an_error() {
        let options = AuditOptions { is_on: true, file: Some("/dev/full".into()), max_bytes: 1000, keep: 1 };
        let (error, written) = AuditFile::new(&options, Path::new("/")).write(&["x".into()]).unwrap_err();
        assert_eq!((error.kind(), written), (io::ErrorKind::StorageFull, 0));
    }
}
