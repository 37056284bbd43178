//! Holders that die at every step. A death drops everything in the holder's memory, and the next holder has
//! only the file.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use super::os::Streams;
use super::store::{CONTROL, PAGE_BYTES, Store};
use crate::pipe::ByteReader;
use bytes::BytesMut;
use std::io::{IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The client's ends of the streams, and ours.
struct Client {
    says: Box<dyn Write>,
    hears: Box<dyn Read>,
    streams: Streams,
}

fn client(is_socket: bool) -> Client {
    let store = Arc::new(Store::new().unwrap());
    let (says, input, hears, output): (Box<dyn Write>, OwnedFd, Box<dyn Read>, OwnedFd) = if is_socket {
        let ((one, input), (two, output)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        two.set_nonblocking(true).unwrap();
        (Box::new(one), input.into(), Box::new(two), output.into())
    } else {
        let ((input, one), (two, output)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let flags = rustix::fs::OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&two, flags).unwrap();
        (Box::new(one), input.into(), Box::new(two), output.into())
    };
    Client { says, hears, streams: Streams::over(input, output, store) }
}

/// Reproducible pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn hear(client: &mut Client, heard: &mut Vec<u8>) {
    let mut buffer = vec![0; 300_000];
    while let Ok(count @ 1..) = client.hears.read(&mut buffer) {
        heard.extend_from_slice(&buffer[..count]);
    }
}

/// Holders that die at any step send messages of all sizes; the client receives every committed message
/// exactly once and whole, and nothing else.
#[tokio::test]
async fn committed_output_is_sent_exactly_once() {
    for is_socket in [false, true] {
        for seed in 0..60 {
            check_output(is_socket, seed);
        }
    }
}

fn check_output(is_socket: bool, seed: u64) {
    let mut dice = Dice(seed);
    let mut client = client(is_socket);
    let (mut meant, mut heard): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    for _life in 0..12 {
        let output = client.streams.output(meant.len() as u64).unwrap();
        for step in 0..dice.below(8) {
            let size = [1, 30, 5000, 20_000, 200_000][dice.below(5)];
            let message = vec![b'a' + (meant.len() % 26) as u8; size];
            let cut = dice.below(size);
            let end = output.append(&[IoSlice::new(&message[..cut]), IoSlice::new(&message[cut..])]);
            // Death before the commit: the message does not exist.
            if dice.below(6) == 0 {
                break;
            }
            meant.extend_from_slice(&message);
            assert_eq!(end.unwrap(), meant.len() as u64, "seed {seed}, step {step}");
            output.commit();
            // Death at any point of the sending.
            for _ in 0..dice.below(4) {
                let _ = output.send();
                if dice.below(3) == 0 {
                    output.trim();
                }
                if dice.below(3) == 0 {
                    hear(&mut client, &mut heard);
                }
            }
        }
    }
    let output = client.streams.output(meant.len() as u64).unwrap();
    while output.unsent() > 0 {
        let _ = output.send();
        hear(&mut client, &mut heard);
    }
    hear(&mut client, &mut heard);
    assert!(heard == meant, "seed {seed}, socket {is_socket}: {} of {}", heard.len(), meant.len());
}

async fn read(reader: &mut ByteReader, buffer: &mut BytesMut) -> usize {
    let soon = std::time::Duration::from_millis(1);
    tokio::time::timeout(soon, reader.read(buffer)).await.map_or(0, |count| count.unwrap())
}

/// Holders read a client's lines of all sizes, process some, and die. Each line is processed once.
#[tokio::test]
async fn unprocessed_input_reaches_next_holder() {
    for is_socket in [false, true] {
        for seed in 0..40 {
            check_input(is_socket, seed).await;
        }
    }
}

async fn check_input(is_socket: bool, seed: u64) {
    let mut dice = Dice(seed);
    let mut client = client(is_socket);
    let taken = Arc::new(AtomicU64::new(0));
    let (mut said, mut dealt): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    for _life in 0..10 {
        let size = [1, 50, 3000, 60_000][dice.below(4)];
        let mut line = vec![b'a' + (said.len() % 26) as u8; size];
        line.push(b'\n');
        client.says.write_all(&line).unwrap();
        said.extend_from_slice(&line);
        let mut reader = client.streams.reader(taken.clone(), 1 << 20).unwrap();
        let mut buffer = BytesMut::new();
        // The client could not write the next line into a full pipe.
        let reads = if size > 3000 { 20 } else { 1 + dice.below(5) };
        for _ in 0..reads {
            read(&mut reader, &mut buffer).await;
            if dice.below(3) == 0 {
                reader.trim();
            }
            let Some(end) = buffer.iter().position(|&byte| byte == b'\n') else { continue };
            if dice.below(3) > 0 {
                dealt.extend_from_slice(&buffer.split_to(end + 1));
                taken.store(dealt.len() as u64, Ordering::Release);
            }
        }
    }
    let mut reader = client.streams.reader(taken.clone(), 1 << 20).unwrap();
    let mut rest = BytesMut::new();
    while dealt.len() + rest.len() < said.len() {
        let before = rest.len();
        read(&mut reader, &mut rest).await;
        assert!(rest.len() > before || is_socket, "seed {seed}: something is lost");
    }
    dealt.extend_from_slice(&rest);
    assert!(dealt == said, "seed {seed}, socket {is_socket}");
}

/// The read has happened, and the reader was killed before it knew.
#[tokio::test]
async fn unrecorded_read_is_found() {
    let mut client = client(false);
    client.says.write_all(b"one\ntwo\n").unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let mut buffer = BytesMut::new();
    drop({
        let mut reader = client.streams.reader(taken.clone(), 1000).unwrap();
        assert_eq!(read(&mut reader, &mut buffer).await, 8);
        reader
    });
    taken.store(4, Ordering::Release);
    assert!(client.streams.has_unread(4).unwrap());
    assert!(!client.streams.has_unread(8).unwrap());
    let mut reader = client.streams.reader(taken, 1000).unwrap();
    buffer.clear();
    assert_eq!(read(&mut reader, &mut buffer).await, 4);
    assert_eq!(&buffer[..], b"two\n");
}

/// Oversized input is dropped, but its length is still known.
#[tokio::test]
async fn oversized_input_is_not_stored() {
    let mut client = client(true);
    let streams = &client.streams;
    let taken = Arc::new(AtomicU64::new(0));
    let mut reader = streams.reader(taken.clone(), 1000).unwrap();
    let mut buffer = BytesMut::new();
    for _ in 0..64 {
        client.says.write_all(&[b'x'; 50_000]).unwrap();
        buffer.clear();
        while buffer.len() < 50_000 {
            read(&mut reader, &mut buffer).await;
        }
    }
    let held = rustix::fs::fstat(streams.file()).unwrap().st_blocks as u64 * 512;
    assert!(held < 1 << 20, "{held} bytes of 3 MB");
    drop(reader);
    let mut next = streams.reader(taken, 1000).unwrap();
    let mut length = 0;
    while length < 64 * 50_000 {
        buffer.clear();
        length += read(&mut next, &mut buffer).await;
    }
}

/// A stream that was used and is now quiet holds only a few pages.
#[tokio::test]
async fn quiet_stream_holds_few_pages() {
    for is_socket in [false, true] {
        let mut client = client(is_socket);
        let taken = Arc::new(AtomicU64::new(0));
        let mut reader = client.streams.reader(taken.clone(), 1 << 20).unwrap();
        let log = client.streams.output(0).unwrap();
        let (mut buffer, mut heard) = (BytesMut::new(), Vec::new());
        for _ in 0..100 {
            client.says.write_all(&[b'x'; 1000]).unwrap();
            buffer.clear();
            let count = read(&mut reader, &mut buffer).await;
            taken.fetch_add(count as u64, Ordering::Release);
            log.append(&[IoSlice::new(&[b'y'; 1000])]).unwrap();
            log.commit();
            log.send().unwrap();
            hear(&mut client, &mut heard);
        }
        let held = || rustix::fs::fstat(client.streams.file()).unwrap().st_blocks as u64 * 512;
        assert!(held() > 100_000);
        reader.trim();
        log.trim();
        assert!(held() <= 4 * PAGE_BYTES, "{} bytes, socket {is_socket}", held());
    }
}

/// Truncating a file crashes every process that has it mapped.
#[test]
fn foreign_file_is_refused() {
    let flags = rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("other", flags).unwrap();
    assert!(Store::over(file).is_err());
    let ours = Store::new().unwrap();
    assert!(rustix::fs::ftruncate(&ours.file, 10).is_err());
}

/// The giver of the file can read and write it at any moment.
#[tokio::test]
async fn file_holds_no_address_of_ours() {
    let mut client = client(true);
    let output = client.streams.output(0).unwrap();
    output.append(&[IoSlice::new(b"some words")]).unwrap();
    output.commit();
    assert_eq!(output.send().unwrap(), 10);
    let mut heard = Vec::new();
    hear(&mut client, &mut heard);
    assert_eq!(heard, b"some words");
    let mut page = vec![0; PAGE_BYTES as usize];
    rustix::io::pread(client.streams.file(), &mut page, CONTROL).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let ranges: Vec<_> = maps.lines().filter_map(|line| line.split(' ').next()?.split_once('-')).collect();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    for word in page.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())) {
        let is_ours = ranges.iter().any(|(from, to)| (number(from)..number(to)).contains(&word));
        assert!(!is_ours, "{word:x} is an address of ours");
    }
}

/// Forged numbers in the file affect only the forger's own client: no byte from outside the file is sent, and
/// no other state depends on them.
#[tokio::test]
async fn forged_numbers_are_not_trusted() {
    for is_socket in [false, true] {
        for lie in [1, u64::from(u32::MAX), 1 << 40, 1 << 50, u64::MAX - 5, u64::MAX] {
            let mut client = client(is_socket);
            let mut heard = Vec::new();
            let output = client.streams.output(0).unwrap();
            output.append(&[IoSlice::new(&[b'x'; 1000])]).unwrap();
            output.commit();
            let lies = lie.to_ne_bytes().repeat(PAGE_BYTES as usize / 8);
            for _ in 0..3 {
                rustix::io::pwrite(client.streams.file(), &lies, CONTROL).unwrap();
                assert!(output.unsent() <= 1000);
                let _ = output.send();
                hear(&mut client, &mut heard);
            }
            assert!(heard.len() <= 1000 && heard.iter().all(|byte| *byte == b'x'), "{lie}: {}", heard.len());
            rustix::io::pwrite(client.streams.file(), &lies, CONTROL).unwrap();
            let next = client.streams.output(1000).unwrap();
            assert!(next.unsent() <= 1000, "{lie}");
            let _ = next.send();
            let _ = client.streams.output(lie).map(|output| output.send());
            let _ = client.streams.reader(Arc::new(AtomicU64::new(lie)), 1000);
        }
    }
}
