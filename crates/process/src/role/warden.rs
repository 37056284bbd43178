//! The warden: parent of all guards. Forks them, since a small single-threaded process is safe to fork from.
//! As their subreaper it inherits what a killed guard leaves behind, and kills it. Ends after the main
//! process and the last guard have ended.

use super::fork::{Side, fork, leave, set_process_name, take_in_orphans};
use super::guard;
use super::kill::{MIN_EMPTY_LOOKS, kill_children};
use super::watch::WakeSource;
use crate::inherit;
use crate::runs::{self, Line};
use crate::table::{self, Entry, ProcessId, is_kept};
use crate::wire::{GUARD_NAME, GuardRequest, WARDEN_NAME, socket};
use rustix::process::{Pid, Signal, WaitOptions, getppid, kill_process, wait};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time between two scans for orphans that are being killed.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);
/// Time in which a killed orphan should go. Afterwards scans are rare: the process is stuck in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two scans after that.
const RARE_LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Time limit for guards once the main process is gone: more than their longest way to an end.
const GUARDS_TIMEOUT: Duration = Duration::from_secs(7);

/// Runs the warden; returns the exit code of its process.
pub(super) fn run(us: Pid, run_file: Option<PathBuf>) -> i32 {
    set_process_name(WARDEN_NAME);
    take_in_orphans();
    inherit::keep_children_as_zombies();
    let (Ok(socket), Ok(watch)) = (take_socket(), WakeSource::on_parent(us)) else {
        // While the main process lives, the next start still needs the file.
        remove(run_file.filter(|_| getppid() != Some(us)));
        return 1;
    };
    if let (Some(path), Some(me)) = (&run_file, ProcessId::of(std::process::id())) {
        let _ = runs::add(path, &[Line::Keeper(me)]);
    }
    let mut warden = WardenProcess {
        socket: Some(socket),
        abandoned: None,
        watch,
        run_file,
        guards: HashMap::new(),
        kept: Vec::new(),
        unruly: None,
        emptying: Vec::new(),
    };
    while warden.goes_on() {
        warden.turn();
    }
    remove(warden.run_file);
    0
}

fn remove(run_file: Option<PathBuf>) {
    if let Some(path) = run_file {
        let _ = std::fs::remove_file(path);
    }
}

/// Moves the socket away from stdin, where it would be inherited by whatever we start.
fn take_socket() -> io::Result<UnixStream> {
    let socket: OwnedFd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(socket.into())
}

struct WardenProcess {
    /// `None` once the main process is gone.
    socket: Option<UnixStream>,
    /// Time at which the main process was found gone.
    abandoned: Option<Instant>,
    watch: WakeSource,
    run_file: Option<PathBuf>,
    guards: HashMap<Pid, GuardRequest>,
    /// Children that a guard left alive on purpose. Their numbers stay valid, since only we can reap them.
    kept: Vec<Pid>,
    /// Orphans that are being killed, with the start time.
    unruly: Option<Unruly>,
    /// cgroups to remove once their last process is reaped, each with a time limit.
    emptying: Vec<(PathBuf, Instant)>,
}

struct Unruly {
    since: Instant,
    /// Consecutive scans that found no process.
    empty_looks: u32,
    /// Names that the guard of these orphans was to keep alive.
    keep: Vec<OsString>,
}

impl WardenProcess {
    fn goes_on(&self) -> bool {
        let is_busy = !self.guards.is_empty() || self.unruly.is_some() || !self.emptying.is_empty();
        self.socket.is_some() || is_busy
    }

    fn turn(&mut self) {
        let fds = [self.socket.as_ref().map(AsFd::as_fd), None];
        let Ok(woken) = self.watch.wait(&fds, self.time_to_next_look()) else {
            std::thread::sleep(LOOK_INTERVAL);
            return;
        };
        if woken.readable[0] {
            self.serve();
        }
        if woken.us_gone {
            self.abandon();
        }
        self.end_late_guards();
        self.reap();
        // After the reaping, which shows that there may be orphans.
        self.kill_orphans();
        self.remove_groups();
    }

    /// Time until the next scan without an event.
    fn time_to_next_look(&self) -> Option<Duration> {
        let of_orphans = self.unruly.as_ref().map(|unruly| {
            if unruly.since.elapsed() < KILL_TIMEOUT { LOOK_INTERVAL } else { RARE_LOOK_INTERVAL }
        });
        let of_groups = (!self.emptying.is_empty()).then_some(LOOK_INTERVAL);
        let of_guards = self.abandoned.map(|_| RARE_LOOK_INTERVAL);
        [of_orphans, of_groups, of_guards].into_iter().flatten().min()
    }

    /// The main process is gone, or has closed the socket. Guards notice it too and end by themselves, unless
    /// they are suspended.
    fn abandon(&mut self) {
        self.socket = None;
        // Both the closed socket and the end of the main process lead here.
        if self.abandoned.is_none() {
            self.abandoned = Some(Instant::now());
            self.tell_guards(Signal::CONT);
        }
    }

    fn end_late_guards(&mut self) {
        let Some(since) = self.abandoned.filter(|since| since.elapsed() > GUARDS_TIMEOUT) else { return };
        self.tell_guards(Signal::KILL);
        // A process that cannot be killed must not keep us running forever.
        if since.elapsed() > GUARDS_TIMEOUT + KILL_TIMEOUT {
            self.unruly = None;
        }
    }

    fn tell_guards(&self, signal: Signal) {
        for guard in self.guards.keys() {
            // Unreaped children of ours: the numbers cannot have been reused.
            let _ = kill_process(*guard, signal);
        }
    }

    fn serve(&mut self) {
        let Some(socket) = &mut self.socket else { return };
        let request = socket::receive(socket).ok().flatten();
        let Some((body, mut fds)) = request else { return self.abandon() };
        // A request without its descriptor hit the limit on open files: its sender sees the other end closed.
        if let (Ok(hire), Some(control)) = (GuardRequest::parse(&body), fds.pop()) {
            self.hire(hire, control.into());
        }
    }

    fn hire(&mut self, hire: GuardRequest, control: UnixStream) {
        match fork() {
            Ok(Side::Parent(guard)) => drop(self.guards.insert(guard, hire)),
            Ok(Side::Child) => {
                set_process_name(GUARD_NAME);
                // A copy of the warden's socket in a guard would hide that the warden is gone.
                self.socket = None;
                let watch = self.watch.again();
                leave(watch.map_or(1, |watch| guard::run(control, watch, self.run_file.take())));
            }
            Err(error) => guard::refuse(control, &error),
        }
    }

    fn reap(&mut self) {
        while let Ok(Some((pid, _))) = wait(WaitOptions::NOHANG) {
            self.kept.retain(|kept| *kept != pid);
            let unruly = self.unruly.get_or_insert_with(|| Unruly {
                since: Instant::now(),
                empty_looks: 0,
                keep: Vec::new(),
            });
            // An ended orphan may have left others.
            unruly.empty_looks = 0;
            let Some(hire) = self.guards.remove(&pid) else { continue };
            // Also for a guard that ended properly: names it was told to keep stay alive.
            unruly.since = Instant::now();
            unruly.keep.extend(hire.keep.iter().cloned());
            self.empty_group(&hire);
        }
    }

    fn kill_orphans(&mut self) {
        let Some(unruly) = &mut self.unruly else { return };
        let Ok(table) = table::all() else {
            // Without a process table no orphan can be found.
            self.unruly = None;
            return;
        };
        let me = std::process::id();
        let mut keep = unruly.keep.clone();
        // A guard may have ended this very moment, and left processes to keep.
        keep.extend(self.guards.values().flat_map(|hire| hire.keep.iter().cloned()));
        for orphan in table.iter().filter(|entry| entry.parent == me && is_kept(entry, &keep)) {
            let pid = table::number(orphan.pid);
            self.kept.extend(pid.filter(|pid| !self.guards.contains_key(pid) && !self.kept.contains(pid)));
        }
        let is_left_alone = |entry: &Entry| {
            let is_known = |pid: Pid| self.guards.contains_key(&pid) || self.kept.contains(&pid);
            table::number(entry.pid).is_some_and(is_known) || is_kept(entry, &keep)
        };
        kill_children(is_left_alone);
        let orphans = table::below(&table, &[me], |entry| is_left_alone(entry) || entry.is_zombie);
        for orphan in orphans.iter().filter(|orphan| table::is_still_below(orphan, &table)) {
            orphan.id().signal(Signal::KILL);
        }
        unruly.empty_looks = if orphans.is_empty() { unruly.empty_looks + 1 } else { 0 };
        if unruly.empty_looks >= MIN_EMPTY_LOOKS {
            self.unruly = None;
        }
    }

    /// Handles the cgroup of a tree whose guard was killed.
    #[cfg(target_os = "linux")]
    fn empty_group(&mut self, hire: &GuardRequest) {
        use crate::cgroup;
        let Some(group) = &hire.cgroup else { return };
        let leaf = cgroup::leaf_of(group, hire.mark);
        if leaf.exists() {
            // The kernel kills a cgroup as a whole, including processes to keep.
            if hire.keep.is_empty() {
                cgroup::kill(&leaf);
            }
            self.emptying.push((leaf, Instant::now() + KILL_TIMEOUT));
        }
    }

    #[cfg(target_os = "linux")]
    fn remove_groups(&mut self) {
        self.emptying.retain(|(leaf, until)| crate::cgroup::remove(leaf).is_err() && Instant::now() < *until);
    }

    #[cfg(not(target_os = "linux"))]
    fn empty_group(&mut self, _: &GuardRequest) {}

    #[cfg(not(target_os = "linux"))]
    fn remove_groups(&mut self) {
        self.emptying.clear();
    }
}
