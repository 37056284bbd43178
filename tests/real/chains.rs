//! Real server chains several processes deep: however the program ends, all of them end, and another window's
//! processes are untouched.

use super::peers::Server;
use super::window::{Chain, Window};
use crate::support::text;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use switchboard_testkit::client::Client;
use switchboard_testkit::scratch::Scratch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    InputEnds,
    Killed,
    GroupKilled,
}

/// Ends the program in each way, beside a window with the same server that stays.
#[track_caller]
fn check(chain: &Chain, guard: &str) {
    if guard == "strict" && !can_unshare() {
        return say("left out: this machine does not allow namespaces");
    }
    // One state folder for all, as on a user's machine: each start also looks for leftovers of the one
    // before.
    let state = Scratch::new();
    let mut neighbour = Window::open(chain, guard, state.path());
    for ending in [Ending::InputEnds, Ending::Killed, Ending::GroupKilled] {
        let mut window = Window::open(chain, guard, state.path());
        let gone_since = end(&mut window, ending);
        window.check_gone(gone_since);
        neighbour.check_well();
    }
    assert_eq!(neighbour.client.finish().code, Some(0));
    neighbour.check_gone(Instant::now());
}

/// Time from which nothing may be left, apart from the allowed delay.
#[track_caller]
fn end(window: &mut Window, ending: Ending) -> Instant {
    match ending {
        Ending::InputEnds => {
            let end = window.client.finish();
            assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
            // The reason for a gentle stop: only the server knows its clean-up.
            assert_eq!(window.on_disk(), Vec::<String>::new());
            return Instant::now();
        }
        Ending::Killed => window.kill(),
        Ending::GroupKilled => window.kill_group(),
    }
    Instant::now()
}

/// Whether this machine allows `guard: strict`. Root needs no user namespace.
fn can_unshare() -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_root = Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0);
    let mut command = Command::new("unshare");
    if !is_root {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--mount", "--fork", "--mount-proc", "true"]).stderr(Stdio::null());
    #[expect(clippy::disallowed_methods, reason = "a question to the system, which is waited for")]
    command.status().is_ok_and(|status| status.success())
}

/// Output for people who run the tests with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's own words")]
fn say(words: &str) {
    eprintln!("{words}");
}

/// `npm exec`, a shell, and the server.
const NPX: Chain = Chain {
    server: Server::everything_by_npx,
    capabilities: || json!({}),
    open: |client| drop(client.request("tools/list", json!({}))),
    depth: 3,
    temporary: &[],
};

/// `uv`, and the server.
const UVX: Chain = Chain { server: Server::time_by_uvx, depth: 2, ..NPX };

/// The server waits for the answer to `roots/list`. Alone it would stay for a minute after the end of its
/// input, and so would its parents.
const WAITING: Chain =
    Chain { capabilities: || json!({ "roots": {} }), open: |client| drop(client.told("roots/list")), ..NPX };

/// `npm exec`, a shell, the server, the browser, and the browser's page processes in their own sessions.
const BROWSER: Chain = Chain {
    server: Server::playwright_by_npx,
    capabilities: || json!({}),
    open: open_a_page,
    depth: 5,
    temporary: &["playwright_chromiumdev_profile-", "playwright-artifacts-"],
};

/// Opens a page that never finishes.
#[track_caller]
fn open_a_page(client: &mut Client) {
    let page = "data:text/html,<title>a page</title><script>setInterval(() => {}, 1)</script>";
    let answer = client.call("browser_navigate", json!({ "url": page }));
    assert!(text(&answer).contains("Page Title: a page"), "{answer}");
}

#[test]
fn npx_chain_leaves_nothing() {
    check(&NPX, "auto");
}

#[test]
fn npx_chain_leaves_nothing_strict() {
    check(&NPX, "strict");
}

#[test]
fn uvx_chain_leaves_nothing() {
    check(&UVX, "auto");
}

#[test]
fn uvx_chain_leaves_nothing_strict() {
    check(&UVX, "strict");
}

#[test]
fn waiting_server_leaves_nothing() {
    check(&WAITING, "auto");
}

#[test]
fn waiting_server_leaves_nothing_strict() {
    check(&WAITING, "strict");
}

#[test]
fn browser_leaves_nothing() {
    check(&BROWSER, "auto");
}

#[test]
fn browser_leaves_nothing_strict() {
    check(&BROWSER, "strict");
}
