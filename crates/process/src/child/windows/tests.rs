use super::*;
use bytes::BytesMut;
use std::ffi::OsString;
use std::io::IoSlice;
use std::os::windows::io::{AsHandle, AsRawHandle};
use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Threading::{PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_TERMINATE};

/// `cmd.exe`, with the variables that it needs.
fn cmd(args: &[&str]) -> Launch {
    let env = ["SystemRoot", "PATH", "ComSpec", "TEMP"];
    let env = env.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
    Launch {
        program: "cmd.exe".into(),
        args: args.iter().map(OsString::from).collect(),
        env: env.collect(),
        cwd: None,
    }
}

fn start(launch: &Launch, guarding: Guarding) -> Spawned {
    spawn_guarded(launch, guarding).unwrap().0
}

/// Two processes: the inner one waits for input.
fn couple(guarding: Guarding) -> Spawned {
    start(&cmd(&["/d", "/c", "cmd /d /q"]), guarding)
}

async fn until(what: &str, fact: impl Fn() -> bool) {
    let waiting = async {
        while !fact() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("{what}"));
}

async fn all(mut reader: ByteReader) -> String {
    let mut read = BytesMut::new();
    while reader.read(&mut read).await.unwrap() > 0 {}
    String::from_utf8_lossy(&read).into_owned()
}

#[tokio::test]
async fn output_and_exit_code_need_no_threads() {
    let Spawned { mut child, stdin, stdout, stderr } =
        start(&cmd(&["/d", "/c", "echo out& echo err>&2& exit 7"]), Guarding::Job { memory: None });
    assert!(!stdin.is_threaded() && !stdout.is_threaded() && !stderr.is_threaded());
    let (out, err, ended) = tokio::join!(all(stdout), all(stderr), child.wait());
    assert_eq!((out.trim(), err.trim(), ended), ("out", "err", Ended::Exited(7)));
}

#[tokio::test]
async fn closed_stdin_ends_the_child() {
    let Spawned { mut child, stdin, stdout, .. } = start(&cmd(&["/d", "/q"]), Guarding::Job { memory: None });
    stdin.writable().await.unwrap();
    stdin.try_write(&[IoSlice::new(b"echo heard\r\n")]).unwrap();
    drop(stdin);
    let (out, ended) = tokio::join!(all(stdout), child.wait());
    assert!(out.contains("heard"), "{out}");
    assert_eq!(ended, Ended::Exited(0));
}

/// With a job, and by the process table where the system refuses a job.
#[tokio::test]
async fn stop_ends_the_whole_tree() {
    let mut in_job = couple(Guarding::Job { memory: Some(1 << 30) });
    let tree = in_job.child.tree();
    until("both run", || crate::tree::Tree::measure_all(std::slice::from_ref(&tree))[0].is_some()).await;
    assert!(in_job.child.stop(Duration::from_millis(1)).await.how == StoppedBy::Kill);
    assert_eq!(in_job.child.gone().await.left, 0);

    let (mut without_job, members) = couple_without_job().await;
    assert!(without_job.child.stop(Duration::from_millis(1)).await.how == StoppedBy::Kill);
    assert_eq!(without_job.child.gone().await.left, 0);
    assert!(members.iter().all(|pid| !crate::alive::is_alive(*pid)));
}

#[tokio::test]
async fn drop_ends_a_tree_without_a_job() {
    let (without_job, members) = couple_without_job().await;
    drop(without_job);
    until("both are gone", || members.iter().all(|pid| !crate::alive::is_alive(*pid))).await;
}

/// Two processes whose job was refused. The system may add another one for their console.
async fn couple_without_job() -> (Spawned, Vec<u32>) {
    let (spawned, refusal) = spawn_guarded(&cmd(&["/d", "/c", "cmd /d /q"]), Guarding::RefusedJob).unwrap();
    assert!(refusal.is_some());
    let (pid, created) = (spawned.child.pid(), spawned.child.0.held.created);
    until("both run", || family::of(pid, created).len() >= 2).await;
    (spawned, family::of(pid, created))
}

/// A child that is killed between two snapshots of the process table may have started another one in between.
#[tokio::test]
async fn killed_members_lead_to_their_children() {
    let (without_job, members) = couple_without_job().await;
    let (&outer, inner) = members.split_first().expect("both run");
    let created =
        family::created(family::open(outer, PROCESS_QUERY_LIMITED_INFORMATION).unwrap().as_handle());
    // The open handle reserves the id of the dead process.
    let held = family::open(outer, PROCESS_TERMINATE).unwrap();
    family::terminate(held.as_handle());
    until("the outer one is gone", || !crate::alive::is_alive(outer)).await;
    family::kill(outer, created);
    until("the others are gone", || inner.iter().all(|pid| !crate::alive::is_alive(*pid))).await;
    drop(without_job);
}

/// Our own parent may have left inheritable handles.
#[tokio::test]
async fn child_inherits_three_handles_only() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: the handle is open, and only its flag changes.
    let marked =
        unsafe { SetHandleInformation(writer.as_raw_handle(), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) };
    assert_ne!(marked, 0);
    let child = start(&cmd(&["/d", "/q"]), Guarding::Job { memory: None });
    drop(writer);
    // The read ends only when the last writer has closed the pipe.
    assert_eq!(std::io::Read::read(&mut reader, &mut [0]).unwrap(), 0);
    assert!(crate::alive::is_alive(child.child.pid()));
}

/// With a job and without. Wine reports no CPU time of jobs, and our own CPU time for every process.
#[tokio::test]
async fn cpu_time_of_a_busy_tree_is_seen() {
    for guarding in [Guarding::Job { memory: None }, Guarding::Off] {
        let busy = start(&cmd(&["/d", "/q", "/c", "for /l %i in (1,0,2) do @rem"]), guarding);
        let tree = busy.child.tree();
        let used = || crate::tree::Tree::measure_all(std::slice::from_ref(&tree))[0];
        until("its time", || used().is_some_and(|used| used.cpu > Duration::ZERO)).await;
    }
}

#[tokio::test]
async fn invalid_program_is_reported() {
    let text = std::env::temp_dir().join("switchboard-no-program.exe");
    std::fs::write(&text, "this is a text").unwrap();
    let launch = Launch { program: text.into(), ..cmd(&[]) };
    assert!(matches!(spawn(&launch), Err(SpawnError::NotExecutable { .. })));
    let missing = Launch { program: "no-such-program".into(), ..cmd(&[]) };
    assert!(matches!(spawn(&missing), Err(SpawnError::NotFound { .. })));
}

/// Wine cannot start a program with a long path.
#[tokio::test]
async fn long_folder_is_a_working_folder() {
    let top = std::env::temp_dir().join(format!("switchboard-long-{}", std::process::id()));
    let folder = (0..4).fold(top.clone(), |folder, _| folder.join("long ".repeat(16) + "x"));
    assert!(folder.as_os_str().len() > 300);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("here.txt"), "in the long folder").unwrap();
    let launch = Launch { cwd: Some(folder), ..cmd(&["/d", "/c", "type", "here.txt"]) };
    let Spawned { mut child, stdout, stderr, .. } = start(&launch, Guarding::Job { memory: None });
    let (out, err, _) = tokio::join!(all(stdout), all(stderr), child.wait());
    assert_eq!((&*out, &*err), ("in the long folder", ""));
    std::fs::remove_dir_all(&top).unwrap();
}
