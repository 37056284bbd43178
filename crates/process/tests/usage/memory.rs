//! Memory of trees in which one member holds 50 MiB.

use crate::start::{CHILD_TIMEOUT, end, measure, start};
use std::io::Write;
use switchboard_process::tree::Tree;
use switchboard_process::warden::{GuardMode, Warden};

const HELD: usize = 50 << 20;
/// Allowance for a shell and this program.
const BESIDES: usize = 40 << 20;

pub(crate) async fn tree(warden: Warden, guard: GuardMode) {
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
        let measured = usize::try_from(measured.expect("it is there").memory_bytes).unwrap();
        assert!(measured > 0 && expect.contains(&measured), "{measured} in {expect:?}");
    }
    assert!(Tree::measure_all(&[]).is_empty());

    let [_, grandchild, ..] = &mut all;
    grandchild.child.terminate(CHILD_TIMEOUT).await;
    grandchild.child.gone().await;
    let measured = measure(&trees);
    assert_eq!(measured[1], None, "it is gone");
    assert!(measured[0].is_some() && measured[2].is_some() && measured[3].is_some());
    end(all, warden).await;
    assert_eq!(measure(&trees), [None; 4]);
}

pub(crate) fn hold(how: &str) {
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
