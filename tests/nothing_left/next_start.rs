//! Cleanup by the next start, after program, warden and guard were killed at once without a namespace. It
//! ends what the dead run started, and nothing else.

use super::bystanders::Bystanders;
use super::scene::{Scene, check_gone};
use super::setting::{Guard, Setting, USUAL, are_root};
use std::fs;
use std::path::Path;
use std::time::Instant;
use switchboard_testkit::client::Client;
use switchboard_testkit::patience;
use switchboard_testkit::pids::Word;
use switchboard_testkit::scratch::state_in;
use switchboard_testkit::tree::Process;

/// The next start with the same home, after its handshake.
pub(super) fn next(setting: Setting, home: &Path) -> Client {
    let mut client = setting.start(&[]).home(home).start();
    client.initialize();
    client
}

fn run_files(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(state_in(home).join("runs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The dead program is not reaped meanwhile, since some clients do not reap their children.
#[test]
fn next_start_ends_leftovers_only() {
    for setting in Setting::all().filter(|setting| setting.guard == Guard::Auto) {
        let scene = Scene::open(setting);
        let home = scene.client.scratch().home();
        let bystanders = Bystanders::gather(setting, Some(&home));
        scene.kill_in_one_instant(&[&scene.us, scene.warden(), scene.guard()]);
        patience::until_true("all three are dead", || {
            ![&scene.us, scene.warden(), scene.guard()].iter().any(|process| process.is_alive())
        });
        let since = Instant::now();
        let mut next = next(setting, &home);
        scene.check_these_gone(since, &scene.family, 1);
        bystanders.check_untouched();
        next.finish();
        bystanders.check_untouched();
    }
}

#[test]
fn ended_run_leaves_no_file() {
    let ends: [fn(&Scene); 3] = [
        |scene| scene.client.close_input(),
        |scene| scene.us.tell(Word::Kill),
        |scene| scene.kill_in_one_instant(&[&scene.us, scene.guard()]),
    ];
    for end in ends {
        let mut scene = Scene::open(USUAL);
        let home = scene.client.scratch().home();
        assert_eq!(run_files(&home).len(), 1, "one run, one file");
        let since = Instant::now();
        end(&scene);
        scene.check_gone(since);
        check_gone(since, || run_files(&home));
    }
}

/// A run file as the program wrote it, with every line replaceable.
struct Forged(Vec<(String, String)>);

impl Forged {
    /// From a run that has ended, so that the processes it names are gone.
    fn from_life() -> Self {
        let mut scene = Scene::greet(USUAL.start(&[]));
        let home = scene.client.scratch().home();
        let path = state_in(&home).join("runs").join(run_files(&home).pop().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        scene.client.finish();
        // The first line is a title, and has blanks as well.
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        Self(lines.map(|(word, rest)| (word.to_owned(), rest.to_owned())).collect())
    }

    #[track_caller]
    fn with(mut self, word: &str, rest: impl Fn(&str) -> String) -> Self {
        let mut lines = self.0.iter_mut().filter(|(first, _)| first == word).peekable();
        assert!(lines.peek().is_some(), "a run's file has lines of the kind `{word}`");
        lines.for_each(|(_, text)| *text = rest(text));
        self
    }

    fn accusing(self, innocent: &Process) -> Self {
        self.with("backend", |_| format!("{} {}", innocent.pid, innocent.started))
    }

    fn text(&self) -> String {
        self.0.iter().map(|(word, rest)| format!("{word} {rest}\n")).collect()
    }
}

/// Whether the process is alive after a start that found such a file.
fn survives(accused: &Process, text: &str) -> bool {
    survives_where(accused, text, |_| {})
}

/// The same, after a change to the file's folder.
fn survives_where(accused: &Process, text: &str, change: impl Fn(&Path)) -> bool {
    // A first start makes the folder, with the right owner.
    let mut first = USUAL.start(&[]).start();
    first.initialize();
    first.finish();
    let home = first.scratch().home();
    let path = state_in(&home).join("runs").join("0123456789ab");
    fs::write(&path, text).unwrap();
    if let Some(user) = USUAL.other_user() {
        first.scratch().give_to(user);
    }
    change(&state_in(&home).join("runs"));
    next(USUAL, &home).finish();
    accused.is_alive()
}

/// Process ids are reused.
#[test]
fn reused_pid_is_left_alone() {
    let bystanders = Bystanders::gather(USUAL, None);
    let mut innocents = bystanders.namesakes();
    let innocent = innocents.next().unwrap();
    let forgeries = [
        Forged::from_life().with("backend", |_| format!("{} {}", innocent.pid, innocent.started - 1)),
        Forged::from_life()
            .accusing(&innocent)
            .with("boot", |_| "00000000-0000-4000-8000-000000000000".to_owned()),
        Forged::from_life().accusing(&innocent).with("namespace", |_| "pid:[1]".to_owned()),
        Forged::from_life().accusing(&innocent).with("host", |name| format!("not-{name}")),
    ];
    for forged in &forgeries {
        assert!(survives(&innocent, &forged.text()), "{}", forged.text());
    }
    bystanders.check_untouched();
    // The same file with true content is believed, so the forgeries were read too.
    assert!(!survives(&innocent, &Forged::from_life().accusing(&innocent).text()));
}

/// Otherwise other users could have us kill any process.
#[test]
fn run_file_open_to_others_is_ignored() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let bystanders = Bystanders::gather(USUAL, None);
    let innocent = bystanders.namesakes().next().unwrap();
    let text = Forged::from_life().accusing(&innocent).text();
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(survives_where(&innocent, &text, open), "a folder that all can write to");
    assert!(survives_where(&innocent, &text, |runs| open(&runs.join("0123456789ab"))), "such a file");
    if are_root() {
        let give_away = |path: &Path| chown(path, Some(1), Some(1)).unwrap();
        assert!(survives_where(&innocent, &text, give_away), "another's folder");
        assert!(
            survives_where(&innocent, &text, |runs| give_away(&runs.join("0123456789ab"))),
            "another's file"
        );
    }
    bystanders.check_untouched();
}

/// If the resource limit cannot hold the mark, the environment does.
#[test]
fn leftovers_end_under_a_low_limit() {
    let start = USUAL.start(&["--stubborn", "--with", "session", "--with", "daemon"]);
    let start = start.behind(Path::new("prlimit"), |_| vec!["--locks=1000:1000".into()]);
    let scene = Scene::greet(start);
    scene.kill_in_one_instant(&[&scene.us, scene.warden(), scene.guard()]);
    let since = Instant::now();
    let mut next = next(USUAL, &scene.client.scratch().home());
    scene.check_these_gone(since, &scene.family, 1);
    next.finish();
}

#[test]
fn unknown_run_files_are_ignored() {
    let bystanders = Bystanders::gather(USUAL, None);
    let innocent = bystanders.namesakes().next().unwrap();
    let real = Forged::from_life().accusing(&innocent).text();
    for text in ["", "\0", "{}", &real.replacen("run", "walk", 1), &"backend 1 1\n".repeat(100_000)] {
        assert!(survives(&innocent, text), "{:?}", &text[..text.len().min(80)]);
    }
}
