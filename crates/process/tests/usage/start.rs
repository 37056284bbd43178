//! Starts this program as a test, or as a busy member of a tree.

use crate::{cpu, memory};
use bytes::BytesMut;
use std::ffi::OsString;
use std::time::Duration;
use switchboard_process::child::{Launch, Spawned};
use switchboard_process::pipe::ByteReader;
use switchboard_process::take_role;
use switchboard_process::tree::{Tree, TreeUsage};
use switchboard_process::warden::{GuardMode, GuardOptions, LayerState, Options, Warden};

/// Variable that selects the resource which this program uses.
const USE: &str = "SWITCHBOARD_TEST_USE";
pub(crate) const CHILD_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn main() {
    take_role();
    if let Ok(what) = std::env::var(USE) {
        return if what.starts_with("cpu") { cpu::burn(&what) } else { memory::hold(&what) };
    }
    // As in other tests, words select the cases to run.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for guard in [GuardMode::Auto, GuardMode::Strict, GuardMode::Off] {
        for what in ["memory", "cpu"] {
            let name = format!("{what}::{guard:?}");
            if is_wanted(&name) {
                let tried = runtime
                    .block_on(async { tokio::time::timeout(CHILD_TIMEOUT * 2, try_one(what, guard)).await });
                println!("test {name} ... {}", tried.expect("in time"));
            }
        }
    }
}

async fn try_one(what: &str, guard: GuardMode) -> &'static str {
    let warden = Warden::start(Options { runs: None, wants_strict: guard == GuardMode::Strict });
    let layers = warden.layers();
    let namespace = layers.0.iter().find(|layer| layer.name == "PID namespace").unwrap();
    if guard == GuardMode::Strict && namespace.state != LayerState::Active {
        return "left out: no PID namespace to be had";
    }
    match what {
        "cpu" => cpu::tree(warden, guard).await,
        _ => memory::tree(warden, guard).await,
    }
    "ok"
}

pub(crate) fn measure(trees: &[Tree]) -> Vec<Option<TreeUsage>> {
    let began = std::time::Instant::now();
    let measured = Tree::measure_all(trees);
    println!("{measured:?} in {:?}", began.elapsed());
    measured
}

/// Starts a shell that starts this program, and waits until the program is ready.
pub(crate) async fn start(warden: &Warden, mode: GuardMode, script: &str, what: &str) -> Spawned {
    let me = std::env::current_exe().unwrap().into_os_string();
    let env = [("PATH", "/usr/bin:/bin"), (USE, what)];
    let launch = Launch {
        program: "sh".into(),
        args: vec!["-c".into(), script.into(), me],
        env: env.map(|(name, value)| (OsString::from(name), OsString::from(value))).into(),
        cwd: None,
    };
    let options = GuardOptions { mode, grace: Duration::from_millis(50), ..GuardOptions::default() };
    let mut spawned = warden.spawn(&launch, &options).await.unwrap();
    until_ready(&mut spawned.stdout).await;
    spawned
}

pub(crate) async fn until_ready(stdout: &mut ByteReader) {
    let mut said = BytesMut::new();
    while !said.ends_with(b"ready\n") {
        let read = tokio::time::timeout(CHILD_TIMEOUT, stdout.read(&mut said)).await;
        assert!(read.expect("in time").unwrap() > 0, "it ended");
    }
}

/// Ends all trees.
pub(crate) async fn end(all: impl IntoIterator<Item = Spawned>, warden: Warden) {
    let mut all: Vec<Spawned> = all.into_iter().collect();
    for spawned in &mut all {
        spawned.child.kill_now();
        spawned.child.gone().await;
    }
    drop(all);
    warden.close().await;
}
