//! Other users. Only root can switch users, so these tests are skipped for everyone else.

use super::parts::{World, closed_folder, word_of, works};
use crate::support::*;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use switchboard_process::child::{Launch, spawn};

/// A user number that no account has.
const NOBODY: u32 = 54321;

/// The part as that user, who becomes the owner of the world.
async fn as_nobody(world: &World, part: &str) -> Launch {
    let inner = world.part(part);
    // Copied, since other users may not enter the folder where the tests are built.
    let program = world.path().join("part");
    if !program.exists() {
        // Copied by another process, for the reason given at `Folder::program`.
        let args = ["-m", "755"].map(Into::into).into_iter().chain([inner.program, program.clone().into()]);
        let mut copied = spawn(&launch("install", args)).unwrap();
        assert!(soon("it is copied", copied.child.wait()).await.success());
        for path in [world.path().to_owned(), world.path().join("run")] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let user = NOBODY.to_string();
    let options = ["--reuid", &user, "--regid", &user, "--clear-groups"].map(Into::into);
    let args = options.into_iter().chain([program.into()]).chain(inner.args).collect();
    Launch { program: "setpriv".into(), args, ..inner }
}

async fn can_be_others() -> bool {
    let user = NOBODY.to_string();
    let can = works("setpriv", &["--reuid", &user, "--regid", &user, "--clear-groups"]).await;
    if !can {
        println!("left out: only root can be somebody else");
    }
    can
}

#[tokio::test]
async fn other_users_are_rejected_including_root() {
    if !can_be_others().await {
        return;
    }
    let world = World::new();
    let mut listener = spawn(&as_nobody(&world, "local listen").await).unwrap();
    let path = word_of(&mut listener, "at").await;
    assert!(path.starts_with(world.path().to_str().unwrap()), "{path}");
    // File permissions do not stop root.
    let mut stranger = UnixStream::connect(&path).unwrap();
    let mut heard = Vec::new();
    let end = tokio::task::spawn_blocking(move || stranger.read_to_end(&mut heard).map(|_| heard));
    assert_eq!(soon("it is turned away", end).await.unwrap().unwrap(), b"");
    let mut friend = spawn(&as_nobody(&world, "local connect").await).unwrap();
    let number = friend.child.pid();
    assert_eq!(word_of(&mut friend, "answer").await, "hello");
    assert_eq!(word_of(&mut listener, "visitor").await, number.to_string(), "the first to be let in");
}

#[tokio::test]
async fn listener_of_another_user_is_refused() {
    if !can_be_others().await {
        return;
    }
    let world = World::new();
    let path = word_of(&mut spawn(&as_nobody(&world, "local address").await).unwrap(), "at").await;
    let _impostor = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let mut client = spawn(&as_nobody(&world, "local connect").await).unwrap();
    assert_eq!(word_of(&mut client, "refused").await, "PermissionDenied");
}

#[tokio::test]
async fn folder_of_another_user_is_not_used() {
    if !can_be_others().await {
        return;
    }
    // The runtime folder itself, or our folder in it.
    for foreign in ["run", "run/switchboard"] {
        let world = World::new();
        closed_folder(&world.path().join("run/switchboard"));
        let address = || async { word_of(&mut spawn(&world.part("local address")).unwrap(), "at").await };
        assert!(Path::new(&address().await).starts_with(world.path()));
        chown(world.path().join(foreign), Some(NOBODY), Some(NOBODY)).unwrap();
        assert!(!Path::new(&address().await).starts_with(world.path()), "{foreign}");
    }
}
