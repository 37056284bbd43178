//! Those whom nothing may happen to: processes that only look like ours, and those of another switchboard.

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
    /// Processes of the same names, children of the same parent.
    namesakes: Vec<Child>,
    /// Another switchboard with all that is behind it.
    other: Scene,
    those: Vec<Process>,
    /// Where the namesakes' programs lie.
    _scratch: Scratch,
}

impl Bystanders {
    /// `home` is the home that the other switchboard is to have, if not one of its own.
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

    /// The processes with our names, for those who want to accuse them of something.
    pub(super) fn namesakes(&self) -> impl Iterator<Item = Process> {
        self.namesakes.iter().filter_map(|child| Process::look(child.id()))
    }
}

/// A process that has this name, and does nothing.
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

/// A file that was just written cannot be executed while a process that another test is starting holds it
/// open, for the moment between its fork and its exec.
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
