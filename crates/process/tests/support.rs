//! Shared test tools. Tests wait for a fact, never for a time; the time limit is for facts that never come.

use bytes::BytesMut;
use rustix::{
    io::Errno,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};
use std::{
    ffi::OsString,
    future::Future,
    io::{ErrorKind, IoSlice},
    path::{Path, PathBuf},
    pin::pin,
    sync::atomic::{AtomicU32, Ordering},
    task::{Context, Waker},
    time::Duration,
};
use switchboard_process::{
    child::{Launch, Spawned, spawn},
    pipe::{ByteReader, ByteWriter},
};

pub(crate) const PATH: &str = "/usr/bin:/bin";

pub(crate) fn launch<S: Into<OsString>>(program: &str, args: impl IntoIterator<Item = S>) -> Launch {
    Launch {
        program: program.into(),
        args: args.into_iter().map(Into::into).collect(),
        env: vec![("PATH".into(), PATH.into())],
        cwd: None,
    }
}

pub(crate) fn sh(script: &str) -> Spawned {
    spawn(&launch("sh", ["-c", script])).unwrap()
}

/// Waits with a time limit: long enough for a slow machine, short enough for a person.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), future).await {
        Ok(value) => value,
        Err(_) => panic!("this did not happen: {what}"),
    }
}

pub(crate) async fn until(what: &str, fact: impl Fn() -> bool) {
    soon(what, async {
        while !fact() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

pub(crate) fn is_pending(future: impl Future) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

pub(crate) async fn write_all(writer: &ByteWriter, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match writer.try_write(&[IoSlice::new(bytes)]) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                soon("the pipe takes more", writer.writable()).await.unwrap();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) async fn read_to_end(reader: &mut ByteReader) -> Vec<u8> {
    let mut buf = BytesMut::new();
    while soon("data or the end", reader.read(&mut buf)).await.unwrap() > 0 {}
    buf.to_vec()
}

pub(crate) async fn read_text(reader: &mut ByteReader) -> String {
    String::from_utf8(read_to_end(reader).await).unwrap()
}

pub(crate) async fn read_line(reader: &mut ByteReader) -> String {
    let mut buf = BytesMut::new();
    while !buf.ends_with(b"\n") {
        assert!(soon("a line", reader.read(&mut buf)).await.unwrap() > 0, "the end before a line");
    }
    String::from_utf8(buf.to_vec()).unwrap().trim_end().to_owned()
}

/// Fills a pipe; returns the number of bytes it took.
pub(crate) fn fill(writer: &ByteWriter) -> usize {
    let mut total = 0;
    loop {
        match writer.try_write(&[IoSlice::new(&[b'x'; 1000]), IoSlice::new(&[b'y'; 3000])]) {
            Ok(count) => total += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return total,
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) fn pid(number: u32) -> Pid {
    Pid::from_raw(number.cast_signed()).unwrap()
}

/// Whether a child of ours has been reaped.
pub(crate) fn is_reaped(number: u32) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(pid(number)), options), Err(Errno::CHILD))
}

/// Whether a process, not necessarily our child, runs. A zombie does not.
pub(crate) fn is_alive(number: u32) -> bool {
    if cfg!(target_os = "linux") {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{number}/stat")) else { return false };
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        !matches!(state, Some("Z" | "X") | None)
    } else {
        rustix::process::test_kill_process(pid(number)).is_ok()
    }
}

/// A folder that is deleted with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("switchboard-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// An executable file, written by another process: if this process had it open for writing, a child that
    /// another test starts at that moment would inherit the descriptor, and the file would be "busy".
    pub(crate) async fn program(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let args = ["-c".into(), "cat > \"$0\" && chmod +x \"$0\"".into(), path.clone().into_os_string()];
        let Spawned { mut child, stdin, .. } = spawn(&launch("sh", args)).unwrap();
        write_all(&stdin, content.as_ref()).await;
        drop(stdin);
        assert!(soon("the program is written", child.wait()).await.success());
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
