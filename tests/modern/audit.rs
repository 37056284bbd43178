//! The audit of modern clients, on every route to servers of both eras.

use super::guest::{Guest, on_every_route, servers};
use crate::access::audit_routes::{audited, check_lines};
use crate::isolation::routes::{self, Make};

fn check(servers: Make) {
    on_every_route(
        || audited(servers),
        |site| {
            let mut client = Guest::open(site);
            check_lines(site, |method, params| client.request(method, params));
        },
    );
}

#[test]
fn calls_are_recorded() {
    check(servers);
}

#[test]
fn calls_to_legacy_servers_are_recorded() {
    check(routes::servers);
}
