//! Bytes through pipes, sockets and files.

use crate::support::*;
use bytes::BytesMut;
use std::{
    fs::File,
    io::{ErrorKind, IoSlice, Read},
    os::{fd::OwnedFd, unix::net::UnixStream},
    thread,
};
use switchboard_process::{
    child::Spawned,
    pipe::{ByteReader, ByteWriter},
};
use tokio::task::yield_now;

fn pipe() -> (ByteReader, ByteWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    (ByteReader::from_fd(reader.into()).unwrap(), ByteWriter::from_fd(writer.into()).unwrap())
}

fn pattern(size: usize) -> Vec<u8> {
    (0..size as u32).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect()
}

#[tokio::test]
async fn ten_mebibytes_pass_through_cat_both_ways() {
    let Spawned { mut child, stdin, mut stdout, mut stderr } = sh("exec cat");
    assert!(!stdin.is_threaded() && !stdout.is_threaded() && !stderr.is_threaded());
    let sent = pattern(10 << 20);
    let copy = sent.clone();
    let writing = tokio::spawn(async move {
        write_all(&stdin, &copy).await;
        stdin.drained().await;
    });
    let received = read_to_end(&mut stdout).await;
    writing.await.unwrap();
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
    assert!(soon("cat ends", child.wait()).await.success());
    assert_eq!(read_to_end(&mut stderr).await, b"");
}

/// On many threads the poller runs concurrently with the writes: a lost wake-up would hang this test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_between_threads() {
    let (reader, writer) = std::io::pipe().unwrap();
    let writer = ByteWriter::from_fd(writer.into()).unwrap();
    let sent = pattern(16 << 20);
    let copy = sent.clone();
    let writing = tokio::spawn(async move { write_all(&writer, &copy).await });
    let received = tokio::task::spawn_blocking(move || {
        let mut received = Vec::new();
        { reader }.read_to_end(&mut received).unwrap();
        received
    });
    writing.await.unwrap();
    assert!(received.await.unwrap() == sent);
}

#[tokio::test]
async fn pieces_are_appended_until_the_end() {
    let Spawned { child: _child, stdin, mut stdout, .. } =
        sh("for piece in one two three; do printf $piece; read answer; done");
    let mut buf = BytesMut::new();
    for (piece, so_far) in [(3, "one"), (3, "onetwo"), (5, "onetwothree")] {
        assert_eq!(soon("a piece", stdout.read(&mut buf)).await.unwrap(), piece);
        assert_eq!(buf, so_far);
        assert!(buf.capacity() >= 64 * 1024);
        assert!(is_pending(stdout.read(&mut buf)), "nothing more before the answer");
        write_all(&stdin, b"\n").await;
    }
    // The end is a separate event, after a short read.
    assert_eq!(soon("the end", stdout.read(&mut buf)).await.unwrap(), 0);
    assert_eq!(soon("the end again", stdout.read(&mut buf)).await.unwrap(), 0);
}

#[tokio::test]
async fn end_that_comes_with_data_is_not_lost() {
    let Spawned { mut child, mut stdout, .. } = sh("printf done");
    soon("the child ends", child.wait()).await;
    assert_eq!(read_to_end(&mut stdout).await, b"done");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn large_buffer_is_filled_in_one_read() {
    use std::io::Write;
    let (reader, mut writer) = std::io::pipe().unwrap();
    let size = rustix::pipe::fcntl_setpipe_size(&writer, 1 << 20).unwrap();
    writer.write_all(&pattern(size)).unwrap();
    let mut reader = ByteReader::from_fd(reader.into()).unwrap();
    let mut buf = BytesMut::with_capacity(size);
    assert_eq!(soon("data", reader.read(&mut buf)).await.unwrap(), size);
    assert!(buf == pattern(size));
}

/// A short read has shown that the pipe is empty: a second read to confirm it would double the cost.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn message_costs_one_read() {
    const MESSAGES: u64 = 200;
    let reads = || -> Option<u64> {
        let counters = std::fs::read_to_string("/proc/thread-self/io").ok()?;
        counters.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse().ok()
    };
    let (mut reader, writer) = pipe();
    let mut buf = BytesMut::new();
    let Some(before) = reads() else { return };
    for _ in 0..MESSAGES {
        assert!(is_pending(reader.read(&mut buf)));
        write_all(&writer, b"message\n").await;
        assert_eq!(soon("a message", reader.read(&mut buf)).await.unwrap(), 8);
        buf.clear();
    }
    let count = reads().unwrap() - before;
    // Reading the counters counts as a read, too.
    assert!((MESSAGES..MESSAGES + 10).contains(&count), "{count} reads");
}

#[tokio::test]
async fn cancelled_read_has_taken_nothing() {
    let (mut reader, writer) = pipe();
    let mut buf = BytesMut::new();
    for _ in 0..100 {
        assert!(is_pending(reader.read(&mut buf)));
        yield_now().await;
    }
    write_all(&writer, b"whole").await;
    assert_eq!(soon("data", reader.read(&mut buf)).await.unwrap(), 5);
    assert_eq!(buf, "whole");
}

async fn refuses_when_full_and_tells_when_to_go_on(mut reader: ByteReader, writer: ByteWriter) {
    for _ in 0..3 {
        let filled = fill(&writer);
        assert!(filled > 4000);
        for _ in 0..3 {
            yield_now().await;
            assert!(is_pending(writer.writable()), "nothing was read");
        }
        let mut buf = BytesMut::with_capacity(filled);
        while buf.len() < filled {
            soon("data", reader.read(&mut buf)).await.unwrap();
        }
        soon("room", writer.writable()).await.unwrap();
        assert_eq!(writer.try_write(&[IoSlice::new(b"one "), IoSlice::new(b"two")]).unwrap(), 7);
        buf.clear();
        assert_eq!(soon("data", reader.read(&mut buf)).await.unwrap(), 7);
        assert_eq!(buf, "one two");
    }
    // A writer that waits for a reader learns that the reader is gone.
    fill(&writer);
    let ((), woken) = tokio::join!(
        async {
            yield_now().await;
            drop(reader);
        },
        soon("the reader has gone", writer.writable())
    );
    woken.unwrap();
    for _ in 0..2 {
        assert_eq!(writer.try_write(&[IoSlice::new(b"x")]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}

#[tokio::test]
async fn full_pipe_makes_the_writer_wait() {
    let (reader, writer) = pipe();
    refuses_when_full_and_tells_when_to_go_on(reader, writer).await;
}

#[tokio::test]
async fn full_socket_makes_the_writer_wait() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let reader = ByteReader::from_fd(ours.into()).unwrap();
    let writer = ByteWriter::from_fd(theirs.into()).unwrap();
    assert!(!reader.is_threaded() && !writer.is_threaded());
    refuses_when_full_and_tells_when_to_go_on(reader, writer).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn packets_are_read_one_by_one() {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    let mut reader = ByteReader::from_fd(ours).unwrap();
    for _ in 0..3 {
        rustix::io::write(&theirs, b"packet").unwrap();
    }
    let mut buf = BytesMut::new();
    for _ in 0..3 {
        assert_eq!(soon("a packet", reader.read(&mut buf)).await.unwrap(), 6);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn shared_socket_stays_blocking_for_others() {
    use rustix::fs::{OFlags, fcntl_getfl};
    use std::io::Write;
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let shared = OwnedFd::from(ours.try_clone().unwrap());
    let mut reader = ByteReader::from_fd(ours.try_clone().unwrap().into()).unwrap();
    let writer = ByteWriter::from_fd(ours.into()).unwrap();
    fill(&writer);
    assert!(is_pending(reader.read(&mut BytesMut::new())));
    theirs.write_all(b"x").unwrap();
    assert_eq!(soon("data", reader.read(&mut BytesMut::new())).await.unwrap(), 1);
    assert!(!fcntl_getfl(&shared).unwrap().contains(OFlags::NONBLOCK));
}

#[tokio::test]
async fn regular_file_has_a_thread() {
    let folder = Folder::new();
    let content = pattern(1 << 20);
    let path = folder.path().join("file");

    let writer = ByteWriter::from_fd(File::create(&path).unwrap().into()).unwrap();
    assert!(writer.is_threaded());
    write_all(&writer, &content).await;
    soon("all is written", writer.drained()).await;
    assert!(std::fs::read(&path).unwrap() == content);

    let mut reader = ByteReader::from_fd(File::open(&path).unwrap().into()).unwrap();
    assert!(reader.is_threaded());
    assert!(read_to_end(&mut reader).await == content);
}

#[tokio::test]
async fn devices_have_a_thread() {
    let open = |path| OwnedFd::from(File::options().read(true).write(true).open(path).unwrap());
    let mut reader = ByteReader::from_fd(open("/dev/null")).unwrap();
    assert!(reader.is_threaded());
    assert_eq!(read_to_end(&mut reader).await, b"");

    if cfg!(target_os = "linux") {
        let writer = ByteWriter::from_fd(open("/dev/full")).unwrap();
        write_all(&writer, b"too much").await;
        soon("the failure", writer.drained()).await;
        assert_eq!(writer.try_write(&[IoSlice::new(b"x")]).unwrap_err().kind(), ErrorKind::StorageFull);
    }
}

#[test]
fn missing_runtime_is_an_error_not_a_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    assert!(ByteReader::from_fd(reader.into()).is_err());
    assert!(ByteWriter::from_fd(writer.into()).is_err());
}

#[tokio::test]
async fn writer_serves_several_threads() {
    let (mut reader, writer) = pipe();
    thread::scope(|scope| {
        for byte in *b"abcd" {
            let writer = &writer;
            scope.spawn(move || writer.try_write(&[IoSlice::new(&[byte; 100])]).unwrap());
        }
    });
    drop(writer);
    assert_eq!(read_to_end(&mut reader).await.len(), 400);
}
