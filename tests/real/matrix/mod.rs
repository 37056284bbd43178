//! Every front with every kind of server: three by three, and each pair carries every feature. Results are
//! compared with those without us.
//!
//! - `features`: the features, in order.
//! - `fronts`: transports of a client to us, or to a server directly.
//! - `backends`: server-everything with each transport.

mod backends;
mod features;
mod fronts;

use backends::{Backend, Reach};
use features::{FEATURES, Guest};
use fronts::{FRONTS, direct, through};
use serde_json::Value;

/// Results of all features.
fn try_all(pair: &str, mut guest: Guest) -> Vec<Value> {
    guest.greet();
    let found = FEATURES.iter().map(|(name, feature)| {
        #[expect(clippy::print_stderr, reason = "whoever reads of a failure wants to know where it happened")]
        {
            eprintln!("{pair}: {name}");
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
        let pair = format!("{front:?} to {reach:?}");
        let (line, _us) = through(front, &backend);
        let found = try_all(&pair, Guest::new(line));
        for ((name, _), (found, alone)) in FEATURES.iter().zip(found.iter().zip(&alone)) {
            assert_eq!(found, alone, "{pair}, {name}: through us (left), directly (right)");
        }
    }
}

#[test]
fn stdio_server_works_on_every_front() {
    check(Reach::Stdio);
}

#[test]
fn streamable_server_works_on_every_front() {
    check(Reach::Streamable);
}

#[test]
fn sse_server_works_on_every_front() {
    check(Reach::Sse);
}
