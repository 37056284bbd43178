//! The local socket: its listener, its visitors, and the processes started for it. Cases that depend on the
//! environment or the user run in separate processes, see `parts`.

mod detached;
pub(crate) mod parts;
mod strangers;

use crate::fixture::part;
use crate::support::*;
use parts::{World, test_address};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use switchboard_process::child::{Launch, Spawned, spawn};
use switchboard_process::local::{Address, BindError, Connection, Listener, StartLock, connect};

/// The path of the address's socket.
fn socket(address: &Address) -> PathBuf {
    address.to_string().into()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn only_one_of_many_listens() {
    let address = test_address();
    let tries = (0..16).map(|_| {
        let address = address.clone();
        tokio::task::spawn_blocking(move || Listener::bind(&address))
    });
    let mut listeners = Vec::new();
    for attempt in tries.collect::<Vec<_>>() {
        match attempt.await.unwrap() {
            Ok(listener) => listeners.push(listener),
            Err(BindError::Taken) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(listeners.len(), 1);
    assert!(listeners[0].is_found());
    let path = socket(&address);
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert!(Address::all().unwrap().contains(&address));

    address.describe("who I am").unwrap();
    address.describe("{}").unwrap();
    assert_eq!(address.description().as_deref(), Some("{}"));
    drop(listeners);
    let left = fs::read_dir(path.parent().unwrap()).unwrap().flatten();
    let left: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().contains(address.name())).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(address.description(), None);
    assert!(matches!(connect(&address).await.map(drop), Err(error) if error.kind() == ErrorKind::NotFound));
}

#[tokio::test]
async fn listener_leaves_its_successor_alone() {
    let address = test_address();
    let old = Listener::bind(&address).unwrap();
    // The folder was cleaned up, and another listener has come.
    fs::remove_file(socket(&address)).unwrap();
    fs::remove_file(socket(&address).with_extension("lock")).unwrap();
    assert!(!old.is_found());
    let mut new = Listener::bind(&address).unwrap();
    drop(old);
    assert!(new.is_found());
    let (_there, here) = meet(&address, &mut new).await;
    assert_eq!(here.peer, std::process::id());
    // A live listener is not replaced, even though its lock is gone.
    fs::remove_file(socket(&address).with_extension("lock")).unwrap();
    assert!(matches!(Listener::bind(&address), Err(BindError::Taken)));
}

/// Connects; returns the connecting side and the listening side.
async fn meet(address: &Address, listener: &mut Listener) -> (Connection, Connection) {
    let (there, here) = soon("both meet", async { tokio::join!(connect(address), listener.accept()) }).await;
    (there.unwrap(), here.unwrap())
}

#[tokio::test]
async fn directions_of_a_connection_end_apart() {
    let address = test_address();
    let mut listener = Listener::bind(&address).unwrap();
    let (mut there, mut here) = meet(&address, &mut listener).await;
    assert_eq!((there.peer, here.peer), (std::process::id(), std::process::id()));
    assert!(!there.reader.is_threaded() && !here.writer.is_threaded());

    let much = vec![b'x'; 1 << 20];
    let sent = async {
        write_all(&there.writer, &much).await;
        drop(there.writer);
    };
    let (_, read) = tokio::join!(sent, read_to_end(&mut here.reader));
    assert!(read == much);
    write_all(&here.writer, b"an answer").await;
    drop(here);
    assert_eq!(read_text(&mut there.reader).await, "an answer");
}

#[tokio::test]
async fn dropped_reader_fails_the_writer() {
    let address = test_address();
    let mut listener = Listener::bind(&address).unwrap();
    let (there, here) = meet(&address, &mut listener).await;
    drop(there.reader);
    let error = here.writer.try_write(&[std::io::IoSlice::new(b"x")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    drop(there.writer);
}

#[tokio::test]
async fn lock_has_one_holder_and_leaves_no_file() {
    let address = test_address();
    let held = StartLock::take(&address).await.unwrap();
    assert!(is_pending(StartLock::take(&address)));
    let next = tokio::spawn({
        let address = address.clone();
        async move { StartLock::take(&address).await.unwrap() }
    });
    drop(held);
    drop(soon("the next has its turn", next).await.unwrap());
    assert!(!socket(&address).with_extension("start").exists());
}

#[tokio::test]
async fn socket_of_a_dead_listener_is_replaced() {
    let world = World::new();
    let mut dead = spawn(&world.part("local listen")).unwrap();
    let path = parts::word_of(&mut dead, "at").await;
    dead.child.kill_now();
    soon("it is dead", dead.child.wait()).await;
    assert!(Path::new(&path).exists(), "it had no time to clean up");
    let mut refused = spawn(&world.part("local connect")).unwrap();
    assert_eq!(parts::word_of(&mut refused, "refused").await, "ConnectionRefused");
    let mut next = spawn(&world.part("local listen")).unwrap();
    assert_eq!(parts::word_of(&mut next, "at").await, path);
    let mut client = spawn(&world.part("local connect")).unwrap();
    assert_eq!(parts::word_of(&mut client, "answer").await, "hello");
}

/// The number may have been reused by then.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn reused_number_is_not_killed() {
    let world = World::new();
    let mut listening = spawn(&world.part("local listen")).unwrap();
    parts::word_of(&mut listening, "at").await;
    let mut bystander = spawn(&launch("sleep", ["1000"])).unwrap();
    let mut ending = world.part("local kill");
    ending.env.push((parts::WORD.into(), bystander.child.pid().to_string().into()));
    parts::word_of(&mut spawn(&ending).unwrap(), "ended").await;
    soon("the one who listened is dead", listening.child.wait()).await;
    assert!(is_alive(bystander.child.pid()));
    bystander.child.kill_now();
    soon("it is dead", bystander.child.wait()).await;
}

#[tokio::test]
async fn fifty_clients_start_one_daemon() {
    let world = World::new();
    let starters: Vec<Spawned> = (0..50).map(|_| spawn(&world.part("local starter")).unwrap()).collect();
    for mut starter in starters {
        assert_eq!(parts::word_of(&mut starter, "answer").await, "hello");
    }
    let started = fs::read_to_string(world.path().join("started")).unwrap();
    let mut stop = world.part("local connect");
    stop.env.push((parts::WORD.into(), "stop".into()));
    parts::word_of(&mut spawn(&stop).unwrap(), "answer").await;
    assert_eq!(started.lines().count(), 1);
    until("all is cleaned up", || fs::read_dir(world.path().join("run/switchboard")).unwrap().count() == 0)
        .await;
}

#[tokio::test]
async fn connections_leak_no_descriptors() {
    let world = World::new();
    let mut many = spawn(&world.part("local many")).unwrap();
    assert_eq!(parts::word_of(&mut many, "leaked").await, "0");
}

async fn address_from(launch: &Launch) -> String {
    parts::word_of(&mut spawn(launch).unwrap(), "at").await
}

#[tokio::test]
async fn long_folder_name_is_not_used() {
    let world = World::new();
    let long = world.path().join("x".repeat(90));
    parts::closed_folder(&long);
    let mut launch = world.part("local address");
    assert!(address_from(&launch).await.starts_with(world.path().to_str().unwrap()));
    launch.env.push(("XDG_RUNTIME_DIR".into(), long.into()));
    let address = address_from(&launch).await;
    assert!(!address.starts_with(world.path().to_str().unwrap()) && address.len() < 104, "{address}");
}

#[tokio::test]
async fn mount_namespaces_have_their_own_address() {
    let world = World::new();
    let inside = world.part("local address");
    let mut outside = part("");
    for options in [["--mount"].as_slice(), &["--user", "--map-current-user", "--mount"]] {
        let mut args: Vec<std::ffi::OsString> = options.iter().map(Into::into).collect();
        args.push(inside.program.clone());
        args.extend(inside.args.iter().cloned());
        outside = Launch { program: "unshare".into(), args, ..inside.clone() };
        if parts::works("unshare", options).await {
            let (here, there) = (address_from(&inside).await, address_from(&outside).await);
            assert_ne!(here, there);
            assert_eq!(Path::new(&here).parent(), Path::new(&there).parent());
            return;
        }
    }
    println!("left out: {:?} is not allowed here", outside.program);
}
