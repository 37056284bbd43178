//! The daemon's stderr log: it stays small, whatever clients send.

use crate::daemon::house::House;
use std::fs;
use switchboard_testkit::patience;

const BAD: usize = 50_000;

/// The daemon's stderr log, with its rotated part.
fn stderr(house: &House) -> String {
    let read = |name: &str| fs::read_to_string(house.state(name)).unwrap_or_default();
    read("logs/daemon.stderr.log.1") + &read("logs/daemon.stderr.log")
}

#[test]
fn garbage_does_not_fill_the_logs() {
    let house = House::new();
    let mut window = house.open("a");
    window.send_bytes("x\n".repeat(BAD));
    for _ in 0..BAD {
        let answer = window.recv_json();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
    }
    assert_eq!(window.finish().code, Some(0));
    house.check_empty(patience::LIMIT);
    let said = stderr(&house);
    let counted: usize = said
        .lines()
        .filter_map(|line| line.split_once("more bad messages messages=")?.1.parse::<usize>().ok())
        .sum();
    let lines = said.matches("bad message from").count();
    assert_eq!(lines + counted, BAD, "each has a line or is counted: {lines} and {counted}");
    assert!(said.len() < 64 << 10, "{} bytes of {} bytes of garbage", said.len(), 2 * BAD);
}

/// A file that another version left.
#[test]
fn long_stderr_log_is_rotated() {
    let house = House::new();
    fs::create_dir_all(house.state("logs")).unwrap();
    let path = house.state("logs/daemon.stderr.log");
    fs::write(&path, "an old line\n".repeat(1 << 18)).unwrap();
    let mut window = house.open("a");
    let length = || fs::metadata(&path).map_or(0, |meta| meta.len());
    assert!(length() < 1 << 20, "{} bytes", length());
    assert!(house.state("logs/daemon.stderr.log.1").exists());
    // The same while the daemon runs.
    fs::write(&path, "somebody else's words\n".repeat(1 << 17)).unwrap();
    window.send_bytes("x\n");
    window.recv_json();
    patience::until_true("a short file", || length() < 1 << 20);
    assert_eq!(window.finish().code, Some(0));
}
