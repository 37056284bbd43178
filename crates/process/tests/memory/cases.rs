//! Trees that hold 50 MiB somewhere.

use bytes::BytesMut;
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;
use switchboard_process::child::{Launch, Spawned};
use switchboard_process::take_role;
use switchboard_process::tree::Tree;
use switchboard_process::warden::{GuardMode, GuardOptions, LayerState, Options, Warden};

const HELD: usize = 50 << 20;
/// Allowance for a shell and this program itself.
const BESIDES: usize = 40 << 20;
/// Variable that makes this program hold memory; its value says how.
const HOLD: &str = "SWITCHBOARD_TEST_HOLD";
const CHILD_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn main() {
    take_role();
    if let Ok(how) = std::env::var(HOLD) {
        return hold(&how);
    }
    // As in other tests, words select the cases to run.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for guard in [GuardMode::Auto, GuardMode::Strict, GuardMode::Off] {
        let name = format!("memory::{guard:?}");
        if is_wanted(&name) {
            let tried =
                runtime.block_on(async { tokio::time::timeout(CHILD_TIMEOUT * 2, tree(guard)).await });
            println!("test {name} ... {}", tried.expect("in time"));
        }
    }
}

async fn tree(guard: GuardMode) -> &'static str {
    let warden = Warden::start(Options { runs: None, wants_strict: guard == GuardMode::Strict });
    let layers = warden.layers();
    let namespace = layers.0.iter().find(|layer| layer.name == "PID namespace").unwrap();
    if guard == GuardMode::Strict && namespace.state != LayerState::Active {
        return "left out: no PID namespace to be had";
    }
    let nobody = start(&warden, guard, "echo ready; cat", "nothing").await;
    let grandchild = start(&warden, guard, r#""$0" & cat"#, "memory").await;
    // Memory from before a fork is shared until one side writes to it.
    let shared = start(&warden, guard, r#""$0" & cat"#, "memory, and fork").await;
    // An orphan in its own session. Without a guard nothing would end it.
    let daemon = match guard {
        GuardMode::Auto | GuardMode::Strict => {
            start(&warden, guard, r#"sh -c '"$0" &' "$0"; cat"#, "memory, away").await
        }
        GuardMode::Off => start(&warden, guard, r#""$0" & cat"#, "memory").await,
    };
    let mut all = [nobody, grandchild, shared, daemon];
    let trees = all.each_ref().map(|spawned| spawned.child.tree());
    let measured = measure(&trees);
    let expect = [0..BESIDES, HELD..HELD + BESIDES, HELD..HELD + BESIDES, HELD..HELD + BESIDES];
    for (measured, expect) in measured.iter().zip(&expect) {
        let measured = usize::try_from(measured.expect("it is there")).unwrap();
        assert!(measured > 0 && expect.contains(&measured), "{measured} in {expect:?}");
    }
    assert!(Tree::measure_all(&[]).is_empty());

    let [_, grandchild, ..] = &mut all;
    grandchild.child.terminate(CHILD_TIMEOUT).await;
    grandchild.child.gone().await;
    let measured = measure(&trees);
    assert_eq!(measured[1], None, "it is gone");
    assert!(measured[0].is_some() && measured[2].is_some() && measured[3].is_some());
    for spawned in &mut all {
        spawned.child.kill_now();
        spawned.child.gone().await;
    }
    drop(all);
    warden.close().await;
    assert_eq!(measure(&trees), [None; 4]);
    "ok"
}

fn measure(trees: &[Tree]) -> Vec<Option<u64>> {
    let began = std::time::Instant::now();
    let measured = Tree::measure_all(trees);
    println!("{measured:?} in {:?}", began.elapsed());
    measured
}

/// Starts a shell that starts this program, and waits until that is ready.
async fn start(warden: &Warden, mode: GuardMode, script: &str, how: &str) -> Spawned {
    let me = std::env::current_exe().unwrap().into_os_string();
    let env = [("PATH", "/usr/bin:/bin"), (HOLD, how)];
    let launch = Launch {
        program: "sh".into(),
        args: vec!["-c".into(), script.into(), me],
        env: env.map(|(name, value)| (OsString::from(name), OsString::from(value))).into(),
        cwd: None,
    };
    let options = GuardOptions { mode, grace: Duration::from_millis(50), ..GuardOptions::default() };
    let mut spawned = warden.spawn(&launch, &options).await.unwrap();
    let mut said = BytesMut::new();
    while !said.ends_with(b"ready\n") {
        let read = tokio::time::timeout(CHILD_TIMEOUT, spawned.stdout.read(&mut said)).await;
        assert!(read.expect("in time").unwrap() > 0, "{script}: it ended");
    }
    spawned
}

fn hold(how: &str) {
    let memory = vec![1u8; HELD];
    if how.ends_with("away") {
        rustix::process::setsid().unwrap();
    }
    // SAFETY: there is one thread, and the child only waits.
    if how.ends_with("fork") && unsafe { libc::fork() } == 0 {
        std::thread::sleep(CHILD_TIMEOUT * 4);
        return;
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    // Until it is killed, or for as long as a test may take.
    std::thread::sleep(CHILD_TIMEOUT * 4);
    drop(std::hint::black_box(memory));
}
