//! A suspended warden: stopped by a signal, it is continued; held by a tracer, it is replaced.

use bytes::BytesMut;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{self, IoSlice};
use std::time::Duration;
use switchboard_process::child::{Launch, Spawned};
use switchboard_process::take_role;
use switchboard_process::warden::{GuardOptions, Options, Warden};

const CASE_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn main() {
    take_role();
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cases: [(&str, Hold, Outcome); 2] =
        [("warden::is_woken", stop, Outcome::Woken), ("warden::is_replaced", trace, Outcome::Replaced)];
    for (name, hold, outcome) in cases {
        if is_wanted(name) {
            let tried =
                runtime.block_on(async { tokio::time::timeout(CASE_TIMEOUT, check(hold, outcome)).await });
            println!("test {name} ... {}", tried.expect("in time"));
        }
    }
}

/// Suspends a process.
type Hold = fn(Pid) -> io::Result<()>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Woken,
    Replaced,
}

async fn check(hold: Hold, outcome: Outcome) -> &'static str {
    let warden = Warden::start(Options::default());
    let mut before = start(&warden).await;
    let old = wardens();
    let [process] = old[..] else { panic!("one warden: {old:?}") };
    if hold(process).is_err() {
        before.child.kill_now();
        before.child.gone().await;
        warden.close().await;
        return "left out: this machine forbids to trace";
    }
    while !matches!(state(process), Some('t' | 'T')) {
        tokio::task::yield_now().await;
    }
    // Several starts wait for the same warden.
    let (one, two) = tokio::join!(start(&warden), start(&warden));
    let new = wardens();
    assert_eq!(new.len(), 1, "{new:?}");
    match outcome {
        Outcome::Woken => assert_eq!(new, old),
        Outcome::Replaced => assert_ne!(new, old),
    }
    // Earlier children are not affected.
    echo(&mut before).await;
    for mut spawned in [before, one, two] {
        spawned.child.kill_now();
        spawned.child.gone().await;
    }
    warden.close().await;
    assert_eq!(wardens(), [], "nothing is left");
    "ok"
}

fn stop(process: Pid) -> io::Result<()> {
    Ok(kill_process(process, Signal::STOP)?)
}

/// Holds a process with a tracer, which SIGCONT cannot wake.
fn trace(process: Pid) -> io::Result<()> {
    for request in [libc::PTRACE_SEIZE, libc::PTRACE_INTERRUPT] {
        // SAFETY: neither request reads or writes memory of ours.
        if unsafe { libc::ptrace(request, process.as_raw_pid(), 0, 0) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Our living children that are wardens.
fn wardens() -> Vec<Pid> {
    let me = std::process::id();
    let children = fs::read_to_string(format!("/proc/{me}/task/{me}/children")).unwrap();
    let children = children.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    let is_warden = |pid: &Pid| {
        let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_pid())).unwrap_or_default();
        name.trim() == "sb-warden" && !matches!(state(*pid), Some('Z' | 'X') | None)
    };
    children.filter(is_warden).collect()
}

fn state(process: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// Starts a program that echoes its input.
async fn start(warden: &Warden) -> Spawned {
    let launch = Launch {
        program: "cat".into(),
        args: Vec::new(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: None,
    };
    let options = GuardOptions { grace: Duration::from_millis(50), ..GuardOptions::default() };
    let mut spawned = warden.spawn(&launch, &options).await.unwrap();
    echo(&mut spawned).await;
    spawned
}

async fn echo(spawned: &mut Spawned) {
    spawned.stdin.try_write(&[IoSlice::new(b"word")]).unwrap();
    let mut heard = BytesMut::new();
    while &heard[..] != b"word" {
        assert!(spawned.stdout.read(&mut heard).await.unwrap() > 0);
    }
}
