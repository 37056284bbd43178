//! Every front to every kind of server: three by three, and each pair carries every feature. What comes of a feature is
//! compared with what comes of it without us.
//!
//! - `features`: what is tried, one after the other.
//! - `fronts`: how a client gets to us, or to a server directly.
//! - `backends`: server-everything, as it is reached.

mod backends;
mod features;
mod fronts;

use backends::{Backend, Reach};
use features::{FEATURES, Guest};
use fronts::{FRONTS, direct, through};
use serde_json::Value;

/// What comes of each feature.
fn try_all(way: &str, mut guest: Guest) -> Vec<Value> {
    guest.greet();
    let found = FEATURES.iter().map(|(name, feature)| {
        #[expect(clippy::print_stderr, reason = "whoever reads of a failure wants to know where it happened")]
        {
            eprintln!("{way}: {name}");
        }
        feature(&mut guest)
    });
    found.collect()
}

#[track_caller]
fn check(reach: Reach) {
    let backend = Backend::start(reach);
    let alone = try_all(&format!("directly to {reach:?}"), Guest::new(direct(&backend)));
    for front in FRONTS {
        let way = format!("{front:?} to {reach:?}");
        let (line, _us) = through(front, &backend);
        let found = try_all(&way, Guest::new(line));
        for ((name, _), (found, alone)) in FEATURES.iter().zip(found.iter().zip(&alone)) {
            assert_eq!(found, alone, "{way}, {name}: through us (left), directly (right)");
        }
    }
}

#[test]
fn every_front_to_a_server_on_stdio() {
    check(Reach::Stdio);
}

#[test]
fn every_front_to_a_server_over_streamable_http() {
    check(Reach::Streamable);
}

#[test]
fn every_front_to_a_server_over_http_and_sse() {
    check(Reach::Sse);
}
