//! Bystanders: processes that only look like ours, and those of another switchboard. Nothing may happen to
//! them.

use super::scene::Scene;
use super::setting::Setting;
use crate::support::fake_backend;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use switchboard_testkit::scratch::Scratch;
use switchboard_testkit::tree::Process;
use switchboard_testkit::zoo;

pub(super) struct Bystanders {
    /// Processes with the same names and the same parent.
    namesakes: Vec<Child>,
    /// Another switchboard with everything behind it.
    other: Scene,
    those: Vec<Process>,
    /// Folder of the namesakes' programs.
    _scratch: Scratch,
}

impl Bystanders {
    /// `home` is the other switchboard's home, if it is not its own.
    pub(super) fn gather(setting: Setting, home: Option<&Path>) -> Self {
        let mut start = setting.start(zoo::EIGHT);
        if let Some(home) = home {
            start = start.home(home);
        }
        let other = Scene::greet(start);
        let scratch = Scratch::new();
        let names = ["sb-warden", "sb-guard", "switchboard", "fake-backend"];
        let namesakes: Vec<Child> = names.map(|name| namesake(setting, &scratch, name)).into();
        let mut those: Vec<Process> =
            namesakes.iter().map(|child| Process::look(child.id()).unwrap()).collect();
        those.push(other.us.clone());
        those.extend(other.family.iter().cloned());
        Self { namesakes, other, those, _scratch: scratch }
    }

    #[track_caller]
    pub(super) fn check_untouched(&self) {
        let hurt: Vec<&Process> = self.those.iter().filter(|process| !process.is_alive()).collect();
        assert!(hurt.is_empty(), "these had nothing to do with it: {hurt:#?}");
        assert_eq!(self.other.zoo(1).living(), zoo::NAMES, "another's backend");
    }

    /// Processes with our names, for forged run files.
    pub(super) fn namesakes(&self) -> impl Iterator<Item = Process> {
        self.namesakes.iter().filter_map(|child| Process::look(child.id()))
    }
}

/// A process with this name that does nothing.
fn namesake(setting: Setting, scratch: &Scratch, name: &str) -> Child {
    let program = scratch.join(name);
    std::fs::copy(fake_backend(), &program).unwrap();
    if let Some(user) = setting.other_user() {
        scratch.give_to(user);
    }
    let mut command = Command::new(&program);
    command.args(["--member", "child"]).arg(scratch.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(user) = setting.other_user() {
        command.uid(user).gid(user);
    }
    spawn(&mut command)
}

/// A freshly written file cannot be executed while a process of another test, between its fork and its exec,
/// holds it open.
fn spawn(command: &mut Command) -> Child {
    switchboard_testkit::patience::until("a program that was just copied starts", || {
        #[expect(clippy::disallowed_methods, reason = "`Bystanders` ends it")]
        command.spawn().ok()
    })
}

impl Drop for Bystanders {
    fn drop(&mut self) {
        for child in &mut self.namesakes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
