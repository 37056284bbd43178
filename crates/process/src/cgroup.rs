//! A cgroup per process tree, where one is delegated to us: the kernel then kills all its members at once,
//! however they fork. Only version 2, and only below our own cgroup. Must not know why a tree is killed.

use crate::mark::spell_mark;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Magic number of the cgroup file system.
const CGROUP2_MAGIC: libc::c_long = 0x6367_7270;
/// Time limit for reaping the processes of a killed group, before which it cannot be removed.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(1);
const REMOVE_RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The cgroup in which we may create others, or the reason why there is none.
pub(crate) fn delegated() -> Result<PathBuf, String> {
    let own = own().ok_or("this system has no cgroup version 2, or does not show it")?;
    let shown = own.display();
    if !own.join("cgroup.kill").exists() {
        // The root cgroup has no such file, and only the system may divide it.
        return match own.join("cgroup.controllers").exists() {
            true => Err(format!(
                "{shown} cannot be killed as a whole (Linux before 5.14, or the outermost cgroup)"
            )),
            false => Err(format!("{shown} cannot be read")),
        };
    }
    if !is_ours_to_divide(&own) {
        return Err(format!("{shown} is not delegated to us (systemd: Delegate=yes)"));
    }
    // Permissions must be tried out: a read-only mount still shows all permission bits.
    let probe = own.join(format!("switchboard-probe-{}", std::process::id()));
    fs::create_dir(&probe).map_err(|error| format!("cannot create a cgroup in {shown} ({error})"))?;
    // Opening the file is enough: the kernel checks permissions here, and no process needs to move.
    let joined = OpenOptions::new().write(true).open(probe.join("cgroup.procs"));
    // Before any early return, so that no probe is left behind.
    let _ = fs::remove_dir(&probe);
    joined.map_err(|error| format!("cannot move a process within {shown} ({error})"))?;
    Ok(own)
}

/// Under systemd, a cgroup belongs to us only if systemd has marked it as delegated.
fn is_ours_to_divide(own: &Path) -> bool {
    // Without systemd no other program manages the tree, so access alone decides.
    if !Path::new("/run/systemd/system").exists() {
        return true;
    }
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0; 8];
        matches!(rustix::fs::getxattr(own, *name, value.as_mut_slice()), Ok(length) if value[..length] == *b"1")
    })
}

/// The path of our own cgroup.
pub(crate) fn own() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let inside = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (mounted, shows) = mounts.lines().find_map(mounted_at)?;
    // A container may see only part of the tree.
    let below = Path::new("/").join(inside);
    Some(Path::new(&mounted).join(below.strip_prefix(shows).ok()?))
}

/// `36 35 0:30 SHOWN /sys/fs/cgroup rw … - cgroup2 cgroup2 rw`, with blanks as `\040`.
fn mounted_at(line: &str) -> Option<(String, String)> {
    let (fields, kind) = line.split_once(" - ")?;
    kind.starts_with("cgroup2 ").then_some(())?;
    let mut fields = fields.split(' ').skip(3).map(|field| field.replace("\\040", " "));
    let shown = fields.next()?;
    Some((fields.next()?, shown))
}

/// The cgroup of one tree.
pub(crate) struct Leaf {
    path: PathBuf,
}

impl Leaf {
    pub(crate) fn make(path: PathBuf) -> io::Result<Self> {
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// The file through which a process enters the group, by writing "0".
    pub(crate) fn door(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))
    }

    /// Kills all processes in the group and in groups below.
    pub(crate) fn kill(&self) {
        kill(&self.path);
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        let _ = remove(&self.path);
    }
}

/// The path of a tree's group.
pub(crate) fn leaf_of(group: &Path, mark: u64) -> PathBuf {
    group.join(format!("switchboard-{}", spell_mark(mark)))
}

/// Removes a group left behind by another run, and kills its members if `may_kill`. Blocks for a moment.
pub(crate) fn clear(path: &Path, may_kill: bool) {
    if !is_ours(path) {
        return;
    }
    let deadline = Instant::now() + REMOVE_TIMEOUT;
    if may_kill {
        kill(path);
    }
    // Without a kill there is no reason to expect that members will go.
    while remove(path).is_err() && may_kill && Instant::now() < deadline {
        thread::sleep(REMOVE_RETRY_INTERVAL);
    }
}

/// Whether the path is a cgroup that we created. Checked here, since the path comes from a file on disk.
fn is_ours(path: &Path) -> bool {
    let is_named_so = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("switchboard-"));
    is_named_so && rustix::fs::statfs(path).is_ok_and(|found| found.f_type == CGROUP2_MAGIC)
}

/// Kills all processes in the group and in groups below.
pub(crate) fn kill(path: &Path) {
    // The path may come from a file on disk: no symbolic link may redirect the kill.
    let file = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(path.join("cgroup.kill"));
    let _ = file.and_then(|mut file| file.write_all(b"1"));
}

/// Removes the group and the groups that the tree itself created below.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    // The kernel refuses to remove a group that has groups below it.
    for entry in fs::read_dir(path)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path())?;
        }
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_mount_is_found_in_mountinfo() {
        let check = |line: &str, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(mounted, shows)| (mounted.to_owned(), shows.to_owned()));
            assert_eq!(mounted_at(line), expect, "{line}");
        };
        check(
            "36 35 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw",
            Some(("/sys/fs/cgroup", "/")),
        );
        check("36 35 0:30 /a/b /mnt/c\\040d rw - cgroup2 x rw", Some(("/mnt/c d", "/a/b")));
        check("36 35 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", None);
        check("", None);
    }

    #[test]
    fn only_our_own_groups_are_cleared() {
        let folder = std::env::temp_dir().join(format!("no-group-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("cgroup.procs"), "").unwrap();
        clear(&folder, true);
        assert!(folder.join("cgroup.procs").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
