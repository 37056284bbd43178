//! Parts around a local socket that run in processes of their own.

use crate::fixture;
use crate::support::*;
use bytes::BytesMut;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, WaitId, WaitIdOptions, getrlimit, setrlimit, waitid};
use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use switchboard_process::child::{Launch, Spawned, spawn};
use switchboard_process::local::{Address, Connection, Listener, StartLock, connect, start_detached};

/// Variable: the word sent to the listener.
pub(crate) const WORD: &str = "SWITCHBOARD_TEST_WORD";
/// Variable: a folder for the files of a part.
const FOLDER: &str = "SWITCHBOARD_TEST_FOLDER";
/// Time limit of a part, whatever happens to its test.
const PART_TIMEOUT: Duration = Duration::from_secs(60);

/// An address that no other test uses.
pub(crate) fn test_address() -> Address {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let identity = format!("test {} {}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    Address::of(identity.as_bytes()).unwrap()
}

/// A folder with a runtime folder in it, for parts that should meet.
pub(crate) struct World(Folder);

impl World {
    pub(crate) fn new() -> Self {
        let world = Self(Folder::new());
        closed_folder(&world.path().join("run"));
        world
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn part(&self, name: &str) -> Launch {
        let mut launch = fixture::part(name);
        launch.env.push(("XDG_RUNTIME_DIR".into(), self.path().join("run").into()));
        launch.env.push((FOLDER.into(), self.path().into()));
        launch
    }
}

pub(crate) fn closed_folder(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
}

/// Whether this tool works on this machine.
pub(crate) async fn works(program: &str, options: &[&str]) -> bool {
    let mut args = options.to_vec();
    args.push("true");
    match spawn(&launch(program, args)) {
        Ok(mut spawned) => soon("it ends", spawned.child.wait()).await.success(),
        Err(_) => false,
    }
}

/// The word `…` of `<what …>` in a part's output. Earlier output is discarded.
pub(crate) async fn word_of(spawned: &mut Spawned, what: &str) -> String {
    let (begin, mut said) = (format!("<{what} "), BytesMut::new());
    loop {
        let text = String::from_utf8_lossy(&said).into_owned();
        if let Some((word, _)) = text.split_once(&begin).and_then(|(_, rest)| rest.split_once('>')) {
            return word.to_owned();
        }
        let more = soon("a word", spawned.stdout.read(&mut said)).await.unwrap();
        assert!(more > 0, "no word of {what}: {text}{}", read_text(&mut spawned.stderr).await);
    }
}

pub(crate) async fn play(part: &str) {
    let part = async {
        match part {
            "local address" => println!("<at {}>", address()),
            "local listen" => listen().await,
            "local connect" => greet(connect(&address()).await).await,
            "local kill" => kill().await,
            "local starter" => starter().await,
            "local many" => many().await,
            "local detach" => detach().await,
            other => panic!("no such part: {other}"),
        }
    };
    let _ = tokio::time::timeout(PART_TIMEOUT, part).await;
}

fn address() -> Address {
    Address::of(b"test").unwrap()
}

fn folder() -> PathBuf {
    std::env::var_os(FOLDER).unwrap().into()
}

/// Echoes its input, until that is "stop".
async fn listen() {
    let address = address();
    let mut listener = Listener::bind(&address).unwrap();
    println!("<at {address}>");
    loop {
        let mut visitor = listener.accept().await.unwrap();
        println!("<visitor {}>", visitor.peer);
        let word = read_to_end(&mut visitor.reader).await;
        write_all(&visitor.writer, &word).await;
        if word == b"stop" {
            return;
        }
    }
}

async fn greet(connection: std::io::Result<Connection>) {
    match connection {
        Err(error) => println!("<refused {:?}>", error.kind()),
        Ok(Connection { mut reader, writer, peer, .. }) => {
            println!("<peer {peer}>");
            let word = std::env::var(WORD).unwrap_or("hello".into());
            write_all(&writer, word.as_bytes()).await;
            drop(writer);
            println!("<answer {}>", read_text(&mut reader).await);
        }
    }
}

/// Pretends that the listener's number has been reused.
async fn kill() {
    let mut connection = connect(&address()).await.unwrap();
    connection.peer = std::env::var(WORD).unwrap().parse().unwrap();
    connection.kill_peer();
    println!("<ended {}>", connection.peer);
}

/// Connects or starts a daemon, as an attachment does.
async fn starter() {
    let address = address();
    let mut connection = connect(&address).await;
    if connection.is_err() {
        let _lock = StartLock::take(&address).await.unwrap();
        connection = connect(&address).await;
        if connection.is_err() {
            let mut started =
                OpenOptions::new().append(true).create(true).open(folder().join("started")).unwrap();
            writeln!(started, "{}", std::process::id()).unwrap();
            let daemon = fixture::part("local listen");
            let env: Vec<_> = daemon.env.into_iter().chain([runtime()]).collect();
            start_detached(Path::new(&daemon.program), &daemon.args, &env, None).unwrap();
            while connection.is_err() {
                tokio::time::sleep(Duration::from_millis(1)).await;
                connection = connect(&address).await;
            }
        }
    }
    greet(connection).await;
}

fn runtime() -> (OsString, OsString) {
    ("XDG_RUNTIME_DIR".into(), std::env::var_os("XDG_RUNTIME_DIR").unwrap())
}

/// Opens five hundred connections, twice. Both ends are in this process, and the connecting side also holds
/// the other's process descriptor.
async fn many() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(1600), maximum }).unwrap();
    let address = address();
    let mut listener = Listener::bind(&address).unwrap();
    let open = || fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let before = open();
    for _ in 0..2 {
        let mut connections = Vec::new();
        for _ in 0..500 {
            let (there, here) = tokio::join!(connect(&address), listener.accept());
            connections.push((there.unwrap(), here.unwrap()));
        }
        assert!(open() >= before + 1000);
    }
    // Without a free descriptor, accept returns an error, and the connection is served once there is one.
    let limit = open() as u64;
    let waiting = std::os::unix::net::UnixStream::connect(address.to_string()).unwrap();
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum }).unwrap();
    listener.accept().await.map(drop).unwrap_err();
    setrlimit(Resource::Nofile, Rlimit { current: Some(1600), maximum }).unwrap();
    listener.accept().await.unwrap();
    drop(waiting);
    println!("<leaked {}>", open() - before);
}

/// Starts a detached shell that records its number, and checks that no child is left.
async fn detach() {
    let script = "echo words >&2; echo $$ > $0.new; mv $0.new $0; exec sleep 60";
    let args = ["-c".into(), script.into(), folder().join("pid").into()];
    let env = [("PATH".into(), PATH.into()), ("ONLY".into(), "this".into())];
    start_detached(Path::new("/bin/sh"), &args, &env, Some(&folder().join("log"))).unwrap();
    let missing = start_detached(Path::new("/there/is/none"), &[], &[], None).unwrap_err();
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let has_child = !matches!(waitid(WaitId::All, options), Err(Errno::CHILD));
    println!("<started {:?} {has_child} {}>", missing.kind(), std::process::id());
    std::future::pending::<()>().await;
}
