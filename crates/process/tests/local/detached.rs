//! A detached program outlives its starter.

use super::parts::{World, word_of};
use crate::support::*;
use rustix::process::{Signal, kill_process, kill_process_group};
use std::fs;
use std::path::PathBuf;
use switchboard_process::child::{Launch, spawn};

/// The fields of `/proc/PID/stat` after the name: state, parent, group, session, terminal.
fn stat(number: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    stat.rsplit(')').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn all() -> Vec<u32> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[tokio::test]
async fn detached_program_outlives_its_starter() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let world = World::new();
    let inner = world.part("local detach");
    // With a leaked descriptor and ignored signals, none of which must be inherited.
    let before = "trap '' HUP INT TERM; exec 7</dev/null; exec setsid --wait \"$0\" \"$@\"";
    let mut args = vec!["-c".into(), before.into(), inner.program];
    args.extend(inner.args);
    let mut starter = spawn(&Launch { program: "sh".into(), args, ..inner }).unwrap();
    let words = word_of(&mut starter, "started").await;
    let [missing, has_child, number] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
    assert_eq!((missing, has_child), ("NotFound", "false"));
    let number: u32 = number.parse().unwrap();

    let file = world.path().join("pid");
    until("the program says who it is", || file.exists()).await;
    let daemon: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let (starter, its) = (stat(number), stat(daemon));
    assert_ne!(its[1], number.to_string());
    assert_eq!(its[2], daemon.to_string(), "a group of its own");
    assert!(its[3] != starter[3] && its[3] != daemon.to_string(), "a session that it does not lead");
    assert_eq!(its[4], "0", "no terminal");

    kill_process_group(pid(starter[2].parse().unwrap()), Signal::KILL).unwrap();
    for other in all().into_iter().filter(|other| stat(*other).get(3) == Some(&starter[3])) {
        let _ = kill_process(pid(other), Signal::KILL);
    }
    until("the starter is gone", || !is_alive(number)).await;
    assert!(is_alive(daemon));

    let its = |what: &str| PathBuf::from(format!("/proc/{daemon}/{what}"));
    let mut open: Vec<_> = fs::read_dir(its("fd")).unwrap().flatten().map(|entry| entry.path()).collect();
    open.sort();
    let open: Vec<_> = open.iter().map(|path| fs::read_link(path).unwrap()).collect();
    assert_eq!(open, ["/dev/null".into(), "/dev/null".into(), world.path().join("log")]);
    assert_eq!(fs::read_to_string(world.path().join("log")).unwrap(), "words\n");
    assert_eq!(fs::read_link(its("cwd")).unwrap(), PathBuf::from("/"));
    let environment = fs::read_to_string(its("environ")).unwrap();
    assert!(environment.contains("ONLY=this\0") && !environment.contains("SWITCHBOARD"), "{environment}");
    let status = fs::read_to_string(its("status")).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    // The C library reserves some signals above those, for itself.
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 0x7fff_ffff, 0);
    kill_process(pid(daemon), Signal::TERM).unwrap();
    until("it hears signals", || !is_alive(daemon)).await;
}
