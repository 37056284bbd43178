//! CPU time of trees with a busy member, running or ended.

use crate::start::{CHILD_TIMEOUT, end, measure, start, until_ready};
use std::io::{IoSlice, Write};
use std::time::Duration;
use switchboard_process::tree::Tree;
use switchboard_process::warden::{GuardMode, Warden};

/// CPU time that a busy member uses.
const BURNT: Duration = Duration::from_millis(300);
/// Lower bound for the measured time. Linux rounds the user time and the kernel time of each process down to 10 ms.
const SEEN: Duration = Duration::from_millis(200);

pub(crate) async fn tree(warden: Warden, guard: GuardMode) {
    let idle = start(&warden, guard, "echo ready; cat", "nothing").await;
    let living = start(&warden, guard, r#""$0" & cat"#, "cpu, stay").await;
    // The shell has reaped the first busy process. A line on stdin starts another.
    let ended = start(&warden, guard, r#""$0"; echo ready; read line; "$0"; echo ready; cat"#, "cpu").await;
    // An orphan: the guard, or the first process of the namespace, reaps it. Without a guard its CPU time is lost.
    let orphan = match guard {
        GuardMode::Auto | GuardMode::Strict => {
            let script = r#"orphan=$(sh -c '"$0" >&2 & echo $!' "$0")
                while kill -0 $orphan 2>&-; do sleep 0.02; done
                echo ready; cat"#;
            start(&warden, guard, script, "cpu").await
        }
        GuardMode::Off => start(&warden, guard, r#""$0" & cat"#, "cpu, stay").await,
    };
    let mut all = [idle, living, ended, orphan];
    let trees = all.each_ref().map(|spawned| spawned.child.tree());
    let first = cpu(&trees);
    let [idle, busy @ ..] = first;
    assert!(idle < SEEN && busy.iter().all(|busy| *busy >= SEEN), "{first:?}");

    let [_, _, ended, _] = &mut all;
    ended.stdin.writable().await.unwrap();
    ended.stdin.try_write(&[IoSlice::new(b"another\n")]).unwrap();
    until_ready(&mut ended.stdout).await;
    let second = cpu(&trees);
    assert!(second[2] >= first[2] + SEEN, "{first:?}, then {second:?}");
    assert!(second[0] < SEEN && second[1] >= first[1] && second[3] >= first[3], "{first:?}, then {second:?}");
    end(all, warden).await;
}

fn cpu(trees: &[Tree; 4]) -> [Duration; 4] {
    let measured = measure(trees);
    std::array::from_fn(|at| measured[at].expect("it is there").cpu)
}

pub(crate) fn burn(how: &str) {
    while own_cpu_time() < BURNT {
        std::hint::black_box((0..100_000u64).sum::<u64>());
    }
    if how.ends_with("stay") {
        println!("ready");
        std::io::stdout().flush().unwrap();
        // Until it is killed, or for as long as a test may take.
        std::thread::sleep(CHILD_TIMEOUT * 4);
    }
}

fn own_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}
