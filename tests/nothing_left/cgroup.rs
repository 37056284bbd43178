//! Cgroups: where one is delegated to us, every server has its own below it, removed with the server.

use super::next_start::next;
use super::scene::{Scene, check_gone};
use super::setting::{Guard, NOBODY, Setting, USUAL, User, are_root};
use crate::support::log_with;
use serde_json::json;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::Instant;
use switchboard_testkit::client::Start;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::Process;
use switchboard_testkit::zoo;

/// A cgroup as systemd would delegate it, removed with the test.
struct Delegated(PathBuf);

impl Delegated {
    /// None where the tests may not make one.
    fn to(setting: Setting, name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        let path = Path::new(line.split(' ').nth(4)?).join(format!("{name}-of-{}", std::process::id()));
        if !are_root() || Path::new("/run/systemd/system").exists() {
            return None;
        }
        fs::create_dir(&path).ok()?;
        let delegated = Self(path);
        if setting.user == User::Unprivileged {
            for file in ["", "cgroup.procs", "cgroup.subtree_control"] {
                chown(delegated.0.join(file), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Some(delegated)
    }

    /// Starts the program in the cgroup. Only the test may move it there, so a shell waits until that is
    /// done.
    fn greet(&self, start: Start) -> Scene {
        let name = self.0.file_name().unwrap().to_os_string();
        let line = r#"until grep -q "$0" /proc/self/cgroup; do :; done; exec "$@""#;
        let start = start.behind(Path::new("sh"), |_| vec!["-c".into(), line.into(), name]);
        let mut client = start.start();
        fs::write(self.0.join("cgroup.procs"), client.pid().to_string()).unwrap();
        client.initialize();
        let us = Process::look(client.pid()).unwrap();
        Scene::look(client, us)
    }

    fn leaves(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }

    /// Number of processes in the only leaf.
    fn guarded(&self) -> usize {
        let [leaf] = &self.leaves()[..] else { panic!("one is expected: {:?}", self.leaves()) };
        fs::read_to_string(leaf.join("cgroup.procs")).unwrap().lines().count()
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        for leaf in self.leaves() {
            let _ = fs::write(leaf.join("cgroup.kill"), "1");
            patience::until_true("the group is empty", || fs::remove_dir(&leaf).is_ok());
        }
        patience::until_true("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

fn check(name: &str, end: impl Fn(&Scene)) {
    for setting in Setting::all() {
        let Some(group) = Delegated::to(setting, name) else { return };
        let mut scene = group.greet(setting.start(zoo::EIGHT));
        log_with(&scene.client, "cgroup: active");
        assert!(group.guarded() >= zoo::NAMES.len(), "{setting:?}: {:#?}", scene.family);
        let since = Instant::now();
        end(&scene);
        scene.check_gone(since);
        patience::until_true("the group is gone", || group.leaves().is_empty());
    }
}

#[test]
fn orderly_end_removes_the_cgroup() {
    check("end", |scene| scene.client.close_input());
}

#[test]
fn kill_removes_the_cgroup() {
    check("killed", |scene| scene.us.tell(Word::Kill));
}

#[test]
fn kill_with_guard_removes_the_cgroup() {
    check("both", |scene| scene.kill_in_one_instant(&[&scene.us, scene.guard()]));
}

/// With a kept process, the group is not killed as a whole.
#[test]
fn kept_process_survives_in_the_cgroup() {
    for setting in Setting::all().filter(|setting| setting.guard == Guard::Auto) {
        let Some(group) = Delegated::to(setting, "keep") else { return };
        let options = ["--stubborn", "--with", "daemon", "--with", "adb"];
        let mut scene = group.greet(setting.start_with(json!({}), json!({ "keep": ["adb"] }), &options));
        let since = Instant::now();
        scene.client.close_input();
        assert_eq!(scene.client.wait_for_end().code, Some(0));
        check_gone(since, || scene.zoo(1).living().into_iter().filter(|name| name != "adb").collect());
        assert!(scene.only("adb").is_alive(), "it was to be kept");
        scene.only("adb").tell(Word::Kill);
    }
}

#[test]
fn next_start_removes_the_cgroup() {
    let setting = Setting { guard: Guard::Auto, ..USUAL };
    let Some(group) = Delegated::to(setting, "all") else { return };
    let scene = group.greet(setting.start(zoo::EIGHT));
    scene.kill_in_one_instant(&[&scene.us, scene.warden(), scene.guard()]);
    let since = Instant::now();
    let _next = next(setting, &scene.client.scratch().home());
    scene.check_these_gone(since, &scene.family, 1);
    patience::until_true("the group is gone", || group.leaves().is_empty());
}
