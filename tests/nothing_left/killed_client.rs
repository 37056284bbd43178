//! Killed IDE: its end closes our input, unless another process holds the same pipe. Then only the death of
//! our parent shows.

use super::scene::Scene;
use super::setting::Setting;
use crate::support::fake_ide;
use std::fs;
use std::time::Instant;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::tree::Process;
use switchboard_testkit::zoo;

pub(super) fn check(setting: Setting, options: &[&str]) {
    let ide = setting.start(zoo::EIGHT).behind(fake_ide(), |folder| {
        let words = [folder.as_os_str()].into_iter().chain(options.iter().map(|option| option.as_ref()));
        words.chain(["--".as_ref()]).map(ToOwned::to_owned).collect()
    });
    let client = ide.start();
    number(&client, "greeted");
    let us = Process::look(number(&client, "program")).unwrap();
    let sibling = Process::look(number(&client, "sibling")).unwrap();
    let ide = Process::look(client.pid()).unwrap();
    let mut scene = Scene::look(client, us);
    scene.strangers = vec![ide, sibling.clone()];
    scene.check_complete(setting, 1);

    let since = Instant::now();
    scene.client.signal(Word::Kill);
    scene.check_gone(since);
    assert!(sibling.is_alive(), "it is none of ours");
}

/// A process id that the IDE wrote into a file.
#[track_caller]
fn number(client: &Client, name: &str) -> u32 {
    let path = client.scratch().join(name);
    patience::until(format_args!("{name}; {:?}", client.stderr_so_far()), || {
        fs::read_to_string(&path).ok()?.parse().ok()
    })
}
